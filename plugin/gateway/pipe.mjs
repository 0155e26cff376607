// The two pipes to the engine process, used in two ways by one thread: as streams of the event loop, and by blocking
// reads while a synchronous hook waits.
//
// Both are non-blocking sockets that the event loop owns. While a hook waits, the loop stands still, so reading the same
// descriptor here races with nobody; what arrives for others meanwhile goes through the same `lines`. The number of the
// descriptor is not documented by Node (`_handle.fd`), so its absence is an answer, not an error. A thread of its own for
// the pipe, the documented way, was measured beside this one in the same run: 0.11 ms against 0.03 ms at the median.

import { readSync, writeSync } from "node:fs";

const SPIN_MS = 0.4;
const NAP_MS = 0.05;
const CHUNK = 1 << 16;
const NEWLINE = 10;
/** Bytes of a line that is too long: enough to see which answer it was. */
const KEPT = 200;

const bed = new Int32Array(new SharedArrayBuffer(4));
const chunk = Buffer.allocUnsafeSlow(CHUNK); // one for all reads: they never overlap, and its making costs more than a read

/** Cuts bytes into lines and hands each on as text. Of a line over `limit` bytes only the beginning, which is no message. */
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
 * @returns {number} how many bytes were written: fewer than all where time ran out, -1 where the other end is gone
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
 * Reads until `answered` says so.
 * @param {number} fd
 * @param {Lines} lines what was read goes here
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
    if (performance.now() > deadline) return "late"; // also while other things keep coming
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
  Error.stackTraceLimit = 0; // "not yet" comes as an error, several times a question; its trace would cost the most
  try {
    return operation();
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EAGAIN" ? "later" : "closed";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * An answer usually comes within 0.1 ms, sooner than a sleeping thread would wake up; only a slow one is worth a nap.
 * @param {number} begun
 */
function pause(begun) {
  if (performance.now() - begun > SPIN_MS) Atomics.wait(bed, 0, 0, NAP_MS);
}
