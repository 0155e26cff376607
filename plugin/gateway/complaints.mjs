// What goes wrong with the engine, for the gateway's log.

const MAX_CAUSES = 100;

export class Complaints {
  #logger;
  #isOver;
  /** @type {Set<string>} causes that were logged since the engine was last ready */
  #causes = new Set();

  /**
   * @param {{ warn: (text: string) => void }} logger
   * @param {() => boolean} isOver whether nothing is logged any more
   */
  constructor(logger, isOver) {
    this.#logger = logger;
    this.#isOver = isOver;
  }

  /**
   * Logs once per cause until the engine is ready again: an engine that cannot start must not fill the gateway's log.
   * @param {string} text
   */
  add(text) {
    const cause = text.replace(/\d+/g, "#");
    if (this.#isOver() || this.#causes.has(cause) || this.#causes.size >= MAX_CAUSES) return;
    this.#causes.add(cause);
    this.#logger.warn(`[toolguard] ${text}`);
  }

  clear() {
    this.#causes.clear();
  }
}
