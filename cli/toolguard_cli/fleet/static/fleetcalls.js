// The held calls of one's teams, and what became of others.

import { button, el, fill, quoted } from "./dom.js";
import { get } from "./fleetapi.js";
import { callText, ending, fleetCard } from "./fleetcall.js";
import { choice, badge, empty, skeleton, when } from "./parts.js";
import { counted } from "./format.js";

/** @typedef {import("./fleetshapes.js").FleetCallView} FleetCallView */

const KEEPS = 8; // cards of calls that are over
const PAGE = 100; // decisions in one answer of the server
/** @type {Record<string, { label: string, tone: string }>} */
const STATES = {
  used: { label: "Approved", tone: "green" },
  rejected: { label: "Rejected by its gateway", tone: "red" },
  denied: { label: "Denied", tone: "red" },
  expired: { label: "Expired", tone: "quiet" },
};

/** @param {import("./fleetapp.js").FleetApp} app */
export function callsView(app) {
  /** @type {Map<string, ReturnType<typeof fleetCard>>} */
  const cards = new Map();
  const list = el("div", { class: "waiting" });
  const head = el("h2", null, "Held calls");
  const place = el("div", null, skeleton());
  const past = el("div", { class: "feed" });
  const span = { hours: "24" };
  let pastKey = "";
  /** @type {FleetCallView[]} the latest decisions */
  let closed = [];
  /** @type {FleetCallView[]} those before them that somebody wanted to see */
  let earlier = [];
  let whole = false; // whether no decision comes before them
  let asking = 0;
  /** @type {import("./fleetshapes.js").FleetCalls | null} */
  let latest = null;
  const hours = choice(
    "Period",
    [
      { value: "24", text: "24 hours" },
      { value: "168", text: "7 days" },
      { value: "720", text: "30 days" },
    ],
    span.hours,
    (value) => {
      span.hours = value;
      earlier = [];
      whole = false;
      asking = 0;
      app.refresh();
    },
  );
  const root = el(
    "div",
    { class: "stack" },
    el("section", { "aria-label": "Held calls" }, el("div", { class: "section-head" }, head), place),
    el(
      "section",
      { class: "card", "aria-label": "Decisions" },
      el("div", { class: "section-head" }, el("h2", null, "Decisions"), hours),
      past,
    ),
  );

  const load = async () => {
    void decided();
    /** @type {import("./fleetshapes.js").FleetCalls} */
    const waiting = await get("calls");
    latest = waiting;
    app.clock(waiting.now);
    show(waiting);
  };
  /** What waits does not wait for this: over a long time it may take seconds. */
  const decided = async () => {
    if (asking) return;
    const mine = (asking = Date.now());
    try {
      const { calls } = await get("history", { hours: span.hours });
      if (mine !== asking) return;
      closed = calls;
      if (latest) show(latest);
      draw();
    } catch (error) {
      if (mine === asking && !closed.length) fill(past, el("p", { class: "quiet none" }, quoted(error instanceof Error ? error.message : String(error))));
      pastKey = "";
    } finally {
      if (mine === asking) asking = 0;
    }
  };
  const draw = () => {
    const known = new Set(closed.map(id));
    const all = [...closed, ...earlier.filter((call) => !known.has(id(call)))];
    const key = JSON.stringify(all);
    if (key === pastKey) return;
    pastKey = key;
    const more = closed.length >= PAGE && !whole ? button("Show earlier decisions", older, { class: "small", "data-focus": "earlier decisions" }) : null;
    fill(past, all.length ? all.map(entry) : el("p", { class: "quiet none" }, "None in this period."), more);
  };
  const older = async () => {
    const last = earlier.at(-1) ?? closed.at(-1);
    if (!last) return;
    try {
      const { calls } = await get("history", { hours: span.hours, before: last.decided });
      const known = new Set([...closed, ...earlier].map(id));
      whole = calls.length < PAGE;
      pastKey = "";
      earlier = [...earlier, .../** @type {FleetCallView[]} */ (calls).filter((call) => !known.has(id(call)))];
      draw();
    } catch (error) {
      app.refused(error);
    }
  };
  /** @param {import("./fleetshapes.js").FleetCalls} waiting */
  const show = ({ all, calls }) => {
    const known = new Set(calls.map(id));
    for (const call of calls) {
      const card = cards.get(id(call));
      if (card) card.update(call);
      else cards.set(id(call), add(call));
    }
    for (const [key, card] of cards) if (!known.has(key)) card.end(closed.find((one) => id(one) === key));
    const over = [...cards].filter(([, card]) => card.isOver());
    for (const [key, card] of over.slice(0, Math.max(0, over.length - KEEPS))) {
      card.root.remove();
      cards.delete(key);
    }
    const more = all > calls.length ? ` (the oldest ${calls.length} are shown)` : "";
    head.textContent = `Held calls: ${all}${more}`;
    if (!cards.size) fill(place, empty("No held calls", "A call that needs approval appears here at once."));
    else if (!list.isConnected) fill(place, list);
  };
  /** @param {FleetCallView} call */
  const add = (call) => {
    const card = fleetCard(app, call);
    list.append(card.root);
    return card;
  };
  /** @param {FleetCallView} call */
  const entry = (call) => {
    const { label, tone } = STATES[call.rejected ? "rejected" : call.status] ?? { label: call.status, tone: "quiet" };
    return el(
      "article",
      { class: "entry", "data-nonce": call.nonce },
      el(
        "div",
        { class: "entry-head" },
        badge(label, tone),
        el("b", null, quoted(call.tool, "unreadable")),
        el("code", null, call.nonce),
        el("span", { class: "quiet" }, quoted(call.team), " ", quoted(call.host || call.gateway)),
        when(call.decided, app.now),
      ),
      el("p", { class: "became" }, quoted(ending(call))),
      call.decisions.length > 1
        ? el("p", { class: "quiet" }, counted(call.decisions.length, "decision"), ": ", quoted(call.decisions.map(({ approver, verdict }) => `${approver} ${verdict}`).join(", ")))
        : null,
      el("details", { class: "shown" }, el("summary", null, "The call"), callText(call)),
    );
  };
  return { root, load, beat: () => cards.forEach((card) => card.beat()) };
}

/** @param {FleetCallView} call */
const id = (call) => `${call.gateway} ${call.nonce}`;
