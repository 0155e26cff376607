// What the overview begins with: whether calls are guarded, what waits, what was missed, which loops were broken.

import { button, coded, el, quoted } from "./dom.js";
import * as format from "./format.js";
import { SETTLED } from "./kinds.js";
import { badge, command, total, when } from "./parts.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").GatewayState} GatewayState */
/** @typedef {import("./shapes.js").GuardTotals} GuardTotals */
/** @typedef {import("./shapes.js").Savings} Savings */
/** @typedef {import("./shapes.js").SettledCalls} SettledCalls */

const LISTED = 5;
const COMMAND = /^(?:toolguard|openclaw) [^,]*$/;

/** Worst first; a gateway that does not run is no danger. @type {Record<string, { label: string, tone: string }>} */
const STATES = {
  off: { label: "Not guarded", tone: "red" },
  unproven: { label: "Unproven", tone: "red" },
  partly: { label: "Partly guarded", tone: "red" },
  observing: { label: "Observing", tone: "amber" },
  stopped: { label: "All calls blocked", tone: "red" },
  guarded: { label: "Guarded", tone: "green" },
  idle: { label: "Not running", tone: "quiet" },
};

/** States that an engine has reported, which starts from scratch with each reload of the plugin. */
const BY_ENGINE = new Set(["guarded", "observing", "partly"]);

/** @param {string} state */
const named = (state) => STATES[state] ?? { label: state, tone: "quiet" };

/**
 * @param {App} app
 * @param {GuardTotals | null} guard
 * @param {SettledCalls | null} settled
 * @param {Savings | null} savings
 */
export function lead(app, guard, settled, savings) {
  return [protection(app), waiting(app), missed(app, settled), loops(app, guard, savings)];
}

/** @param {App} app */
function protection(app) {
  const gateways = app.state?.gateways ?? [];
  const { text, tone } = summary(gateways.map((one) => one.protection.state));
  const order = Object.keys(STATES);
  const sorted = [...gateways].sort(
    (one, other) => order.indexOf(one.protection.state) - order.indexOf(other.protection.state),
  );
  return el(
    "div",
    { class: `card total protection ${tone}`, role: "group", "aria-label": "Guard" },
    el("div", { class: "label" }, "Guard"),
    el("div", { class: "number", "data-protection": tone }, app.state ? text : "…"),
    el("ul", null, sorted.slice(0, LISTED).map((one) => state(app, one, gateways.length > 1))),
    gateways.length > LISTED && el("p", { class: "detail" }, `and ${format.count(gateways.length - LISTED)} more under Gateways`),
  );
}

/**
 * All gateways in one statement.
 * @param {string[]} states
 * @returns {{ text: string, tone: string }}
 */
export function summary(states) {
  const awake = states.filter((one) => one !== "idle");
  const guarded = awake.filter((one) => one === "guarded").length;
  const { label, tone } = named(Object.keys(STATES).find((one) => states.includes(one)) ?? "");
  if (!states.length) return { text: "No gateway", tone: "amber" };
  if (guarded && guarded < awake.length)
    return { text: `${format.count(guarded)} of ${format.count(awake.length)} guarded`, tone };
  return { text: label, tone };
}

/** @param {App} app @param {GatewayState} gateway @param {boolean} several */
function state(app, { id, protection: { state, since, text, fix }, mode }, several) {
  const { label, tone } = named(state);
  return el(
    "li",
    { "data-gateway": id },
    several && badge(label, tone),
    several && " ",
    el("b", null, quoted(id)),
    since ? el("span", null, BY_ENGINE.has(state) ? " engine started " : " since ", when(since, app.now)) : null,
    el("span", { class: "quiet" }, state === "guarded" ? ` · mode ${mode}` : " · "),
    state !== "guarded" && quoted(text),
    fix && el("span", null, ". Next: ", COMMAND.test(fix) ? command(fix) : quoted(fix)),
  );
}

/** @param {App} app */
function waiting(app) {
  const open = (app.pending?.pending ?? []).filter(({ status }) => status === "pending");
  const unread = Boolean(app.pending?.unread.length);
  const next = open.length ? Math.min(...open.map(({ expires }) => expires)) : 0;
  const oldest = open.length ? Math.min(...open.map(({ created }) => created)) : 0;
  return total({
    name: "waiting",
    label: "Waiting for you",
    value: open.length,
    text: app.pending ? (open.length || !unread ? format.count(open.length) : "?") : "…",
    tone: open.length ? "amber" : "",
    detail: open.length ? `the next one expires in ${format.span(next - app.now)}` : unread ? "held calls cannot be read" : "no call is held",
    more: open.length ? ["held ", when(oldest, app.now), " ", toApprovals("Answer", "answer")] : null,
  });
}

/** @param {App} app @param {SettledCalls | null} settled */
function missed(app, settled) {
  const last = settled?.settled.find(({ status }) => ["missed", "lapsed"].includes(status));
  return total({
    name: "missed",
    label: "Missed",
    value: settled?.missed ?? 0,
    text: settled ? (settled.missed || !settled.problems.length ? format.count(settled.missed) : "?") : "…",
    tone: settled?.missed ? "amber" : "",
    detail: "expired unanswered, or approved and did not run, in the last 7 days",
    more: last ? [quoted(last.tool), " ", when(last.decided, app.now), " ", toApprovals("Show", "missed", SETTLED)] : null,
  });
}

/** @param {App} app @param {GuardTotals | null} guard @param {Savings | null} savings */
function loops(app, guard, savings) {
  const recorded = guard?.judged || (app.state?.gateways ?? []).some(({ recording }) => recording);
  const text = guard && recorded ? format.compact(guard.loops) : "–";
  const money = savings?.usd ? ` worth ${format.money(savings.usd)}` : "";
  const more = guard?.requestsSaved ? `≈ ${format.compact(guard.requestsSaved)} requests${money} saved (estimate)` : null;
  const corrected = `in the last ${app.span}; ${format.counted(guard?.malformed ?? 0, "malformed call")} corrected`;
  const detail = recorded
    ? corrected
    : coded("recording is off; to turn it on, run `toolguard config set metrics.enabled true`");
  return total({ name: "loops", label: "Loops ended", value: guard?.loops ?? 0, text, detail, more });
}

/** Opens the held calls; `part` of them, if it is given. @param {string} text @param {string} focus @param {string} [part] */
function toApprovals(text, focus, part) {
  const scroll = () => part && document.getElementById(part)?.scrollIntoView({ block: "start" });
  const click = () => {
    addEventListener("hashchange", scroll, { once: true }); // after the tab was opened
    location.hash = "#approvals";
  };
  return button(text, click, { class: "small", "data-focus": `lead ${focus}` });
}
