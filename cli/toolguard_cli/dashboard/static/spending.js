// Where the running day and month will end, and how far the limits are used up.

import { el, quoted } from "./dom.js";
import * as format from "./format.js";
import { badge, bar, command, total } from "./parts.js";

/** @typedef {import("./shapes.js").CapUse} CapUse */
/** @typedef {import("./shapes.js").Spending} Spending */

/** @type {Record<string, { label: string, tone: string }>} */
const STATES = {
  free: { label: "below the limit", tone: "green" },
  near: { label: "above 80%", tone: "amber" },
  reached: { label: "reached", tone: "red" },
};

/** @param {Spending} spending */
export function forecastCard({ forecast: { day, month } }) {
  const missing = month.partly ? "; calls without a known price are not included" : "";
  return total({
    name: "forecast",
    label: "Forecast (month)",
    value: month.forecastUsd,
    text: `≈ ${format.money(month.forecastUsd)}`,
    detail: `at the pace of the last 7 days; ${format.money(month.usedUsd)} so far${missing}`,
    more: `today ≈ ${format.money(day.forecastUsd)}; ${format.money(day.usedUsd)} so far (days in UTC)`,
  });
}

/** The limits, the most used first; null if there are none. @param {Spending} spending */
export function limits({ caps }) {
  if (!caps.length) return null;
  const sorted = [...caps].sort((one, other) => other.share - one.share);
  return el("section", { class: "card" }, el("h3", null, "Limits"), el("ul", { class: "limits" }, sorted.map(limit)));
}

/** @param {CapUse} cap */
function limit(cap) {
  const { label, tone } = STATES[cap.state] ?? { label: cap.state, tone: "quiet" };
  const amount = (/** @type {number} */ value) => (cap.unit === "usd" ? format.money(value) : `${format.compact(value)} tokens`);
  return el(
    "li",
    { "data-cap": cap.key },
    el("span", { class: "share" }, bar(Math.min(1, cap.share), tone), el("b", null, quoted(cap.words)), badge(label, tone)),
    el(
      "span",
      { class: "quiet" },
      `${amount(cap.used)} used (${format.percent(cap.share)})`,
      cap.session && " by the session that used the most, ",
      cap.session && quoted(cap.session),
      cap.forecast === null ? null : `; ≈ ${amount(cap.forecast)} by the end of the period`,
      cap.due === null ? null : `; reached ${format.moment(cap.due)} at this pace`,
      cap.unpriced.length > 0 && "; not counted, because their price is not known: ",
      cap.unpriced.length > 0 && quoted(cap.unpriced.join(", ")),
    ),
    cap.state !== "free" && cap.raiseCommand && el("span", null, "To raise it: ", command(cap.raiseCommand)),
  );
}
