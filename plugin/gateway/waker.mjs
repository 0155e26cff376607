// Wakes an idle agent when a user has approved or revived its call elsewhere.
//
// Only the instance in which the gateway runs the service can do that: from other instances the text is lost, and the agent
// wakes without knowing why (seen on 2026.9.6). A busy session is not woken: the engine asks again when its run ends.

/** @typedef {import("./engine.mjs").Logger} Logger */

export class Waker {
  #logger;
  #busy;
  /** @type {any} */
  #api = null;

  /**
   * @param {Logger} logger
   * @param {(session: string) => boolean} busy whether a run of this session is under way
   */
  constructor(logger, busy) {
    this.#logger = logger;
    this.#busy = busy;
  }

  /** @param {any} api of the instance whose service runs */
  through(api) {
    this.#api = api;
  }

  /** @param {any} message from the engine: `nonce, agent, session, text` */
  async wake({ nonce, agent, session, text }) {
    if (this.#busy(session)) return;
    const api = this.#api;
    try {
      const target = { sessionKey: session, agentId: agent };
      const done = await api?.session?.workflow?.enqueueNextTurnInjection?.({
        ...target, text, placement: "append_context", idempotencyKey: `toolguard-${nonce}`,
      });
      if (!done?.enqueued) return this.#failed(nonce, "this OpenClaw accepts no message for an idle session");
      await api.runtime.system.requestHeartbeat({ source: "background-task", intent: "immediate", reason: "toolguard approval", ...target });
    } catch (error) {
      this.#failed(nonce, error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {string} nonce
   * @param {string} why
   */
  #failed(nonce, why) {
    this.#logger.warn(`[toolguard] the agent of ${nonce} could not be woken (${why}); tell it to continue`);
  }
}
