// Reports for the audit log about calls that were blocked without a verdict of the engine. The engine writes them; while it is
// silent, the newest reports are kept, and the calls that ran or were refused are counted for one summary. Kept reports
// survive a reload of the plugin but not the end of the gateway's process.

const MAX_WAITING = 200;

/**
 * Milliseconds. Nobody waits for the answer, and a report that is sent again because its answer was late would stand in the
 * audit log twice. An engine that ends meanwhile gets it again when it is ready.
 */
const LIMIT_MS = 60_000;

const MAX_TOOLS = 10;
const LONGEST_TOOL = 50;
const SHARED = Symbol.for("toolguard.reports");

/** @typedef {Record<string, any>} Report */
/**
 * Reports that wait for the engine. `silence`: the calls since it became silent.
 * @typedef {{ reports: Report[], silence: { since: string, ran: number, refused: number, tools: string[] } | null }} Waiting
 */

/**
 * The reports that wait for the engine of this state directory, in this process.
 * @param {string} state
 * @returns {Waiting}
 */
export function waitingFor(state) {
  const shared = /** @type {any} */ (globalThis);
  /** @type {Map<string, Waiting>} */
  const known = (shared[SHARED] ??= new Map());
  const found = known.get(state) ?? { reports: [], silence: null };
  known.set(state, found);
  return found;
}

export class Reports {
  #engine;
  #waiting;
  #sending = false;

  /** Whether `send` was called since the last round began. */
  #asked = false;

  /**
   * @param {Pick<import("./engine.mjs").Engine, "ask">} engine
   * @param {Waiting} [waiting]
   */
  constructor(engine, waiting = { reports: [], silence: null }) {
    this.#engine = engine;
    this.#waiting = waiting;
  }

  /** @param {Report} report */
  add(report) {
    this.#add(report);
    void this.send();
  }

  /** @param {Report} report */
  #add(report) {
    this.#waiting.reports.push({ type: "unjudged", ...report });
    if (this.#waiting.reports.length > MAX_WAITING) this.#waiting.reports.shift();
  }

  /**
   * A call that the engine did not answer.
   * @param {string} tool
   * @param {boolean} ran
   */
  unanswered(tool, ran) {
    const silence = (this.#waiting.silence ??= { since: new Date().toISOString(), ran: 0, refused: 0, tools: [] });
    if (ran) silence.ran += 1;
    else silence.refused += 1;
    const name = tool.slice(0, LONGEST_TOOL);
    if (silence.tools.length < MAX_TOOLS && !silence.tools.includes(name)) silence.tools.push(name);
  }

  /** The engine answers: a silence before becomes one report. */
  answered() {
    const { silence } = this.#waiting;
    if (!silence) return;
    this.#waiting.silence = null;
    const { since, ran, refused, tools } = silence;
    const reason = `the guard was not answering from ${since}: ${ran} calls ran unjudged, ${refused} were refused (${tools.join(", ")})`;
    this.add({ tool: "", run: "", agent: "", session: "", code: "guard.silent", reason, shown: "", summed: true });
  }

  /** Sends the waiting reports one after another, as long as the engine answers. */
  async send() {
    this.#asked = true;
    if (this.#sending) return;
    this.#sending = true;
    try {
      // An engine may get ready while what an earlier one did not answer is still waited for: then it gets that, too.
      while (this.#asked) {
        this.#asked = false;
        await this.#sendAll();
      }
    } finally {
      this.#sending = false;
    }
  }

  async #sendAll() {
    const { reports } = this.#waiting;
    for (let report = reports[0]; report; report = reports[0]) {
      const answer = await this.#engine.ask(report, LIMIT_MS);
      if (answer === null || answer.late) return; // silence, or it ended first: sent again when the engine is ready
      if (reports[0] === report) reports.shift();
    }
  }
}
