import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { describe, test } from "node:test";

import { descriptor, Lines, readUntil, writeAll } from "../../plugin/gateway/pipe.mjs";
import { until } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

const never = () => false;
const FAR = 60_000;

/**
 * The lines that come out where `data` is fed in pieces of `size` bytes.
 * @param {Buffer} data
 * @param {number} size
 * @param {number} [limit]
 */
function cut(data, size, limit = 1_000) {
  /** @type {string[]} */
  const seen = [];
  const lines = new Lines(limit, (line) => seen.push(line));
  const piece = Buffer.alloc(size); // the same memory each time: nothing of it may be kept
  for (let at = 0; at < data.length; at += size) {
    const count = data.copy(piece, 0, at, at + size);
    lines.feed(piece.subarray(0, count));
  }
  return seen;
}

/**
 * A program with two pipes that nobody but this test reads, as a gateway that stands still.
 * @param {TestContext} t
 * @param {string} script
 */
function program(t, script) {
  const child = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {});
  t.after(async () => {
    child.stdout.resume();
    if (child.kill("SIGKILL")) await once(child, "exit");
  });
  return { child, input: descriptor(child.stdin), output: descriptor(child.stdout) };
}

/** @param {number} output */
function reader(output) {
  /** @type {string[]} */
  const seen = [];
  const lines = new Lines(1 << 24, (line) => seen.push(line));
  const read = (/** @type {() => boolean} */ answered, limit = FAR) =>
    readUntil(output, lines, answered, performance.now() + limit);
  return { seen, read };
}

const ECHO = "process.stdin.pipe(process.stdout)";
const HOLD = 'console.log("here"); setInterval(() => {}, 1_000)';

describe("Lines", () => {
  const text = ["a", "é€😀", '{"text":"größer 😀"}', "x".repeat(100), "end"];
  const data = Buffer.from(`${text.join("\n")}\n`);

  test("any cutting gives the same lines, also in the middle of a character", () => {
    for (let size = 1; size <= data.length; size++) assert.deepEqual(cut(data, size), text, `${size} bytes`);
  });

  test("a line counts when its end is there", () => {
    for (let size = 1; size < data.length; size++) assert.deepEqual(cut(data.subarray(0, -1), size), text.slice(0, -1));
  });

  test("empty lines are none", () => {
    for (const size of [1, 2, 3, 100]) assert.deepEqual(cut(Buffer.from("\n\na\n\n\nb\n\n"), size), ["a", "b"]);
  });

  test("of a line over the limit only the beginning is kept, those around it are whole", () => {
    const long = Buffer.from(`before\n${"x".repeat(101)}\n${"y".repeat(100)}\n${"é".repeat(51)}\nafter\n`);
    const expected = ["before", "x".repeat(100), "y".repeat(100), "é".repeat(50), "after"];
    for (let size = 1; size <= long.length; size++) assert.deepEqual(cut(long, size, 100), expected, `${size} bytes`);
  });

  test("that is bounded, however long the line", () => {
    assert.deepEqual(cut(Buffer.from(`${"x".repeat(10_000)}\n`), 500, 1_000), ["x".repeat(200)]);
  });

  test("bytes that are no text harm only their own line", () => {
    assert.deepEqual(cut(Buffer.from([0xff, 10, 0x61, 10]), 1), ["\ufffd", "a"]);
  });
});

describe("descriptor", () => {
  test("of a pipe it is a number, of anything else -1", async (t) => {
    const { child, input, output } = program(t, ECHO);
    assert.ok(input > 0 && output > 0 && input !== output);
    child.stdin.destroy();
    await until(() => child.stdin.closed, "the end of the stream");
    const others = [child.stdin, {}, { _handle: null }, { _handle: { fd: -1 } }, { _handle: { fd: "3" } }, null, undefined];
    assert.deepEqual(others.map(descriptor), others.map(() => -1));
  });
});

describe("writeAll and readUntil", () => {
  test("what is written comes back", (t) => {
    const { input, output } = program(t, ECHO);
    const { seen, read } = reader(output);
    for (const line of ["one", "zwölf"]) {
      assert.equal(writeAll(input, Buffer.from(`${line}\n`), performance.now() + FAR), Buffer.byteLength(line) + 1);
      assert.equal(read(() => seen.includes(line)), "answered");
    }
    assert.deepEqual(seen, ["one", "zwölf"]);
  });

  test("more than a pipe holds", (t) => {
    const { input, output } = program(t, `
      let size = 0;
      process.stdin.on("data", (data) => {
        size += data.length;
        if (data.at(-1) === 10) console.log("x".repeat(size));
      });`);
    const { seen, read } = reader(output);
    const size = 5 * 1024 * 1024;
    const data = Buffer.alloc(size, "y");
    data[size - 1] = 10;
    assert.equal(writeAll(input, data, performance.now() + FAR), size);
    assert.equal(read(() => seen.length > 0), "answered");
    assert.equal(seen[0]?.length, size);
  });

  test("what is answered already is not read for", () => {
    assert.equal(readUntil(-1, new Lines(10, assert.fail), () => true, 0), "answered");
  });

  test("a full pipe: the deadline tells how much was written, then nothing more", (t) => {
    const { input, output } = program(t, HOLD);
    const { seen, read } = reader(output);
    read(() => seen.length > 0);
    const data = Buffer.alloc(5 * 1024 * 1024, "y");
    const written = writeAll(input, data, performance.now() + 20);
    assert.ok(written > 0 && written < data.length, `${written} bytes`);
    let more = 0; // a kernel may free a little late
    while ((more = writeAll(input, data.subarray(0, 1), performance.now() + 5)) > 0);
    assert.equal(more, 0);
  });

  test("an answer that does not come: the deadline", (t) => {
    const { output } = program(t, HOLD);
    const { seen, read } = reader(output);
    assert.equal(read(() => seen.length > 0), "answered");
    assert.equal(read(never, 20), "late");
    assert.equal(read(never, -1), "late");
    assert.deepEqual(seen, ["here"]);
  });

  test("an answer that does not come while other things keep coming: the deadline", (t) => {
    const endless = openSync("/dev/zero", "r");
    t.after(() => closeSync(endless));
    assert.equal(readUntil(endless, new Lines(10, assert.fail), never, performance.now() + 20), "late");
  });

  test("the other end closes: what it said before counts, then it is over", (t) => {
    const { input, output } = program(t, 'console.log("last words")');
    const { seen, read } = reader(output);
    assert.equal(read(never), "closed");
    assert.equal(read(never), "closed");
    assert.deepEqual(seen, ["last words"]);
    assert.equal(writeAll(input, Buffer.alloc(5 * 1024 * 1024), performance.now() + FAR), -1);
  });

  test("the other end closes while much is being written", (t) => {
    const { input } = program(t, 'process.stdin.once("data", () => process.kill(process.pid, "SIGKILL"))');
    assert.equal(writeAll(input, Buffer.alloc(5 * 1024 * 1024), performance.now() + FAR), -1);
  });

  test("a descriptor that is none is closed", () => {
    assert.equal(writeAll(-1, Buffer.from("x"), 0), -1);
    assert.equal(readUntil(-1, new Lines(10, assert.fail), never, 0), "closed");
  });

  test("the depth of error traces stays as it was", (t) => {
    const { output } = program(t, HOLD);
    const before = Error.stackTraceLimit;
    reader(output).read(never, 5);
    assert.equal(Error.stackTraceLimit, before);
  });
});
