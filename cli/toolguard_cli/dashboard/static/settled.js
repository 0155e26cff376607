// Held calls that are over: who answered, when and why, and which nobody answered or did not run in time.

import { get } from "./api.js";
import { button, el, fill, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { SETTLED, at } from "./kinds.js";
import { badge, choice, when } from "./parts.js";
import { View } from "./view.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").SettledCalls} SettledCalls */
/** @typedef {import("./shapes.js").SettledCall} SettledCall */

/** @type {Record<string, { label: string, tone: string }>} */
const ENDS = {
  missed: { label: "Missed", tone: "amber" },
  lapsed: { label: "Approval lapsed", tone: "amber" },
  revived: { label: "Asked again", tone: "blue" },
  expired: { label: "Expired", tone: "quiet" },
  denied: { label: "Denied", tone: "red" },
  used: { label: "Approved, ran", tone: "green" },
  unused: { label: "Approved, did not run", tone: "amber" },
};

const NOTHING = "Nothing was answered in the last 24 hours or missed in the last 7 days.";
const UNREAD = "Some held calls cannot be read, so what was answered or missed is not known.";

/** @param {App} app */
export function history(app) {
  /** @type {SettledCalls | null} */ let known = null;
  let only = "";
  let changeable = false;
  const list = el("ol", { class: "feed" });
  const hint = el("p", { class: "quiet" });
  const choices = [{ value: "", text: "All" }, ...Object.entries(ENDS).map(([value, { label }]) => ({ value, text: label }))];
  const filter = choice("Outcome", choices, "", (value) => {
    only = value;
    draw();
  });
  const draw = () => {
    changeable = app.mayChange;
    const all = known?.settled ?? [];
    const shown = all.filter(({ status }) => !only || status === only);
    fill(hint, all.length ? "None with this outcome." : known?.problems.length ? UNREAD : NOTHING);
    hint.hidden = shown.length > 0;
    fill(list, shown.map((one) => entry(app, one, () => void view.refresh())));
  };
  const view = new View(
    app,
    el("div", null, hint, list),
    (signal) => get("settled", {}, signal),
    (/** @type {SettledCalls} */ got) => {
      const same = JSON.stringify({ ...got, now: 0 }) === JSON.stringify({ ...known, now: 0 });
      if (same) return; // an open call stays open
      known = got;
      draw();
    },
  );
  const head = el("header", { class: "row" }, el("h3", null, "Answered and missed"), filter);
  return {
    root: el("section", { class: "card", id: SETTLED, "aria-label": "Answered and missed" }, head, view.root),
    refresh: () => view.refresh(),
    /** Changes may be permitted now, or no longer. */
    allow: () => {
      if (changeable !== app.mayChange) draw();
    },
  };
}

/** @param {App} app @param {SettledCall} call @param {() => void} changed */
function entry(app, call, changed) {
  const { label, tone } = ENDS[call.status] ?? { label: call.status, tone: "quiet" };
  return el(
    "li",
    { class: "entry", "data-settled": call.nonce },
    el(
      "p",
      { class: "entry-head" },
      badge(label, tone),
      el("b", null, quoted(call.tool)),
      el("code", { class: "quiet", title: "nonce" }, quoted(call.nonce)),
      when(call.decided, app.now),
    ),
    el("p", { class: "reason" }, quoted(call.reason, "No reason given.")),
    el("p", { class: "quiet who" }, answered(call)),
    el(
      "p",
      { class: "quiet who" },
      [call.agent, call.session, call.gateway].filter(Boolean).flatMap((text, i) => [i ? " · " : "", quoted(text)]),
    ),
    call.undo && el("p", { class: "quiet who" }, quoted(call.undo)),
    ["missed", "lapsed"].includes(call.status) && revival(app, call, changed),
    call.shown &&
      el(
        "details",
        { class: "shown" },
        el("summary", null, "The call"),
        el("pre", { dir: "ltr" }, el("bdi", null, visible(call.shown))),
      ),
  );
}

/** @param {App} app @param {SettledCall} call @param {() => void} changed */
function revival(app, { gateway, nonce }, changed) {
  const click = async () => {
    if (await app.change("revive", { gateway, nonce }, ({ text }) => `${text}.`)) changed();
  };
  const title = "The agent makes the call again, and it is held again; nothing is approved";
  return button("Ask the agent again", click, { class: "small", disabled: !app.mayChange, title, "data-focus": `revive ${nonce}` });
}

/** Who answered, where, how soon and why. @param {SettledCall} call */
function answered({ status, by, where, why, created, decided }) {
  const after = `after ${format.span(decided - created)}`;
  const reason = why && [": ", quoted(why)];
  if (status === "missed") return [`Nobody answered; it expired ${after}`];
  if (status === "lapsed") return [["approved", by && [" by ", quoted(by)], where && [" ", quoted(at(where) ?? "")], `, but did not run; it lapsed ${after}`], reason].flat(3);
  if (status === "expired") return [`expired ${after}`, reason].flat();
  return [by ? ["by ", quoted(by)] : "answered", where && [" ", quoted(at(where) ?? "")], ` ${after}`, reason].flat(2);
}
