// A card for one held call of the fleet: the call, who may approve it, the command that signs a yes, and the button to deny.

import { ask, say } from "./dialogs.js";
import { badge, command, when } from "./parts.js";
import { button, el, fill, quoted, visible } from "./dom.js";
import { outcome, sign } from "./fleetsigning.js";
import * as format from "./format.js";
import { heldCall } from "./heldview.js";
import { fact } from "./waiting.js";

/** @typedef {import("./fleetapp.js").FleetApp} FleetApp */
/** @typedef {import("./fleetshapes.js").FleetCallView} FleetCallView */

const URGENT = 30_000; // ms
/** @type {Record<string, string>} */
const ENDS = {
  used: "Approved, and passed to its gateway to run once.",
  denied: "Denied.",
  expired: "Expired unanswered.",
};

/** @param {FleetApp} app @param {FleetCallView} first */
export function fleetCard(app, first) {
  let held = first;
  let over = "";
  let busy = false;
  let verified = "";
  let byPasskey = app.hasPasskey;
  const { nonce, gateway } = first;
  const left = el("span", { class: "left" });
  const state = el("p", { class: "state", role: "status" });
  const people = el("div");
  const signs = el("div", { class: "signs" });
  const deny = button("Deny", () => refuse(), { class: "danger", "data-focus": `deny ${gateway} ${nonce}` });
  const choices = el("div", { class: "choices" }, signs, el("div", { class: "actions" }, deny));
  const root = el(
    "article",
    { class: "card held", "data-nonce": nonce, "aria-labelledby": `held-${nonce}`, tabindex: -1 },
    el(
      "header",
      { class: "row" },
      el("h3", { id: `held-${nonce}` }, el("b", null, quoted(first.tool, "a call that cannot be read")), " ", el("code", null, nonce)),
      el("span", { class: "clock" }, left),
    ),
    callText(first),
    unreadable(first),
    el(
      "dl",
      { class: "facts" },
      fact("Team", first.team),
      fact("Gateway", `${first.gateway}${first.host ? ` on ${first.host}` : ""}`),
      fact("Agent", first.agent),
      fact("Session", first.session),
      first.requester ? fact("Requested by", first.requester) : null,
      fact("Folder", first.cwd, "the agent's workspace"),
    ),
    people,
    state,
    choices,
  );

  const draw = () => {
    byPasskey = app.hasPasskey;
    root.classList.toggle("over", Boolean(over));
    choices.hidden = Boolean(over);
    deny.hidden = app.role === "viewer";
    deny.disabled = busy;
    const label = held.status === "approved" ? "Withdraw approval" : "Deny";
    if (deny.textContent !== label) fill(deny, label);
    fill(people, over ? null : progress(held, app.now));
    fill(signs, over ? null : signing(app, held, busy, approve));
    fill(state, verified ? visible(verified) : over ? visible(over) : held.status === "approved" ? "Approved. It has not run yet: the gateway checks the signatures and runs it once." : null);
    beat();
  };
  const beat = () => {
    const remains = held.expires - app.now;
    root.classList.toggle("urgent", !over && held.status === "pending" && remains < URGENT);
    const text = over ? "" : remains > 0 ? `${format.left(remains)} left` : "Time is up";
    if (left.textContent !== text) left.textContent = text;
  };
  const refuse = async () => {
    const why = await ask({
      title: `Deny ${nonce}?`,
      body: [el("p", null, "The agent is notified that ", quoted(held.tool), " was denied, with the reason.")],
      action: "Deny",
      tone: "danger",
      field: "Reason (optional)",
    });
    if (why === null || over) return;
    busy = true;
    draw();
    const done = await app.change("deny", { gateway, nonce, why });
    busy = false;
    if (done) over = `Denied by ${app.person}.`;
    draw();
    app.refresh();
  };
  const approve = async () => {
    busy = true;
    draw();
    const since = app.now;
    const done = await sign(app, held, callText);
    busy = false;
    draw();
    app.refresh();
    if (!done) return;
    verified = await outcome(app, held, since);
    draw();
  };
  draw();
  return {
    root,
    beat,
    /** @param {FleetCallView} next */
    update: (next) => {
      if (JSON.stringify(next) === JSON.stringify(held) && !over && byPasskey === app.hasPasskey) return;
      held = next;
      over = "";
      draw();
    },
    /** It is no longer listed. @param {FleetCallView | undefined} closed what became of it, if that is known */
    end: (closed) => {
      if (over && !closed) return;
      over = closed ? ending(closed) : "No longer waiting.";
      draw();
    },
    isOver: () => Boolean(over),
  };
}

