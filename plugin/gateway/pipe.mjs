// The two pipes to the engine process, used by one thread in two ways: as streams of the event loop, and with blocking reads
// while a synchronous hook waits.
//
// Both are non-blocking sockets owned by the event loop. While a hook waits, the loop is blocked, so reads here cannot race
// with it; lines for other questions go through the same `lines`. Node does not document the descriptor (`_handle.fd`), so
// its absence is handled. A thread of its own for the pipe (the documented way) took 0.11 ms instead of 0.03 ms at the median.

import { readSync, writeSync } from "node:fs";

const SPIN_MS = 0.4;
const NAP_MS = 0.05;
const CHUNK = 1 << 16;
const NEWLINE = 10;
/** Bytes kept of a line that is too long: enough to see which answer it is. */
const KEPT = 200;

const bed = new Int32Array(new SharedArrayBuffer(4));
const chunk = Buffer.allocUnsafeSlow(CHUNK); // shared by all reads: they never overlap, and allocation costs more than a read

/** Splits bytes into lines and passes each on as text; of a line over `limit` bytes only the beginning, which no parser accepts. */
export class Lines {
  /** @type {Buffer[]} */
  #parts = [];
  #size = 0;
  #long = false;
  #limit;
  #take;

  /**
   * @param {number} limit
   * @param {(line: string) => void} take
   */
  constructor(limit, take) {
    this.#limit = limit;
    this.#take = take;
  }

  /** @param {Buffer} data not kept after the call */
  feed(data) {
    let start = 0;
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
      this.#keep(data.subarray(start, end));
      start = end + 1;
      this.#finish();
    }
    this.#keep(data.subarray(start));
  }

  /** @param {Buffer} part */
  #keep(part) {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#long) return;
    this.#parts.push(Buffer.from(part));
    if (this.#size <= this.#limit) return;
    this.#long = true;
    this.#parts = [Buffer.concat(this.#parts).subarray(0, Math.min(KEPT, this.#limit))];
  }

  #finish() {
    const line = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#size = 0;
    this.#long = false;
    if (line) this.#take(line);
  }
}

/**
 * The descriptor under a stream, or -1.
 * @param {any} stream
 * @returns {number}
 */
export function descriptor(stream) {
  const fd = stream?._handle?.fd;
  return typeof fd === "number" && fd >= 0 ? fd : -1;
}

/**
 * Writes `data`, blocking.
 * @param {number} fd
 * @param {Buffer} data
 * @param {number} deadline on the clock of `performance.now`
 * @returns {number} bytes written: fewer than all if time ran out, -1 if the other end is gone
 */
export function writeAll(fd, data, deadline) {
  let at = 0;
  const begun = performance.now();
  while (at < data.length) {
    const count = attempt(() => writeSync(fd, data, at));
    if (count === "closed") return -1;
    if (count !== "later") at += count;
    else if (performance.now() > deadline) break;
    else pause(begun);
  }
  return at;
}

/**
 * Reads until `answered` returns true.
 * @param {number} fd
 * @param {Lines} lines receives the data
 * @param {() => boolean} answered
 * @param {number} deadline on the clock of `performance.now`
 * @returns {"answered" | "late" | "closed"}
 */
export function readUntil(fd, lines, answered, deadline) {
  const begun = performance.now();
  while (!answered()) {
    const count = attempt(() => readSync(fd, chunk, 0, CHUNK, null));
    if (count === "closed" || count === 0) return "closed";
    if (count !== "later") lines.feed(chunk.subarray(0, count));
    if (answered()) break;
    if (performance.now() > deadline) return "late"; // even while other lines keep arriving
    if (count === "later") pause(begun);
  }
  return "answered";
}

/**
 * @param {() => number} operation
 * @returns {number | "later" | "closed"}
 */
function attempt(operation) {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // EAGAIN is thrown several times per question; its stack trace would be the largest cost
  try {
    return operation();
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EAGAIN" ? "later" : "closed";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * An answer usually arrives within 0.1 ms, sooner than a sleeping thread would wake up; this sleeps only for slow ones.
 * @param {number} begun
 */
function pause(begun) {
  if (performance.now() - begun > SPIN_MS) Atomics.wait(bed, 0, 0, NAP_MS);
}

/**
 * Writes a line and reads until it is answered, without the event loop.
 * @param {import("node:child_process").ChildProcessWithoutNullStreams} child
 * @param {Lines | null} lines what its output is fed to
 * @param {string} line
 * @param {() => boolean} answered
 * @param {number} limit milliseconds
 * @returns {"answered" | "late" | "unsent" | "closed" | "busy" | "blind"}
 */
export function exchange(child, lines, line, answered, limit) {
  const deadline = performance.now() + limit;
  const input = descriptor(child.stdin);
  const output = descriptor(child.stdout);
  if (input < 0 || output < 0 || !lines) return "blind";
  if (child.stdin.writableLength > 0) return "busy"; // the event loop has to send the rest first, and it is blocked
  const data = Buffer.from(line);
  const written = writeAll(input, data, deadline);
  if (written <= 0) return written === 0 ? "unsent" : "closed";
  if (written < data.length) {
    child.stdin.write(data.subarray(written)); // the event loop sends the rest, so that the next line is intact
    return "late";
  }
  return readUntil(output, lines, answered, deadline);
}
