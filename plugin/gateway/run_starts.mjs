// Whether a run may begin: asked before its first request to the model.

import { named } from "./event_facts.mjs";
import { agentOf } from "./usage.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "ask">} Engine */

export class RunStarts {
  #engine;

  /** @param {Engine} engine */
  constructor(engine) {
    this.#engine = engine;
  }

  /**
   * A message that would begin a run, in chat. Commands always pass: they need no model.
   * @param {any} event of `before_dispatch`
   * @param {any} ctx
   */
  async messageArriving(event, ctx) {
    if (String(event.content ?? event.body ?? "").trimStart().startsWith("/")) return undefined;
    const text = await this.#mayBegin(event.sessionKey ?? ctx?.sessionKey, "", "");
    return text ? { handled: true, text } : undefined;
  }

  /**
   * A run before its first request to the model, however it began. A heartbeat ends in silence. The gateway says which model it
   * will use (2026.9.6, its own runner), so that a limit on a model also covers the first run of a session. `before_agent_run`
   * could block it as well, but then HTTP answers "internal error".
   * @param {any} _event of `before_agent_reply`
   * @param {any} ctx
   */
  async runBeginning(_event, ctx) {
    const model = { provider: named(ctx?.modelProviderId), model: named(ctx?.modelId) };
    const text = await this.#mayBegin(ctx?.sessionKey, ctx?.agentId, ctx?.runId, model.model ? model : {});
    if (!text) return undefined;
    return ctx?.trigger === "heartbeat" ? { handled: true } : { handled: true, reply: { text } };
  }

  /**
   * Why no run may begin here; empty if one may, or if the engine does not answer: then its calls meet the fail mode.
   * @param {string | undefined} session
   * @param {string | undefined} agent
   * @param {string | undefined} run
   * @param {{ provider?: string, model?: string }} [model] that it will use
   */
  async #mayBegin(session, agent, run, model = {}) {
    const known = session ?? "";
    const answer = await this.#engine.ask({
      type: "message", run: run ?? "", agent: agent || agentOf(known), session: known, calls: [], ...model,
    });
    return typeof answer?.stop === "string" ? answer.stop : "";
  }
}
