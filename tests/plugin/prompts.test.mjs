import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Answerer } from "../../plugin/gateway/answerer.mjs";
import { NOTHING, Prompts } from "../../plugin/gateway/prompts.mjs";
import { Runs } from "../../plugin/gateway/runs.mjs";

const SESSION = "agent:main:main";
const NATIVE = { approval: { mode: "native" } };
const PROMPT = { nonce: "0a1b2c3d", title: "exec waits", description: "rm -rf x", severity: "warning", timeoutMs: 300_000 };
const ANSWER = { decision: "hold", text: "TOOLGUARD_ESCALATE|0a1b2c3d|Wait.", prompt: PROMPT };
const PARAMS = { command: "rm -rf x" };

/** A prompt that is shown. @param {{ id?: string, prompt?: any, ids?: string[] }} [more] */
function asked({ id = "c1", prompt = {}, ids = [] } = {}) {
  /** @type {any[]} */
  const noted = [];
  const runs = new Runs();
  const run = runs.get("r1", SESSION, "main");
  for (const one of [id, ...ids]) runs.call(SESSION, one, { tool: "exec", run: "r1" });
  const prompts = new Prompts({ ask: async (message) => (noted.push(message), null) }, runs);
  const answer = prompts.ask({ ...ANSWER, prompt: { ...PROMPT, ...prompt } }, PARAMS, run, SESSION, id);
  const call = (/** @type {string} */ one = id) => runs.knownCall(SESSION, one);
  return { noted, runs, run, prompts, answer, call, decide: answer.requireApproval.onResolution };
}

describe("whether the gateway may ask", () => {
  /** @type {[any, boolean][]} */
  const rows = [
    [NATIVE, true],
    [{ approval: { mode: "nonce" } }, false],
    [{ approval: { mode: "NATIVE" } }, false],
    [{ approval: {} }, false],
    [{}, false],
    [undefined, false],
  ];
  for (const [config, expected] of rows)
    test(JSON.stringify(config) ?? "no settings", () => {
      const { prompts, run } = asked();
      assert.equal(prompts.mayAsk(run, config), expected);
    });
});

describe("the question", () => {
  test("shows what the engine says, offers yes once or no, and pins the params", () => {
    const { answer } = asked();
    const { onResolution, ...shown } = answer.requireApproval;
    const { nonce, ...prompt } = PROMPT;
    assert.equal(typeof onResolution, "function");
    assert.deepEqual(shown, { ...prompt, allowedDecisions: ["allow-once", "deny"] });
    assert.equal(answer.params, PARAMS);
    assert.ok(!JSON.stringify(shown).includes(nonce));
  });

  for (const [timeoutMs, expected] of [[1_000, 1_000], [600_000, 600_000], [600_001, 600_000], [86_400_000, 600_000]])
    test(`waits at most as long as the gateway does: ${timeoutMs}`, () =>
      assert.equal(asked({ prompt: { timeoutMs } }).answer.requireApproval.timeoutMs, expected));

  test("until it is answered nothing was allowed to run", () => assert.equal(asked().call()?.ran, NOTHING));
});

describe("the answer", () => {
  /** @type {[string, string, any, boolean][]} decision, outcome, what has to be the call that ran (null: none can run), whether it may be asked again */
  const rows = [
    ["allow-once", "used", PARAMS, true],
    ["deny", "denied", null, true],
    ["timeout", "expired", null, true],
    ["cancelled", "unavailable", null, false],
    ["allow-always", "denied", null, true], // was not offered
    ["something new", "denied", null, true],
    ["", "denied", null, true],
  ];
  for (const [decision, outcome, ran, again] of rows)
    test(`"${decision}" is noted once as ${outcome}`, () => {
      const { noted, call, prompts, run, runs, decide } = asked({ ids: ["c2"] });
      decide(decision);
      assert.deepEqual(noted, [{ type: "resolved", nonce: "0a1b2c3d", outcome }]);
      assert.deepEqual(call()?.ran, ran);
      assert.equal(prompts.mayAsk(run, NATIVE), again);
      assert.equal(prompts.mayAsk(runs.get("r2", SESSION), NATIVE), true, "the next run may ask");
      assert.equal(call()?.text, outcome === "unavailable" ? ANSWER.text : undefined);
      assert.equal(call("c2")?.text, undefined, "other calls keep their own words");
    });
});

