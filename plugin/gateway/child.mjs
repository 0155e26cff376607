// A Python process that belongs to the gateway: it is started with the plugin, and restarted when it ends.
//
// It ends when its standard input closes, so it never outlives the gateway. If the plugin is only reloaded (because a setting
// was changed, for example), its successor takes over the running process.

import { spawn } from "node:child_process";

import { Lines } from "./pipe.mjs";

/** The exit codes: it cannot run (a foreign program has the port, for example), or another one runs already. */
const REFUSED = [1, 2];
const ANSWERED = 10;

/**
 * Milliseconds before the next start: the first delay and the limit of its doubling.
 * @type {Patience}
 */
const PATIENCE = { crashed: [500, 30_000], refused: [60_000, 60_000], answered: [1_000, 15_000] };
/** A process that ran this long counts as sound: later problems are logged again and the delays start over. */
const SOUND_MS = 60_000;
const STOP_LIMIT_MS = 2_000;
/** How long a process waits for a successor after the plugin has left. */
const LEFT_MS = 5_000;
const MAX_LINE = 2_000;
const MAX_CAUSES = 40;

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {import("./engine.mjs").Logger} Logger */
/** @typedef {import("./engine.mjs").Child} Child */
/** @typedef {Record<"crashed" | "refused" | "answered", [number, number]>} Patience */
/**
 * `first`: written to its standard input when it starts. `takes`: handles a line of its output; true if it is not for the log.
 * `version`: of the plugin; another version does not take over the process. `stopMs`: how long it may take to end.
 * @typedef {{ name: string, version?: string, patience?: Patience, first?: string, maxLine?: number, stopMs?: number,
 *   takes?: (child: Child, line: string) => boolean }} Nature
 */

const SHARED = Symbol.for("toolguard.processes");
/** @type {Map<string, { child: Child, startedAt: number, over: NodeJS.Timeout }>} processes to take over, by their command */
const left = (/** @type {any} */ (globalThis)[SHARED] ??= new Map());

export class OwnedProcess {
  #command;
  #key;
  #logger;
  #nature;
  #patience;
  /** @type {Child | null} */
  #child = null;
  #startedAt = 0;
  /** @type {NodeJS.Timeout | null} */
  #restart = null;
  #kind = "";
  #inRow = 0;
  #disposed = false;
  /** @type {Set<string>} causes that were logged since a process was last sound */
  #logged = new Set();

  /**
   * @param {Command | null} command null: nothing is run
   * @param {Logger} logger
   * @param {Nature} nature
   */
  constructor(command, logger, nature) {
    this.#command = command;
    this.#key = JSON.stringify([nature.version ?? "", command?.python, command?.args, command?.cwd, nature.first ?? ""]);
    this.#logger = logger;
    this.#nature = nature;
    this.#patience = nature.patience ?? PATIENCE;
  }

