// The dashboard's server: a child process that the gateway starts, and restarts when it ends.
//
// One server shows all gateways of the machine. If the server of another gateway has the port, this one waits until it is gone.
// The server ends when its standard input closes, so it never outlives this process. If the plugin is only reloaded (because a
// setting was changed on the page, for example), its successor takes over the running server.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";

import { engineCommand } from "./command.mjs";
import { Lines } from "./pipe.mjs";

/** The server's exit codes: it cannot run (a foreign program has the port, for example), or another dashboard answers there. */
const REFUSED = [1, 2];
const ANSWERED = 10;

/**
 * Milliseconds before the next start: the first delay and the limit of its doubling.
 * @type {Patience}
 */
const PATIENCE = { crashed: [500, 30_000], refused: [60_000, 60_000], answered: [1_000, 15_000] };
/** A server that ran this long counts as sound: later problems are logged again and the delays start over. */
const SOUND_MS = 60_000;
const STOP_LIMIT_MS = 2_000;
/** How long a server waits for a successor after the plugin has left. */
const LEFT_MS = 5_000;
const MAX_LINE = 2_000;
const MAX_CAUSES = 40;
/** What the server asks to have signed. An agent can start a server too, but does not have the key. */
const CHALLENGE = /^challenge ([0-9a-f]{64}) (\/.{1,1900})$/;
const PURPOSE = "toolguard dashboard ";
const KEY_BYTES = 32;

const MAX_HOSTS = 20;
/** As the schema of the settings has it. */
const HOST = /^(https?:\/\/)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?$/;
const DEFAULTS = { dbPath: "~/.openclaw/metrics.db", bind: "127.0.0.1", port: 8080, hosts: [] };

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {import("./engine.mjs").Logger} Logger */
/** @typedef {import("./engine.mjs").Child} Child */
/** @typedef {Record<"crashed" | "refused" | "answered", [number, number]>} Patience */

/**
 * The command that runs the server; null if the settings do not enable it or are invalid. The engine reports invalid
 * settings; it could not protect files that it does not know (`config.metrics_of`). Metrics need not be enabled: held calls
 * are shown without them.
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
  const { bind, port, hosts } = { ...DEFAULTS, ...dashboard };
  if (!isText(dbPath, 4_096) || !isText(bind, 255) || !isPort(port) || !areHosts(hosts)) return null;
  const options = { db: dbPath, "state-dir": state, config: configPath, bind, port };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const all = ["-P", "-E", "-m", "toolguard_cli.dashboard", ...args, ...hosts.map((host) => `--host=${host}`), "--owned", "--vouched"];
  return { ...engineCommand(root, state, config), args: all };
}

/**
 * @param {unknown} value
 * @param {number} most
 */
function isText(value, most) {
  return typeof value === "string" && value.length > 0 && value.length <= most;
}

/**
 * @param {unknown} value
 * @returns {value is string[]}
 */
function areHosts(value) {
  return Array.isArray(value) && value.length <= MAX_HOSTS && value.every((host) => typeof host === "string" && HOST.test(host));
}

/** @param {unknown} value */
function isPort(value) {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

const SHARED = Symbol.for("toolguard.dashboards");
/** @type {Map<string, { child: Child, startedAt: number, over: NodeJS.Timeout }>} servers to take over, by their command */
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
  /** @type {Set<string>} causes that were logged since a server was last sound */
  #logged = new Set();

  /**
   * @param {Command | null} command null: no server is run
   * @param {Logger} logger
   * @param {string} [version] of the plugin; another version does not take over the server
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
    child.on("error", (error) => this.#log("warn", error.message));
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

  /** The plugin is unloaded. A successor with the same command takes over the server; otherwise it ends. */
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
   * @param {(line: string) => boolean} [takes] handles a line; true if it is not for the log
   */
  #listen(stream, level, takes = () => false) {
    const lines = new Lines(MAX_LINE, (line) => takes(line) || this.#log(level, explained(line)));
    stream.on("data", (data) => lines.feed(data));
  }

  /**
   * Proves to the server that this is the gateway, with the key that the server names.
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
      this.#logged.clear();
      this.#kind = "";
    }
    if (code === ANSWERED) this.#ended("answered", "");
    else if (REFUSED.includes(code ?? 0)) this.#ended("refused", "");
    else this.#ended("crashed", signal ? `signal ${signal}` : `exit code ${code}`);
  }

  /**
   * @param {keyof Patience} kind
   * @param {string} reason logged if not empty: the server could not report it itself
   */
  #ended(kind, reason) {
    if (this.#disposed) return;
    this.#inRow = kind === this.#kind ? this.#inRow + 1 : 0;
    this.#kind = kind;
    const [first, last] = this.#patience[kind];
    const delay = Math.min(first * 2 ** Math.min(this.#inRow, 30), last);
    this.#restart = setTimeout(() => this.start(), delay);
    this.#restart.unref();
    if (reason) this.#log("warn", `it ended (${reason}); next start in ${delay} ms`);
  }

  /**
   * Logs once per cause: a server that cannot run must not fill the gateway's log.
   * @param {"info" | "warn"} level
   * @param {string} text
   */
  #log(level, text) {
    const cause = text.replace(/\d+/g, "#");
    if (this.#disposed || this.#logged.has(cause) || this.#logged.size >= MAX_CAUSES) return;
    this.#logged.add(cause);
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
 * The signature; empty without a key, on which the server reports who may start it.
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
  return /No module named/.test(line) ? `${line} - this Python lacks part of toolguard; reinstall toolguard` : line;
}
