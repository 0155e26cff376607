// What the gateway part blocked without a verdict of the engine, for the audit log. The engine writes the line; where it is
// silent, reports wait here until it is back, the newest of them. They are lost with the gateway's own process.

const MAX_WAITING = 200;

/** @typedef {Record<string, any>} Report */

export class Reports {
  #engine;
  /** @type {Report[]} */
  #waiting = [];
  #sending = false;

  /** @param {Pick<import("./engine.mjs").Engine, "ask">} engine */
  constructor(engine) {
    this.#engine = engine;
  }

  /** @param {Report} report */
  add(report) {
    this.#waiting.push({ type: "unjudged", ...report });
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    void this.send();
  }

  /** Sends what waits, one after another, for as long as the engine answers. */
  async send() {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (let report = this.#waiting[0]; report; report = this.#waiting[0]) {
        const answer = await this.#engine.ask(report);
        if (answer === null) return; // silence: again when it is back
        if (this.#waiting[0] === report) this.#waiting.shift();
      }
    } finally {
      this.#sending = false;
    }
  }
}
