// The decisions, newest first; older ones on demand. Filters: kind, agent, code, one held call, any text.

import { get } from "./api.js";
import { button, el, fill, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { CHOICES, at, named } from "./kinds.js";
import { choice, empty, kindBadge, when } from "./parts.js";
import { View } from "./view.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./shapes.js").DecisionRow} DecisionRow */
/** @typedef {import("./shapes.js").Decisions} Decisions */

const PAGE = 25;
const MOST = 1000; // rows kept
const TYPING = 350; // ms without a key, after which a typed text is searched for
const OFFERED = 200; // agents and codes
const EXACT = /** @type {const} */ (["gateway", "kind", "agent", "code", "nonce"]);
/** The fields in which the server looks for a text. */
const TEXTS = /** @type {const} */ (["tool", "code", "reason", "shown", "agent", "session", "nonce", "person"]);
const HOLDS = ["hold", "hold-again"];
const ANSWERS = ["approve", "deny", "expire", "lapsed", "consume"];

/** @param {App} app */
export function feed(app) {
  /** @type {Map<number, HTMLElement>} */ const items = new Map();
  /** What became of each held call. @type {Map<string, Map<string, DecisionRow>>} */ const answers = new Map();
  /** @type {Map<string, HTMLElement[]>} */ const answered = new Map();
  const wanted = { gateway: "", kind: "", agent: "", code: "", nonce: "", text: "" };
  /** @type {{ agent: Set<string>, code: Set<string> }} */ const offered = { agent: new Set(), code: new Set() };
  let asking = false;
  /** undefined: nothing was loaded yet. @type {number | null | undefined} */ let next;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let typing;
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
    (value) => set({ kind: value }),
  );
  const names = el("span", { class: "controls" });
  const search = el("input", { type: "text", maxlength: 200, autocomplete: "off", spellcheck: "false" });
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => set({ text: search.value.trim() }), TYPING);
  });
  const clears = button("Show all", () => set({ kind: "", agent: "", code: "", nonce: "", text: "" }), { class: "small", hidden: true });
  const one = el("span", { role: "status" });
  const filters = el(
    "div",
    { class: "controls filters" },
    kinds,
    names,
    el("label", { class: "choice" }, el("span", null, "Text"), search),
    one,
    clears,
  );
  const body = el("div", { class: "stack" }, hint, list, more);

  /** @param {Partial<typeof wanted>} changes */
  const set = (changes) => {
    Object.assign(wanted, changes);
    const select = kinds.querySelector("select");
    if (select) select.value = wanted.kind;
    if (search.value.trim() !== wanted.text) search.value = wanted.text;
    clears.hidden = !filtered();
    fill(one, wanted.nonce ? ["Only the held call ", el("code", null, quoted(wanted.nonce))] : null);
    offer();
    restart();
  };
  const filtered = () => Boolean(wanted.kind || wanted.agent || wanted.code || wanted.nonce || wanted.text);
  /** Offers the agents and codes that are known. Redrawn only on a change, which would close an open list. */
  const offer = () => {
    const chosen = JSON.stringify([...offered.agent, 0, ...offered.code, 0, wanted.agent, wanted.code]);
    if (names.dataset["offered"] === chosen) return;
    names.dataset["offered"] = chosen;
    /** @param {string} label @param {"agent" | "code"} field */
    const select = (label, field) => {
      const known = [...new Set([...offered[field], wanted[field]])].filter(Boolean).sort();
      const choices = [{ value: "", text: "All" }, ...known.map((value) => ({ value, text: value }))];
      return choice(label, choices, wanted[field], (value) => set({ [field]: value }));
    };
    fill(names, select("Agent", "agent"), select("Code", "code"));
  };
  /** @param {"agent" | "code"} field @param {string[]} values */
  const know = (field, values) => {
    for (const value of values) if (value && offered[field].size < OFFERED) offered[field].add(value);
  };

  /** @param {DecisionRow[]} rows @param {boolean} top */
  const add = (rows, top) => {
    for (const row of rows) know("agent", [row.agent]);
    for (const row of rows) know("code", [row.code]);
    offer();
    for (const row of top ? [...rows].reverse() : rows) {
      if (items.has(row.id)) continue;
      const outcome = el("p", { class: "became" });
      const item = entry(row, app.now, outcome, set);
      items.set(row.id, item);
      if (HOLDS.includes(row.kind) && row.nonce) {
        answered.set(key(row), [...(answered.get(key(row)) ?? []), outcome]);
        tell(key(row));
      }
      if (top) list.prepend(item);
      else list.append(item);
    }
    const ids = [...items.keys()].sort((one, other) => one - other);
    for (const id of ids.slice(0, Math.max(0, ids.length - MOST))) drop(id);
    fill(hint, items.size ? null : filtered() ? none() : nothing());
  };
  const none = () => {
    const reach = next === null ? "" : "None of the newest decisions matches; “Show older” continues the search. ";
    return empty("No decision matches", reach, button("Show all", () => clears.click(), { class: "link", "data-focus": "all" }));
  };
  /** Shows below a held call what became of it. @param {string} held */
  const tell = (held) => {
    const found = [...(answers.get(held)?.values() ?? [])].sort((one, other) => one.id - other.id);
    const waits = (app.pending?.pending ?? []).some((one) => one.status === "pending" && key(one) === held);
    for (const place of answered.get(held) ?? []) fill(place, found.length ? became(found) : waits ? toApprovals() : null);
  };
  /** @param {DecisionRow} row */
  const answer = (row) => {
    if (!ANSWERS.includes(row.kind) || !row.nonce) return;
    const known = answers.get(key(row)) ?? new Map();
    answers.set(key(row), known.set(row.kind, row));
    tell(key(row));
  };
  /** @param {number} id */
  const drop = (id) => {
    items.get(id)?.remove();
    items.delete(id);
    next = Math.min(...items.keys()); // dropped rows can be loaded again
    more.hidden = false;
  };
  /** @param {number | null} before @param {AbortSignal} [signal] */
  const ask = (before, signal) => get("decisions", { limit: PAGE, before, ...wanted }, signal);

  const view = new View(
    app,
    body,
    (signal) => ask(null, signal),
    (/** @type {Decisions} */ got) => {
      const gap = items.size && got.decisions.length && !got.decisions.some(({ id }) => items.has(id));
      if (gap) clear();
      if (next === undefined) next = got.next;
      got.answers.forEach(answer);
      add(got.decisions, true);
      more.hidden = next === null;
    },
  );
  const clear = () => {
    items.clear();
    answers.clear();
    answered.clear();
    next = undefined;
    list.replaceChildren();
  };
  const restart = () => {
    clear();
    void view.refresh();
  };
  const older = async () => {
    if (asking) return;
    asking = true; // instead of disabling the button, which would lose the focus
    const before = next ?? null;
    try {
      const got = /** @type {Decisions} */ (await ask(before));
      if (next !== before) return; // the filter was changed meanwhile
      next = got.next;
      got.answers.forEach(answer);
      add(got.decisions, false);
      more.hidden = next === null;
    } catch {
      void view.refresh(); // shows the error
    } finally {
      asking = false;
    }
  };
  offer();
  return {
    root: el("section", { class: "card", tabindex: -1, "aria-label": "Decisions" }, el("header", { class: "row" }, el("h3", null, "Decisions"), filters), view.root),
    refresh: () => view.refresh(),
    /** @param {DecisionRow} row */
    take: (row) => {
      answer(row);
      if (matches(row)) add([row], true);
    },
    /** @param {string} id */
    narrow: (id) => set({ gateway: id }),
    /** The held calls have changed. */
    pending: () => [...answered.keys()].forEach(tell),
    /** @param {string} code */
    follow: (code) => set({ code }),
    /** @param {string[]} codes */
    codes: (codes) => {
      know("code", codes);
      offer();
    },
  };

  /** @param {DecisionRow} row */
  function matches(row) {
    const text = wanted.text.toLowerCase();
    return (
      row.kind !== "allow" &&
      EXACT.every((field) => !wanted[field] || row[field] === wanted[field]) &&
      (!text || TEXTS.some((field) => row[field].toLowerCase().includes(text)))
    );
  }
}

