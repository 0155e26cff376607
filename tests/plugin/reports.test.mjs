import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Reports } from "../../plugin/gateway/reports.mjs";

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
