// The decisions, newest first; older ones on demand.

import { get } from "./api.js";
import { button, el, fill, quoted, visible } from "./dom.js";
import { CHOICES, at, named } from "./kinds.js";
import { choice, empty, kindBadge, when } from "./parts.js";
import { View } from "./view.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").DecisionRow} DecisionRow */

const PAGE = 25;
const MOST = 1000; // rows kept

/** @param {App} app */
export function feed(app) {
  /** @type {Map<number, HTMLElement>} */ const items = new Map();
  let gateway = "";
  let kind = "";
  let asking = false;
  /** @type {number | null} */ let next = null;
  const list = el("ol", { class: "feed" });
  const hint = el("div");
  const more = button("Show older", () => older(), { hidden: true });
  const kinds = choice(
    "Kind",
    [
      { value: "", text: "All" },
      ...Object.entries(CHOICES).map(([text, kinds]) => ({ text, among: kinds.map((one) => ({ value: one, text: named(one).label })) })),
    ],
    "",
    (value) => {
      kind = value;
      restart();
    },
  );
  const body = el("div", { class: "stack" }, hint, list, more);

  /** @param {DecisionRow[]} rows @param {boolean} top */
  const add = (rows, top) => {
    for (const row of top ? [...rows].reverse() : rows) {
      if (items.has(row.id)) continue;
      const item = entry(row, app.now);
      items.set(row.id, item);
      if (top) list.prepend(item);
      else list.append(item);
    }
    const ids = [...items.keys()].sort((one, other) => one - other);
    for (const id of ids.slice(0, Math.max(0, ids.length - MOST))) drop(id);
    fill(
      hint,
      items.size
        ? null
        : empty("No decisions yet", "Calls that the guard holds, blocks, corrects or stops appear here, with the reason."),
    );
  };
  /** @param {number} id */
  const drop = (id) => {
    items.get(id)?.remove();
    items.delete(id);
    next = Math.min(...items.keys()); // dropped rows can be loaded again
    more.hidden = false;
  };
  /** @param {number | null} before @param {AbortSignal} [signal] */
  const ask = (before, signal) => get("decisions", { limit: PAGE, before, gateway, kind }, signal);

  const view = new View(
    app,
    body,
    (signal) => ask(null, signal),
    (/** @type {import("./shapes.js").Decisions} */ got) => {
      const gap = items.size && !got.decisions.some(({ id }) => items.has(id));
      if (gap) clear();
      if (!items.size) next = got.next;
      add(got.decisions, true);
      more.hidden = next === null;
    },
  );
  const clear = () => {
    items.clear();
    list.replaceChildren();
  };
  const restart = () => {
    clear();
    void view.refresh();
  };
  const older = async () => {
    if (asking) return;
    asking = true; // instead of disabling the button, which would lose the focus
    try {
      const got = /** @type {import("./shapes.js").Decisions} */ (await ask(next));
      next = got.next;
      add(got.decisions, false);
      more.hidden = next === null;
    } catch {
      void view.refresh(); // shows the error
    } finally {
      asking = false;
    }
  };
  return {
    root: el("section", { class: "card" }, el("header", { class: "row" }, el("h3", null, "Decisions"), kinds), view.root),
    refresh: () => view.refresh(),
    /** @param {DecisionRow} row */
    take: (row) => wanted(row) && add([row], true),
    /** @param {string} id */
    narrow: (id) => {
      gateway = id;
      restart();
    },
  };

  /** @param {DecisionRow} row */
  function wanted(row) {
    return row.kind !== "allow" && (!gateway || row.gateway === gateway) && (!kind || row.kind === kind);
  }
}

/** @param {DecisionRow} row @param {number} now */
function entry(row, now) {
  const { gateway, agent, session, tool, kind, code, reason, nonce, shown, person, place } = row;
  return el(
    "li",
    { "data-decision": row.id, class: "entry" },
    el(
      "p",
      { class: "entry-head" },
      kindBadge(kind),
      tool && el("b", null, quoted(tool)),
      code && el("code", null, quoted(code)),
      nonce && el("code", { class: "quiet", title: "nonce" }, quoted(nonce)),
      when(row.at, now),
    ),
    reason && el("p", { class: "reason" }, quoted(reason)),
    el(
      "p",
      { class: "quiet who" },
      [agent, session, gateway].filter(Boolean).flatMap((text, i) => [i ? " · " : "", quoted(text)]),
      person && [kind === "consume" ? " · approved by " : " · by ", quoted(person)],
      place && [" ", quoted(at(place) ?? "")],
    ),
    shown &&
      el(
        "details",
        { class: "shown" },
        el("summary", null, "The call"),
        el("pre", { dir: "ltr" }, el("bdi", null, visible(shown))),
      ),
  );
}
