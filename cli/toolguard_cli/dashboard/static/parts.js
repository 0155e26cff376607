// Elements that several tabs use.

import { el, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { named } from "./kinds.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./shapes.js").Totals} Totals */

/** @param {string} label @param {string} tone */
export const badge = (label, tone) => el("span", { class: `badge ${tone}` }, quoted(label));

/** @param {string} kind */
export function kindBadge(kind) {
  const { label, tone } = named(kind);
  return badge(label, tone);
}

/** A relative time; `main.js` keeps it up to date. @param {number} at @param {number} now */
export function when(at, now) {
  const props = { class: "when", datetime: new Date(at).toISOString(), title: format.moment(at), "data-at": at };
  return el("time", props, format.relative(at, now));
}

/** @param {number} share 0 to 1 @param {string} [color] */
export const bar = (share, color = "accent") =>
  el("span", { class: "bar", "aria-hidden": "true" }, el("span", { class: `fill ${color}`, vars: { share } }));

/** A share in words and as a bar. @param {number} share */
export const shareCell = (share) => el("span", { class: "share" }, bar(share), el("span", null, format.percent(share)));

/** An entry of a legend. @param {string} color @param {Child} label @param {string} value */
export const legendItem = (color, label, value) =>
  el("li", null, el("span", { class: `swatch ${color}`, "aria-hidden": "true" }), label, " ", el("b", null, value));

/** @param {string} text */
export const command = (text) => el("code", { class: "command" }, text);

/**
 * A card with a large number. `value`: the raw number.
 * @param {{ name: string, label: string, value: number, text: string, detail?: Child | Child[], more?: Child | Child[], tone?: string, title?: string }} props
 */
export function total({ name, label, value, text, detail, more, tone = "", title }) {
  return el(
    "div",
    { class: `card total ${tone}`, role: "group", "aria-label": label },
    el("div", { class: "label" }, label),
    el("div", { class: "number", "data-total": name, "data-value": value, title }, text),
    detail && el("div", { class: "detail" }, detail),
    more && el("div", { class: "trend" }, more),
  );
}

/**
 * Compares a number with that of the period before, if known. Neutral: more can be good or bad.
 * @param {number} now
 * @param {number | undefined} before
 * @param {string} span
 */
export function trend(now, before, span) {
  if (before === undefined) return "";
  if (!before) return now ? `none in the previous ${span}` : "";
  const change = now / before - 1;
  if (change > 2)
    return [el("span", { "aria-hidden": "true" }, "▲ "), `${format.decimal(now / before)} times the total of the previous ${span}`];
  if (Math.abs(change) < 0.005) return `same as in the previous ${span}`;
  const arrow = el("span", { "aria-hidden": "true" }, change > 0 ? "▲ " : "▼ ");
  return [arrow, `${format.percent(Math.abs(change))} ${change > 0 ? "more" : "less"} than in the previous ${span}`];
}

/** How exact a cost is. @param {Totals} totals */
export function costNote({ calls, priced, estimatedUsd, costUsd }) {
  if (!calls) return "";
  if (!priced) return "no price is known for any call";
  const unknown = calls - priced;
  const known =
    unknown > 0 ? `${format.counted(unknown, "call")} without a known price ${unknown === 1 ? "is" : "are"} not included` : "";
  if (!estimatedUsd) return known || "as reported by the gateways";
  const part = estimatedUsd >= costUsd * 0.9995 ? "all of it" : format.money(estimatedUsd);
  return `≈ ${part} is estimated from the price table${known ? `; ${known}` : ""}`;
}

/** @param {Totals} totals */
export const costOf = (totals) => format.cost(totals.priced ? totals.costUsd : null, totals.estimatedUsd > 0);

/**
 * @param {string} caption
 * @param {Child[]} heads
 * @param {HTMLTableRowElement[]} rows
 * @param {string} [none] shown if there are no rows
 */
