// Reports that the history of a session was compacted.

/** @typedef {Pick<import("./engine.mjs").Engine, "note">} Engine */
/** @typedef {import("./runs.mjs").Runs} Runs */
/** @typedef {import("./runs.mjs").Run} Run */

export class Compactions {
  #engine;
  #runs;

  /**
   * @param {Engine} engine
   * @param {Runs} runs
   */
  constructor(engine, runs) {
    this.#engine = engine;
    this.#runs = runs;
  }

  /**
   * The history of a session was compacted, and the last request is repeated. A compaction without a repeated request was
   * reported by an event just before.
   * @param {any} ctx
   */
  requestRepeated(ctx) {
    const run = this.#runs.ofSession(ctx?.sessionKey);
    if (run && !run.trimmed) this.#report(run);
    if (run) run.trimmed = false;
  }

  /** @param {Run} run */
  #report(run) {
    this.#engine.note({ type: "compacted", run: run.id, agent: run.agent, session: run.session });
  }

  /**
   * The gateway's event about a compaction within a run. It calls no hook if a request is repeated afterwards.
   * @param {any} event
   */
  ended(event) {
    const run = this.#runs.known(event.runId);
    const { completed, willRetry } = event.data;
    if (!run || completed !== true || typeof willRetry !== "boolean") return;
    if (willRetry) this.#report(run);
    run.trimmed = !willRetry;
  }
}
