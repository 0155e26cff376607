// Calls that wait for a person, each with what it would do and how long it still waits.

import { get } from "../api.js";
import { el, fill } from "../dom.js";
import { command, empty } from "../parts.js";
import { waitingCard } from "../waiting.js";
import { View } from "../view.js";

/** @typedef {import("../app.js").App} App */
/** @typedef {import("../shapes.js").Pending} Pending */

const MOST = 200;

/** @param {App} app @returns {import("../main.js").Tab} */
export function approvals(app) {
  /** @type {Map<string, ReturnType<typeof waitingCard>>} */
  const cards = new Map();
  const lock = el("div");
  const problems = el("div");
  const hint = el("div");
  const list = el("div", { class: "waiting" });
  const body = el("div", { class: "stack" }, lock, problems, hint, list);

  const draw = () => {
    const { pending, problems: told } = app.pending ?? { pending: [], problems: [] };
    fill(
      problems,
      told.map((text) => el("p", { class: "notice bad" }, text)),
    );
    const held = new Map(pending.slice(0, MOST).map((one) => [`${one.nonce} ${one.gateway}`, one]));
    for (const [key, card] of cards) if (!held.has(key)) card.leave(() => gone(key));
    for (const [key, one] of held) {
      const card = cards.get(key);
      if (card) card.update(one);
      else add(key, waitingCard(app, one));
    }
    note();
  };
  /** @param {string} key @param {ReturnType<typeof waitingCard>} card */
  const add = (key, card) => {
    cards.set(key, card);
    list.append(card.root);
  };
  /** @param {string} key */
  const gone = (key) => {
    cards.get(key)?.root.remove();
    cards.delete(key);
    note();
  };
  const note = () => {
    fill(
      hint,
      cards.size
        ? null
        : empty(
            "Nothing waits",
            "Calls that need a person appear here the moment they are held. In a terminal: ",
            command("toolguard watch"),
          ),
    );
    fill(lock, cards.size ? app.lockNote() : null);
  };

  const view = new View(
    app,
    body,
    (signal) => get("pending", {}, signal),
    (/** @type {Pending} */ got) => app.hold(got),
  );
  return {
    root: view.root,
    refresh: () => view.refresh(),
    event: (event) => {
      if (event.type === "beat") for (const card of cards.values()) card.beat();
      if (event.type === "decision") for (const card of cards.values()) card.decided(event.decision);
    },
    changed: (what) => {
      if (what === "pending") draw();
      else note();
      for (const card of cards.values()) card.allow();
    },
  };
}
