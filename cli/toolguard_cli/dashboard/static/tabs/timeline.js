// What agents did, by session and run, as it happens. What is shown stands in the address, so that it can be linked.

import { get } from "../api.js";
import { say } from "../dialogs.js";
import { button, el, fill, quoted } from "../dom.js";
import * as format from "../format.js";
import { key, sessions, sums } from "../happened.js";
import { onKeys } from "../keys.js";
import { choice, empty, unheard, unrecorded } from "../parts.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").Timeline} Timeline */
/** @typedef {import("../shapes.js").TimelineEvent} TimelineEvent */

const PAGE = 200;
const MOST = 1000; // events shown at once
const LONGEST = 200; // letters of a filter
const TYPING = 350; // ms without a key, after which a typed text is searched for
const OFFERED = 200; // agents
const SUMMARY = 10_000; // ms between two summaries for screen readers
const HOUR = 3_600_000;
const OWN = "own";
/** @type {Record<string, [string, number]>} */
const RANGES = {
  "1h": ["Last hour", HOUR],
  "8h": ["Last 8 hours", 8 * HOUR],
  "24h": ["Last 24 hours", 24 * HOUR],
  "7d": ["Last 7 days", 168 * HOUR],
  "30d": ["Last 30 days", 720 * HOUR],
};
/** The filters and what they are at first. `since`, `until`: ms, for a range of one's own. */
const ALL = { range: "24h", since: "", until: "", gateway: "", agent: "", session: "", run: "", text: "" };
const FIELDS = /** @type {(keyof typeof ALL)[]} */ (Object.keys(ALL));
const CHOSEN = /** @type {const} */ (["gateway", "session", "run"]);
const KNOWN = /** @type {const} */ (["gateway", "agent", "session"]); // of a new event, before it is asked for
const HELP = "j, k: next, previous event. Enter: show or hide all of it. /: search. ?: these keys.";

