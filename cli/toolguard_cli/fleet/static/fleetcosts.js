// What model calls cost: by day, team, gateway, agent or model.

import { Stack } from "./charts.js";
import { el, fill, quoted } from "./dom.js";
import { get } from "./fleetapi.js";
import * as format from "./format.js";
import { badge, choice, num, shareCell, skeleton, table, total } from "./parts.js";

/** @typedef {import("./fleetshapes.js").FleetCosts} FleetCosts */

const HOUR = 3_600_000;
const HOURLY = 72; // hours for which there are sums by the hour
const PERIODS = [
  { value: "24", text: "24 hours" },
  { value: "168", text: "7 days" },
  { value: "720", text: "30 days" },
];
const KINDS = [
  { value: "team", text: "team" },
  { value: "gateway", text: "gateway" },
  { value: "agent", text: "agent" },
  { value: "model", text: "model" },
];

/** @param {import("./fleetapp.js").FleetApp} app */
export function costsView(app) {
  const asked = { hours: "168", by: "team" };
  const totals = el("div", { class: "totals" }, skeleton(3));
  const share = el("section", { class: "card", "aria-label": "Shares" });
  const chart = new Stack("Cost over time", [{ label: "Cost", color: "blue" }], format.money, false);
  const choices = el(
    "div",
    { class: "controls" },
    choice("Period", PERIODS, asked.hours, (value) => change("hours", value)),
    choice("By", KINDS, asked.by, (value) => change("by", value)),
  );
  const root = el("div", { class: "stack" }, choices, totals, chart.root, share);
  let key = "";
  /** @param {"hours" | "by"} name @param {string} value */
  const change = (name, value) => {
    asked[name] = value;
    app.refresh();
  };
  const load = async () => {
    const hourly = Number(asked.hours) <= HOURLY;
    const [parts, times] = await Promise.all([get("costs", asked), get("costs", { hours: asked.hours, by: hourly ? "hour" : "day" })]);
    const next = JSON.stringify([asked, parts, times]);
    if (next === key) return;
    key = next;
    fill(totals, sums(parts));
    fill(share, el("h2", null, `By ${asked.by}`), shares(parts));
    const size = hourly ? HOUR : format.DAY;
    const { at, columns } = columnsOf(times, size, Number(asked.hours) * HOUR, app.now);
    chart.update(at, size, columns);
  };
  return { root, load };
}

/** @param {FleetCosts} found */
function sums(found) {
  const note =
    found.priced < found.calls
      ? `not included: ${format.counted(found.calls - found.priced, "call")} without a known price`
      : "";
  const kinds = Object.entries(found.verdicts).sort(([, one], [, other]) => other - one).slice(0, 6);
  return [
    total({ name: "cost", label: "Cost", value: found.costUsd, text: format.cost(found.costUsd, found.estimatedUsd > 0), detail: note }),
    total({ name: "calls", label: "Model calls", value: found.calls, text: format.compact(found.calls) }),
    total({ name: "tokens", label: "Tokens", value: found.total, text: format.compact(found.total) }),
    el("div", { class: "card total", role: "group", "aria-label": "Verdicts" }, el("div", { class: "label" }, "Verdicts"), el("div", { class: "badges" }, kinds.length ? kinds.map(([kind, many]) => badge(`${kind} ${format.compact(many)}`, "quiet")) : el("span", { class: "quiet" }, "none"))),
  ];
}

/** @param {FleetCosts} found */
function shares(found) {
  const rows = found.rows.map((one) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, quoted(one.name, "unnamed")),
      el("td", { class: "num" }, format.compact(one.calls)),
      el("td", { class: "num" }, format.compact(one.total)),
      el("td", null, shareCell(found.costUsd ? one.costUsd / found.costUsd : 0)),
      el("td", { class: "num" }, format.cost(one.priced ? one.costUsd : null, one.estimatedUsd > 0)),
    ),
  );
  return table("Shares of the cost", ["Name", num("Calls"), num("Tokens"), "Share", num("Cost")], rows, "No model calls in this period.");
}

/** One column for each hour or day. @param {FleetCosts} times @param {number} size @param {number} span @param {number} now */
function columnsOf(times, size, span, now) {
  const known = new Map(times.rows.map(({ name, costUsd }) => [Number(name), costUsd]));
  const last = Math.floor(now / size) * size;
  const at = Array.from({ length: Math.round(span / size) + 1 }, (_, i) => last - Math.round(span / size) * size + i * size);
  return { at, columns: [at.map((one) => known.get(one) ?? 0)] };
}
