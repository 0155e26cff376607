// What the gateway part remembers of the runs and calls that are under way. All of it is bounded and goes with the run.

import { bound } from "./seams.mjs";

const MAX_RUNS = 1_000;
const MAX_CALLS = 5_000;
const INSIDE = /^tool_search_code:(.+)$/s;
/** The outer id where it is not known and no colon is in it. */
const PLAINLY = /^(.+?):[^:]*(?::\d+)?$/s;

/**
 * One turn of one agent. `begun`: its start was seen. `watch`: the engine wants to see the next calls before they run.
 * `stop`: the text that ends the run, `stoppedAt`: how many `requests` to the model there had been by then.
 * `unanswered`: refusals that were answered here because the engine was away. `cut`: ids of the calls that were taken
 * out of the model's message. `trimmed`: its history was just made shorter, and no request is made again for that.
 * @typedef {{
 *   id: string, agent: string, session: string, provider: string, model: string,
 *   begun: boolean, watch: boolean, stop: string, stoppedAt: number, requests: number, unanswered: number, cut: Set<string>,
 *   trimmed: boolean
 * }} Run
 *
 * One call. `judged`: it reached `before_tool_call`. `text`: what took the place of the gateway's refusal.
 * `ran`: what was allowed to run, to be compared with what does; `cwd`: where. `outcome`: what the engine wants to hear of
 * it when it has run; `note`: what goes behind its result.
 * @typedef {{
 *   tool: string, params: any, run: string, agent: string, session: string, judged: boolean, text?: string,
 *   ran?: any, cwd?: string, outcome?: string, note?: string
 * }} Call
 */

export class Runs {
  /** @type {Map<string, Run>} */
  #runs = new Map();
  /** @type {Map<string, string>} the current run of a session */
  #current = new Map();
  /** @type {Map<string, Call>} */
  #calls = new Map();
  /** @type {Map<string, { run: string, text: string }>} by session: how its last run was stopped */
  #stops = new Map();

  /**
   * The run of this id, made if it is new. A session's newest run is its current one.
   * @param {string} id
   * @param {string} [session]
   * @param {string} [agent]
   */
  get(id, session = "", agent = "") {
    let run = this.#runs.get(id);
    if (!run) {
      run = {
        id, agent, session, provider: "", model: "",
        begun: false, watch: false, stop: "", stoppedAt: 0, requests: 0, unanswered: 0, cut: new Set(), trimmed: false,
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

  /**
   * The run that this session is in, for hooks whose context names no run.
   * @param {string | undefined} session
   */
  ofSession(session) {
    return this.#runs.get(this.#current.get(session ?? "") ?? "");
  }

  /**
   * Adds to what is known of a call. Ids are the model server's: two sessions may well use the same one.
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
   * The words with which this run was stopped, also after its end; empty if it was not.
   * @param {string | undefined} session
   * @param {string | undefined} id
   */
  stopOf(session, id) {
    const known = this.#runs.get(id ?? "");
    if (known) return known.stop;
    const last = this.#stops.get(session ?? "");
    if (last && last.run === id) return last.text; // its reply may come when the next run is already under way
    return this.ofSession(session)?.stop ?? (id ? "" : (last?.text ?? ""));
  }

  /**
   * The ids of a session's calls that fit.
   * @param {string | undefined} session
   * @param {(id: string) => boolean} fits
   */
  callIds(session, fits) {
    const known = [...this.#calls].filter(([, call]) => call.session === (session ?? ""));
    return known.map(([key]) => JSON.parse(key)[1]).filter(fits);
  }

  /**
   * The call that the model made: Tool Search gives the calls inside of it ids like `tool_search_code:<outer>:<tool>:<number>`.
   * The outer one is looked for among the calls that are known, for it stands in there made plain and cut.
   * @param {string | undefined} session
   * @param {string} id
   * @returns {string} the newest one that fits best
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
   * @returns {Run | undefined} the run as it was
   */
  end(id) {
    const run = this.#runs.get(id);
    this.#runs.delete(id);
    if (run && this.#current.get(run.session) === id) this.#current.delete(run.session);
    if (run?.stop) {
      this.#stops.set(run.session, { run: id, text: run.stop });
      bound(this.#stops, MAX_RUNS);
    } else if (run) this.#stops.delete(run.session); // the words of an older run are no longer news
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
 * An outer id inside that of an inner call, as the gateway writes it.
 * @param {string} id
 */
export function part(id) {
  return id.trim().replace(/[^A-Za-z0-9_.:-]+/g, "_").slice(0, 120) || "call";
}
