// How long to wait before the engine is started again.

export const FIRST_DELAY_MS = 20;
const LAST_DELAY_MS = 2_000;
/** Deaths within this time count as a series; after the first ones the engine is restarted at once. */
const ROW_MS = 10_000;
const FREE_DEATHS = 4;

export class RestartDelays {
  /** @type {number[]} */
  #deaths = [];
  /** Milliseconds spent waiting for a start. Not counted between deaths, or no series would reach the last delay. */
  #waited = 0;

  /** @param {number} now when the engine died */
  next(now) {
    const active = now - this.#waited;
    this.#deaths = [...this.#deaths.filter((then) => active - then < ROW_MS), active];
    const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, this.#deaths.length - FREE_DEATHS), LAST_DELAY_MS);
    this.#waited += delay;
    return delay;
  }
}
