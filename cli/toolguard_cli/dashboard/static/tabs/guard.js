// The guard's decisions over time and one by one, and the state of each session.

import { get } from "../api.js";
import { Stack } from "../charts.js";
import { button, el, fill, quoted } from "../dom.js";
import * as format from "../format.js";
import { feed } from "../feed.js";
import { guardTotals } from "../guardtotals.js";
import { GROUPS, STOP, UNCHARTED } from "../kinds.js";
import { choice, num, table, unrecorded } from "../parts.js";
import { standings } from "../standings.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").GuardOverview} GuardOverview */

const TOP_CODES = 8;

/** @param {App} app @returns {import("../main.js").Tab} */
export function guard(app) {
  let gateway = "";
  const filter = el("div", { class: "controls" });
  const totals = el("div", { class: "totals" });
  const off = el("div");
  const layers = [
    ...GROUPS,
    { label: "Loops ended", color: "violet" },
    { label: "Other runs ended", color: "pink" },
    { label: "Other", color: "teal" },
  ];
  const chart = new Stack("Decisions over time", layers, format.compact);
  const saved = new Stack("Requests saved (estimate)", [{ label: "Requests saved", color: "violet" }], format.compact);
  const charts = el("div", { class: "stack" }, chart.root, saved.root);
  const codes = el("section", { class: "card" });
  const stands = el("section", { class: "stack", "aria-label": "Gateways and sessions" });
  const list = feed(app);
  /** Shows the decisions with this code. @param {string} code */
  const follow = (code) => {
    list.follow(code);
    list.root.scrollIntoView({ block: "start" });
    list.root.focus({ preventScroll: true });
  };
  const numbers = el("div", { class: "stack" }, off, totals, el("div", { class: "wide-narrow" }, charts, codes));

  const view = new View(
    app,
    numbers,
    (signal) => get("guard", { range: app.range, gateway }, signal),
    (/** @type {GuardOverview} */ got) => {
      fill(off, unrecorded(app));
      fill(totals, guardTotals(got.totals, got.savedPerLoop));
      chart.update(got.at, got.bucketMs, grouped(got));
      saved.update(got.at, got.bucketMs, [got.loops.map((loops) => loops * got.savedPerLoop)]);
      fill(codes, el("h3", null, "Reasons"), why(got.codes, got.words, (code) => follow(code)));
      list.codes(Object.keys(got.codes));
    },
  );

  const narrow = () => {
    const ids = (app.state?.gateways ?? []).map(({ id }) => id);
    const choices = [{ value: "", text: "All" }, ...ids.map((id) => ({ value: id, text: id }))];
    fill(filter, ids.length > 1 ? choice("Gateway", choices, gateway, choose) : null);
  };
  /** @param {string} id */
  const choose = (id) => {
    gateway = id;
    drawStands();
    list.narrow(id);
    void view.refresh();
  };
  const drawStands = () => fill(stands, standings(app, gateway));

  const changed = () => {
    narrow();
    drawStands();
  };
  changed();
  return {
    root: el("div", { class: "stack" }, filter, view.root, stands, list.root),
    refresh: () => Promise.all([view.refresh(), list.refresh()]),
    event: (event) => event.type === "decision" && list.take(event.decision),
    changed: (what) => (what === "state" ? changed() : list.pending()),
    follows: ["decision"],
  };
}

/** The columns of the chart. @param {GuardOverview} got */
function grouped({ at, kinds, loops }) {
  const known = new Set([STOP, ...GROUPS.flatMap((group) => group.kinds)]);
  const others = Object.keys(kinds).filter((kind) => !known.has(kind) && !UNCHARTED.has(kind));
  /** @param {string[]} names */
  const column = (names) => at.map((_, i) => names.reduce((sum, name) => sum + (kinds[name]?.[i] ?? 0), 0));
  const stops = column([STOP]).map((all, i) => Math.max(0, all - (loops[i] ?? 0)));
  return [...GROUPS.map((group) => column(group.kinds)), loops, stops, column(others)];
}

/**
 * The reasons in words, each with its code, which shows its decisions.
 * @param {Record<string, number>} codes
 * @param {Record<string, string>} words
 * @param {(code: string) => void} follow
 */
function why(codes, words, follow) {
  const sorted = Object.entries(codes).sort((one, other) => other[1] - one[1]);
  const rows = sorted.slice(0, TOP_CODES).map(([code, times]) => {
    const own = Object.hasOwn(words, code) ? words[code] : "";
    const link = button(quoted(code), () => follow(code), { class: "link", title: "Show these decisions", "data-focus": `code ${code}` });
    return el(
      "tr",
      null,
      el("th", { scope: "row", class: "long" }, ...(own ? [quoted(own), el("br", null)] : []), el("code", null, link)),
      el("td", { class: "num" }, format.count(times)),
    );
  });
  return table("Reasons", ["Reason", num("Count")], rows, "Nothing was held, stopped or blocked in this period.");
}
