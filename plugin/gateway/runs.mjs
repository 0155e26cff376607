// The state of current runs and their calls. All of it is bounded and removed with the run.

import { bound } from "./seams.mjs";

const MAX_RUNS = 1_000;
const MAX_CALLS = 5_000;
const INSIDE = /^tool_search_code:(.+)$/s;
/** The outer id, if it is not known and contains no colon. */
const PLAINLY = /^(.+?):[^:]*(?::\d+)?$/s;

/**
 * One turn of one agent. `begun`: its start was observed. `watch`: the engine judges the next calls before they run.
 * `stop`: the text that ends the run, `stoppedAt`: the number of `requests` to the model by then, `waiting`: the nonces of
 * the held calls that it ends for. `unanswered`: refusals made here because the engine was silent. `cut`: ids of the calls
 * that were removed from the model's message. `trimmed`: its history was just compacted without repeating a request.
 * @typedef {{
 *   id: string, agent: string, session: string, provider: string, model: string,
 *   begun: boolean, watch: boolean, stop: string, waiting: string[], stoppedAt: number, requests: number, unanswered: number,
 *   cut: Set<string>, trimmed: boolean
 * }} Run
 *
 * One call. `judged`: it reached `before_tool_call`. `text`: replaces the gateway's refusal. `ran`: the arguments that were
 * allowed, to compare with those that ran; `cwd`: its folder. `outcome`: whether the engine wants the outcome, and how;
 * `note`: appended to its result. `ended`: to be told when it has.
 * @typedef {{
 *   tool: string, params: any, run: string, agent: string, session: string, judged: boolean, text?: string,
 *   ran?: any, isInRoom?: boolean, hostIsOurs?: boolean, cwd?: string, outcome?: string, note?: string, ended?: () => void
 * }} Call
 */

export class Runs {
  /** @type {Map<string, Run>} */
  #runs = new Map();
  /** @type {Map<string, string>} the current run of a session */
  #current = new Map();
  /** @type {Map<string, Call>} */
  #calls = new Map();
  /** @type {Map<string, { run: string, stop: string, waiting: string[] }>} by session: how its last run was stopped */
  #stops = new Map();

  /**
   * The run with this id, created if it is new. A session's newest run is its current one.
   * @param {string} id
   * @param {string} [session]
   * @param {string} [agent]
   */
  get(id, session = "", agent = "") {
    let run = this.#runs.get(id);
    if (!run) {
      run = {
        id, agent, session, provider: "", model: "",
        begun: false, watch: false, stop: "", waiting: [], stoppedAt: 0, requests: 0, unanswered: 0, cut: new Set(),
        trimmed: false,
      };
      this.#runs.set(id, run);
      bound(this.#runs, MAX_RUNS);
    }
    run.session ||= session;
    run.agent ||= agent;
    if (session) {
      this.#current.set(session, id);
      bound(this.#current, MAX_RUNS);
    }
    return run;
  }

  /** @param {string} id */
  known(id) {
    return this.#runs.get(id);
  }

  /** Those whose start was observed, and not their end. */
  begun() {
    return [...this.#runs.values()].filter((run) => run.begun);
  }

  /**
   * The current run of this session, for hooks whose context names no run.
   * @param {string | undefined} session
   */
  ofSession(session) {
    return this.#runs.get(this.#current.get(session ?? "") ?? "");
  }

  /**
   * Adds facts to a call. Ids are the model server's: two sessions may use the same one.
   * @param {string | undefined} session
   * @param {string} id
   * @param {Partial<Call>} facts
   * @returns {Call}
   */
  call(session, id, facts) {
    const key = callKey(session, id);
    const known = this.#calls.get(key) ?? { tool: "", params: undefined, run: "", agent: "", session: "", judged: false };
    for (const [name, value] of Object.entries({ ...facts, session }))
      if (value !== undefined) Object.assign(known, { [name]: value });
    this.#calls.set(key, known);
    bound(this.#calls, MAX_CALLS);
    return known;
  }

  /**
   * How this run was stopped, also after its end; an empty `stop` if it was not.
   * @param {string | undefined} session
   * @param {string | undefined} id
   * @returns {{ stop: string, waiting: string[] }}
   */
  stopOf(session, id) {
    const known = this.#runs.get(id ?? "");
    if (known) return known;
    const last = this.#stops.get(session ?? "");
    if (last && last.run === id) return last; // its reply may arrive after the next run has started
    return this.ofSession(session) ?? (!id && last ? last : { stop: "", waiting: [] });
  }

  /**
   * The ids of a session's calls that satisfy `fits`.
   * @param {string | undefined} session
   * @param {(id: string) => boolean} fits
   */
  callIds(session, fits) {
    const known = [...this.#calls].filter(([, call]) => call.session === (session ?? ""));
    return known.map(([key]) => JSON.parse(key)[1]).filter(fits);
  }

  /**
   * The call that the model made: Tool Search gives its inner calls ids like `tool_search_code:<outer>:<tool>:<number>`, in
   * which the outer id is sanitized and shortened, so it is searched among the known calls.
   * @param {string | undefined} session
   * @param {string} id
   * @returns {string} the newest one with the longest match
   */
  outerId(session, id) {
    const inside = INSIDE.exec(id)?.[1];
    if (!inside) return id;
    const fitting = this.callIds(session, (known) => inside.startsWith(`${part(known)}:`));
    const longest = Math.max(...fitting.map((known) => part(known).length));
    return fitting.findLast((known) => part(known).length === longest) ?? PLAINLY.exec(inside)?.[1] ?? id;
  }

  /**
   * @param {string | undefined} session
   * @param {string} id
   */
  knownCall(session, id) {
    return this.#calls.get(callKey(session, id));
  }

  /**
   * @param {string | undefined} session
   * @param {string} id
   */
  forgetCall(session, id) {
    this.#calls.delete(callKey(session, id));
  }

  /**
   * @param {string} id
   * @returns {Run | undefined} the run that ended
   */
  end(id) {
    const run = this.#runs.get(id);
    this.#runs.delete(id);
    if (run && this.#current.get(run.session) === id) this.#current.delete(run.session);
    if (run?.stop) {
      this.#stops.set(run.session, { run: id, stop: run.stop, waiting: run.waiting });
      bound(this.#stops, MAX_RUNS);
    } else if (run) this.#stops.delete(run.session); // the text of an older run is obsolete
    for (const [key, call] of this.#calls) if (call.run === id) this.#calls.delete(key);
    return run;
  }
}

/**
 * @param {string | undefined} session
 * @param {string} id
 */
function callKey(session, id) {
  return JSON.stringify([session ?? "", id]);
}

/**
 * An outer id as the gateway writes it inside that of an inner call.
 * @param {string} id
 */
export function part(id) {
  return id.trim().replace(/[^A-Za-z0-9_.:-]+/g, "_").slice(0, 120) || "call";
}
