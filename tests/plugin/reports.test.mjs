import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Reports, waitingFor } from "../../plugin/gateway/reports.mjs";

/** An engine that is silent until it is told to answer. */
class Silent {
  /** @type {any[]} */
  asked = [];
  /** @type {any} */
  answer = null;

  /** @param {any} message */
  async ask(message) {
    this.asked.push(message);
    return this.answer;
  }
}

const numbers = (/** @type {Silent} */ engine) => engine.asked.map(({ number }) => number);

test("a report is sent at once, under its type", async () => {
  const engine = new Silent();
  engine.answer = { type: "pong" };
  new Reports(engine).add({ number: 1 });
  await turn();
  assert.deepEqual(engine.asked, [{ type: "unjudged", number: 1 }]);
});

test("a late answer is waited for, since a report that is sent twice stands in the log twice", async () => {
  /** @type {(number | undefined)[]} */
  const limits = [];
  /** @type {ConstructorParameters<typeof Reports>[0]["ask"]} */
  const ask = async (_, limit) => {
    limits.push(limit);
    return null;
  };
  new Reports({ ask }).add({ number: 1 });
  await turn();
  assert.deepEqual(limits, [60_000]);
});

test("what an engine did not hear because it was ended while it worked is told to the next one", async () => {
  const engine = new Silent();
  const reports = new Reports(engine);
  engine.answer = { type: "error", late: true, error: "the engine is still starting" };
  reports.add({ number: 1 });
  await turn();
  engine.asked = [];
  engine.answer = { type: "pong" };
  await reports.send();
  assert.deepEqual(numbers(engine), [1]);
});

test("an engine that is ready before the answer of the one before it is settled gets what that one did not hear", async () => {
  /** @type {number[]} */
  const asked = [];
  /** @type {(answer: any) => void} */
  let settle = () => undefined;
  /** @type {ConstructorParameters<typeof Reports>[0]["ask"]} */
  const ask = (message) => {
    asked.push(Number(message.number));
    return asked.length > 1 ? Promise.resolve({ type: "pong" }) : new Promise((resolve) => (settle = resolve));
  };
  const reports = new Reports({ ask });
  reports.add({ number: 1 });
  await reports.send();
  settle(null);
  await turn();
  assert.deepEqual(asked, [1, 1]);
});

test("what nobody heard is told again when somebody listens, in order and once", async () => {
  const engine = new Silent();
  const reports = new Reports(engine);
  for (const number of [1, 2, 3]) reports.add({ number });
  await turn();
  engine.asked = [];
  engine.answer = { type: "pong" };
  await Promise.all([reports.send(), reports.send()]);
  await reports.send();
  assert.deepEqual(numbers(engine), [1, 2, 3]);
});

test("one that the engine cannot take stands in nobody's way", async () => {
  const engine = new Silent();
  engine.answer = { type: "error", error: "no" };
  const reports = new Reports(engine);
  reports.add({ number: 1 });
  await turn();
  reports.add({ number: 2 });
  await turn();
  assert.deepEqual(numbers(engine), [1, 2]);
});

test("so many wait, the newest", async () => {
  const engine = new Silent();
  const reports = new Reports(engine);
  for (let number = 0; number < 1_000; number++) reports.add({ number });
  await turn();
  engine.asked = [];
  engine.answer = { type: "pong" };
  await reports.send();
  assert.deepEqual(numbers(engine), Array.from({ length: 200 }, (_, at) => 800 + at));
});

test("a silence is one report, with what ran and what was refused", async () => {
  const engine = new Silent();
  const reports = new Reports(engine);
  for (let number = 0; number < 500; number++) reports.unanswered(number % 2 ? "exec" : "read", number % 5 > 0);
  await turn();
  assert.deepEqual(numbers(engine), []);
  engine.answer = { type: "pong" };
  for (let times = 0; times < 3; times++) reports.answered();
  await turn();
  assert.equal(engine.asked.length, 1);
  assert.match(engine.asked[0]?.reason, /^the guard was not answering from \d{4}-.*Z: 400 calls ran unjudged, 100 were refused \(read, exec\)$/);
  assert.deepEqual([engine.asked[0]?.code, engine.asked[0]?.summed], ["guard.silent", true]);
});

test("the names in it are bounded", async () => {
  const engine = new Silent();
  const reports = new Reports(engine);
  for (let number = 0; number < 1_000; number++) reports.unanswered(`${number}${"x".repeat(1_000)}`, true);
  reports.answered();
  await turn();
  assert.ok(engine.asked[0].reason.length < 1_000);
});

test("what waits outlives a reload, for the engine of the same state directory", async () => {
  const before = new Reports(new Silent(), waitingFor("/one"));
  before.add({ number: 1 });
  before.unanswered("exec", true);
  await turn();
  const [engine, other] = [new Silent(), new Silent()];
  engine.answer = other.answer = { type: "pong" };
  new Reports(other, waitingFor("/two")).answered();
  new Reports(engine, waitingFor("/one")).answered();
  await turn();
  assert.deepEqual([engine.asked.length, engine.asked[0].number, engine.asked[1].summed, other.asked.length], [2, 1, true, 0]);
});