  /** Starts the process, unless it runs. */
  start() {
    if (!this.#command || this.#child || this.#disposed) return;
    if (this.#restart) clearTimeout(this.#restart);
    this.#restart = null;
    if (this.#takeOver()) return;
    const { python, args, cwd, env } = this.#command;
    this.#startedAt = performance.now();
    let child;
    try {
      child = spawn(python, args, { cwd, env, stdio: "pipe" });
    } catch (error) {
      return this.#ended("crashed", String(error));
    }
    if (child.pid === undefined) return void child.once("error", (error) => this.#ended("crashed", error.message));
    this.#hold(child);
    if (this.#nature.first) child.stdin.write(`${this.#nature.first}\n`);
    unreference(child);
  }

  /** @param {Child} child */
  #hold(child) {
    this.#child = child;
    child.stdin.on("error", () => {});
    child.on("error", (error) => this.#log("warn", error.message));
    this.#listen(child.stdout, "info", (line) => this.#nature.takes?.(child, line) ?? false);
    this.#listen(child.stderr, "warn");
    child.on("exit", (code, signal) => this.#gone(child, code, signal));
  }

  #takeOver() {
    const found = left.get(this.#key);
    left.delete(this.#key);
    if (!found) return false;
    clearTimeout(found.over);
    if (found.child.exitCode !== null || found.child.signalCode !== null) return false;
    for (const emitter of [found.child, found.child.stdin, found.child.stdout, found.child.stderr]) emitter.removeAllListeners();
    this.#startedAt = found.startedAt;
    this.#hold(found.child);
    return true;
  }

  /** The plugin is unloaded. A successor with the same command takes over the process; otherwise it ends. */
  leave() {
    const child = this.#release();
    if (!child) return;
    const before = left.get(this.#key);
    const { stopMs } = this.#nature;
    if (before) void end(before.child, stopMs);
    const over = setTimeout(() => {
      left.delete(this.#key);
      void end(child, stopMs);
    }, LEFT_MS);
    over.unref();
    left.set(this.#key, { child, startedAt: this.#startedAt, over });
  }

  /** Ends the process for good; resolves when it is gone. */
  async stop() {
    const child = this.#release();
    if (child) await end(child, this.#nature.stopMs);
  }

  #release() {
    this.#disposed = true;
    if (this.#restart) clearTimeout(this.#restart);
    const child = this.#child;
    this.#child = null;
    return child;
  }

  /**
   * @param {import("node:stream").Readable} stream
   * @param {"info" | "warn"} level
   * @param {(line: string) => boolean} [takes] handles a line; true if it is not for the log
   */
  #listen(stream, level, takes = () => false) {
    const lines = new Lines(this.#nature.maxLine ?? MAX_LINE, (line) => takes(line) || this.#log(level, explained(line)));
    stream.on("data", (data) => lines.feed(data));
  }

  /**
   * @param {Child} child
   * @param {number | null} code
   * @param {string | null} signal
   */
  #gone(child, code, signal) {
    if (this.#child !== child) return;
    this.#child = null;
    if (performance.now() - this.#startedAt > SOUND_MS) {
      this.#logged.clear();
      this.#kind = "";
    }
    if (code === ANSWERED) this.#ended("answered", "");
    else if (REFUSED.includes(code ?? 0)) this.#ended("refused", "");
    else this.#ended("crashed", signal ? `signal ${signal}` : `exit code ${code}`);
  }

  /**
   * @param {keyof Patience} kind
   * @param {string} reason logged if not empty: the process could not report it itself
   */
  #ended(kind, reason) {
    if (this.#disposed) return;
    this.#inRow = kind === this.#kind ? this.#inRow + 1 : 0;
    this.#kind = kind;
    const [first, last] = this.#patience[kind];
    const delay = Math.min(first * 2 ** Math.min(this.#inRow, 30), last);
    this.#restart = setTimeout(() => this.start(), delay);
    this.#restart.unref();
    if (reason) this.#log("warn", `it exited (${reason}); next start in ${delay} ms`);
  }

  /**
   * Logs once per cause: a process that cannot run must not fill the gateway's log.
   * @param {"info" | "warn"} level
   * @param {string} text
   */
  #log(level, text) {
    const cause = text.replace(/\d+/g, "#");
    if (this.#disposed || this.#logged.has(cause) || this.#logged.size >= MAX_CAUSES) return;
    this.#logged.add(cause);
    this.#logger[level](`[toolguard] ${this.#nature.name}: ${text}`);
  }
}

/**
 * Resolves when it is gone.
 * @param {Child} child
 * @param {number} [limit]
 */
async function end(child, limit = STOP_LIMIT_MS) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), limit);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    child.ref();
    child.stdin.end();
  });
}

/** @param {Child} child */
function unreference(child) {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) /** @type {any} */ (stream).unref?.();
}

/** @param {string} line */
function explained(line) {
  return /No module named/.test(line) ? `${line} - this Python lacks part of toolguard; reinstall toolguard` : line;
}
