// First the guard: is it on, what waits, what was missed. Then the usage and cost of all gateways, and what the guard did.

import { get } from "../api.js";
import { COSTS, Stack, TOKENS, columns } from "../charts.js";
import { el, fill } from "../dom.js";
import * as format from "../format.js";
import { guardTotals } from "../guardtotals.js";
import { lead } from "../lead.js";
import { costNote, costOf, nothingYet, shareTable, total, trend, unrecorded, when } from "../parts.js";
import { forecastCard, limits } from "../spending.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").MetricsOverview} MetricsOverview */
/** @typedef {import("../shapes.js").Share} Share */
/** @typedef {import("../shapes.js").Spending} Spending */
/** @typedef {import("../shapes.js").Timeseries} Timeseries */

const TOP = 8;

/** The incomplete bucket of each range. */
const RUNNING = { "24h": "the current hour", "7d": "the current 6 hours", "30d": "the current day" };

/** @param {App} app @returns {import("../main.js").Tab} */
export function overview(app) {
  /** @type {MetricsOverview | null} */ let newest = null;
  /** @type {import("../shapes.js").SettledCalls | null} */ let settled = null;
  /** @type {import("../shapes.js").Savings | null} */ let saved = null;
  const first = el("div", { class: "totals lead" });
  const reach = el("p", { class: "quiet" });
  const totals = el("div", { class: "totals" });
  const capped = el("div");
  const tokens = new Stack("Tokens", TOKENS, format.compact);
  const costs = new Stack("Cost", COSTS, format.money, false);
  const tops = el("div", { class: "halves" });
  const guard = el("section", { "aria-label": "Guard" });
  const hint = el("div");
  const body = el(
    "div",
    { class: "stack" },
    hint,
    reach,
    totals,
    capped,
    el("div", { class: "halves" }, tokens.root, costs.root),
    tops,
    guard,
  );

  /** @param {AbortSignal} signal @returns {Promise<[MetricsOverview, Timeseries, Spending]>} */
  const load = (signal) =>
    Promise.all([
      get("overview", { range: app.range }, signal),
      get("timeseries", { range: app.range }, signal),
      get("spending", { range: app.range }, signal),
    ]);
  const begin = () => fill(first, lead(app, newest && newest.guard, settled, saved));
  /** What was missed does not depend on the metrics: it is shown even if they cannot be read. */
  const loadSettled = async () => {
    settled = await get("settled").catch(() => settled);
    begin();
  };
  const view = new View(app, body, load, ([now, times, spending]) => {
    newest = now;
    saved = spending.savings;
    begin();
    fill(hint, now.since === null ? nothingYet(app) : quiet(now));
    fill(reach, reaches(now, times.bucketMs));
    fill(totals, usage(now, app.span, forecastCard(spending)));
    fill(capped, limits(spending));
    const { tokens: used, costs: paid } = columns(times);
    tokens.update(times.at, times.bucketMs, used);
    costs.update(times.at, times.bucketMs, paid);
    fill(tops, top("Gateways", now.gateways, now.totals.total), top("Models", now.models, now.totals.total));
    fill(guard, el("h3", null, "What the guard did"), unrecorded(app), el("div", { class: "totals" }, guardTotals(now.guard, undefined, spending.savings).slice(1))); // loops are above
  });
  begin();
  return {
    root: el("div", { class: "stack" }, first, view.root),
    refresh: () => Promise.all([view.refresh(), loadSettled()]),
    changed: (what) => (what === "pending" ? void loadSettled() : begin()),
    follows: ["call", "decision"],
  };
}

/** Shown if this range is empty but older data exists. @param {MetricsOverview} now */
function quiet({ totals, last, now }) {
  if (totals.calls || last === null) return null;
  return el("p", { class: "notice" }, "No model calls in this period; the last one was ", when(last, now), ".");
}

/** The start of the range, and how it is compared. @param {MetricsOverview} overview @param {number} size of a bucket, ms */
function reaches({ range, start, previous }, size) {
  const since = `Since ${format.bucket(start, size)}${size >= format.DAY ? " (UTC)" : ""}`;
  return previous ? `${since}; comparisons exclude ${RUNNING[range]}.` : `${since}.`;
}

/** @param {MetricsOverview} overview @param {string} span @param {HTMLElement} forecast */
function usage({ totals, ended, previous }, span, forecast) {
  const { input, output, cacheRead, cacheWrite } = totals;
  const exact = format.compact(totals.total) === format.count(totals.total) ? "" : `${format.count(totals.total)}: `;
  const parts =
    totals.total &&
    `${exact}${format.compact(input)} in (uncached), ${format.compact(output)} out, ${format.compact(cacheRead + cacheWrite)} cache`;
  const mean = totals.timed ? `${format.duration(totals.durationMs / totals.timed)} each on average` : "";
  const rate = totals.calls ? `${format.percent(totals.failed / totals.calls)} of all calls` : "";
  return [
    total({
      name: "tokens",
      label: "Tokens",
      value: totals.total,
      text: format.compact(totals.total),
      detail: parts || "",
      more: trend(ended.total, previous?.total, span),
    }),
    total({
      name: "cost",
      label: "Cost",
      value: totals.costUsd,
      text: costOf(totals),
      detail: costNote(totals),
      more: trend(ended.costUsd, previous?.costUsd, span),
    }),
    ...(totals.priced ? [forecast] : []),
    total({
      name: "calls",
      label: "Model calls",
      value: totals.calls,
      text: format.compact(totals.calls),
      detail: mean,
      more: trend(ended.calls, previous?.calls, span),
    }),
    total({
      name: "failed",
      label: "Failed calls",
      value: totals.failed,
      text: format.compact(totals.failed),
      detail: rate,
      more: trend(ended.failed, previous?.failed, span),
    }),
  ];
}

/** @param {string} title @param {Share[]} shares @param {number} all */
function top(title, shares, all) {
  const caption = `Top ${title.toLowerCase()}`;
  const more = shares.length > TOP ? el("p", { class: "quiet" }, `and ${format.count(shares.length - TOP)} more`) : null;
  const listed = shareTable(caption, title.slice(0, -1), shares.slice(0, TOP), all);
  return el("section", { class: "card" }, el("h3", null, caption), listed, more);
}
