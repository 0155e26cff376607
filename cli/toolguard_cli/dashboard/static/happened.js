// Events of a timeline by session and run, the newest first: one line each, which opens to show all that was recorded.

import { button, el, quoted, visible } from "./dom.js";
import * as format from "./format.js";
import { at as place, named } from "./kinds.js";
import { badge, kindBadge } from "./parts.js";

/** @typedef {import("./shapes.js").TimelineEvent} TimelineEvent */
/** @typedef {import("./shapes.js").DecisionRow} DecisionRow */
/** @typedef {import("./shapes.js").CallRow} CallRow */
/** @typedef {import("./dom.js").Child} Child */
/** @typedef {(changes: Record<string, string>) => void} Narrow */
/** @typedef {{ title: string, has: (event: TimelineEvent) => boolean }} Sum */

const UNDO = "undo."; // of decisions whose reason says how the call can be undone
const LINE = 160; // letters of a call in its line
const HOLDS = ["hold", "hold-again"];
const ANSWERS = ["approve", "deny", "expire", "lapsed", "consume"];

/** @type {Sum[]} */
const SUMS = [
  { title: "model call", has: ({ call }) => call !== null },
  { title: "allowed", has: ({ decision }) => decision?.kind === "allow" },
  { title: "held", has: ({ decision }) => decision?.kind === "hold" },
  { title: "blocked", has: ({ decision }) => decision?.kind === "block" },
  { title: "corrected", has: ({ decision }) => ["malformed", "loop"].includes(decision?.kind ?? "") },
  { title: "ended", has: ({ decision }) => decision?.kind === "stop" },
];

/** Names an event, also between two answers of the server. @param {TimelineEvent} event */
export const key = ({ call, decision }) => (call ? `c${call.id}` : `d${decision?.id}`);

/** How many of what, and what it cost. @param {TimelineEvent[]} events */
export function sums(events) {
  const counts = SUMS.map(({ title, has }) => [title, events.filter(has).length]).filter(([, count]) => count);
  const texts = counts.map(([title, count]) =>
    title === "model call" ? format.counted(Number(count), "model call") : `${format.count(Number(count))} ${title}`,
  );
  return [...texts, ...cost(events)].join(" · ");
}

/** @param {TimelineEvent[]} events @returns {string[]} */
function cost(events) {
  const calls = events.flatMap(({ call }) => (call ? [call] : []));
  const priced = calls.filter(({ costUsd }) => costUsd !== null);
  if (!priced.length) return [];
  const sum = priced.reduce((total, { costUsd }) => total + (costUsd ?? 0), 0);
  const unknown = calls.length - priced.length;
  return [
    format.cost(sum, priced.some(({ estimated }) => estimated)),
    ...(unknown ? [`${format.counted(unknown, "model call")} without a known price`] : []),
  ];
}

/**
 * @param {TimelineEvent[]} events the newest first
 * @param {Set<string>} open events that are shown with all that was recorded; kept up to date
 * @param {Narrow} narrow
 * @param {Set<string>} fresh events that have just arrived
 */
export function sessions(events, open, narrow, fresh) {
  const answers = answered(events);
  return [...grouped(withRuns(events), ({ gateway, agent, session }) => JSON.stringify([gateway, agent, session])).values()].map((own) =>
    section(own, (event, same) => line(event, same, answers, open, narrow, fresh), narrow),
  );
}

/**
 * @template Item
 * @param {Item[]} items
 * @param {(item: Item) => string} name
 */
function grouped(items, name) {
  /** @type {Map<string, Item[]>} */ const groups = new Map();
  for (const item of items) {
    const group = groups.get(name(item));
    if (group) group.push(item);
    else groups.set(name(item), [item]);
  }
  return groups;
}

/** Model calls at the end of a page belong to the run that the next page has begun. @param {TimelineEvent[]} events */
function withRuns(events) {
  /** @type {Map<string, string>} */ const runs = new Map();
  return [...events]
    .reverse()
    .map((event) => {
      const session = JSON.stringify([event.gateway, event.session]);
      if (event.decision && event.run) runs.set(session, event.run);
      return event.call ? { ...event, run: runs.get(session) ?? event.run } : event;
    })
    .reverse();
}

/** What became of each held call. @param {TimelineEvent[]} events */
function answered(events) {
  const rows = events.flatMap(({ decision }) => (decision?.nonce && ANSWERS.includes(decision.kind) ? [decision] : []));
  return grouped(rows.reverse(), held);
}

/** @param {DecisionRow} row */
const held = ({ gateway, nonce }) => `${nonce} ${gateway}`;

/** @param {TimelineEvent[]} own @param {(event: TimelineEvent, same: TimelineEvent[]) => HTMLElement} draw @param {Narrow} narrow */
function section(own, draw, narrow) {
  const [{ gateway, agent, session } = { gateway: "", agent: "", session: "" }] = own;
  const runs = [...grouped(own, ({ run }) => run).entries()];
  /** @param {Record<string, string>} only @param {string} value @param {string} none */
  const name = (only, value, none) =>
    value ? button(quoted(value), () => narrow(only), { class: "link plain", title: "Show only this" }) : el("span", { class: "quiet" }, none);
  return el(
    "section",
    { class: "card session", "aria-label": visible(`${agent || "an unknown agent"}, ${session || "no session"}`) },
    el("h3", null, name({ agent, gateway }, agent, "Unknown agent"), " · ", name({ agent, session, gateway }, session, "no session")),
    el("p", { class: "quiet" }, gateway && [quoted(gateway), " · "], sums(own)),
    runs.map(([run, events]) => [
      el("h4", null, "Run ", name({ agent, session, run, gateway }, run, "not known"), el("small", null, ` ${span(events)} · ${sums(events)}`)),
      el("ol", { class: "events" }, repeated(events).map((same) => el("li", null, draw(/** @type {TimelineEvent} */ (same[0]), same)))),
    ]).flat(),
  );
}

