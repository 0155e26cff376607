// Stacked columns over time, drawn by uPlot, with a legend and an accessible table of the values.

import { el, fill } from "./dom.js";
import { DAY, bucket, mark } from "./format.js";
import { legendItem } from "./parts.js";
import uPlot from "./vendor/uPlot.esm.js";

/** @typedef {{ label: string, color: string }} Layer */

const HEIGHT = 200;
const WHOLE = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
/** @type {Set<Stack>} */
const all = new Set(); // bounded: one per chart on the page
/** @type {Map<string, string>} */
const colors = new Map();

/** Redraws all charts in the colours of the current theme. */
export function recolor() {
  colors.clear();
  for (const chart of all) chart.redraw();
}

/** The value of a colour class in the current theme. @param {string} name */
function color(name) {
  const known = colors.get(name);
  if (known) return known;
  const probe = el("span", { class: `probe ${name}` });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  colors.set(name, found);
  return found;
}

export class Stack {
  #layers;
  #format;
  #whole;
  #title;
  /** @type {uPlot | null} */ #plot = null;
  /** @type {number[]} */ #at = [];
  #size = DAY;
  /** @type {number[][]} */ #columns = [];
  #place = el("div", { class: "plot", role: "img" });
  #nothing = el("p", { class: "quiet none" }, "Nothing in this period.");
  #legend = el("ul", { class: "legend" });
  #spot = el("span", { class: "spot" });
  #table = el("div", { class: "scroll", tabindex: "0", role: "region" });

