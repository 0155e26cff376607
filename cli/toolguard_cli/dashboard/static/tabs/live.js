// Model calls as they happen.

import { get } from "../api.js";
import { button, el, fill, quoted } from "../dom.js";
import * as format from "../format.js";
import { badge, choice, empty, nothingYet, when } from "../parts.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").CallRow} CallRow */

const KEPT = 200; // more than are shown, so that a filter for one gateway still finds some
const SHOWN = 50;
const SUMMARY = 10_000; // ms between two summaries for screen readers

/** @typedef {import("../dom.js").Child} Child */
/** @typedef {{ label: string, kind?: string, cell: (call: CallRow, now: number) => Child | Child[], title?: (call: CallRow) => string }} Column */

/** @type {Column[]} */
const COLUMNS = [
  { label: "When", cell: ({ at }, now) => when(at, now) },
  { label: "Gateway", cell: ({ gateway }) => quoted(gateway) },
  { label: "Agent", cell: ({ agent, channel }) => [quoted(agent), " ", el("small", null, channel && quoted(channel))] },
  { label: "Model", kind: "name", cell: ({ model, provider }) => [quoted(model), " ", el("small", null, provider && quoted(provider))] },
  { label: "In", kind: "num", cell: ({ input }) => format.count(input) },
  { label: "Out", kind: "num", cell: ({ output }) => format.count(output) },
  {
    label: "Cache",
    kind: "num",
    cell: ({ cacheRead, cacheWrite }) => format.count(cacheRead + cacheWrite),
    title: ({ cacheRead, cacheWrite }) => `${format.count(cacheRead)} read, ${format.count(cacheWrite)} written`,
  },
  { label: "Cost", kind: "num", cell: ({ costUsd, estimated }) => format.cost(costUsd, estimated) },
  { label: "Duration", kind: "num", cell: ({ durationMs }) => format.duration(durationMs) },
  {
    label: "Outcome",
    cell: ({ outcome }) => badge(outcome || "unknown", outcome === "completed" ? "green" : "red"),
  },
  { label: "Session", kind: "long", cell: ({ session }) => quoted(session) },
];

/** @param {App} app @returns {import("../main.js").Tab} */
export function live(app) {
  /** @type {CallRow[]} */ let calls = [];
  /** @type {CallRow[]} */ let late = [];
  /** @type {Map<number, HTMLTableRowElement>} */ const rows = new Map();
  let gateway = "";
  let paused = false;
  let unannounced = 0;
  let newest = 0; // the highest id shown
  let frame = 0;
  let announcedAt = Date.now();

  const announcement = el("p", { class: "sr-only", "aria-live": "polite" });
  const waiting = el("span", { class: "quiet" });
  const pause = button("Pause", () => hold(!paused), { "aria-pressed": "false" });
  const filter = el("span");
  const hint = el("div");
  const list = el("tbody", { role: "rowgroup" });
  const grid = el(
    "table",
    { class: "wide", role: "table" },
    el("caption", { class: "sr-only" }, "The latest model calls, newest first"),
    el(
      "thead",
      { role: "rowgroup" },
      el(
        "tr",
        { role: "row" },
        COLUMNS.map(({ label, kind }) => el("th", { scope: "col", role: "columnheader", class: kind }, label)),
      ),
    ),
    list,
  );
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The latest model calls" }, grid);
  const table = el("section", { class: "card" }, scroll);
  const body = el(
    "div",
    { class: "stack" },
    el("div", { class: "controls" }, pause, filter, waiting),
    announcement,
    hint,
    table,
  );

  const draw = () => {
    const shown = calls.filter((call) => !gateway || call.gateway === gateway).slice(0, SHOWN);
    const ids = new Set(shown.map(({ id }) => id));
    const before = newest;
    newest = Math.max(newest, ...ids);
    for (const [id, row] of rows) if (!ids.has(id)) rows.delete(id) && row.remove();
    shown.forEach((call, i) => {
      const row = rows.get(call.id) ?? line(call, app.now, before > 0 && call.id > before);
      rows.set(call.id, row);
      if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null);
    });
    table.hidden = !shown.length;
    fill(hint, shown.length ? null : calls.length ? noneOf(gateway) : nothingYet(app));
    fill(waiting, paused ? `Paused; ${format.count(late.length)}${late.length === KEPT ? " or more" : ""} new` : "");
  };

  const narrow = () => {
    const names = [
      ...new Set([...(app.state?.gateways ?? []).map(({ id }) => id), ...calls.map((call) => call.gateway)]),
    ].sort();
    const choices = [{ value: "", text: "All" }, ...names.map((name) => ({ value: name, text: name }))];
    fill(filter, names.length > 1 ? choice("Gateway", choices, gateway, (value) => ((gateway = value), draw())) : null);
  };

  /** @param {boolean} on */
  const hold = (on) => {
    paused = on;
    pause.setAttribute("aria-pressed", String(on));
    fill(pause, on ? "Resume" : "Pause");
    if (!on) {
      calls = merged(late, calls);
      late = [];
    }
    draw();
  };

  /** @param {CallRow} call */
  const take = (call) => {
    unannounced += 1;
    if (paused) late = merged([call], late);
    else calls = merged([call], calls);
    frame ||= requestAnimationFrame(() => ((frame = 0), draw())); // one redraw for many calls
  };

  /** Announces all new calls in one sentence. */
  const summary = () => {
    if (!unannounced || Date.now() - announcedAt < SUMMARY) return;
    fill(announcement, `${format.counted(unannounced, "new model call")}.`);
    [unannounced, announcedAt] = [0, Date.now()];
  };

  const view = new View(
    app,
    body,
    (signal) => get("live", { limit: KEPT }, signal),
    (/** @type {import("../shapes.js").LiveEvents} */ got) => {
      if (paused)
        late = merged(
          got.calls.filter((call) => !calls.some(({ id }) => id === call.id)),
          late,
        );
      else calls = merged(got.calls, []);
      narrow();
      draw();
    },
  );
  return {
    root: view.root,
    timeless: true,
    refresh: () => view.refresh(),
    event: (event) => (event.type === "call" ? take(event.call) : event.type === "beat" ? summary() : undefined),
    changed: (what) => {
      if (what !== "state") return;
      narrow();
      if (!rows.size) draw(); // why it is empty may have changed
    },
  };
}

/** @param {string} gateway */
const noneOf = (gateway) =>
  empty("No calls from this gateway", "None of the latest model calls are from ", quoted(gateway), "; choose All to see the others.");

/** Each call once, newest first, at most `KEPT`. @param {CallRow[]} fresh @param {CallRow[]} old */
function merged(fresh, old) {
  const byId = new Map([...old, ...fresh].map((call) => [call.id, call]));
  return [...byId.values()].sort((one, other) => other.at - one.at || other.id - one.id).slice(0, KEPT);
}

/**
 * On a phone each row is styled as a card; the roles keep it a table row.
 * @param {CallRow} call
 * @param {number} now
 * @param {boolean} fresh whether it arrived after the first draw
 */
function line(call, now, fresh) {
  return el(
    "tr",
    { role: "row", "data-call": call.id, class: fresh ? "fresh" : null },
    COLUMNS.map(({ label, kind, cell, title }) =>
      el("td", { role: "cell", class: kind, "data-label": label, title: title?.(call) }, cell(call, now)),
    ),
  );
}
