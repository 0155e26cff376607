import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { StartWatch } from "../../plugin/gateway/start_watch.mjs";
import { folder } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

/**
 * A clock that moves only when it is told to, with its timers.
 * @param {TestContext} t
 */
function clock(t) {
  /** @type {{ at: number, act: () => void }[]} */
  let timers = [];
  let now = 1_000;
  t.mock.method(performance, "now", () => now);
  t.mock.method(globalThis, "setImmediate", (/** @type {() => void} */ act) => act());
  t.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ act, /** @type {number} */ delay) => {
    const timer = { at: now + delay, act, unref() {} };
    timers.push(timer);
    return timer;
  });
  t.mock.method(globalThis, "clearTimeout", (/** @type {any} */ timer) => void (timers = timers.filter((each) => each !== timer)));
  return {
    now: () => now,
    /** @param {number} milliseconds */
    pass(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
        if (!next) break;
        timers = timers.filter((each) => each !== next);
        now = next.at;
        next.act();
      }
      now = end;
    },
  };
}

describe("a start that takes long", () => {
  test("has twice as long after each one that was ended, from 10 s up to 160 s", (t) => {
    const { pass } = clock(t);
    const watch = new StartWatch();
    /** @type {number[]} */
    const ended = [];
    for (let n = 0; n < 6; n++) {
      watch.begin(() => 0, (seconds) => ended.push(seconds));
      pass(1_000_000);
      watch.end();
    }
    assert.deepEqual(ended, [10, 20, 40, 80, 160, 160]);
    watch.succeeded();
    watch.begin(() => 0, (seconds) => ended.push(seconds));
    pass(1_000_000);
    assert.equal(ended.at(-1), 10);
  });

  test("has six times as long while it says that it works, and no longer than the rest after its last word", (t) => {
    const { pass, now } = clock(t);
    const watch = new StartWatch();
    /** @type {number[]} */
    const ended = [];
    watch.begin(now, (seconds) => ended.push(seconds));
    pass(1_000_000);
    assert.deepEqual(ended, [60]);
    const begun = now();
    watch.begin(() => begun + 15_000, (seconds) => ended.push(seconds));
    pass(1_000_000);
    assert.deepEqual(ended, [60, 35]);
  });

  test("is not ended once it is ready", (t) => {
    const { pass } = clock(t);
    const watch = new StartWatch();
    watch.begin(() => 0, () => assert.fail());
    pass(9_999);
    watch.succeeded();
    pass(1_000_000);
  });

  test("leaves a file after 3 s, until it is ready", (t) => {
    const { pass } = clock(t);
    const path = join(folder(), "toolguard", "engines", "7.starting");
    const watch = new StartWatch(path);
    const note = () => JSON.parse(readFileSync(path, "utf8"));
    watch.begin(() => 0, () => {});
    pass(2_999);
    assert.ok(!existsSync(path));
    pass(1);
    const { since, ...rest } = note();
    assert.ok(since > 1e9);
    assert.deepEqual(rest, { gatewayPid: process.pid, failed: 0, works: false, limit: 10 });
    pass(7_000);
    assert.equal(note().failed, 1);
    watch.begin(() => 1_001 + 10_000, () => {});
    pass(3_000);
    assert.deepEqual(note(), { gatewayPid: process.pid, since, failed: 1, works: true, limit: 120 });
    watch.succeeded();
    assert.ok(!existsSync(path));
  });
});
