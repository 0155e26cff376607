// The gateway's own approval prompt (`approval.mode: "native"`). If it cannot be shown, the call is held under its nonce: the
// gateway does not report in advance whether anyone can be asked, it cancels the prompt at once. The same holds if the prompt
// ends before the call has waited long enough: the gateway asks for at most ten minutes.

import { part } from "./runs.mjs";

/** @typedef {import("./runs.mjs").Run} Run */
/** @typedef {import("./runs.mjs").Runs} Runs */
/**
 * A prompt that is shown. `decision`: the last one that a person took elsewhere; `passing`: it is passed on; `used`: the
 * approval is used up for it, so that it can no longer be withdrawn.
 * @typedef {{ session: string, id: string, decision?: "approve" | "deny", passing?: Promise<void>, used?: boolean }} Prompt
 */

const LONGEST_MS = 600_000;
/** The ledger's outcome for each way a prompt ends. @type {Record<string, string>} */
const OUTCOMES = { "allow-once": "used", deny: "denied", timeout: "expired", cancelled: "unavailable" };
/** The id of a call inside Tool Search; it contains that of the outer call, as `part` writes it. */
const INNER_CALL = /^tool_search_code:(.+):[^:]*:\d+$/;

/** Equals no call that ran: the prompt was not answered, so nothing was allowed to run. */
export const NOTHING = Symbol("nothing was allowed");

export class Prompts {
  #engine;
  #runs;
  /** @type {WeakSet<Run>} runs in which nobody can be asked */
  #alone = new WeakSet();
  #answerer;
  /** @type {Map<string, Prompt[]>} the calls that are asked about, by nonce */
  #open = new Map();

  /**
   * @param {Pick<import("./engine.mjs").Engine, "ask">} engine
   * @param {Runs} runs
   * @param {Pick<import("./answerer.mjs").Answerer, "answer" | "review">} [answerer]
   */
  constructor(engine, runs, answerer) {
    this.#engine = engine;
    this.#runs = runs;
    this.#answerer = answerer;
  }

  /**
   * A person has decided elsewhere: a yes is for one call, a no for all that wait under this nonce.
   * @param {string} nonce
   * @param {"approve" | "deny"} decision
   */
  decided(nonce, decision) {
    const open = this.#open.get(nonce) ?? [];
    for (const prompt of decision === "approve" ? open.slice(0, 1) : [...open])
      prompt.passing = this.#passOn(nonce, decision, prompt);
  }

  /**
   * One decision after the other, and only the last one: of a yes and a no within a second, both would reach the prompt.
   * @param {string} nonce
   * @param {"approve" | "deny"} decision
   * @param {Prompt} prompt
   */
  async #passOn(nonce, decision, prompt) {
    prompt.decision = decision;
    await prompt.passing;
    const isTooLate = () => decision === "deny" && prompt.used === true;
    const counts = () => prompt.decision === decision && !isTooLate() && this.#open.get(nonce)?.includes(prompt) === true;
    const use = async () => (prompt.used = await this.#used(nonce));
    if (counts()) await this.#answerer?.answer(nonce, decision, prompt, counts, decision === "approve" ? use : async () => true);
  }

  /**
   * Uses up the approval before the gateway is told: a no that comes later is refused, and one that came before prevails.
   * @param {string} nonce
   * @returns {Promise<boolean>}
   */
  async #used(nonce) {
    const entered = await this.#engine.ask({ type: "resolved", nonce, outcome: "used" });
    return entered?.entered === true;
  }

  /**
   * @param {Run} run
   * @param {any} config
   */
  mayAsk(run, config) {
    return config?.approval?.mode === "native" && !this.#alone.has(run);
  }

  /**
   * The answer to the gateway: ask the user, and run exactly what was asked about.
   * @param {any} answer of the engine, with a prompt
   * @param {any} params that are asked about
   * @param {Run} run
   * @param {string} session
   * @param {string} id
   */
  ask(answer, params, run, session, id) {
    const { nonce, title, description, severity, timeoutMs } = answer.prompt;
    this.#runs.call(session, id, { ran: NOTHING });
    /** @type {Prompt} */
    const prompt = { session, id };
    this.#open.set(nonce, [...(this.#open.get(nonce) ?? []), prompt]);
    const onResolution = (/** @type {string} */ decision) => {
      this.#closed(nonce, prompt);
      const goesOn = decision === "timeout" && timeoutMs > LONGEST_MS;
      const outcome = goesOn ? "unavailable" : OUTCOMES[decision] ?? "denied";
      if (!prompt.used || outcome !== "used") void this.#engine.ask({ type: "resolved", nonce, outcome }); // a question, not a note: it waits for an engine that is restarting
      this.#runs.call(session, id, { ran: outcome === "used" ? params : null });
      if (outcome === "used") this.approved(params, session, id);
      if (outcome !== "unavailable") return;
      this.#alone.add(run);
      // The model sees this text instead of the gateway's, as it would see a correction.
      for (const known of [id, ...this.#outer(session, id)]) this.#runs.call(session, known, { text: answer.text });
    };
    const requireApproval = {
      title, description, severity, timeoutMs: Math.min(timeoutMs, LONGEST_MS),
      allowedDecisions: ["allow-once", "deny"], onResolution,
    };
    return { params, requireApproval };
  }

  /**
   * A person said yes to this call. The gateway reviews commands as well, afterwards: nobody is asked twice.
   * @param {any} params
   * @param {string | undefined} session
   * @param {string} id
   */
  approved(params, session, id) {
    const { command } = params ?? {};
    if (typeof command !== "string" || !this.#answerer) return;
    const ended = new Promise((done) => this.#runs.call(session, id, { ended: () => done(undefined) }));
    void this.#answerer.review({ session, id, command }, ended);
  }

  /**
   * @param {string} nonce
   * @param {Prompt} prompt
   */
  #closed(nonce, prompt) {
    const left = (this.#open.get(nonce) ?? []).filter((one) => one !== prompt);
    if (left.length) this.#open.set(nonce, left);
    else this.#open.delete(nonce);
  }

  /**
   * @param {string} session
   * @param {string} id
   * @returns {string[]} the call that this one was made in, if any
   */
  #outer(session, id) {
    const outer = INNER_CALL.exec(id)?.[1];
    return outer ? this.#runs.callIds(session, (known) => part(known) === outer) : [];
  }
}
