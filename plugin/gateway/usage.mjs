// What the calls of the model used and how they ended, as notes to the engine, where the settings want metrics.
//
// Two events tell of one call: `model_call_ended` how long it took and how it ended, the message that follows it what it
// used. The engine puts them together. Nothing here is waited for, and nothing here may disturb the guard.
//
// Of the answer that closes a run which the guard has ended the gateway calls no hook (2026.9.6). What it adds up of a run's output
// shows that there was one; its input and its cost nobody tells.

import { bound } from "./seams.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "note">} Engine */
/** @typedef {Pick<import("./runs.mjs").Runs, "ofSession" | "known">} Runs */

const MAX_SESSIONS = 1_000;
const MAX_RUNS = 1_000;
const MAX_NAME = 1_000;
const COUNTS = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];
/** Messages that the gateway puts into a conversation itself. */
const ITS_OWN = "openclaw";

/** @param {any} config the plugin's entry as the gateway holds it */
export function isMeasured(config) {
  return config?.metrics?.enabled === true;
}

export class Usage {
  #engine;
  #runs;
  /** @type {Map<string, string>} the channel on which somebody last wrote, by session */
  #channels = new Map();
  /** @type {Map<string, { written: number, told: number }>} tokens of output, by run: of its messages, and of all its calls */
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
   * Before the run is forgotten.
   * @param {any} event of an agent
   */
  agentEvent(event) {
    quietly(() => {
      const { stream, runId, data } = event;
      if (stream === "usage") this.#outputOf(runId).told = count(data?.outputTokens);
      else if (stream === "lifecycle" && (data?.phase === "end" || data?.phase === "error")) this.#runEnded(runId);
    });
  }

  /** @param {string} id */
  #runEnded(id) {
    const { written, told } = this.#outputOf(id);
    this.#output.delete(id);
    const run = this.#runs.known(id);
    if (!run || run.cut.size === 0 || told <= written) return;
    const usage = { output: told - written };
    this.#engine.note({
      type: "answered", ...this.#place(run.session, run.agent), run: id, provider: run.provider, model: run.model, usage, stop: "stop",
    });
  }

  /** @param {string} run */
  #outputOf(run) {
    const known = this.#output.get(run) ?? { written: 0, told: 0 };
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
 * Tokens and cost, and nothing else of what a message says. A cost that is not told is left out.
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
 * The agent whose session it is: `agent:<id>:...`.
 * @param {string} session
 */
function agentOf(session) {
  return /^agent:([^:]+):/.exec(session)?.[1] ?? "";
}

/** @param {() => void} act */
function quietly(act) {
  try {
    act();
  } catch {
    // what cannot be read is not counted; the guard goes on
  }
}
