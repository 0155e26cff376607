import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Waker } from "../../plugin/gateway/waker.mjs";
import { Log } from "./support.mjs";

const WAKE = { type: "wake", nonce: "0a1b2c3d", agent: "main", session: "agent:main:main", text: "[TOOLGUARD] Repeat it." };
const CANNOT = "[toolguard] the agent of 0a1b2c3d could not be woken (";

/**
 * A gateway that remembers what it was asked, in order.
 * @param {any} [done] what the message for the next turn brings
 */
function host(done = { enqueued: true }) {
  /** @type {[string, any][]} */
  const asked = [];
  const answer = async (/** @type {string} */ what, /** @type {any} */ value, /** @type {any} */ result) => {
    asked.push([what, value]);
    if (result instanceof Error) throw result;
    return result;
  };
  const api = {
    session: { workflow: { enqueueNextTurnInjection: (/** @type {any} */ value) => answer("text", value, done) } },
    runtime: { system: { requestHeartbeat: (/** @type {any} */ value) => answer("heartbeat", value, undefined) } },
  };
  return { api, asked };
}

/** @param {string[]} [busy] sessions in which a run is under way */
function waker(busy = []) {
  const log = new Log();
  /** @type {any[]} */
  const reported = [];
  return { log, reported, waker: new Waker(log, (session) => busy.includes(session), (outcome) => reported.push(outcome)) };
}

test("an idle agent is told the engine's text, then woken", async () => {
  const { log, reported, waker: one } = waker(["agent:main:other"]);
  const { api, asked } = host();
  one.through(api);
  await one.wake(WAKE);
  const target = { sessionKey: "agent:main:main", agentId: "main" };
  assert.deepEqual(asked, [
    ["text", { ...target, text: WAKE.text, placement: "append_context", idempotencyKey: "toolguard-0a1b2c3d" }],
    ["heartbeat", {
      ...target, source: "background-task", intent: "immediate", reason: "toolguard approval",
      heartbeat: { isolatedSession: false },
    }],
  ]);
  assert.deepEqual(log.lines, []);
  assert.deepEqual(reported, [{ nonce: WAKE.nonce, outcome: "woken", why: "" }]);
});

test("an agent whose text waits already is woken all the same", async () => {
  const { reported, waker: one } = waker();
  const { api, asked } = host({ enqueued: false, id: "toolguard-0a1b2c3d" });
  one.through(api);
  await one.wake(WAKE);
  assert.deepEqual(asked.map(([name]) => name), ["text", "heartbeat"]);
  assert.deepEqual(reported, [{ nonce: WAKE.nonce, outcome: "woken", why: "" }]);
});

for (const [session, kind] of /** @type {const} */ ([
  ["agent:main:subagent:7c0a", "subagent"],
  ["agent:main:cron:nightly", "automation"],
  ["agent:main:cron:nightly:run:7c0a", "automation"],
  ["cron:nightly", "automation"],
  ["hook:7c0a", "hook"],
]))
  test(`the session ${session} is not woken: the gateway would wake another one, or one that knows nothing`, async () => {
    const { reported, waker: one } = waker();
    const { api, asked } = host();
    one.through(api);
    await one.wake({ ...WAKE, session });
    assert.deepEqual(asked, []);
    assert.deepEqual(reported, [{ nonce: WAKE.nonce, outcome: "later", why: `OpenClaw wakes no ${kind}` }]);
  });

describe("the gateway's switch for heartbeats", () => {
  const WAKES = Symbol.for("openclaw.sessionEventWake");
  const OFF = "heartbeats are switched off, see openclaw system heartbeat enable";
  /** @type {[string, any, string][]} */
  const rows = [
    ["off: it would drop the wake", { areSessionEventWakesEnabled: () => false }, OFF],
    ["on", { areSessionEventWakesEnabled: () => true }, ""],
    ["of another kind: as if on", {}, ""],
    ["that fails", { areSessionEventWakesEnabled: () => assert.fail("no such thing") }, "no such thing"],
  ];
  for (const [what, state, why] of rows)
    test(what, async () => {
      const { reported, waker: one } = waker();
      const { api, asked } = host();
      one.through(api);
      /** @type {any} */ (globalThis)[WAKES] = state;
      try {
        await one.wake(WAKE);
      } finally {
        delete (/** @type {any} */ (globalThis)[WAKES]);
      }
      assert.equal(asked.length, why ? 0 : 2);
      assert.deepEqual(reported, [{ nonce: WAKE.nonce, outcome: why ? "later" : "woken", why }]);
    });
});