export function table(caption, heads, rows, none = "Nothing here yet.") {
  if (!rows.length) return el("p", { class: "quiet none" }, none);
  const head = el(
    "tr",
    null,
    heads.map((one) => (one instanceof HTMLTableCellElement ? one : el("th", { scope: "col" }, one))),
  );
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", null, el("caption", { class: "sr-only" }, caption), el("thead", null, head), el("tbody", null, rows)),
  );
}

/**
 * A table of what each of these used.
 * @param {string} caption
 * @param {string} one the heading of their names
 * @param {import("./shapes.js").Share[]} shares
 * @param {number} all tokens
 * @param {"agent" | "provider"} [by] what is shown beside the name
 */
export function shareTable(caption, one, shares, all, by = "provider") {
  const rows = shares.map((share) =>
    el(
      "tr",
      null,
      el("th", { scope: "row", class: by === "agent" && share.agent ? "long" : null }, quoted(share.name, "unnamed"), " ", share[by] && el("small", null, quoted(share[by]))),
      el("td", { class: "num" }, format.compact(share.totals.total)),
      el("td", null, shareCell(all ? share.totals.total / all : 0)),
      el("td", { class: "num", title: costNote(share.totals) }, costOf(share.totals)),
    ),
  );
  return table(caption, [one, num("Tokens"), "Share", num("Cost")], rows, "None in this period.");
}

/** A heading of a column of numbers. @param {string} text */
export const num = (text) => el("th", { scope: "col", class: "num" }, text);

/**
 * @param {string} title
 * @param {...Child} more
 */
export const empty = (title, ...more) => el("div", { class: "empty" }, el("h3", null, title), el("p", null, ...more));

/** Shown while nothing has been recorded: why, and what to do. @param {import("./app.js").App} app */
export function nothingYet({ state }) {
  return empty("No model calls yet", "Model calls appear here as soon as an agent makes them. ", ...unheard({ state }));
}

/** Why nothing is heard of agents. @param {{ state: import("./app.js").App["state"] }} app */
export function unheard({ state }) {
  const recording = (state?.gateways ?? []).filter((one) => one.recording);
  return !recording.length
    ? ["Recording is off. To record from now on, run ", command("toolguard config set metrics.enabled true"), "."]
    : recording.some(({ running }) => running)
      ? ["Recording is on, but no agent has made a model call since. If one should have, run ", command("toolguard doctor"), "."]
      : ["Recording is on, but no gateway with toolguard is running. To find out why, run ", command("toolguard doctor"), "."];
}

/** Why numbers of the guard do not grow; null where they do. @param {import("./app.js").App} app */
export function unrecorded({ state }) {
  if (!state || state.gateways.some(({ recording }) => recording)) return null;
  return el(
    "p",
    { class: "quiet" },
    "Recording is off, so decisions are not counted here. To turn it on, run ",
    command("toolguard config set metrics.enabled true"),
    ".",
  );
}

/** @param {number} lines */
export const skeleton = (lines = 6) =>
  el(
    "div",
    { class: "skeleton", "aria-hidden": "true" },
    Array.from({ length: lines }, () => el("div", { class: "bone" })),
  );

/**
 * A labelled select.
 * @param {string} label
 * @typedef {{ value: string, text: string }} Choice
 * @param {(Choice | { text: string, among: Choice[] })[]} choices
 * @param {string} chosen
 * @param {(value: string) => void} onChange
 */
export function choice(label, choices, chosen, onChange) {
  const select = el("select", { "data-focus": label });
  select.addEventListener("change", () => onChange(select.value));
  /** @param {Choice} one */
  const option = ({ value, text }) => el("option", { value }, visible(text));
  select.append(
    ...choices.map((one) => ("among" in one ? el("optgroup", { label: one.text }, one.among.map(option)) : option(one))),
  );
  select.value = chosen;
  return el("label", { class: "choice" }, el("span", null, label), select);
}
