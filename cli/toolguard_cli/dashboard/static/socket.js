// The connection for live events.
//
// The server sends an event every five seconds; silence means that it is gone. A lost connection is retried with increasing
// delays, and after a while the page counts as stale. The token is sent only to a server that has proven itself.

import { token } from "./api.js";
import { prove, wasProven } from "./proof.js";

const SILENCE = 12_000; // ms
const STALE_AFTER = 10_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const WRONG_TOKEN = 4401;

/** @typedef {"live" | "reconnecting" | "stale"} Connection */

export class Socket {
  /** @type {WebSocket | null} */ #socket = null;
  #wait = FIRST_WAIT;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #retry;
  #onEvent;
  #onState;
  #onRefused;
  #attempt = 0;
  /** When the last event arrived. */
  received = Date.now();
  /** @type {Connection} */ state = "reconnecting";
  /** Whether the program that answers does not know the token. */
  foreign = false;

  /**
   * @param {(event: any) => void} onEvent
   * @param {(state: Connection) => void} onState
   * @param {() => void} onRefused the token is wrong
   */
  constructor(onEvent, onState, onRefused) {
    this.#onEvent = onEvent;
    this.#onState = onState;
    this.#onRefused = onRefused;
    setInterval(() => this.#check(), 1000);
    addEventListener("online", () => void this.connect());
  }

  async connect() {
    clearTimeout(this.#retry);
    const old = this.#socket;
    this.#socket = null; // its further messages are ignored
    old?.close();
    const mine = (this.#attempt += 1);
    const given = token();
    const server = given ? await prove(given) : "unknown";
    if (mine !== this.#attempt) return;
    this.#setForeign(server === "foreign");
    if (server === "foreign" && !wasProven(given)) this.#onRefused();
    else if (server === "foreign" || server === "gone") this.#lost(0);
    else this.#open(given);
  }

  /** @param {string} given the token, or nothing */
  #open(given) {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ token: given }));
    socket.onmessage = (message) => socket === this.#socket && this.#take(String(message.data));
    socket.onclose = (event) => socket === this.#socket && this.#lost(event.code);
  }

  /** @param {string} text */
  #take(text) {
    const event = parsed(text);
    if (!event) return;
    this.received = Date.now();
    this.#wait = FIRST_WAIT;
    this.#setState("live");
    this.#onEvent(event);
  }

  /** @param {number} code */
  #lost(code) {
    this.#socket = null;
    if (this.state === "live") this.#setState("reconnecting");
    if (code === WRONG_TOKEN) return this.#onRefused();
    this.#retry = setTimeout(() => void this.connect(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
  }

  #check() {
    const silent = Date.now() - this.received;
    if (this.state === "live" && silent > SILENCE) {
      this.#setState("reconnecting");
      void this.connect();
    } else if (this.state === "reconnecting" && silent > SILENCE + STALE_AFTER) {
      this.#setState("stale");
    }
  }

  /** @param {boolean} foreign */
  #setForeign(foreign) {
    if (foreign === this.foreign) return;
    this.foreign = foreign;
    this.#onState(this.state);
  }

  /** @param {Connection} state */
  #setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.#onState(state);
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value?.type === "string" ? value : null;
  } catch {
    return null;
  }
}