/** @param {FleetCallView} call */
export function ending(call) {
  if (call.rejected) return `Approved, but its gateway rejected the approval, so it did not run: ${call.rejected}.`;
  const by = call.by ? ` By ${call.by}${call.why ? `: ${call.why}` : ""}.` : "";
  return `${ENDS[call.status] ?? call.status}${by}`;
}

/** @param {FleetCallView} call @param {boolean} [signs] */
export const callText = (call, signs = false) =>
  call.view ? heldCall(call.view, call.nonce, signs) : raw(call);

/** An entry that cannot be read, as it came. @param {FleetCallView} call */
const raw = (call) =>
  el(
    "pre",
    { class: "call", dir: "ltr", tabindex: "0", role: "region", "aria-label": `The call ${call.nonce}` },
    el("bdi", null, visible(call.shown)),
  );

/** @param {FleetCallView} call */
function unreadable({ readable, whole }) {
  if (readable && whole) return null;
  const text = readable
    ? " Parts of this call cannot be shown here. Check the whole call in the agent's session before you approve it."
    : " Its gateway sent it in a format that this page cannot read.";
  return el("p", { class: "notice" }, badge("incomplete", "amber"), text);
}

/** Who has approved, and who may. @param {FleetCallView} held @param {number} now */
function progress(held, now) {
  const yes = held.decisions.filter(({ verdict }) => verdict === "approved");
  const rest = held.mayApprove.filter((id) => !yes.some(({ approver }) => approver === id));
  const need = held.need > 1 ? `${yes.length} of ${held.need} approvals` : yes.length ? "Approved" : "Needs one approval";
  return el(
    "ul",
    { class: "people", "aria-label": "Approvals" },
    el("li", null, badge(need, yes.length >= held.need ? "green" : "blue")),
    yes.map(({ approver, at }) => el("li", null, el("b", null, quoted(approver)), " ", when(at, now))),
    rest.length
      ? el("li", { class: "quiet" }, "may approve: ", quoted(rest.join(", ")))
      : yes.length >= held.need
        ? null
        : el("li", null, badge("nobody else may approve this", "red")),
    held.needTeams.length ? el("li", { class: "quiet" }, "needs approval from team ", quoted(held.needTeams.join(" or "))) : null,
  );
}

/**
 * What signs a yes: a passkey, or a command.
 * @param {FleetApp} app @param {FleetCallView} held @param {boolean} busy @param {() => void} approve
 */
function signing(app, held, busy, approve) {
  if (held.status !== "pending") return null;
  if (!held.may) {
    const mine = held.decisions.some(({ approver, verdict }) => approver === app.person && verdict === "approved");
    return el("p", null, mine ? "You have approved this call. It needs another approval." : "You cannot approve this call.");
  }
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(held.command);
      say("Copied. Run it on your own machine: it signs with your key.");
    } catch {
      say("The browser does not allow copying here. Select the command and copy it yourself.", "bad");
    }
  };
  const byPasskey = app.hasPasskey && held.readable && held.whole;
  const props = { class: "primary", disabled: busy, "data-focus": `approve ${held.gateway} ${held.nonce}` };
  return [
    byPasskey ? button("Approve with a passkey", approve, props) : null,
    el("p", null, byPasskey ? "Or run on your own machine:" : "To approve it once, sign with your key. Run on your own machine:"),
    command(held.command),
    button("Copy", copy, { class: "small", "data-focus": `copy ${held.gateway} ${held.nonce}` }),
  ];
}