/** From when to when. @param {TimelineEvent[]} events */
function span(events) {
  const [first, last] = [format.bucket(events.at(-1)?.at ?? 0, 0), format.bucket(events[0]?.at ?? 0, 0)];
  return first === last ? first : `${first} to ${last}`;
}

/** Equal events that follow each other are one line. @param {TimelineEvent[]} events */
function repeated(events) {
  /** @type {TimelineEvent[][]} */ const lines = [];
  for (const event of events) {
    const last = lines.at(-1);
    if (last?.[0] && alike(last[0]) === alike(event)) last.push(event);
    else lines.push([event]);
  }
  return lines;
}

/** @param {TimelineEvent} event */
function alike({ call, decision }) {
  if (!decision || decision.nonce) return `${call?.id} ${decision?.id}`;
  const { kind, tool, code, reason, shown, person } = decision;
  return JSON.stringify([kind, tool, code, reason, shown, person]);
}

/**
 * @param {TimelineEvent} event
 * @param {TimelineEvent[]} same
 * @param {Map<string, DecisionRow[]>} answers
 * @param {Set<string>} open
 * @param {Narrow} narrow
 * @param {Set<string>} fresh
 */
function line(event, same, answers, open, narrow, fresh) {
  const id = key(/** @type {TimelineEvent} */ (same.at(-1))); // the oldest: newer equal ones may still join it
  const became = event.decision && HOLDS.includes(event.decision.kind) ? (answers.get(held(event.decision)) ?? []) : [];
  const details = el(
    "details",
    { class: same.some((one) => fresh.has(key(one))) ? "event fresh" : "event", "data-event": id, open: open.has(id) },
    el(
      "summary",
      { "data-focus": id },
      el("time", { class: "quiet", datetime: new Date(event.at).toISOString(), title: format.moment(event.at) }, format.time(event.at)),
      " ",
      event.call ? model(event.call) : event.decision ? decided(event.decision) : null,
      same.length > 1 ? el("b", null, ` × ${format.count(same.length)}`) : null,
      became.map((row) => [" → ", el("b", null, named(row.kind).label), row.person && [" by ", quoted(row.person)]].flat()).flat(),
    ),
  );
  const fill = () => {
    if (details.open) open.add(id);
    else open.delete(id);
    if (details.open && details.childElementCount === 1) details.append(record(event, same, narrow));
  };
  details.addEventListener("toggle", fill);
  if (details.open) fill();
  return details;
}

/** @param {CallRow} call @returns {Child[]} */
function model({ model: name, total, costUsd, estimated, outcome }) {
  const failed = outcome && outcome !== "completed" ? [" ", badge(outcome, "red")] : [];
  return [badge("Model", "quiet"), " ", quoted(name, "unknown model"), ` · ${format.compact(total)} tokens · ${format.cost(costUsd, estimated)}`, ...failed];
}

/** @param {DecisionRow} row @returns {Child[]} */
function decided({ kind, tool, code, shown, reason, nonce, person }) {
  const about = shown || reason;
  const text = about.length > LINE ? `${about.slice(0, LINE)}…` : about;
  return [
    kindBadge(kind),
    " ",
    tool && el("b", null, quoted(tool)),
    " ",
    text && quoted(text),
    nonce && [" ", el("code", null, quoted(nonce))],
    code.startsWith(UNDO) && shown && [" · ", quoted(reason)],
    person && [" by ", quoted(person)],
  ].flat();
}

/** All that was recorded. @param {TimelineEvent} event @param {TimelineEvent[]} same @param {Narrow} narrow */
function record({ call, decision, at, run }, same, narrow) {
  const times = same.length > 1 ? `${format.moment(same.at(-1)?.at ?? at)} to ${format.moment(at)}` : format.moment(at);
  /** @type {[string, Child][]} */
  const facts = call
    ? [
        ["Provider", call.provider && quoted(call.provider)],
        ["Tokens", `${format.count(call.input)} in, ${format.count(call.output)} out, ${format.count(call.cacheRead)} from the cache, ${format.count(call.cacheWrite)} into it`],
        ["Duration", format.duration(call.durationMs)],
        ["Outcome", call.outcome && quoted(call.outcome)],
        ["Channel", call.channel && quoted(call.channel)],
      ]
    : decision
      ? [
          ["Reason", decision.reason && quoted(decision.reason)],
          ["Code", decision.code && quoted(decision.code)],
          ["Held call", decision.nonce && button(quoted(decision.nonce), () => narrow({ text: decision.nonce }), { class: "link plain" })],
          ["Person", decision.person && el("span", null, quoted(decision.person), " ", quoted(place(decision.place) ?? "", ""))],
        ]
      : [];
  return el(
    "div",
    { class: "record" },
    el(
      "dl",
      null,
      [["When", times], ...facts, ["Run", run && quoted(run)]]
        .filter(([, value]) => value)
        .map(([label, value]) => el("div", null, el("dt", null, label ?? ""), el("dd", null, value ?? ""))),
    ),
    decision?.shown && el("pre", { dir: "ltr" }, el("bdi", null, visible(decision.shown))),
    decision?.kind === "allow" && !decision.shown && el("p", { class: "quiet" }, "The arguments of calls that were simply allowed are not recorded."),
  );
}
