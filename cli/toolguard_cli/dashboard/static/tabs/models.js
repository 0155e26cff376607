// The usage, cost and speed of each model.

import { get } from "../api.js";
import { button, el, fill, quoted } from "../dom.js";
import * as format from "../format.js";
import { costNote, costOf, nothingYet, shareCell } from "../parts.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").ModelRow} ModelRow */
/** @typedef {{ label: string, of: (row: ModelRow) => string | number | null, cell: (row: ModelRow) => import("../dom.js").Child, text?: boolean }} Column */

/** @type {Column[]} */
const COLUMNS = [
  { label: "Model", text: true, of: ({ model }) => model, cell: ({ model }) => quoted(model, "unnamed") },
  { label: "Provider", text: true, of: ({ provider }) => provider, cell: ({ provider }) => quoted(provider) },
  { label: "Calls", of: ({ totals }) => totals.calls, cell: ({ totals }) => format.count(totals.calls) },
  {
    label: "Tokens",
    of: ({ totals }) => totals.total,
    cell: ({ totals }) => el("span", { title: format.count(totals.total) }, format.compact(totals.total)),
  },
  { label: "Share", of: (row) => row.tokenShare, cell: (row) => shareCell(row.tokenShare) },
  {
    label: "Cost",
    of: ({ totals }) => (totals.priced ? totals.costUsd : null),
    cell: ({ totals }) => el("span", { title: costNote(totals) }, costOf(totals)),
  },
  {
    label: "Per 1k tokens",
    of: (row) => row.costPer1k,
    cell: (row) => format.cost(row.costPer1k, row.totals.estimatedUsd > 0),
  },
  { label: "Mean duration", of: (row) => row.meanMs, cell: (row) => format.duration(row.meanMs) },
  { label: "Failed", of: ({ totals }) => totals.failed, cell: ({ totals }) => format.count(totals.failed) },
];

/** @param {App} app @returns {import("../main.js").Tab} */
export function models(app) {
  let by = 3;
  let down = true;
  /** @type {ModelRow[]} */
  let rows = [];
  const body = el("div", { class: "stack" });

  const draw = () => {
    if (!rows.length) return fill(body, nothingYet(app));
    const sorted = [...rows].sort((one, other) => order(one, other) || one.model.localeCompare(other.model));
    fill(
      body,
      el(
        "section",
        { class: "card" },
        el("p", { class: "quiet" }, "≈: partly estimated from the price table. –: unknown."),
        el(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Models" },
          el(
            "table",
            { class: "wide", role: "table" },
            el("caption", { class: "sr-only" }, `Models in the last ${app.span}; the column headings sort the table`),
            el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, COLUMNS.map(heading))),
            el("tbody", { role: "rowgroup" }, sorted.map(line)),
          ),
        ),
      ),
    );
  };

  /** Unknown values are last in either direction. @param {ModelRow} one @param {ModelRow} other */
  const order = (one, other) => {
    const of = COLUMNS[by]?.of ?? (() => 0);
    const [left, right] = [of(one), of(other)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const risen = typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right);
    return down ? -risen : risen;
  };

  /** @param {Column} column @param {number} i */
  const heading = ({ label, text }, i) => {
    const click = () => {
      down = by === i ? !down : !text;
      by = i;
      draw();
    };
    const arrow = el("span", { class: "arrow", "aria-hidden": "true" }, by === i ? (down ? "▼" : "▲") : "↕");
    const sort = by === i ? (down ? "descending" : "ascending") : "none";
    return el(
      "th",
      { scope: "col", role: "columnheader", class: text ? "" : "num", "aria-sort": sort },
      button([label, arrow], click, { class: "sort", "data-focus": `sort ${label}` }),
    );
  };

  const view = new View(
    app,
    body,
    (signal) => get("models", { range: app.range }, signal),
    (/** @type {import("../shapes.js").Models} */ got) => {
      rows = got.models;
      draw();
    },
  );
  return { root: view.root, refresh: () => view.refresh(), follows: ["call"] };
}

/** On a phone each row is styled as a card; the roles keep it a table row. @param {ModelRow} row */
function line(row) {
  return el(
    "tr",
    { role: "row" },
    COLUMNS.map(({ label, text, cell }, i) =>
      i
        ? el("td", { role: "cell", class: text ? "" : "num", "data-label": label }, cell(row))
        : el("th", { role: "rowheader", scope: "row" }, cell(row)),
    ),
  );
}
