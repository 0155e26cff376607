// What all views share: who has logged in, the server's time, and how changes are made.

import { say } from "./dialogs.js";
import { FleetError, post } from "./fleetapi.js";

export class FleetApp {
  person = "";
  role = "";
  /** @type {string[]} */ teams = [];
  /** @type {import("./fleetshapes.js").PasskeyView[]} one's own, of all hosts */ passkeys = [];
  #skew = 0;
  #loggedOut;
  refresh;

  /** @param {() => void} refresh asks for everything anew @param {() => void} loggedOut */
  constructor(refresh, loggedOut) {
    this.refresh = refresh;
    this.#loggedOut = loggedOut;
  }

  /** The database's time, ms. */
  get now() {
    return Date.now() + this.#skew;
  }

  /** @param {number} now */
  clock(now) {
    if (Number.isFinite(now)) this.#skew = now - Date.now();
  }

  /** @param {import("./fleetshapes.js").FleetVisitor} me */
  greet(me) {
    this.person = me.id;
    this.role = me.role;
    this.teams = me.teams;
    this.clock(me.now);
  }

  /** Whether the person has a passkey for this page. */
  get hasPasskey() {
    return this.passkeys.some(({ host }) => host === location.hostname);
  }

  /** @param {string} team */
  covers(team) {
    return this.teams.includes("*") || this.teams.includes(team);
  }

  /**
   * Makes a change and shows the result. Returns whether it was made.
   * @param {string} path
   * @param {Record<string, unknown>} body
   */
  async change(path, body) {
    try {
      const { text } = await post(path, body);
      say(String(text));
      return true;
    } catch (error) {
      this.refused(error);
      return false;
    }
  }

  /** @param {unknown} error */
  refused(error) {
    const known = error instanceof FleetError ? error : new FleetError(0, "bug", String(error), "");
    say([known.message, known.fix].filter(Boolean).map(sentence).join(" "), "bad");
    if (known.status === 401) this.#loggedOut();
  }
}

/** @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?`]$/.test(text) ? "" : "."}`;
