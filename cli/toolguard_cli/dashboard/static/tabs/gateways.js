// The state and usage of each gateway; on demand its agents, sessions and channels.

import { get } from "../api.js";
import { COSTS, Stack, TOKENS, columns } from "../charts.js";
import { modeChoice, switchButton } from "../controls.js";
import { button, el, fill, quoted } from "../dom.js";
import * as format from "../format.js";
import { badge, command, costNote, costOf, empty, legendItem, shareTable, when } from "../parts.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").GatewayRow} GatewayRow */
/** @typedef {import("../shapes.js").GatewayState} GatewayState */
/** @typedef {import("../shapes.js").Share} Share */

const COLORS = ["blue", "green", "violet", "amber", "teal"];
const LISTED = 50;

/** @param {App} app @returns {import("../main.js").Tab} */
export function gateways(app) {
  /** @type {GatewayRow[]} */ let rows = [];
  let chosen = "";
  const cards = el("div", { class: "gateways" });
  const lock = el("div");
  const inside = detail(app, () => choose(""));
  const body = el("div", { class: "stack" }, lock, cards, inside.root);

  const draw = () => {
    const states = new Map((app.state?.gateways ?? []).map((one) => [one.id, one]));
    const known = new Map(rows.map((one) => [one.id, one]));
    const ids = [...new Set([...states.keys(), ...known.keys()])];
    fill(lock, ids.length ? app.lockNote() : null);
    if (!ids.length)
      return fill(
        cards,
        empty(
          "No gateway yet",
          "A gateway appears here once it records metrics. To enable them, run ",
          command("toolguard config set metrics.enabled true"),
        ),
      );
    fill(
      cards,
      ids.map((id) => card(app, id, known.get(id), states.get(id), id === chosen, () => choose(id === chosen ? "" : id))),
    );
  };

  /** @param {string} id */
  const choose = (id) => {
    const before = chosen;
    chosen = id;
    draw();
    inside.show(id);
    const from = [...cards.querySelectorAll("button")].find((one) => one.dataset["focus"] === `open ${before}`);
    if (!id) from?.focus();
  };

  const view = new View(
    app,
    body,
    (signal) => get("gateways", { range: app.range }, signal),
    (/** @type {import("../shapes.js").Gateways} */ got) => {
      rows = got.gateways;
      draw();
    },
  );
  const refresh = () => Promise.all([view.refresh(), chosen && inside.refresh()]);
  return { root: view.root, refresh, follows: ["call"], changed: (what) => what === "state" && draw() };
}

/**
 * @param {App} app
 * @param {string} id
 * @param {GatewayRow | undefined} row
 * @param {GatewayState | undefined} state
 * @param {boolean} open
 * @param {() => void} toggle
 */
function card(app, id, row, state, open, toggle) {
  const version = state?.version || row?.version;
  const host = state?.host || row?.host;
  const facts = [
    host && el("span", null, "OpenClaw ", quoted(host)),
    version && el("span", null, "toolguard ", quoted(version)),
    row?.seen && el("span", null, "active ", when(row.seen, app.now)),
  ];
  return el(
    "article",
    { class: "card gateway", "data-gateway": id },
    el("header", null, el("h3", null, quoted(id, "unnamed")), badges(state)),
    el("p", { class: "facts quiet" }, facts),
    row?.totals.calls ? used(row) : el("p", { class: "quiet" }, "No model calls in this period."),
    (state?.problems ?? []).map((problem) => el("p", { class: "notice bad" }, quoted(problem))),
    el(
      "div",
      { class: "actions" },
      row &&
        button(open ? "Close details" : "Details", toggle, { "aria-expanded": String(open), "data-focus": `open ${id}` }),
      state && modeChoice(app, state),
      state && switchButton(app, id, state.killSwitch !== null, "card"),
    ),
  );
}