test("a busy session is not woken, and nobody is warned", async () => {
  const { log, reported, waker: one } = waker([WAKE.session]);
  const { api, asked } = host();
  one.through(api);
  await one.wake(WAKE);
  assert.deepEqual(asked, []);
  assert.deepEqual(log.lines, []);
  assert.deepEqual(reported, [{ nonce: WAKE.nonce, outcome: "busy", why: "" }]);
});

test("the newest instance whose service runs is used", async () => {
  const { waker: one } = waker();
  const [old, fresh] = [host(), host()];
  one.through(old.api);
  one.through(fresh.api);
  await one.wake(WAKE);
  assert.deepEqual([old.asked.length, fresh.asked.length], [0, 2]);
});

describe("one that cannot be woken: a warning that names the call, no exception, no heartbeat without its text", () => {
  const NO_MESSAGE = "OpenClaw accepts no message for its session";
  /** @type {[string, any, string, number][]} what, the api, why, how often the gateway was asked */
  const rows = [
    ["no service runs", null, "no gateway runs here that could wake it", 0],
    ["a host without sessions", {}, NO_MESSAGE, 0],
    ["a host without a workflow", { session: {} }, NO_MESSAGE, 0],
    ["a host without the message", { session: { workflow: {} } }, NO_MESSAGE, 0],
    ["the message is not taken", host({ enqueued: false }), NO_MESSAGE, 1],
    ["the message brings nothing", host(undefined), NO_MESSAGE, 1],
    ["the message fails", host(new Error("disk full")), "disk full", 1],
  ];
  for (const [what, given, why, asks] of rows)
    test(what, async () => {
      const { log, reported, waker: one } = waker();
      const gateway = given?.asked ? given : { api: given, asked: [] };
      if (what === "the message brings nothing")
        gateway.api.session.workflow.enqueueNextTurnInjection = async () => void gateway.asked.push(["text"]);
      if (given) one.through(gateway.api);
      await one.wake(WAKE);
      assert.deepEqual(gateway.asked.map((/** @type {any[]} */ [name]) => name), Array(asks).fill("text"));
      assert.deepEqual(log.lines, [{ level: "warn", text: `${CANNOT}${why}): it is told at its next run` }]);
      assert.deepEqual(reported, [{ nonce: WAKE.nonce, outcome: "later", why }]);
    });

  /** @type {[string, (api: any) => void, RegExp][]} */
  const late = [
    ["a host without heartbeats", (api) => delete api.runtime, /could not be woken \(.+\): it is told at its next run$/],
    ["the heartbeat fails", (api) => (api.runtime.system.requestHeartbeat = () => assert.fail("no route")), /\(no route\)/],
    [
      "the heartbeat fails later",
      (api) => (api.runtime.system.requestHeartbeat = () => Promise.reject("no route")), /\(no route\)/,
    ],
  ];
  for (const [what, spoil, expected] of late)
    test(what, async () => {
      const { log, waker: one } = waker();
      const { api, asked } = host();
      spoil(api);
      one.through(api);
      await one.wake(WAKE);
      assert.deepEqual(asked.map(([name]) => name), ["text"]);
      assert.equal(log.warnings.length, 1);
      assert.match(log.warnings[0] ?? "", expected);
    });
});

test("who approved learns what became of it: before, after, or nothing", async () => {
  const { waker: one } = waker();
  one.through(host().api);
  const soon = one.outcome(WAKE.nonce);
  await one.wake(WAKE);
  const woken = { nonce: WAKE.nonce, outcome: "woken", why: "" };
  assert.deepEqual([await soon, await one.outcome(WAKE.nonce), await one.outcome("ffffffff", 1)], [woken, woken, null]);
});
