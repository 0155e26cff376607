import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { isMeasured, Usage } from "../../plugin/gateway/usage.mjs";

const SESSION = "agent:main:main";
const CTX = { agentId: "main", sessionKey: SESSION };
const MESSAGE = {
  role: "assistant", provider: "openai", model: "gpt-x", stopReason: "toolUse", content: [{ type: "text", text: "secret" }],
  usage: { input: 10, output: 2, cacheRead: 3, cacheWrite: 0, totalTokens: 15, cost: { input: 1, total: 1.5 } },
};
const ENDED = {
  runId: "r1", callId: "r1:model:1", sessionKey: SESSION, provider: "openai", model: "gpt-x", durationMs: 159,
  outcome: "completed", api: "openai-completions",
};
const TOKENS = { input: 10, output: 2, cacheRead: 3, cacheWrite: 0, totalTokens: 15 };

/** @param {Record<string, any>} current the run of each session */
function stage(current = { [SESSION]: { id: "r1" } }) {
  /** @type {any[]} */
  const notes = [];
  const runs = /** @type {any} */ ({
    ofSession: (/** @type {string} */ session) => current[session],
    known: (/** @type {string} */ id) => Object.values(current).find((run) => run.id === id),
  });
  return { notes, usage: new Usage({ note: (note) => void notes.push(note) }, runs) };
}

/** @param {any} value read from every member */
function mine(value) {
  return new Proxy({}, {
    get() {
      throw value;
    },
  });
}

describe("where metrics are wanted", () => {
  /** @type {[any, boolean][]} */
  const cases = [
    [undefined, false], [{}, false], [{ metrics: true }, false], [{ metrics: { enabled: "true" } }, false],
    [{ limits: [] }, false], [{ limits: {} }, false], [{ limits: [{ per: "day", usd: 1 }] }, true],
    [{ metrics: { enabled: true } }, true], [{ metrics: { enabled: false } }, false],
  ];
  for (const [config, wanted] of cases) test(JSON.stringify(config) ?? "none", () => assert.equal(isMeasured(config), wanted));
});

describe("a call that ended", () => {
  test("is told with its time and its outcome", () => {
    const { notes, usage } = stage();
    usage.callEnded(ENDED, { runId: "r1" });
    assert.deepEqual(notes, [{
      type: "model-ended", session: SESSION, agent: "main", channel: "", run: "r1", call: "r1:model:1", provider: "openai",
      model: "gpt-x", durationMs: 159, outcome: "completed",
    }]);
  });

  /** @type {[string, any, string][]} */
  const outcomes = [
    ["an error", { outcome: "error", errorCategory: "Error" }, "error"],
    ["an error that has a kind", { outcome: "error", failureKind: "aborted" }, "aborted"],
    ["none", { outcome: undefined }, ""],
    ["something odd", { outcome: { toString: () => "x" } }, ""],
  ];
  for (const [what, odd, outcome] of outcomes)
    test(`outcome: ${what}`, () => {
      const { notes, usage } = stage();
      usage.callEnded({ ...ENDED, ...odd }, {});
      assert.equal(notes[0].outcome, outcome);
    });

  test("on behalf of a run", () => {
    const { notes, usage } = stage();
    usage.callEnded({ ...ENDED, runId: "r1:compaction:x" }, {});
    assert.equal(notes[0].run, "r1:compaction:x");
  });

  test("where only the context says which session", () => {
    const { notes, usage } = stage();
    usage.callEnded({ ...ENDED, sessionKey: undefined }, { sessionKey: "agent:other:x", agentId: "third" });
    assert.deepEqual([notes[0].session, notes[0].agent], ["agent:other:x", "third"]);
  });
});

describe("a message of the model", () => {
  test("is told with what it used, and with nothing that it says", () => {
    const { notes, usage } = stage();
    usage.messageWritten(MESSAGE, CTX);
    assert.deepEqual(notes, [{
      type: "answered", session: SESSION, agent: "main", channel: "", run: "r1", provider: "openai", model: "gpt-x",
      usage: { ...TOKENS, cost: 1.5 }, stop: "toolUse",
    }]);
  });

  const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  /** @type {[string, any, any][]} */
  const usages = [
    ["no usage", undefined, NOTHING],
    ["no cost", TOKENS, TOKENS],
    ["a cost that is a number", { ...TOKENS, cost: 0.25 }, { ...TOKENS, cost: 0.25 }],
    ["a cost of nothing", { ...TOKENS, cost: { total: 0 } }, { ...TOKENS, cost: 0 }],
    ["a cost that is none", { ...TOKENS, cost: { total: NaN } }, TOKENS],
    ["a cost as text", { ...TOKENS, cost: { total: "1" } }, TOKENS],
    ["odd counts", { input: -1, output: NaN, cacheRead: "7", cacheWrite: 1.6, totalTokens: Infinity },
      { ...NOTHING, cacheWrite: 2, totalTokens: Number.MAX_SAFE_INTEGER }],
    ["a text", "many", NOTHING],
  ];
  for (const [what, reported, expected] of usages)
    test(`of usage only numbers: ${what}`, () => {
      const { notes, usage } = stage();
      usage.messageWritten({ ...MESSAGE, usage: reported }, CTX);
      assert.deepEqual(notes[0].usage, expected);
    });

  /** @type {[string, any][]} */
  const others = [
    ["a person's", { ...MESSAGE, role: "user" }],
    ["a tool's", { role: "toolResult" }],
    ["one that the gateway puts there itself", { ...MESSAGE, provider: "openclaw", model: "delivery-mirror" }],
    ["none", undefined],
  ];
  for (const [what, message] of others)
    test(`no other: ${what}`, () => {
      const { notes, usage } = stage();
      usage.messageWritten(message, CTX);
      assert.deepEqual(notes, []);
    });

  test("of a run that nobody knows", () => {
    const { notes, usage } = stage({});
    usage.messageWritten(MESSAGE, CTX);
    assert.equal(notes[0].run, "");
  });
});

