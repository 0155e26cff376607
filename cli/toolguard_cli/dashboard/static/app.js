// What all tabs share: the range, the state of the gateways, what waits, and how changes are made.

import { ApiError, dropToken, get, post, setToken, token } from "./api.js";
import { ask, say, warn } from "./dialogs.js";
import { el } from "./dom.js";
import { command } from "./parts.js";

/** @typedef {import("./shapes.js").State} State */
/** @typedef {import("./shapes.js").Pending} Pending */
/** @typedef {import("./shapes.js").Range} Range */

const OVERTAKEN = 60_000; // ms; further back is a clock that was set

export class App {
  /** @type {Range} */ range = "24h";
  /** @type {State | null} */ state = null;
  /** @type {Pending | null} */ pending = null;
  #skew = 0;
  #changed;
  #reconnect;

  /**
   * @param {(what: "state" | "pending") => void} changed
   * @param {() => void} reconnect
   */
  constructor(changed, reconnect) {
    this.#changed = changed;
    this.#reconnect = reconnect;
  }

  /** The time as the server has it, ms. */
  get now() {
    return Date.now() + this.#skew;
  }

  get mayChange() {
    return this.state?.mayChange ?? false;
  }

  /** The range in words. */
  get span() {
    return { "24h": "24 hours", "7d": "7 days", "30d": "30 days" }[this.range];
  }

  /** @param {number} now */
  clock(now) {
    if (Number.isFinite(now)) this.#skew = now - Date.now();
  }

  async loadState() {
    try {
      this.state = /** @type {State} */ (await get("state"));
      this.clock(this.state.now);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.locked();
      throw error;
    } finally {
      this.#changed("state");
    }
  }

  async loadPending() {
    this.hold(await get("pending"));
  }

  /**
   * What waits now. An answer that something newer has overtaken on its way counts no more.
   * @param {Pending} pending
   */
  hold(pending) {
    const behind = (this.pending?.now ?? 0) - pending.now;
    if (behind > 0 && behind < OVERTAKEN) return;
    this.pending = pending;
    this.clock(pending.now);
    this.#changed("pending");
  }

  /**
   * Makes a change; says how it went, unless `done` has no words. Answers what the server did, null where it refused.
   * @param {string} path
   * @param {Record<string, unknown>} body
   * @param {(answer: any) => string} done
   * @param {number} [patience] ms
   * @returns {Promise<any>}
   */
  async change(path, body, done, patience) {
    try {
      const answer = await post(path, body, patience);
      const text = done(answer);
      if (text) say(text);
      for (const note of answer.notes ?? []) warn(String(note));
      return answer;
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError(0, "bug", String(error), "");
      say(sentences(known.message, known.fix), "bad");
      if (known.status === 401) this.locked();
      return null;
    } finally {
      void this.loadState().catch(() => undefined);
    }
  }

  /** The token is not, or no longer, the right one. */
  locked() {
    if (!token()) return;
    dropToken();
    this.#reconnect();
  }

  /** Lets the person enter the token. */
  async unlock() {
    const body = [
      el("p", null, "Changes need the token of this dashboard. In a terminal of its machine,"),
      el("p", null, command("toolguard dashboard --open")),
      el(
        "p",
        null,
        "opens this page with it, and tells the address. That address, or the token alone, can be pasted here too.",
      ),
    ];
    const typed = await ask({ title: "Enter the token", body, action: "Use it", field: "Token or address", secret: true });
    if (typed === null) return;
    if (!setToken(typed)) return say("That is no token: it has 64 characters, 0 to 9 and a to f.", "bad");
    this.#reconnect();
    await this.loadState().catch(() => undefined);
    say(this.mayChange ? "Changes are on." : "That token is not the right one.", this.mayChange ? "good" : "bad");
  }

  /** Why controls are off, where they are. */
  lockNote() {
    if (this.mayChange) return null;
    const button = el(
      "button",
      { type: "button", class: "link", on: { click: () => this.unlock() }, "data-focus": "lock-note" },
      "enter its token",
    );
    return el(
      "p",
      { class: "notice", id: "lock-note" },
      "This page can only look. To change something, open it with ",
      command("toolguard dashboard --open"),
      " or ",
      button,
      ". On a phone or through a tunnel: the token is in the file beside the metrics file on the gateway's machine, ",
      command("metrics.db.token"),
      " (the setting ",
      command("metrics.dbPath"),
      ", with .token behind it).",
    );
  }
}

/** @param {...string} texts each of them a sentence, with or without its end */
function sentences(...texts) {
  return texts
    .filter(Boolean)
    .map((text) => (/[.!?`]$/.test(text) ? text : `${text}.`))
    .join(" ");
}