describe("where nobody could be asked, the call around it is told, too", () => {
  /** @type {[string, string, string[]][]} inner id, outer id, ids that stay as they are */
  const rows = [
    ["tool_search_code:c1:exec:1", "c1", ["c", "c11", "C1"]],
    ["tool_search_code:call_9:exec:12", "call_9", ["call_99"]],
    ["tool_search_code:a:b:exec:3", "a:b", ["a", "b"]],
    ["tool_search_code:call_a_fc_b:exec:1", "call_a|fc_b", ["call_a", "fc_b"]], // ids with other characters are rewritten
    [`tool_search_code:${"x".repeat(120)}:exec:1`, "x".repeat(300), ["x".repeat(119)]],
    ["c1", "c1", ["c2", "tool_search_code:c1:exec:1"]],
    ["tool_search_code:c1", "tool_search_code:c1", ["c1"]],
    ["tool_search_code:c1:exec:x", "tool_search_code:c1:exec:x", ["c1"]],
  ];
  for (const [id, outer, others] of rows)
    test(`${id.slice(0, 40)} in ${outer.slice(0, 20)}`, () => {
      const { call, decide, runs } = asked({ id, ids: [outer, ...others] });
      runs.call("agent:main:other", outer, { run: "r9" });
      decide("cancelled");
      assert.equal(call(id)?.text, ANSWER.text);
      assert.equal(call(outer)?.text, ANSWER.text);
      for (const one of others) assert.equal(call(one)?.text, undefined, one);
      assert.equal(runs.knownCall("agent:main:other", outer)?.text, undefined, "another session's call of the same id");
    });

  test("but not where it was asked", () => {
    const { call, decide } = asked({ id: "tool_search_code:c1:exec:1", ids: ["c1"] });
    decide("deny");
    assert.equal(call("c1")?.text, undefined);
  });
});

describe("a call that may wait longer than the gateway asks", () => {
  /** @type {[number, string, string][]} how long it may wait, how the prompt ends, the outcome */
  const rows = [[600_001, "timeout", "unavailable"], [600_000, "timeout", "expired"], [28_800_000, "deny", "denied"]];
  for (const [timeoutMs, decision, outcome] of rows)
    test(`${timeoutMs} ms, ${decision}`, () => {
      const { noted, call, decide } = asked({ prompt: { timeoutMs } });
      decide(decision);
      assert.equal(noted[0].outcome, outcome);
      assert.equal(call()?.text, outcome === "unavailable" ? ANSWER.text : undefined, "it goes on waiting under its nonce");
    });
});

describe("what a person decides elsewhere", () => {
  /** Prompts for these calls under one nonce, and what is answered. @param {string[]} ids */
  function open(ids) {
    /** @type {any[]} */
    const answered = [];
    const runs = new Runs();
    const answerer = { answer: async (/** @type {any[]} */ ...all) => void answered.push(all), review: async () => {} };
    const prompts = new Prompts({ ask: async () => null }, runs, answerer);
    const shown = ids.map((id) => prompts.ask(ANSWER, PARAMS, runs.get("r1", SESSION, "main"), SESSION, id).requireApproval);
    return { prompts, shown, answered };
  }

  const soon = () => new Promise((done) => setImmediate(done));

  test("a yes is for one of the prompts, a no for all", async () => {
    /** @type {["approve" | "deny", string[]][]} */
    const rows = [["approve", ["c1"]], ["deny", ["c1", "c2"]]];
    for (const [decision, expected] of rows) {
      const { prompts, answered } = open(["c1", "c2"]);
      prompts.decided(PROMPT.nonce, decision);
      await soon();
      assert.deepEqual(answered.map(([nonce, word, { id }, isOpen]) => [nonce, word, id, isOpen()]), expected.map((id) => [PROMPT.nonce, decision, id, true]));
    }
  });

  test("nothing is answered for a prompt that has ended, or for another nonce", async () => {
    const { prompts, shown, answered } = open(["c1"]);
    prompts.decided("ffffffff", "approve");
    shown[0]?.onResolution("deny");
    prompts.decided(PROMPT.nonce, "approve");
    await soon();
    assert.deepEqual(answered, []);
  });

  /** One prompt, and a gateway that takes its time to connect. `entered`: whether the ledger takes the approval as used. */
  function slow(/** @type {boolean} */ entered) {
    /** @type {any[]} */
    const log = [];
    /** @type {(() => void)[]} */
    const connected = [];
    const runs = new Runs();
    const listed = [{ id: "plugin:1", request: { toolCallId: "c1", sessionKey: SESSION } }];
    const request = async (/** @type {string} */ method, /** @type {any} */ params) => (method.endsWith("resolve") && log.push(params.decision), listed);
    const connect = () => new Promise((done) => connected.push(() => done({ request, end: () => {} })));
    const logger = { debug() {}, info() {}, error() {}, warn: (/** @type {string} */ text) => void log.push(text) };
    const engine = { ask: async (/** @type {any} */ message) => (log.push(message.outcome), { type: "pong", entered }) };
    const prompts = new Prompts(engine, runs, new Answerer(logger, () => ({}), connect));
    const { onResolution } = prompts.ask(ANSWER, PARAMS, runs.get("r1", SESSION, "main"), SESSION, "c1").requireApproval;
    return { prompts, log, connected, onResolution };
  }

  test("a no right behind a yes prevails while the gateway does not know of the yes", async () => {
    const { prompts, log, connected } = slow(false);
    prompts.decided(PROMPT.nonce, "approve");
    prompts.decided(PROMPT.nonce, "deny");
    for (let at = 0; at < 4; at += 1) (await soon(), connected.shift()?.());
    await soon();
    assert.deepEqual(log, ["deny"]);
  });

  test("a yes that was withdrawn meanwhile is not passed on", async () => {
    const { prompts, log, connected } = slow(false);
    prompts.decided(PROMPT.nonce, "approve");
    for (let at = 0; at < 4; at += 1) (await soon(), connected.shift()?.());
    assert.deepEqual(log, ["used"]);
  });

  test("a yes is used up before the gateway learns of it, once, and a later no is too late", async () => {
    const { prompts, log, connected, onResolution } = slow(true);
    prompts.decided(PROMPT.nonce, "approve");
    for (let at = 0; at < 4; at += 1) (await soon(), connected.shift()?.());
    prompts.decided(PROMPT.nonce, "deny");
    for (let at = 0; at < 4; at += 1) (await soon(), connected.shift()?.());
    onResolution("allow-once");
    assert.deepEqual(log, ["used", "allow-once"]);
  });
});