/** @param {App} app @returns {import("../main.js").Tab} */
export function timeline(app) {
  const wanted = { ...ALL };
  /** @type {Map<string, TimelineEvent>} */ const events = new Map();
  /** @type {Set<string>} */ const open = new Set();
  /** @type {Set<string>} */ const agents = new Set();
  /** undefined: nothing was loaded yet; empty: there is no more. @type {string | undefined} */ let next;
  let behind = false; // older pages have taken the place of the newest
  let paused = false;
  let late = 0; // events since then
  let unannounced = 0;
  let announcedAt = Date.now();
  /** @type {Set<string>} */ let fresh = new Set(); // arrived with the last answer
  let asking = false;
  let drawn = "";
  let offered = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */ let typing;

  const range = choice(
    "Range",
    [...Object.entries(RANGES).map(([value, [text]]) => ({ value, text })), { value: OWN, text: "From … to …" }],
    wanted.range,
    (value) => set(value === OWN ? { range: OWN, since: String(app.now - 24 * HOUR), until: String(app.now) } : { range: value, since: "", until: "" }),
  );
  const since = moment("From", (at) => set({ since: at }));
  const until = moment("To", (at) => set({ until: at }));
  const who = el("span");
  const search = el("input", { type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false", placeholder: "tool, path, nonce, text" });
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => set({ text: search.value.trim() }, "replaceState"), TYPING);
  });
  const chosen = el("span", { class: "quiet", role: "status" });
  const clears = button("Show all", () => set({ ...ALL, range: wanted.range, since: wanted.since, until: wanted.until }), { class: "small", hidden: true });
  const filters = el(
    "div",
    { class: "controls filters" },
    range,
    since.root,
    until.root,
    who,
    el("label", { class: "choice" }, el("span", null, "Search"), search),
    chosen,
    clears,
  );
  const off = el("div");
  const sum = el("p", { class: "quiet" });
  const pause = button("Pause", () => hold(!paused), { class: "small", "aria-pressed": "false" });
  const waiting = el("span", { class: "quiet" });
  const announcement = el("p", { class: "sr-only", "aria-live": "polite" });
  const newest = button("Back to the newest", () => restart(), { hidden: true });
  const hint = el("div");
  const list = el("div", { class: "stack", role: "group", "aria-label": "Events" });
  const more = button("Show older", () => older(), { hidden: true });
  const body = el("div", { class: "stack" }, off, el("div", { class: "row" }, sum, el("span", { class: "controls" }, waiting, pause)), announcement, newest, hint, list, more);

  const address = () => {
    const given = FIELDS.filter((field) => wanted[field] !== ALL[field]).map((field) => [field, wanted[field]]);
    return given.length ? `?${new URLSearchParams(given)}` : "";
  };
  /** @param {Partial<typeof ALL>} changes @param {"pushState" | "replaceState"} [how] */
  const set = (changes, how = "pushState") => {
    Object.assign(wanted, changes);
    history[how](null, "", `#timeline${address()}`);
    sync();
    restart();
  };
  /** Shows the filters as they are. */
  const sync = () => {
    const select = range.querySelector("select");
    if (select) select.value = wanted.range;
    since.show(wanted.range === OWN ? wanted.since : null);
    until.show(wanted.range === OWN ? wanted.until : null);
    if (search.value.trim() !== wanted.text) search.value = wanted.text;
    const only = CHOSEN.filter((field) => wanted[field]);
    fill(chosen, only.flatMap((field, i) => [i ? ", " : "Only ", `${field} `, quoted(wanted[field])]));
    clears.hidden = !narrowed();
    offer();
  };
  const narrowed = () => ["agent", "text", ...CHOSEN].some((field) => wanted[/** @type {keyof typeof ALL} */ (field)]);
  const offer = () => {
    for (const { standings } of app.state?.gateways ?? []) for (const { agent } of standings) know(agent);
    know(wanted.agent);
    const names = [...agents].sort();
    if (offered === JSON.stringify([names, wanted.agent])) return;
    offered = JSON.stringify([names, wanted.agent]);
    const choices = [{ value: "", text: "All" }, ...names.map((name) => ({ value: name, text: name }))];
    fill(who, choice("Agent", choices, wanted.agent, (agent) => set({ agent })));
  };
  /** @param {string} agent */
  const know = (agent) => agent && (agents.size < OFFERED || agent === wanted.agent) && agents.add(agent);

  /** @param {string} before @param {AbortSignal} [signal] */
  const ask = (before, signal) => {
    const { range: name, since: from, until: to, ...rest } = wanted;
    const bounds = name === OWN ? { since: from, until: to } : { since: app.now - (RANGES[name]?.[1] ?? 0) };
    return get("timeline", { ...bounds, ...rest, before, limit: PAGE }, signal);
  };
  /** @param {TimelineEvent[]} got */
  const add = (got) => {
    for (const event of got) events.set(key(event), event);
    for (const { agent } of got) know(agent);
    offer();
  };
  const draw = () => {
    const shown = [...events.values()].sort(later);
    const now = JSON.stringify([shown.map(key), next, behind, shown.length ? null : app.state?.gateways.map(({ recording, running }) => [recording, running])]);
    fill(off, shown.length || narrowed() ? unrecorded(app) : null);
    fill(waiting, paused ? `Paused; ${format.count(late)} new${wanted.run || wanted.text ? ", not searched yet" : ""}` : null);
    pause.hidden = behind || wanted.range === OWN;
    newest.hidden = !behind;
    more.hidden = !next;
    if (drawn === now) return; // what is read, walked through or selected stays as it is
    drawn = now;
    fill(list, sessions(shown, open, set, fresh));
    fill(sum, shown.length ? `${sums(shown)}. ${next ? `All events since ${format.moment(shown.at(-1)?.at ?? 0)}.` : ""}` : null);
    fill(hint, shown.length ? null : none());
  };
  const none = () =>
    empty(
      "Nothing that fits",
      next ? "None of the newest events fits; “Show older” continues the search. " : "Nothing in this range fits. Choose a longer one, or ",
      narrowed() ? button("show all", () => clears.click(), { class: "link", "data-focus": "all" }) : next ? null : "wait until an agent does something",
      ". ",
      ...(narrowed() ? [] : unheard(app)),
    );
  /** Stops or lets go on what is shown of the newest. @param {boolean} on */
  const hold = (on) => {
    paused = on;
    late = 0;
    pause.setAttribute("aria-pressed", String(on));
    fill(pause, on ? "Resume" : "Pause");
    draw();
    if (!on) void view.refresh();
  };
  /** Announces all new events in one sentence. */
  const summary = () => {
    if (!unannounced || Date.now() - announcedAt < SUMMARY) return;
    fill(announcement, `${format.counted(unannounced, "new event")}.`);
    [unannounced, announcedAt] = [0, Date.now()];
  };
  const clear = () => {
    events.clear();
    next = undefined;
    behind = false;
    drawn = "";
  };
  const restart = () => {
    if (paused) hold(false);
    clear();
    void view.refresh();
  };
  const view = new View(
    app,
    body,
    (signal) => (behind || paused ? Promise.resolve(null) : ask("", signal)),
    (/** @type {Timeline | null} */ got) => {
      if (!got) return draw();
      const apart = events.size && got.events.length && !got.events.some((event) => events.has(key(event)));
      if (apart || events.size + got.events.length > MOST + PAGE) clear();
      fresh = new Set(events.size ? got.events.map(key).filter((id) => !events.has(id)) : []);
      next ??= got.next;
      add(got.events);
      draw();
    },
  );
  const older = async () => {
    if (asking || !next) return;
    asking = true; // instead of disabling the button, which would lose the focus
    const before = next;
    try {
      const got = /** @type {Timeline} */ (await ask(before));
      if (next !== before) return; // the filter was changed meanwhile
      next = got.next;
      add(got.events);
      for (const { 0: id } of [...events].sort(([, one], [, other]) => later(one, other)).slice(0, Math.max(0, events.size - MOST))) {
        events.delete(id);
        behind = true;
      }
      draw();
    } catch {
      void view.refresh(); // shows the error
    } finally {
      asking = false;
    }
  };
  onKeys(body, (name, _, target) => {
    const lines = /** @type {HTMLElement[]} */ ([...list.querySelectorAll(".event > summary")]);
    const at = lines.findIndex((line) => target && line.parentElement?.contains(target));
    if (name === "j") lines[Math.min(at + 1, lines.length - 1)]?.focus();
    else if (name === "k") lines[Math.max(at - 1, 0)]?.focus();
    else if (name === "/") search.focus();
    else if (name === "?") say(HELP);
    else return false;
    return true;
  });
  sync();
  return {
    root: el("div", { class: "stack" }, el("section", { class: "card", "aria-label": "Filters" }, filters), view.root),
    timeless: true,
    follows: ["call", "decision"],
    event: (event) => {
      const { type } = event;
      if (type === "beat") return summary();
      if (type !== "call" && type !== "decision") return;
      if (!KNOWN.every((field) => !wanted[field] || wanted[field] === event[type][field])) return;
      unannounced += 1;
      late += Number(paused);
      if (paused) draw();
    },
    refresh: () => view.refresh(),
    address,
    read: (query) => {
      const given = new URLSearchParams(query);
      if (`?${given}` === (address() || "?")) return;
      Object.assign(wanted, taken(given));
      sync();
      if (paused) hold(false);
      clear();
    },
    changed: (what) => {
      if (what !== "state") return;
      offer();
      if (!events.size && next !== undefined) draw(); // why it is empty may have changed
    },
  };
}

