// Controls that change a gateway: mode, kill switch, budgets, accepted settings.

import { ask } from "./dialogs.js";
import { button, el, quoted, visible } from "./dom.js";
import { MODES, MODE_MEANS } from "./kinds.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").GatewayState} GatewayState */

/**
 * @param {App} app
 * @param {string} gateway
 * @param {boolean} on whether the switch is on
 * @param {string} place where the button is on the page, to restore the focus
 */
export function switchButton(app, gateway, on, place) {
  return button(on ? "Turn off kill switch" : "Stop everything", () => (on ? release : stop)(app, gateway), {
    class: on ? "" : "danger",
    disabled: !app.mayChange,
    "data-focus": `switch ${place} ${gateway}`,
    title: visible(gateway),
  });
}

const SLOW = 120_000; // ms: OpenClaw validates its settings before they are changed
/** The modes that are being set, by gateway. @type {Map<string, string>} */
const asking = new Map();

/** @param {App} app @param {string} gateway */
async function stop(app, gateway) {
  const effect = " are blocked, in every mode, until the kill switch is turned off.";
  const body = [el("p", null, "All tool calls by all agents on ", quoted(gateway), effect)];
  const why = await ask({
    title: "Stop everything?",
    body,
    action: "Stop everything",
    tone: "danger",
    field: "Reason (optional)",
  });
  if (why !== null)
    await app.change("state", { gateway, killSwitch: true, why }, ({ notes }) =>
      notes.length ? `The kill switch of ${gateway} is on, with warnings.` : `All tool calls on ${gateway} are blocked.`,
    );
}

/** @param {App} app @param {string} gateway */
async function release(app, gateway) {
  const body = [el("p", null, "Tool calls on ", quoted(gateway), " are judged by its settings again.")];
  const why = await ask({ title: "Turn off the kill switch?", body, action: "Turn off", field: "Reason (optional)" });
  if (why !== null)
    await app.change("state", { gateway, killSwitch: false, why }, () => `The kill switch of ${gateway} is off.`);
}

/** @param {App} app @param {GatewayState} gateway */
export function modeChoice(app, gateway) {
  const label = `Mode of ${visible(gateway.id)}`;
  const asked = asking.get(gateway.id);
  const select = el("select", {
    "aria-label": label,
    disabled: !app.mayChange || asked !== undefined,
    "data-focus": label,
  });
  select.append(...MODES.map((mode) => el("option", { value: mode }, mode)));
  if (!MODES.some((mode) => mode === gateway.mode))
    select.append(el("option", { value: gateway.mode }, gateway.mode || "unknown"));
  select.value = asked ?? gateway.mode;
  select.addEventListener("change", () => void changeMode(app, gateway, select));
  return el("label", { class: "choice" }, el("span", { "aria-hidden": "true" }, "Mode"), select, asked ? waits() : null);
}

const waits = () => el("span", { class: "quiet", role: "status" }, "changing…");

/** @param {App} app @param {GatewayState} gateway @param {HTMLSelectElement} select */
async function changeMode(app, gateway, select) {
  const mode = select.value;
  const body = [
    el("p", null, quoted(gateway.id), " changes from ", el("b", null, gateway.mode || "unknown"), " to ", el("b", null, mode), "."),
    el("p", null, MODE_MEANS[mode] ?? ""),
  ];
  const loose = mode === "shadow" || mode === "disabled";
  const answer = await ask({
    title: `Set the mode to ${mode}?`,
    body,
    action: `Set to ${mode}`,
    tone: loose ? "danger" : "primary",
  });
  if (answer === null) {
    select.value = gateway.mode;
    return;
  }
  asking.set(gateway.id, mode);
  select.disabled = true;
  select.after(waits());
  await app.change("state", { gateway: gateway.id, mode }, () => `The mode of ${gateway.id} is ${mode}.`, SLOW);
  asking.delete(gateway.id); // the next state redraws the choice
}

/**
 * Accepts the weaker settings that the page shows, and no later ones.
 * @param {App} app
 * @param {GatewayState} gateway
 */
export function acceptButton(app, { id, weakened, weakenedMark }) {
  const click = async () => {
    const body = [
      el("p", null, "You confirm that ", quoted(id), " may run with weaker settings than before. The settings do not change; this notice disappears."),
      el("ul", null, weakened.map(({ text }) => el("li", null, quoted(text)))),
    ];
    const why = await ask({
      title: "Accept the weaker settings?",
      body,
      action: "Accept",
      tone: "danger",
      field: "Reason (optional)",
    });
    if (why !== null)
      await app.change("state", { gateway: id, accept: weakenedMark, why }, () => `The settings of ${id} are accepted.`);
  };
  return button("Accept", click, { disabled: !app.mayChange, "data-focus": `accept ${id}`, title: visible(id) });
}

/**
 * @param {App} app
 * @param {string} gateway
 * @param {import("./shapes.js").StandingView} standing
 */
export function checkpointButton(app, gateway, { agent, session }) {
  const click = async () => {
    const body = [
      el("p", null, "You confirm that you have reviewed what ", quoted(agent), " did in ", quoted(session), ". Its budget is refilled."),
    ];
    const answer = await ask({ title: "Checkpoint", body, action: "Refill the budget" });
    if (answer !== null) await app.change("state", { gateway, checkpoint: { agent, session } }, () => "The budget is refilled.");
  };
  const focus = `checkpoint ${gateway} ${agent} ${session}`;
  return button("Checkpoint", click, { class: "small", disabled: !app.mayChange, "data-focus": focus });
}
