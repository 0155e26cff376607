// How long an engine may take to start, and a file that says so when it takes long, for `toolguard status` and `doctor`.
//
// One that says nothing is ended after `SILENT_MS`, one that says that it works after `PATIENCE` times as long. Each start that
// was ended doubles both: a machine on which an engine needs longer has one at last, and not a loop of starts.

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const SILENT_MS = 10_000;
const PATIENCE = 6;
const MOST_DOUBLINGS = 4;
/** A start that takes longer is worth a file. */
const LONG_MS = 3_000;

export class StartWatch {
  #path;
  #silentMs;
  #longMs;
  #failed = 0;
  #since = 0;
  /** @type {NodeJS.Timeout[]} */
  #timers = [];
  #isNoted = false;

  /**
   * @param {string} [path] of the file; none is written if it is empty
   * @param {{ silentMs?: number, longMs?: number }} [limits]
   */
  constructor(path = "", { silentMs = SILENT_MS, longMs = LONG_MS } = {}) {
    this.#path = path;
    this.#silentMs = silentMs;
    this.#longMs = longMs;
  }

  /**
   * An engine was started.
   * @param {() => number} spokeAt when it last said anything, on the clock of `performance.now`; 0 if never
   * @param {(seconds: number) => void} over called if it takes too long
   */
  begin(spokeAt, over) {
    this.end();
    this.#since ||= Date.now();
    const silent = this.#silentMs * 2 ** Math.min(this.#failed, MOST_DOUBLINGS);
    const begun = performance.now();
    const look = () => {
      const now = performance.now();
      const [last, end] = [spokeAt() || begun, begun + silent * PATIENCE];
      const next = Math.min(last + silent, end);
      if (now < next) return this.#after(next - now, look);
      this.#failed++;
      this.#note(silent, last > begun);
      over(Math.round((now - begun) / 1_000));
    };
    this.#after(silent, look);
    this.#after(this.#longMs, () => this.#note(silent, spokeAt() > 0));
  }

  /** It is ready. */
  succeeded() {
    this.end();
    this.#failed = this.#since = 0;
    this.#forget();
  }

  /** It has ended. */
  end() {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  /** No engine will be started any more. */
  close() {
    this.end();
    this.#forget();
  }

  /**
   * After a long block of the event loop, timers run before I/O: `setImmediate` lets the pipe be read first.
   * @param {number} delay
   * @param {() => void} act
   */
  #after(delay, act) {
    const timer = setTimeout(() => setImmediate(() => this.#timers.includes(timer) && act()), Math.ceil(delay));
    timer.unref();
    this.#timers.push(timer);
  }

  /**
   * @param {number} silent
   * @param {boolean} works
   */
  #note(silent, works) {
    if (!this.#path) return;
    const limit = works ? silent * PATIENCE : silent;
    const note = { gatewayPid: process.pid, since: this.#since / 1_000, failed: this.#failed, works, limit: limit / 1_000 };
    const beside = `${this.#path}.new`;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      writeFileSync(beside, JSON.stringify(note), { mode: 0o600 });
      renameSync(beside, this.#path);
      this.#isNoted = true;
    } catch {
      // the state directory cannot be written: `doctor` reports that
    }
  }

  #forget() {
    if (!this.#isNoted) return;
    this.#isNoted = false;
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // who reads it sees that an engine runs, or no gateway
    }
  }
}
