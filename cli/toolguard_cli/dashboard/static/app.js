// State that all tabs share: the range, the gateways, the held calls; and how changes are made.

import { ApiError, dropToken, get, IS_NEAR, post, setToken, token } from "./api.js";
import { ask, say, warn } from "./dialogs.js";
import { button, el } from "./dom.js";
import { command } from "./parts.js";

/** @typedef {import("./shapes.js").GatewayStatus} GatewayStatus */
/** @typedef {import("./shapes.js").Pending} Pending */
/** @typedef {import("./shapes.js").Range} Range */

const OVERTAKEN = 60_000; // ms; a larger difference means that the server's clock was set back

export class App {
  /** @type {Range} */ range = "24h";
  /** @type {GatewayStatus | null} */ state = null;
  /** @type {Pending | null} */ pending = null;
  #skew = 0;
  #greeted = false;
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

  /** The server's time, ms. */
  get now() {
    return Date.now() + this.#skew;
  }

  get mayChange() {
    return this.state?.mayChange ?? this.#greeted;
  }

  /** What the server said when the page connected counts until the state is known. @param {boolean} mayChange */
  greet(mayChange) {
    this.#greeted = mayChange;
    if (!this.state) this.#changed("state");
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
      this.state = /** @type {GatewayStatus} */ (await get("state"));
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
   * Stores the held calls, unless a newer answer arrived first.
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
   * Makes a change and shows the result; nothing if `done` returns an empty text. Returns the answer, null if refused.
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

  /** The token was rejected. */
  locked() {
    if (!token()) return;
    dropToken();
    this.#reconnect();
  }

  /** Asks the user for the token. */
  async unlock() {
    const body = [
      el("p", null, "Changes need this dashboard's token. In a terminal on the gateway's machine, run"),
      el("p", null, command(IS_NEAR ? "toolguard dashboard --open" : "toolguard dashboard")),
      el(
        "p",
        null,
        IS_NEAR ? "to open this page with the token. Or paste" : "and paste",
        " the address that it prints, or just the token, here.",
      ),
    ];
    const typed = await ask({ title: "Enter the token", body, action: "Use token", field: "Token or address", secret: true });
    if (typed === null) return;
    if (!setToken(typed)) return say("That is not a token. A token has 64 characters, 0 to 9 and a to f.", "bad");
    this.#reconnect();
    await this.loadState().catch(() => undefined);
    say(this.mayChange ? "Changes are enabled." : "The token is wrong.", this.mayChange ? "good" : "bad");
  }

  /** Explains why controls are disabled; null if they are not, or if that is not known yet. */
  lockNote() {
    if (this.mayChange || !this.state) return null;
    return el(
      "p",
      { class: "notice", id: "lock-note" },
      "This page is read-only. To make changes, ",
      button("enter its token", () => this.unlock(), { class: "link", "data-focus": "lock-note" }),
      ". ",
      command(IS_NEAR ? "toolguard dashboard --open" : "toolguard dashboard"),
      IS_NEAR ? " opens this page with it." : " on the gateway's machine prints it.",
    );
  }
}

/** @param {...string} texts sentences, with or without a full stop */
function sentences(...texts) {
  return texts
    .filter(Boolean)
    .map((text) => (/[.!?`]$/.test(text) ? text : `${text}.`))
    .join(" ");
}