/** The filters of an address; what is none is left as it is at first. @param {URLSearchParams} given */
function taken(given) {
  const found = { ...ALL };
  for (const field of FIELDS) found[field] = (given.get(field) ?? ALL[field]).slice(0, LONGEST);
  if (found.range !== OWN && !Object.hasOwn(RANGES, found.range)) found.range = ALL.range;
  for (const field of /** @type {const} */ (["since", "until"])) if (!/^\d{1,15}$/.test(found[field]) || found.range !== OWN) found[field] = "";
  return found;
}

/** A field for a moment. @param {string} label @param {(at: string) => void} onChange in ms, empty for none */
function moment(label, onChange) {
  const input = el("input", { type: "datetime-local" });
  input.addEventListener("change", () => onChange(input.value ? String(new Date(input.value).getTime()) : ""));
  const root = el("label", { class: "choice", hidden: true }, el("span", null, label), input);
  /** @param {string | null} at */
  const show = (at) => {
    root.hidden = at === null;
    const value = at ? local(Number(at)) : "";
    if (input.value !== value) input.value = value;
  };
  return { root, show };
}

/** @param {number} at */
function local(at) {
  const date = new Date(at);
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** As the server orders them: the newest first, of one moment the model calls. @param {TimelineEvent} one @param {TimelineEvent} other */
function later(one, other) {
  /** @param {TimelineEvent} event */
  const order = ({ at, call, decision }) => [at, call ? 1 : 0, (call ?? decision)?.id ?? 0];
  const [a, b] = [order(one), order(other)];
  const i = a.findIndex((value, place) => value !== b[place]);
  return i < 0 ? 0 : (b[i] ?? 0) - (a[i] ?? 0);
}
