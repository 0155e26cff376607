// Held calls that are over: who answered, when and why, and which nobody answered.

import { get } from "./api.js";
import { el, fill, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { at } from "./kinds.js";
import { badge, choice, when } from "./parts.js";
import { View } from "./view.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").Settled} Settled */
/** @typedef {import("./shapes.js").SettledCall} SettledCall */

/** @type {Record<string, { label: string, tone: string }>} */
const ENDS = {
  expired: { label: "Missed", tone: "amber" },
  denied: { label: "Denied", tone: "red" },
  used: { label: "Approved, ran", tone: "green" },
};

/** @param {App} app */
export function history(app) {
  /** @type {Settled | null} */ let known = null;
  let only = "";
  const list = el("ol", { class: "feed" });
  const hint = el("p", { class: "quiet" });
  const choices = [{ value: "", text: "All" }, ...Object.entries(ENDS).map(([value, { label }]) => ({ value, text: label }))];
  const filter = choice("Outcome", choices, "", (value) => {
    only = value;
    draw();
  });
  const draw = () => {
    const all = known?.settled ?? [];
    const shown = all.filter(({ status }) => !only || status === only);
    fill(hint, shown.length ? null : all.length ? "None with this outcome." : "Nothing was answered or missed in the last 24 hours.");
    hint.hidden = shown.length > 0;
    fill(list, shown.map((one) => entry(one, app.now)));
  };
  const view = new View(
    app,
    el("div", null, hint, list),
    (signal) => get("settled", {}, signal),
    (/** @type {Settled} */ got) => {
      if (JSON.stringify(got.settled) === JSON.stringify(known?.settled)) return;
      known = got;
      draw();
    },
  );
  const head = el("header", { class: "row" }, el("h3", null, "Answered and missed in the last 24 hours"), filter);
  return {
    root: el("section", { class: "card", "aria-label": "Answered and missed" }, head, view.root),
    refresh: () => view.refresh(),
  };
}

/** @param {SettledCall} call @param {number} now */
function entry(call, now) {
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
      when(call.decided, now),
    ),
    el("p", { class: "reason" }, quoted(call.reason, "No reason given.")),
    el("p", { class: "quiet who" }, answered(call)),
    el(
      "p",
      { class: "quiet who" },
      [call.agent, call.session, call.gateway].filter(Boolean).flatMap((text, i) => [i ? " · " : "", quoted(text)]),
    ),
    call.shown &&
      el(
        "details",
        { class: "shown" },
        el("summary", null, "The call"),
        el("pre", { dir: "ltr" }, el("bdi", null, visible(call.shown))),
      ),
  );
}

/** Who answered, where, how soon and why. @param {SettledCall} call */
function answered({ status, by, where, why, created, decided }) {
  const after = `after ${format.span(decided - created)}`;
  const reason = why && [": ", quoted(why)];
  if (status === "expired") return [`Nobody answered; it expired ${after}`, reason].flat();
  return [by ? ["by ", quoted(by)] : "answered", where && [" ", quoted(at(where) ?? "")], ` ${after}`, reason].flat(2);
}
