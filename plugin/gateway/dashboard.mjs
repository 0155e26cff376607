// The dashboard's server: a process of its own that the gateway starts, holds by its standard input, and starts again.
//
// One server shows all gateways of the machine. Where another gateway's has the port, this one waits until that is gone. The
// server ends when its standard input does, so it is gone with this process however that ends. Where the plugin is only loaded anew,
// because a setting was changed on the page, say, its successor takes the running server over.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";

import { engineCommand } from "./command.mjs";
import { Lines } from "./pipe.mjs";

/** The server's exit codes: it cannot run as it is told (a foreign program has the port), or one of ours answers there. */
const REFUSED = [1, 2];
const ANSWERED = 10;

/**
 * Milliseconds before the next start: the first time, and the most that doubling leads to.
 * @type {Patience}
 */
const PATIENCE = { crashed: [500, 30_000], refused: [60_000, 60_000], answered: [1_000, 15_000] };
/** A server that lived this long counts as sound: what is wrong after it is told anew, and not waited for any longer. */
const SOUND_MS = 60_000;
const STOP_LIMIT_MS = 2_000;
/** How long a server that was left waits for a successor. */
const LEFT_MS = 5_000;
const MAX_LINE = 2_000;
const MAX_CAUSES = 40;
/** What the server asks to have signed: an agent can start one too, but has not the key. */
const CHALLENGE = /^challenge ([0-9a-f]{64}) (\/.{1,1900})$/;
const PURPOSE = "toolguard dashboard ";
const KEY_BYTES = 32;

const DEFAULTS = { dbPath: "~/.openclaw/metrics.db", bind: "127.0.0.1", port: 8080 };

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {import("./engine.mjs").Logger} Logger */
/** @typedef {import("./engine.mjs").Child} Child */
/** @typedef {Record<"crashed" | "refused" | "answered", [number, number]>} Patience */

/**
 * The command that runs it, or null where the settings do not ask for it, or not as they should: then the engine says so,
 * and could not protect what it does not know (`config.metrics_of`). Metrics need not be on: what waits for a person is
 * shown without them.
 * @param {string} root the folder of the plugin
 * @param {string} state
 * @param {string} configPath
 * @param {any} config the plugin's settings
 * @returns {Command | null}
 */
export function dashboardCommand(root, state, configPath, config) {
  const metrics = config?.metrics;
  if (metrics?.dashboard?.enabled !== true) return null;
  const { dbPath, dashboard } = { ...DEFAULTS, ...metrics };
  const { bind, port } = { ...DEFAULTS, ...dashboard };
  if (!isText(dbPath, 4_096) || !isText(bind, 255) || !isPort(port)) return null;
  const options = { db: dbPath, "state-dir": state, config: configPath, bind, port };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const all = ["-P", "-E", "-m", "toolguard_cli.dashboard", ...args, "--owned", "--vouched"];
  return { ...engineCommand(root, state, config), args: all };
}

/**
 * @param {unknown} value
 * @param {number} most
 */
function isText(value, most) {
  return typeof value === "string" && value.length > 0 && value.length <= most;
}

