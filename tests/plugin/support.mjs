// What several tests need: the real engine's command, a logger that remembers, waiting without fixed pauses.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("node:test").TestContext} TestContext */

process.setMaxListeners(0); // each folder has one

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const GATEWAY = join(ROOT, "plugin", "gateway");
export const PYTHON = resolve(ROOT, process.env.TOOLGUARD_PYTHON ?? ".venv/bin/python");

/** Whether whole tables are tested, as `scripts/test --all` does; otherwise a sample of them that is always the same. */
export const WHOLE = Boolean(process.env.TOOLGUARD_TEST_ALL);

/** A folder that goes with the process of the tests: engines that end with a test may write there until then. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "toolguard-test-"));
  process.once("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/**
 * Variables of the environment for one test; undefined removes one.
 * @param {TestContext} t
 * @param {Record<string, string | undefined>} wanted
 */
export function environment(t, wanted) {
  /** @param {Record<string, string | undefined>} values */
  const set = (values) => {
    for (const [name, value] of Object.entries(values))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
  const before = Object.fromEntries(Object.keys(wanted).map((name) => [name, process.env[name]]));
  set(wanted);
  t.after(() => set(before));
}

/** A logger whose lines can be looked at. */
export class Log {
  /** @type {{ level: string, text: string }[]} */
  lines = [];
  debug = this.#at("debug");
  info = this.#at("info");
  warn = this.#at("warn");
  error = this.#at("error");

  /** The complaints so far. */
  get warnings() {
    return this.lines.filter(({ level }) => level === "warn").map(({ text }) => text);
  }

  /** The process ids of the engines that became ready, oldest first. */
  get pids() {
    return this.lines.flatMap(({ text }) => /is ready \(pid (\d+)\)/.exec(text)?.slice(1).map(Number) ?? []);
  }

  /** @param {string} level */
  #at(level) {
    return (/** @type {string} */ text) => void this.lines.push({ level, text });
  }
}

/**
 * Waits until `look` finds something.
 * @template T
 * @param {() => T | Promise<T>} look
 * @param {string} [what]
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(look, what = String(look)) {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`never seen: ${what}`);
    await new Promise((go) => setTimeout(go, 5));
  }
}

/**
 * Whether this process still does anything: one that is dead but not yet reaped does not.
 * @param {number} pid
 */
export function alive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH" && process.platform !== "linux";
  }
}

/**
 * The gateway's refusal of a call without its one parameter.
 * @param {string} tool
 */
export function refusal(tool) {
  return `Validation failed for tool "${tool}":\n  - path: must have required properties path\n\nReceived arguments:\n{}`;
}
