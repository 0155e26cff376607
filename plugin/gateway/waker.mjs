// Wakes an idle agent when a user has approved or revived its call elsewhere.
//
// Only the instance in which the gateway runs the service can do that: from other instances the text is lost, and the agent
// wakes without knowing why (seen on 2026.9.6). A busy session is not woken: the engine asks again when its run ends. The engine
// is told what became of each attempt, because a person who has approved a call is told as well.

import { bound } from "./seams.mjs";

/** @typedef {import("./engine.mjs").Logger} Logger */
/** @typedef {{ nonce: string, outcome: "woken" | "busy" | "later", why: string }} Outcome */

const LONGEST = 200;
const MAX_KNOWN = 100;
const PATIENCE_MS = 3_000;

/**
 * Sessions that begin anew with each run. For a subagent the gateway would wake the session that started it instead, without
 * a word; an automation runs when it is due.
 */
const OWN_RUNS = /^(?:agent:[^:]*:)?(subagent|cron|hook):/i;
const NOT_WOKEN = { subagent: "OpenClaw wakes no subagent", cron: "OpenClaw wakes no automation", hook: "OpenClaw wakes no hook" };

/**
 * Where heartbeats have sessions of their own (`isolatedSession`), a wake would begin a new one too: without the text, which
 * is for the session that made the call, and in which that session's approval does not count.
 */
const SAME_SESSION = { isolatedSession: false };

/**
 * Where OpenClaw keeps whether heartbeats are switched on (`openclaw system heartbeat`). While they are off it drops each wake
 * without a word. The place is not documented; where it is missing they count as on.
 */
const WAKES = Symbol.for("openclaw.sessionEventWake");

function switchedOff() {
  return /** @type {any} */ (globalThis)[WAKES]?.areSessionEventWakesEnabled?.() === false;
}

export class Waker {
  #logger;
  #busy;
  #report;
  /** @type {any} */
  #api = null;
  /** @type {Map<string, Outcome>} by nonce */
  #outcomes = new Map();
  /** @type {Map<string, ((outcome: Outcome) => void)[]>} who waits for the outcome of a nonce */
  #waiting = new Map();

  /**
   * @param {Logger} logger
   * @param {(session: string) => boolean} busy whether a run of this session is under way
   * @param {(outcome: Outcome) => void} [report]
   */
  constructor(logger, busy, report = () => {}) {
    this.#logger = logger;
    this.#busy = busy;
    this.#report = (/** @type {Outcome} */ outcome) => {
      this.#outcomes.set(outcome.nonce, outcome);
      bound(this.#outcomes, MAX_KNOWN);
      for (const tell of this.#waiting.get(outcome.nonce) ?? []) tell(outcome);
      report(outcome);
    };
  }

  /**
   * What became of waking the agent of this call; null if that is not known soon.
   * @param {string} nonce
   * @param {number} [patience] in milliseconds
   * @returns {Promise<Outcome | null>}
   */
  async outcome(nonce, patience = PATIENCE_MS) {
    const known = this.#outcomes.get(nonce);
    if (known) return known;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const told = new Promise((/** @type {(outcome: Outcome | null) => void} */ resolve) => {
      this.#waiting.set(nonce, [...(this.#waiting.get(nonce) ?? []), resolve]);
      bound(this.#waiting, MAX_KNOWN);
      timer = setTimeout(() => resolve(null), patience);
    });
    const outcome = await told;
    clearTimeout(timer);
    this.#waiting.delete(nonce);
    return outcome;
  }

  /** @param {any} api of the instance whose service runs */
  through(api) {
    this.#api = api;
  }

  /** @param {any} message from the engine: `nonce, agent, session, text` */
  async wake({ nonce, agent, session, text }) {
    if (this.#busy(session)) return this.#report({ nonce, outcome: "busy", why: "" });
    const kind = OWN_RUNS.exec(session)?.[1]?.toLowerCase();
    if (kind) return this.#failed(nonce, NOT_WOKEN[/** @type {keyof NOT_WOKEN} */ (kind)]);
    const api = this.#api;
    if (!api) return this.#failed(nonce, "no gateway runs here that could wake it");
    const key = `toolguard-${nonce}`;
    try {
      if (switchedOff()) return this.#failed(nonce, "heartbeats are switched off, see openclaw system heartbeat enable");
      const target = { sessionKey: session, agentId: agent };
      const done = await api.session?.workflow?.enqueueNextTurnInjection?.({
        ...target, text, placement: "append_context", idempotencyKey: key,
      });
      // It is not enqueued twice: that it waits there already is as good.
      if (!done?.enqueued && done?.id !== key) return this.#failed(nonce, "OpenClaw accepts no message for its session");
      await api.runtime.system.requestHeartbeat({
        ...target, source: "background-task", intent: "immediate", reason: "toolguard approval", heartbeat: SAME_SESSION,
      });
      this.#report({ nonce, outcome: "woken", why: "" });
    } catch (error) {
      this.#failed(nonce, error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * @param {string} nonce
   * @param {string} why
   */
  #failed(nonce, why) {
    this.#logger.warn(`[toolguard] the agent of ${nonce} could not be woken (${why}): it is told at its next run`);
    this.#report({ nonce, outcome: "later", why: why.slice(0, LONGEST) });
  }
}