  /**
   * @param {string} title
   * @param {Layer[]} layers from bottom to top
   * @param {(value: number) => string} format
   * @param {boolean} [whole] whether the values are counts
   */
  constructor(title, layers, format, whole = true) {
    this.#title = title;
    this.#layers = layers;
    this.#format = format;
    this.#whole = whole;
    this.#table.setAttribute("aria-label", `${title}, as a table`);
    const unfold = el("details", { class: "numbers" }, el("summary", null, "Numbers"), this.#table);
    unfold.addEventListener("toggle", () => this.#tabulate(unfold.open));
    const head = el("figcaption", null, el("h3", null, title), this.#spot);
    this.root = el("figure", { class: "card chart" }, head, this.#legend, this.#place, this.#nothing, unfold);
    this.#unfold = unfold;
    new ResizeObserver(() => this.#fit()).observe(this.#place);
    all.add(this);
  }

  #unfold;

  /**
   * @param {number[]} at start of each bucket, ms
   * @param {number} size of a bucket, ms
   * @param {number[][]} columns one for each layer
   */
  update(at, size, columns) {
    this.#at = at;
    this.#columns = columns;
    if (size !== this.#size) this.#drop(); // days are UTC days, which need another axis
    this.#size = size;
    this.#drawLegend(null);
    this.#place.setAttribute("aria-label", this.#summary());
    this.#tabulate(this.#unfold.open);
    const some = this.#columns.some((column) => column.some(Boolean));
    this.#place.hidden = this.#unfold.hidden = this.#legend.hidden = !some;
    this.#nothing.hidden = some;
    if (this.#plot) this.#plot.setData(this.#data());
    else this.#fit();
  }

  redraw() {
    this.#plot?.redraw();
  }

  #drop() {
    this.#plot?.destroy();
    this.#plot = null;
  }

  #fit() {
    const width = Math.floor(this.#place.clientWidth);
    if (!width || !this.#at.length) return;
    if (!this.#plot) this.#plot = new uPlot(this.#options(width), this.#data(), this.#place);
    else if (this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
  }

  /** The highest sums first: each column covers the lower part of the one before. @returns {uPlot.AlignedData} */
  #data() {
    let below = this.#at.map(() => 0);
    const sums = this.#columns.map((column) => (below = below.map((sum, i) => sum + (column[i] ?? 0))));
    return [this.#at, ...sums.reverse()];
  }

  /** @param {number} width @returns {uPlot.Options} */
  #options(width) {
    const bars = uPlot.paths.bars?.({ size: [0.86, 48], align: 1 });
    const grid = { stroke: () => color("line"), width: 1 };
    const axis = { font: FONT, stroke: () => color("quiet"), grid, ticks: { show: false } };
    return {
      width,
      height: HEIGHT,
      ms: 1,
      ...(this.#size >= DAY ? { tzDate: (/** @type {number} */ at) => uPlot.tzDate(new Date(at), "Etc/UTC") } : {}),
      padding: [8, 26, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [this.#at[0] ?? 0, (this.#at.at(-1) ?? 0) + this.#size] },
        y: { range: (_, __, most) => [0, most > 0 ? most * 1.06 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 64,
          size: 26,
          values: (_, marks, __, ___, step) => marks.map((at) => mark(at, step, this.#size)),
        },
        {
          ...axis,
          space: 36,
          ...(this.#whole ? { incrs: WHOLE } : {}),
          values: (_, marks) => marks.map((value) => this.#format(value)),
          size: (_, values) => 14 + 7 * Math.max(3, ...(values ?? []).map((text) => text.length)),
        },
      ],
      series: [
        {},
        ...this.#layers
          .map(({ color: name }) => ({
            fill: () => color(name),
            stroke: () => color(name),
            width: 0,
            paths: bars,
            points: { show: false },
          }))
          .reverse(),
      ],
      hooks: {
        setCursor: [({ cursor: { left = -1 }, posToVal }) => this.#drawLegend(left < 0 ? null : this.#index(posToVal(left, "x")))],
      },
    };
  }

  /** The bucket of a moment. @param {number} at */
  #index(at) {
    const index = Math.floor((at - (this.#at[0] ?? 0)) / this.#size);
    return Math.max(0, Math.min(this.#at.length - 1, index));
  }

  get #days() {
    return this.#size >= DAY;
  }

  /** The start of a bucket, formatted. @param {number} at */
  #begin(at) {
    return `${bucket(at, this.#size)}${this.#days ? " (UTC)" : ""}`;
  }

  /** The legend, with the values of one bucket or with the totals. @param {number | null} index */
  #drawLegend(index) {
    const at = index === null ? undefined : this.#at[index];
    fill(this.#spot, at === undefined ? `total${this.#days ? ", days in UTC" : ""}` : this.#begin(at));
    const values = this.#columns.map((column) => (index === null ? sum(column) : (column[index] ?? 0)));
    fill(
      this.#legend,
      this.#layers.map(({ label, color: name }, i) => legendItem(name, label, this.#format(values[i] ?? 0))),
    );
  }

  #summary() {
    const sums = this.#at.map((_, i) => sum(this.#columns.map((column) => column[i] ?? 0)));
    const peak = sums.indexOf(Math.max(0, ...sums));
    const at = this.#at[peak];
    if (!sums.some(Boolean) || at === undefined) return `${this.#title}: nothing in this period.`;
    const parts = this.#layers.map(({ label }, i) => `${label} ${this.#format(sum(this.#columns[i] ?? []))}`).join(", ");
    const most = `${this.#format(sums[peak] ?? 0)} at ${this.#begin(at)}`;
    return `${this.#title}: ${parts}. Peak: ${most}. The numbers follow as a table.`;
  }

  /** The table of values, newest first. @param {boolean} open it is built only when open */
  #tabulate(open) {
    if (!open) return fill(this.#table);
    const rows = this.#at.map((at, i) =>
      el(
        "tr",
        null,
        el("th", { scope: "row" }, bucket(at, this.#size)),
        this.#columns.map((one) => el("td", { class: "num" }, this.#format(one[i] ?? 0))),
      ),
    );
    const heads = this.#layers.map(({ label }) => el("th", { scope: "col", class: "num" }, label));
    const head = el("tr", null, el("th", { scope: "col" }, this.#days ? "Day (UTC)" : "From"), heads);
    fill(
      this.#table,
      el(
        "table",
        null,
        el("caption", { class: "sr-only" }, this.#title),
        el("thead", null, head),
        el("tbody", null, rows.reverse()),
      ),
    );
  }
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((one, other) => one + other, 0);
}

/** @type {Layer[]} */
export const TOKENS = [
  { label: "Input", color: "blue" },
  { label: "Output", color: "green" },
  { label: "Cache read", color: "violet" },
  { label: "Cache write", color: "amber" },
];
/** @type {Layer[]} */
export const COSTS = [
  { label: "Reported", color: "teal" },
  { label: "Estimated", color: "amber" },
];

/**
 * The columns of the token and the cost chart, summed over all series.
 * @param {import("./shapes.js").Timeseries} times
 */
export function columns(times) {
  /** @param {(one: import("./shapes.js").Series) => number[]} of */
  const added = (of) => times.at.map((_, i) => sum(times.series.map((one) => of(one)[i] ?? 0)));
  const estimated = added((one) => one.estimatedUsd);
  return {
    tokens: [
      added((one) => one.input),
      added((one) => one.output),
      added((one) => one.cacheRead),
      added((one) => one.cacheWrite),
    ],
    costs: [added((one) => one.costUsd).map((cost, i) => Math.max(0, cost - (estimated[i] ?? 0))), estimated],
  };
}