/** @param {unknown} value */
function isPort(value) {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

const SHARED = Symbol.for("toolguard.dashboards");
/** @type {Map<string, { child: Child, startedAt: number, over: NodeJS.Timeout }>} servers that were left, by their command */
const left = (/** @type {any} */ (globalThis)[SHARED] ??= new Map());

export class Dashboard {
  #command;
  #key;
  #logger;
  #patience;
  /** @type {Child | null} */
  #child = null;
  #startedAt = 0;
  /** @type {NodeJS.Timeout | null} */
  #restart = null;
  #kind = "";
  #inRow = 0;
  #disposed = false;
  /** @type {Set<string>} causes that were told since a server was last sound */
  #told = new Set();

  /**
   * @param {Command | null} command null: there is none to run
   * @param {Logger} logger
   * @param {string} [version] of the plugin: another one does not take its server over
   * @param {Patience} [patience]
   */
  constructor(command, logger, version = "", patience = PATIENCE) {
    this.#command = command;
    this.#key = JSON.stringify([version, command?.python, command?.args, command?.cwd]);
    this.#logger = logger;
    this.#patience = patience;
  }

  /** Starts the server, unless it runs. */
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
    unreference(child);
  }

  /** @param {Child} child */
  #hold(child) {
    this.#child = child;
    child.stdin.on("error", () => {});
    child.on("error", (error) => this.#tell("warn", error.message));
    this.#listen(child.stdout, "info", (line) => this.#vouch(child, line));
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

  /** The plugin goes, and may come back: a successor that would run the same takes the server over, else it ends. */
  leave() {
    const child = this.#release();
    if (!child) return;
    const before = left.get(this.#key);
    if (before) void end(before.child);
    const over = setTimeout(() => {
      left.delete(this.#key);
      void end(child);
    }, LEFT_MS);
    over.unref();
    left.set(this.#key, { child, startedAt: this.#startedAt, over });
  }

  /** Ends the server for good; resolves when it is gone. */
  async stop() {
    const child = this.#release();
    if (child) await end(child);
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
   * @param {(line: string) => boolean} [takes] whether the line is not for the log
   */
  #listen(stream, level, takes = () => false) {
    const lines = new Lines(MAX_LINE, (line) => takes(line) || this.#tell(level, explained(line)));
    stream.on("data", (data) => lines.feed(data));
  }

  /**
   * Proves to the server that this is the gateway, with the key that it names.
   * @param {Child} child
   * @param {string} line
   */
  #vouch(child, line) {
    const [, challenge, path] = CHALLENGE.exec(line) ?? [];
    if (!challenge || !path) return false;
    child.stdin.write(`${signed(path, challenge)}\n`);
    return true;
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
      this.#told.clear();
      this.#kind = "";
    }
    if (code === ANSWERED) this.#ended("answered", "");
    else if (REFUSED.includes(code ?? 0)) this.#ended("refused", "");
    else this.#ended("crashed", signal ? `signal ${signal}` : `exit code ${code}`);
  }

  /**
   * @param {keyof Patience} kind
   * @param {string} reason what the server itself could not say
   */
  #ended(kind, reason) {
    if (this.#disposed) return;
    this.#inRow = kind === this.#kind ? this.#inRow + 1 : 0;
    this.#kind = kind;
    const [first, last] = this.#patience[kind];
    const delay = Math.min(first * 2 ** Math.min(this.#inRow, 30), last);
    this.#restart = setTimeout(() => this.start(), delay);
    this.#restart.unref();
    if (reason) this.#tell("warn", `it ended (${reason}); next start in ${delay} ms`);
  }

  /**
   * Once per cause: a server that cannot run must not fill the gateway's log.
   * @param {"info" | "warn"} level
   * @param {string} text
   */
  #tell(level, text) {
    const cause = text.replace(/\d+/g, "#");
    if (this.#disposed || this.#told.has(cause) || this.#told.size >= MAX_CAUSES) return;
    this.#told.add(cause);
    this.#logger[level](`[toolguard] dashboard: ${text}`);
  }
}

/**
 * Resolves when it is gone.
 * @param {Child} child
 */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    child.ref();
    child.stdin.end();
  });
}

/**
 * Empty without a key: the server then says who may start it.
 * @param {string} path of the key
 * @param {string} challenge
 */
function signed(path, challenge) {
  try {
    const found = lstatSync(path);
    if (!found.isFile() || found.size !== KEY_BYTES) return "";
    return createHmac("sha256", readFileSync(path)).update(PURPOSE + challenge).digest("hex");
  } catch {
    return "";
  }
}

/** @param {Child} child */
function unreference(child) {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) /** @type {any} */ (stream).unref?.();
}

/** @param {string} line */
function explained(line) {
  return /No module named/.test(line) ? `${line} - this Python does not have all of toolguard; install it again` : line;
}