/** @param {{ gateway: string, nonce: string }} row */
const key = ({ gateway, nonce }) => `${nonce} ${gateway}`;

const nothing = () =>
  empty("No decisions yet", "Calls that the guard holds, blocks, corrects or stops appear here, with the reason.");

const toApprovals = () => [
  "→ It is waiting for an answer: ",
  button("answer it", () => (location.hash = "#approvals"), { class: "link", "data-focus": "answer it" }),
];

/** @param {DecisionRow[]} found in order */
function became(found) {
  return found.flatMap((row, i) => {
    const { label } = named(row.kind);
    const by = row.kind === "consume" || !row.person ? null : [" by ", quoted(row.person), " ", quoted(at(row.place) || "", " ")];
    return [i ? " " : "→ ", el("b", null, label), by, " ", el("span", { class: "quiet" }, format.time(row.at)), i < found.length - 1 ? "." : null].flat();
  });
}

/**
 * @param {DecisionRow} row
 * @param {number} now
 * @param {HTMLElement} outcome
 * @param {(changes: Record<string, string>) => void} narrow
 */
function entry(row, now, outcome, narrow) {
  const { gateway, agent, session, tool, kind, code, reason, nonce, shown, person, place } = row;
  /** @param {string} field @param {string} value @param {string} text */
  const only = (field, value, text) =>
    button(quoted(value), () => narrow({ [field]: value }), { class: "link plain", title: text });
  return el(
    "li",
    { "data-decision": row.id, class: "entry" },
    el(
      "p",
      { class: "entry-head" },
      kindBadge(kind),
      tool && el("b", null, quoted(tool)),
      nonce && el("code", null, only("nonce", nonce, "Show only this held call")),
      when(row.at, now),
    ),
    reason && el("p", { class: "reason" }, quoted(reason)),
    outcome,
    el(
      "p",
      { class: "quiet who" },
      [
        agent && only("agent", agent, "Show only this agent"),
        session && quoted(session),
        gateway && quoted(gateway),
        code && el("code", null, only("code", code, "Show only this code")),
      ]
        .filter(Boolean)
        .flatMap((part, i) => [i ? " · " : "", part]),
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