describe("the channel", () => {
  /** @type {[string, any, any, string][]} */
  const cases = [
    ["where it came from", { metadata: { originatingChannel: "telegram", provider: "webchat" } }, {}, "telegram"],
    ["who brought it", { metadata: { provider: "slack" } }, {}, "slack"],
    ["of the context", {}, { channelId: "webchat" }, "webchat"],
    ["none", {}, {}, ""],
    ["something odd", { metadata: { provider: 7 } }, { channelId: "webchat" }, ""],
  ];
  for (const [what, event, ctx, channel] of cases)
    test(`is that of the last message: ${what}`, () => {
      const { notes, usage } = stage();
      usage.messageReceived({ sessionKey: SESSION, ...event }, ctx);
      usage.messageWritten(MESSAGE, CTX);
      usage.callEnded(ENDED, {});
      usage.callEnded({ ...ENDED, sessionKey: "agent:main:other" }, {});
      assert.deepEqual(notes.map((note) => note.channel), [channel, channel, ""]);
    });

  test("is forgotten where there are too many sessions", () => {
    const { notes, usage } = stage();
    for (let number = 0; number <= 1_000; number++)
      usage.messageReceived({ sessionKey: `s${number}` }, { channelId: "webchat" });
    for (const sessionKey of ["s0", "s1"]) usage.callEnded({ ...ENDED, sessionKey }, {});
    assert.deepEqual(notes.map((note) => note.channel), ["", "webchat"]);
  });
});

test("names are cut", () => {
  const { notes, usage } = stage();
  usage.callEnded({ ...ENDED, model: "m".repeat(100_000), runId: { deep: 1 } }, {});
  assert.deepEqual([notes[0].model.length, notes[0].run], [1_000, ""]);
});

test("what cannot be read disturbs nobody", () => {
  const { notes, usage } = stage();
  const bad = mine(new Error("no"));
  for (const value of [bad, null, undefined, 7]) {
    usage.messageReceived(value, value);
    usage.callEnded(value, value);
    usage.messageWritten(value, value);
  }
  usage.messageWritten({ ...MESSAGE, usage: bad }, CTX);
  usage.messageWritten({ ...MESSAGE, usage: { cost: bad } }, CTX);
  usage.messageWritten(MESSAGE, mine(undefined));
  assert.ok(notes.every((note) => note.type === "model-ended" && note.model === ""));
});

describe("the final answer of a run", () => {
  const END = { stream: "lifecycle", runId: "r1", data: { phase: "end" } };
  const ENDS = [END, { ...END, data: { phase: "error" } }];

  /** @param {string[]} cut @param {any} reported @param {any} end */
  function closing(cut, reported, end) {
    const run = { id: "r1", session: SESSION, agent: "main", provider: "openai", model: "gpt-x", cut: new Set(cut) };
    const { notes, usage } = stage({ [SESSION]: run });
    usage.messageWritten(MESSAGE, CTX);
    usage.messageWritten(MESSAGE, CTX);
    usage.agentEvent({ stream: "usage", runId: "r1", data: { outputTokens: reported } });
    usage.agentEvent(end);
    return notes.slice(2);
  }

  for (const end of ENDS)
    test(`is told where the guard ended it: ${end.data.phase}`, () => {
      assert.deepEqual(closing(["call"], 25, end), [{
        type: "answered", session: SESSION, agent: "main", channel: "", run: "r1", provider: "openai", model: "gpt-x",
        usage: { output: 21 }, stop: "stop",
      }]);
    });

  /** @type {[string, string[], any, any][]} */
  const none = [
    ["the run ended by itself", [], 25, END], ["nothing more was said", ["call"], 4, END],
    ["an odd number", ["call"], "many", END], ["the run goes on", ["call"], 25, { ...END, data: { phase: "finishing" } }],
    ["nobody knows the run", ["call"], 25, { ...END, runId: "r2" }],
  ];
  for (const [what, cut, reported, end] of none) test(`is none where ${what}`, () => assert.deepEqual(closing(cut, reported, end), []));

  test("an event that cannot be read disturbs nothing", () => {
    const { notes, usage } = stage();
    for (const odd of [null, undefined, mine(new Error("mine")), { stream: "usage" }]) usage.agentEvent(odd);
    assert.deepEqual(notes, []);
  });
});
