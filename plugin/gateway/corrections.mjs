// The texts that a model sees instead of refusals, and the end of a run that gets too many of them.

import { place, withNote } from "./event_facts.mjs";
import { isError as isEngineError } from "./engine_lines.mjs";
import { acts, setting } from "./failmode.mjs";
import { correction, limit, REFUSED_WHEN_RUN } from "./messages.mjs";
import { bounded } from "./shape.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "askNow">} Engine */
/** @typedef {import("./runs.mjs").Runs} Runs */
/** @typedef {import("./runs.mjs").Run} Run */
/** @typedef {import("./seams.mjs").Trace} Trace */

const DEFAULT_MAX_FAILURES = 5;

/**
 * The run ends before its next request to the model.
 * @param {Run} run
 * @param {string} stop
 * @param {string[]} [waiting] the nonces of the held calls that it ends for
 */
export function stopLater(run, stop, waiting = []) {
  if (!run.stop) run.stoppedAt = run.requests;
  Object.assign(run, { stop, waiting });
}

export class Corrections {
  #engine;
  #config;
  #runs;
  #trace;

  /**
   * @param {Engine} engine
   * @param {any} config the plugin's entry in the gateway's config
   * @param {Runs} runs
   * @param {Trace} trace
   */
  constructor(engine, config, runs, trace) {
    this.#engine = engine;
    this.#config = config;
    this.#runs = runs;
    this.#trace = trace;
  }

  /**
   * Asks for the text that the model sees instead of a refusal, and remembers it.
   * @param {string} id
   * @param {string} original
   * @param {string | undefined} toolName
   * @param {any} ctx
   * @param {boolean} inPlace
   * @returns {string} the text that replaces the original; empty if it stays
   */
  of(id, original, toolName, ctx, inPlace) {
    const run = this.#runs.known(this.#runs.knownCall(ctx?.sessionKey, id)?.run ?? "") ?? this.#runs.ofSession(ctx?.sessionKey);
    const call = this.#runs.call(ctx?.sessionKey, id, { run: run?.id, agent: ctx?.agentId });
    call.tool ||= toolName ?? "";
    const answer = this.#engine.askNow({
      type: "failed", tool: call.tool, params: bounded(call.params) ?? null, text: original, judged: call.judged,
      ...place(call), call: id, provider: run?.provider ?? "", model: run?.model ?? "",
      request: run?.requests ?? 0, missed: run?.unanswered ?? 0,
    });
    const refused = !call.judged || REFUSED_WHEN_RUN.test(original);
    const reply = (isEngineError(answer) ? null : answer) ?? (refused && run ? this.#alone(run, call.tool, original) : {});
    if (!reply.text) return (call.text = ""); // asked only once
    const ends = run ? this.#endsHard(run, reply, inPlace) : false;
    // The run's id makes the text unique, so that no other run's request is held back.
    call.text = ends && run ? `${reply.text} (run ${run.id.slice(0, 8)})` : reply.text;
    this.#trace.replaced(original, withNote(call.text ?? "", call.note), call.run, inPlace, ends);
    return call.text ?? "";
  }

  /**
   * Records the engine's decision about the run. Returns whether its next request must not leave: the graceful end was due
   * before the last request and did not happen. That is the case for calls of unknown tools, whose message the gateway
   * shows to no hook, and if no hook is called at all.
   * @param {Run} run
   * @param {{ stop?: string, waiting?: string[] }} answer
   * @param {boolean} inPlace
   */
  #endsHard(run, { stop, waiting }, inPlace) {
    run.watch = true;
    if (!stop) return false;
    stopLater(run, stop, waiting);
    return !inPlace || run.requests > run.stoppedAt;
  }

  /**
   * Without the engine: a plain correction, and the end of the run after as many failures as the settings allow.
   * @param {Run} run
   * @param {string} tool
   * @param {string} original
   */
  #alone(run, tool, original) {
    if (!acts(this.#config, run.agent)) return {};
    run.unanswered += 1;
    if (run.unanswered < this.#most(run)) return { text: correction(tool, original), stop: "" };
    return { text: limit(run.unanswered), stop: limit(run.unanswered) };
  }

  /**
   * Counts refusals made here, so that they cannot become an endless loop.
   * @param {Run} run
   * @param {{ block: true, blockReason: string }} verdict
   */
  counted(run, verdict) {
    run.unanswered += 1;
    if (run.unanswered < this.#most(run)) return verdict;
    Object.assign(run, { stop: limit(run.unanswered), waiting: [] });
    return { block: true, blockReason: run.stop };
  }

  /** @param {Run} run */
  #most(run) {
    return setting(this.#config, run.agent, "maxFailuresPerTurn") ?? DEFAULT_MAX_FAILURES;
  }
}
