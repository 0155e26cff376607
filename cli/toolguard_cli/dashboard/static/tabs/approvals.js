// The held calls, each with its content and the time left to decide; below them those that are over.

import { get } from "../api.js";
import { button, el, fill, visible } from "../dom.js";
import * as format from "../format.js";
import { heldKeys } from "../heldkeys.js";
import { command, empty } from "../parts.js";
import { history } from "../settled.js";
import { waitingCard } from "../waiting.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").Pending} Pending */

/** @type {Pending} */
const NOT_ASKED = { now: 0, pending: [], problems: [], unread: [] };
const MOST = 200; // waiting cards, and as many finished ones
const CHECK = 100; // ms

/** @param {App} app @returns {import("../main.js").Tab} */
export function approvals(app) {
  /** @type {Map<string, ReturnType<typeof waitingCard>>} */
  const cards = new Map();
  const lock = el("div");
  const problems = el("div");
  const hint = el("div");
  const list = el("div", { class: "waiting", tabindex: -1, role: "group", "aria-label": "Held calls" });
  const foot = el("div", { class: "actions" });
  const past = history(app);
  const body = el("div", { class: "stack" }, lock, problems, hint, list, foot);
  let more = 0;

  const draw = () => {
    const { pending, problems: texts, unread } = app.pending ?? NOT_ASKED;
    fill(
      problems,
      texts.map((text) => el("p", { class: "notice bad" }, visible(text))),
    );
    const held = new Map(pending.map((one) => [`${one.nonce} ${one.gateway}`, one]));
    for (const [key, card] of cards) if (!held.has(key)) card.missing(unread.includes(card.gateway));
    for (const [key, one] of held) cards.get(key)?.update(one);
    const fresh = [...held].filter(([key]) => !cards.has(key));
    if (fresh.length && [...cards.values()].every((card) => card.ended())) drop(0); // a call that waits is at the top
    const room = Math.max(0, MOST - [...cards.values()].filter((card) => !card.ended()).length);
    for (const [key, one] of fresh.slice(0, room)) add(key, waitingCard(app, one));
    more = Math.max(0, fresh.length - room);
    drop(MOST);
    note();
  };
  /** @param {string} key @param {ReturnType<typeof waitingCard>} card */
  const add = (key, card) => {
    cards.set(key, card);
    list.append(card.root);
  };
  /** Removes finished cards. They are kept until then so that nothing slides under the pointer. @param {number} keep newest */
  const drop = (keep) => {
    const ended = [...cards].filter(([, card]) => card.ended());
    for (const [key, card] of ended.slice(0, Math.max(0, ended.length - keep))) {
      card.root.remove();
      cards.delete(key);
    }
  };
  const clear = () => {
    drop(0);
    note();
    list.focus({ preventScroll: true });
  };
  const checkMoved = () => {
    if (list.offsetParent) for (const card of cards.values()) card.checkMoved();
  };
  const note = () => {
    fill(hint, cards.size ? null : app.pending?.problems.length ? unknown() : nothing());
    fill(lock, cards.size ? app.lockNote() : null);
    fill(
      foot,
      more > 0 && el("p", { class: "quiet" }, `and ${format.count(more)} more; to list them all, run `, command("toolguard pending")),
      [...cards.values()].some((card) => card.ended()) &&
        button("Clear finished", clear, { class: "small", "data-focus": "clear" }),
    );
  };

  const view = new View(
    app,
    body,
    (signal) => get("pending", {}, signal),
    (/** @type {Pending} */ got) => app.hold(got),
  );
  list.addEventListener("pointerdown", checkMoved, true);
  heldKeys(list, () => [...cards.values()]);
  setInterval(checkMoved, CHECK);
  return {
    root: el("div", { class: "stack" }, view.root, past.root),
    timeless: true,
    refresh: () => Promise.all([view.refresh(), past.refresh()]),
    left: () => {
      drop(0);
      note();
    },
    event: (event) => {
      if (event.type === "beat") for (const card of cards.values()) card.beat();
      if (event.type === "decision") {
        for (const card of cards.values()) card.decided(event.decision);
        note();
      }
    },
    changed: (what) => {
      if (what === "pending") {
        draw();
        if (past.root.offsetParent) void past.refresh();
      } else note();
      past.allow();
      for (const card of cards.values()) card.allow();
    },
  };
}

const nothing = () =>
  empty(
    "No held calls",
    "Calls that need approval appear here as soon as they are held. In a terminal: ",
    command("toolguard watch"),
  );
const unknown = () => empty("Held calls unavailable", "Because of the problem above, the held calls cannot be read.");
