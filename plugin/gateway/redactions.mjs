// Replaces secrets in what the model gets to see, and reports each of them once.

import { LONGEST_NAME } from "./event_facts.mjs";
import { acts, isOn } from "./failmode.mjs";
import { bound } from "./seams.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "ask">} Engine */
/** @typedef {import("./runs.mjs").Runs} Runs */
/** @typedef {import("./reports.mjs").Reports} Reports */
/** @typedef {import("./secrets.mjs").KnownSecrets} KnownSecrets */

const MAX_FOUND = 5_000;

export class Redactions {
  #engine;
  #config;
  #runs;
  #reports;
  #known;
  /** @type {Map<string, true>} reports about secrets that were sent */
  #found = new Map();

  /**
   * @param {Engine} engine
   * @param {any} config the plugin's entry in the gateway's config
   * @param {Runs} runs
   * @param {Reports} reports
   * @param {KnownSecrets} known
   */
  constructor(engine, config, runs, reports, known) {
    this.#engine = engine;
    this.#config = config;
    this.#runs = runs;
    this.#reports = reports;
    this.#known = known;
  }

  /** The engine sends another list by itself when they change. */
  async ask() {
    const answer = await this.#engine.ask({ type: "secrets" });
    if (answer?.type === "secrets") this.#known.use(answer.hidden);
  }

  /**
   * Any text of a request to the model, on hosts that call no hooks as well: the last place where a secret is replaced. It
   * also covers what no result contains, such as the notice about a command that has ended in the background.
   * @param {string} text
   */
  textSent(text) {
    if (!acts(this.#config, "")) return text;
    /** @type {Set<string>} */
    const names = new Set();
    const clean = this.#known.clean(text, names);
    if (names.size > 0) this.#report(names, "", undefined, {});
    return clean;
  }

  /**
   * Replaces the secrets in a tool result. An agent that is only watched gets it unchanged.
   * @param {any} message
   * @param {string | undefined} id
   * @param {any} ctx
   */
  clean(message, id, ctx) {
    const kept = !acts(this.#config, ctx?.agentId);
    if (kept && !isOn(this.#config, ctx?.agentId)) return;
    const names = this.#known.cleanResult(message, kept);
    if (names.size === 0) return;
    const call = id ? this.#runs.knownCall(ctx?.sessionKey, id) : undefined;
    const run = this.#runs.known(call?.run ?? "") ?? this.#runs.ofSession(ctx?.sessionKey);
    const place = { agent: ctx?.agentId ?? "", session: ctx?.sessionKey ?? "", run: run?.id ?? "" };
    this.#report(names, call?.tool || String(message?.toolName ?? message?.details?.toolName ?? ""), kept, { ...place, call: id ?? "" });
  }

  /**
   * For the audit log: each secret once for a run and a tool, however often it is read.
   * @param {Set<string>} names
   * @param {string} tool
   * @param {boolean | undefined} kept
   * @param {{ agent?: string, session?: string, run?: string, call?: string }} where
   */
  #report(names, tool, kept, where) {
    const key = (/** @type {string} */ name) => JSON.stringify([where.session, where.run, tool, name]);
    const fresh = [...names].filter((name) => !this.#found.has(key(name)));
    if (fresh.length === 0) return;
    for (const name of fresh) this.#found.set(key(name), true);
    bound(this.#found, MAX_FOUND);
    this.#reports.add({ type: "redacted", names: fresh, tool: tool.slice(0, LONGEST_NAME), kept: kept === true, ...where });
  }
}