describe("answering the gateway's prompt", () => {
  const LISTED = [
    { id: "plugin:1", request: { toolCallId: "c1", sessionKey: "agent:main:other" } },
    { id: "plugin:2", request: { toolCallId: "c1", sessionKey: SESSION } },
  ];

  /** @param {{ listed?: any, connect?: any, isOpen?: () => boolean }} [given] */
  async function answered({ listed = LISTED, connect, isOpen = () => true } = {}) {
    /** @type {any[]} */
    const requests = [];
    /** @type {string[]} */
    const warned = [];
    const request = async (/** @type {string} */ method, /** @type {any} */ params) => (requests.push([method, params]), listed);
    const logger = { debug() {}, info() {}, error() {}, warn: (/** @type {string} */ text) => void warned.push(text) };
    const answerer = new Answerer(logger, () => ({}), connect ?? (async () => ({ request, end: () => requests.push(["end"]) })));
    await answerer.answer(PROMPT.nonce, "approve", { session: SESSION, id: "c1" }, isOpen);
    return { requests, warned };
  }

  test("it is that of this call in this session", async () => {
    const { requests, warned } = await answered();
    assert.deepEqual(requests, [["plugin.approval.list", {}], ["plugin.approval.resolve", { id: "plugin:2", decision: "allow-once" }], ["end"]]);
    assert.deepEqual(warned, []);
  });

  test("what fails is said, unless the prompt has ended meanwhile", async () => {
    const connect = async () => { throw new Error("no such module"); };
    assert.match(String((await answered({ connect })).warned[0]), /approve of 0a1b2c3d could not be passed on .*no such module.*answer it there/);
    assert.deepEqual((await answered({ connect, isOpen: () => false })).warned, []);
  });
});

describe("the gateway's own question about a command that a person has approved", () => {
  const COMMAND = "touch x";
  const CALL = { session: SESSION, id: "c1", command: COMMAND };
  const asking = (/** @type {any} */ more = {}) => ({ id: "e1", request: { toolCallId: "c1", sessionKey: SESSION, command: COMMAND, ...more } });
  const RESOLVED = ["exec.approval.resolve", { id: "e1", decision: "allow-once" }];
  const ENDED = Promise.resolve();
  const GOES_ON = new Promise(() => {});

  /** @param {{ listed?: any[], later?: any[], ended: Promise<unknown> }} given */
  async function reviewed({ listed = [], later = [], ended }) {
    /** @type {any[]} */
    const requests = [];
    const logger = { debug() {}, info() {}, error() {}, warn() {} };
    const answerer = new Answerer(logger, () => ({}), async (_, onEvent) => ({
      request: async (/** @type {string} */ method, /** @type {any} */ params) => {
        requests.push([method, params]);
        for (const payload of later) onEvent?.({ event: "exec.approval.requested", payload });
        return method === "exec.approval.list" ? listed : {};
      },
      end: () => requests.push(["end"]),
    }));
    await answerer.review(CALL, ended);
    return requests;
  }

  test("is answered if it waits already", async () =>
    assert.deepEqual(await reviewed({ listed: [asking()], ended: GOES_ON }), [["exec.approval.list", {}], RESOLVED, ["end"]]));

  test("is answered if it comes later", async () =>
    assert.deepEqual(await reviewed({ later: [asking({ toolCallId: "c2" }), asking()], ended: GOES_ON }), [["exec.approval.list", {}], RESOLVED, ["end"]]));

  for (const other of [{ toolCallId: "c2" }, { sessionKey: "agent:main:other" }, { command: "touch y" }])
    test(`is not answered for ${JSON.stringify(other)}`, async () =>
      assert.deepEqual(await reviewed({ listed: [asking(other)], ended: ENDED }), [["exec.approval.list", {}], ["end"]]));

  test("a call that runs without one is left alone", async () => {
    /** @type {any[]} */
    const reviews = [];
    const runs = new Runs();
    const answerer = { answer: async () => undefined, review: async (/** @type {any[]} */ ...all) => void reviews.push(all) };
    const prompts = new Prompts({ ask: async () => null }, runs, answerer);
    prompts.approved({ path: "x" }, SESSION, "c1");
    assert.deepEqual(reviews, []);
    prompts.approved({ command: COMMAND }, SESSION, "c1");
    assert.deepEqual(reviews[0]?.[0], CALL);
    runs.knownCall(SESSION, "c1")?.ended?.();
    assert.equal(await reviews[0][1], undefined);
  });
});
