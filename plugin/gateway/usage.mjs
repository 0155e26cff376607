// The usage and outcome of model calls, as notes to the engine, if metrics are enabled or usage is limited.
//
// Two events describe one call: `model_call_ended` its duration and outcome, the message after it its usage. The engine
// combines them. Nothing waits for an answer, and nothing here may disturb the guard.
//
// For the answer that closes a run which the guard has ended, the gateway calls no hook (2026.9.6). It shows only in the
// total output of the run; its input and cost are unknown.

import { bound } from "./seams.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "note">} Engine */
/** @typedef {Pick<import("./runs.mjs").Runs, "ofSession" | "known">} Runs */

const MAX_SESSIONS = 1_000;
const MAX_RUNS = 1_000;
const MAX_NAME = 1_000;
const COUNTS = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];
/** The provider of messages that the gateway adds to a conversation itself. */
const ITS_OWN = "openclaw";

/** @param {any} config the plugin's entry in the gateway's config */
export function isMeasured(config) {
  return config?.metrics?.enabled === true || isLimited(config);
}

/** @param {any} config */
export function isLimited(config) {
  return Array.isArray(config?.limits) && config.limits.length > 0;
}

export class Usage {
  #engine;
  #runs;
  /** @type {Map<string, string>} the channel of the last message, by session */
  #channels = new Map();
  /** @type {Map<string, { written: number, total: number }>} output tokens by run: of its messages, and of all its calls */
  #output = new Map();

  /**
   * @param {Engine} engine
   * @param {Runs} runs
   */
  constructor(engine, runs) {
    this.#engine = engine;
    this.#runs = runs;
  }

  /**
   * @param {any} event of `message_received`
   * @param {any} ctx
   */
  messageReceived(event, ctx) {
    quietly(() => {
      const session = name(event.sessionKey ?? ctx?.sessionKey);
      const channel = name(event.metadata?.originatingChannel ?? event.metadata?.provider ?? ctx?.channelId);
      if (!session || !channel) return;
      this.#channels.set(session, channel);
      bound(this.#channels, MAX_SESSIONS);
    });
  }

  /**
   * @param {any} event of `model_call_ended`
   * @param {any} ctx
   */
  callEnded(event, ctx) {
    quietly(() => {
      const session = name(event.sessionKey ?? ctx?.sessionKey);
      this.#engine.note({
        type: "model-ended", ...this.#place(session, name(ctx?.agentId)), run: name(event.runId), call: name(event.callId),
        provider: name(event.provider), model: name(event.model),
        durationMs: count(event.durationMs), outcome: name(event.failureKind) || name(event.outcome),
      });
    });
  }

  /**
   * @param {any} message on its way into the history
   * @param {any} ctx
   */
  messageWritten(message, ctx) {
    quietly(() => {
      if (message?.role !== "assistant" || message.provider === ITS_OWN) return;
      const session = name(ctx?.sessionKey);
      const run = this.#runs.ofSession(session)?.id ?? "";
      const usage = numbers(message.usage);
      this.#outputOf(run).written += usage.output ?? 0;
      this.#engine.note({
        type: "answered", ...this.#place(session, name(ctx?.agentId)), run,
        provider: name(message.provider), model: name(message.model), usage, stop: name(message.stopReason),
      });
    });
  }

  /**
   * Has to be called before the run is removed.
   * @param {any} event of an agent
   */
  agentEvent(event) {
    quietly(() => {
      const { stream, runId, data } = event;
      if (stream === "usage") this.#outputOf(runId).total = count(data?.outputTokens);
      else if (stream === "lifecycle" && (data?.phase === "end" || data?.phase === "error")) this.#runEnded(runId);
    });
  }

  /** @param {string} id */
  #runEnded(id) {
    const { written, total } = this.#outputOf(id);
    this.#output.delete(id);
    const run = this.#runs.known(id);
    if (!run || run.cut.size === 0 || total <= written) return;
    const usage = { output: total - written };
    this.#engine.note({
      type: "answered", ...this.#place(run.session, run.agent), run: id, provider: run.provider, model: run.model, usage, stop: "stop",
    });
  }

  /** @param {string} run */
  #outputOf(run) {
    const known = this.#output.get(run) ?? { written: 0, total: 0 };
    this.#output.set(run, known);
    bound(this.#output, MAX_RUNS);
    return known;
  }

  /**
   * @param {string} session
   * @param {string} agent
   */
  #place(session, agent) {
    return { session, agent: agent || agentOf(session), channel: this.#channels.get(session) ?? "" };
  }
}

/**
 * The tokens and the cost of a message; an unknown cost is left out.
 * @param {any} usage
 */
function numbers(usage) {
  /** @type {Record<string, number>} */
  const tokens = Object.fromEntries(COUNTS.map((key) => [key, count(usage?.[key])]));
  const cost = usage?.cost?.total ?? usage?.cost;
  return typeof cost === "number" && Number.isFinite(cost) ? { ...tokens, cost } : tokens;
}

/** @param {unknown} value */
function count(value) {
  return typeof value === "number" && value > 0 ? Math.min(Math.round(value), Number.MAX_SAFE_INTEGER) : 0;
}

/** @param {unknown} value */
function name(value) {
  return typeof value === "string" ? value.slice(0, MAX_NAME) : "";
}

/**
 * The agent of a session: `agent:<id>:...`.
 * @param {string} session
 */
export function agentOf(session) {
  return /^agent:([^:]+):/.exec(session)?.[1] ?? "";
}

/** @param {() => void} act */
function quietly(act) {
  try {
    act();
  } catch {
    // what cannot be read is not counted
  }
}