/** @param {GatewayState | undefined} state */
function badges(state) {
  if (!state) return badge("metrics only", "quiet");
  return el(
    "span",
    { class: "badges" },
    state.running ? badge("running", "green") : badge("not running", "quiet"),
    state.killSwitch && badge("stopped", "red"),
    badge(
      state.mode || "mode unknown",
      { enforce: "green", soft: "blue", shadow: "amber", disabled: "red" }[state.mode] ?? "quiet",
    ),
    !state.recording && badge("not recording", "amber"),
  );
}

/** @param {GatewayRow} row */
function used({ totals, models }) {
  const named = models.slice(0, COLORS.length);
  const share = (/** @type {Share} */ one) => (totals.total ? one.totals.total / totals.total : 0);
  const rest = 1 - named.reduce((sum, one) => sum + share(one), 0);
  return el(
    "div",
    { class: "used" },
    el(
      "dl",
      { class: "figures" },
      figure("Tokens", format.compact(totals.total), format.count(totals.total)),
      figure("Cost", costOf(totals), costNote(totals)),
      figure("Calls", format.count(totals.calls)),
      figure("Failed", format.count(totals.failed)),
    ),
    totals.total
      ? el(
          "div",
          { class: "split", "aria-hidden": "true" },
          named.map((one, i) => el("span", { class: `fill ${COLORS[i]}`, vars: { share: share(one) } })),
        )
      : null,
    el(
      "ul",
      { class: "legend" },
      named.map((one, i) => legendItem(COLORS[i] ?? "grey", quoted(one.name, "unnamed"), format.percent(share(one)))),
      models.length > named.length && legendItem("grey", "others", format.percent(Math.max(0, rest))),
    ),
  );
}

/** @param {string} label @param {string} text @param {string} [title] */
const figure = (label, text, title) => el("div", null, el("dt", null, label), el("dd", { title }, text));

/** The details of one gateway. @param {App} app @param {() => void} close */
function detail(app, close) {
  let id = "";
  const title = el("h3", { tabindex: "-1" });
  const tokens = new Stack("Tokens", TOKENS, format.compact);
  const costs = new Stack("Cost", COSTS, format.money, false);
  const lists = el("div", { class: "thirds" });
  const content = el("div", { class: "stack" }, el("div", { class: "halves" }, tokens.root, costs.root), lists);
  const load = (/** @type {AbortSignal} */ signal) =>
    Promise.all([
      get("gateway", { id, range: app.range }, signal),
      get("timeseries", { range: app.range, gateway: id }, signal),
    ]);
  const view = new View(app, content, load, ([got, times]) => {
    const { gateway, agents, sessions, channels, days, daysStart } = /** @type {import("../shapes.js").GatewayTotals} */ (got);
    const drawn = columns(times);
    tokens.update(times.at, times.bucketMs, drawn.tokens);
    costs.update(times.at, times.bucketMs, drawn.costs);
    fill(
      lists,
      list("Agents", agents, gateway.totals.total),
      list("Channels", channels, days.total, daysStart),
      list("Sessions", sessions, days.total, daysStart),
    );
  });
  const root = el(
    "section",
    { class: "stack inside", hidden: true, "aria-label": "Details" },
    el("header", null, title, button("Close details", close)),
    view.root,
  );
  /** @param {string} gateway */
  const show = (gateway) => {
    id = gateway;
    root.hidden = !id;
    fill(title, quoted(id, "unnamed"));
    if (!id) return;
    void view.refresh();
    title.focus();
  };
  return { root, show, refresh: () => view.refresh() };
}

/**
 * @param {string} title
 * @param {Share[]} shares
 * @param {number} all tokens
 * @param {number} [days] when the whole days began that these cover
 */
function list(title, shares, all, days) {
  const listed = shareTable(title, title.slice(0, -1), shares.slice(0, LISTED), all, "agent");
  const note = days === undefined ? null : el("p", { class: "quiet" }, `Whole days (UTC) since ${format.bucket(days, format.DAY)}`);
  return el("section", { class: "card" }, el("h4", null, title), note, listed);
}
