import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Hooks } from "../../plugin/gateway/hooks.mjs";
import { ENGINE_AWAY, KILL_SWITCH_ON, PROTECTED, REWRITTEN_UNJUDGED, UNJUDGED } from "../../plugin/gateway/messages.mjs";
import { OrderWatch } from "../../plugin/gateway/order.mjs";
import { useShell } from "../../plugin/gateway/room.mjs";
import { Runs } from "../../plugin/gateway/runs.mjs";
import { Seams, Trace } from "../../plugin/gateway/seams.mjs";
import { folder, refusal } from "./support.mjs";

/** @typedef {Record<string, any>} Message */

const CTX = { agentId: "main", sessionKey: "agent:main:main" };
const REFUSED = refusal("read");
const FIXED = "[TOOL ERROR] read() requires 'path'. Fix your call and retry.";
const STOP = "[TOOL ERROR LIMIT] It is enough.";
const NOBODYS = folder();

/** An engine that answers from a table; a missing entry is an engine that is away. */
class FakeEngine {
  /** @type {Message[]} */
  asked = [];
  /** @type {Message[]} */
  noted = [];
  /** @type {Message[]} notes about runs that are in progress */
  started = [];
  starts = 0;

  /** @param {Record<string, Message | ((question: Message) => Message | null)>} answers by the type of the question */
  constructor(answers) {
    this.answers = answers;
  }

  /** @param {Message} message */
  askNow(message) {
    this.asked.push(message);
    const answer = this.answers[message.type];
    return (typeof answer === "function" ? answer(message) : answer) ?? null;
  }

  /** @param {Message} message */
  async ask(message) {
    return this.askNow(message);
  }

  /** @param {Message} message */
  note(message) {
    (message.type === "run-start" ? this.started : this.noted).push(message);
  }

  start() {
    this.starts += 1;
  }
}

/**
 * The hooks with all that belongs to them, in a run that has begun.
 * @param {FakeEngine["answers"]} [answers]
 * @param {any} [config]
 * @param {import("../../plugin/gateway/order.mjs").Other[] | null} [others]
 * @param {string} [state]
 */
function gateway(answers = {}, config = {}, others = null, state = NOBODYS) {
  const engine = new FakeEngine(answers);
  const seams = new Seams(() => {});
  const trace = new Trace(seams);
  const runs = new Runs();
  /** @type {string[]} */
  const warned = [];
  const order = new OrderWatch((text) => warned.push(text), () => others);
  const hooks = new Hooks(engine, config, runs, seams, trace, order, (agent) => `/home/x/${agent}`, state);
  hooks.agentEvent({ stream: "lifecycle", data: { phase: "start" }, runId: "r1", ...CTX });
  return { engine, hooks, seams, trace, runs, warned };
}

/**
 * @param {string} id
 * @param {string} [text]
 * @param {Message} [more]
 */
function toolResult(id, text = REFUSED, more = { isError: true }) {
  return { role: "toolResult", toolCallId: id, toolName: "read", content: [{ type: "text", text }], ...more };
}

/** @param {...string} ids of the calls in it */
function assistant(...ids) {
  const calls = ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} }));
  return {
    role: "assistant", provider: "openai", model: "gpt-x", stopReason: ids.length > 0 ? "toolUse" : "stop",
    content: [{ type: "text", text: "Let me see." }, ...calls],
  };
}

/**
 * What the gateway does with a call that it refuses; the answer is what the model is told.
 * @param {Hooks} hooks
 * @param {string} id
 * @param {Message} [message]
 * @returns {string}
 */
function refuse(hooks, id, message = toolResult(id)) {
  const error = 'Validation failed for tool "read":';
  hooks.afterToolCall({ toolName: "read", params: {}, runId: "r1", toolCallId: id, error }, { ...CTX, runId: "r1" });
  hooks.resultWritten({ toolName: "read", toolCallId: id, message }, { ...CTX, toolName: "read", toolCallId: id });
  hooks.messageWritten({ message }, CTX);
  return message.content[0]?.text;
}

/** @param {string} id */
const call = (id, tool = "exec") => ({ toolName: tool, params: { command: "ls" }, runId: "r1", toolCallId: id });

describe("a refused call", () => {
  test("the model is told the engine's text, in the same message", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED } });
    const message = toolResult("c1");
    hooks.modelCallStarted({ runId: "r1", sessionKey: CTX.sessionKey, provider: "openai", model: "gpt-x" }, CTX);
    assert.equal(refuse(hooks, "c1", message), FIXED);
    assert.deepEqual(message, toolResult("c1", FIXED));
    assert.deepEqual(engine.asked, [
      {
        type: "failed", tool: "read", params: {}, text: REFUSED, judged: false, run: "r1", agent: "main",
        session: "agent:main:main", call: "c1", provider: "openai", model: "gpt-x",
        request: 1, missed: 0,
      },
    ]);
  });

  test("two sessions may use the same id: neither gets the other's text or judgement", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow" }, failed: { text: FIXED } });
    const other = { agentId: "main", sessionKey: "agent:main:other" };
    hooks.modelCallStarted({ runId: "r2", sessionKey: other.sessionKey }, other);
    await hooks.beforeToolCall({ ...call("c1"), runId: "r2" }, other);
    refuse(hooks, "c1");
    const good = { ...toolResult("c1", "GOOD"), isError: false };
    hooks.resultWritten({ message: good, toolCallId: "c1" }, other);
    assert.equal(good.content[0]?.text, "GOOD");
    assert.equal(engine.asked.find((question) => question.type === "failed")?.judged, false);
  });

  test("a hook that sees a copy of the message gets the same text without a second question", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED } });
    refuse(hooks, "c1");
    const copy = toolResult("c1");
    hooks.messageWritten({ message: copy }, CTX);
    assert.equal(copy.content[0]?.text, FIXED);
    assert.equal(engine.asked.length, 1);
  });

  test("a text that stays is not asked about again", () => {
    const { engine, hooks } = gateway({ failed: {} }); // shadow mode, or a failure from the tool's own work
    assert.equal(refuse(hooks, "c1"), REFUSED);
    assert.equal(engine.asked.length, 1);
  });

  test("the error of a call that was judged is not asked about twice while the engine is away", () => {
    const { engine, hooks } = gateway();
    return hooks.beforeToolCall(call("c1"), CTX).then(() => {
      engine.asked = [];
      assert.equal(refuse(hooks, "c1"), REFUSED);
      assert.equal(engine.asked.length, 1);
    });
  });

  test("details.status counts as an error", () => {
    const { hooks } = gateway({ failed: { text: FIXED } });
    assert.equal(refuse(hooks, "c1", toolResult("c1", '{"status":"error"}', { details: { status: "error" } })), FIXED);
  });

  test("a call that was judged is reported as such", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow" }, failed: {} });
    await hooks.beforeToolCall(call("c1"), { ...CTX, runId: "r1" });
    refuse(hooks, "c1");
    assert.equal(engine.asked.find(({ type }) => type === "failed")?.judged, true);
  });

  test("a result whose call nobody announced is still corrected, for the session's run", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED } });
    const message = toolResult("c9");
    hooks.resultWritten({ toolCallId: "c9", message }, CTX);
    assert.equal(message.content[0]?.text, FIXED);
    assert.equal(engine.asked[0]?.run, "r1");
    assert.equal(engine.asked[0]?.tool, "read");
  });

  test("an id that comes again in a later message is another call", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow" }, failed: { text: FIXED }, message: {} });
    hooks.messageWritten({ message: assistant("call_0") }, CTX);
    assert.equal(refuse(hooks, "call_0"), FIXED);
    hooks.messageWritten({ message: assistant("call_0") }, CTX);
    await hooks.beforeToolCall(call("call_0", "read"), { ...CTX, runId: "r1" });
    const success = toolResult("call_0", "the file", { isError: false });
    hooks.resultWritten({ toolCallId: "call_0", message: success }, CTX);
    assert.equal(success.content[0]?.text, "the file");
    hooks.messageWritten({ message: assistant("call_0") }, CTX);
    assert.equal(refuse(hooks, "call_0"), FIXED);
    assert.equal(engine.asked.at(-1)?.judged, false);
  });

  /** @type {[string, Message][]} */
  const untouched = [
    ["a successful result", toolResult("c1", "Validation failed for nobody", { isError: false })],
    ["a result without a text", toolResult("c1", "", { isError: true, content: [] })],
    ["a picture", toolResult("c1", "", { isError: true, content: [{ type: "image", data: "" }] })],
    ["a content that is no list", toolResult("c1", "", { isError: true, content: "Validation failed" })],
  ];
  for (const [what, message] of untouched)
    test(`${what} stays as it is, and nobody is asked`, () => {
      const { engine, hooks } = gateway({ failed: { text: FIXED } });
      const before = structuredClone(message);
      refuse(hooks, "c1", message);
      assert.deepEqual(message, before);
      assert.deepEqual(engine.asked, []);
    });

  test("a frozen message throws nothing; the request to the model is rewritten instead", () => {
    const { hooks, trace, seams } = gateway({ failed: { text: FIXED } });
    const message = toolResult("c1");
    Object.freeze(message.content[0]);
    assert.equal(refuse(hooks, "c1", message), REFUSED);
    hooks.modelCallStarted({ runId: "r1" }, CTX);
    assert.equal(seams.evidence.inPlaceText, "fails");
    assert.equal(trace.outgoing(REFUSED), FIXED);
  });

  for (const message of [undefined, null, {}, { role: "toolResult" }, { role: "assistant" }, { role: "user", content: "hi" }])
    test(`a message of an unknown shape throws nothing: ${JSON.stringify(message)}`, () => {
      const { engine, hooks } = gateway();
      hooks.messageWritten({ message }, CTX);
      hooks.messageWritten({ message }, undefined);
      hooks.resultWritten({ message }, undefined);
      assert.deepEqual(engine.asked, []);
    });
});

describe("the end of a run", () => {
  test("the next message after a correction is asked about, and stopped where the engine says so", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED, watch: true }, message: { stop: STOP } });
    refuse(hooks, "c1");
    const message = assistant("c2", "c3");
    const { content } = message;
    hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message, { ...assistant("c2"), content: [{ type: "text", text: STOP }], stopReason: "stop" });
    assert.equal(message.content, content); // the gateway keeps the list that it has
    const calls = ["c2", "c3"].map((id) => ({ tool: "read", params: {}, call: id }));
    assert.deepEqual(engine.asked[1], {
      type: "message", run: "r1", agent: "main", session: "agent:main:main", provider: "openai", model: "gpt-x", calls,
    });
  });

  test("a message is left alone where the engine says nothing", () => {
    const { hooks } = gateway({ failed: { text: FIXED }, message: {} });
    refuse(hooks, "c1");
    const message = assistant("c2");
    hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message, assistant("c2"));
  });

  test("messages of a run without failures are not asked about", () => {
    const { engine, hooks } = gateway({ message: { stop: STOP } });
    hooks.messageWritten({ message: assistant("c1") }, CTX);
    assert.deepEqual(engine.asked, []);
  });

  test("a failure that ends the run cuts the next message with calls without asking, but no plain text", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED, stop: STOP } });
    refuse(hooks, "c1");
    const plain = assistant();
    hooks.messageWritten({ message: plain }, CTX);
    assert.deepEqual(plain, assistant());
    const calling = assistant("c2");
    hooks.messageWritten({ message: calling }, CTX);
    assert.deepEqual(calling.content, [{ type: "text", text: STOP }]);
    assert.equal(calling.stopReason, "stop");
    assert.deepEqual(engine.asked.map(({ type }) => type), ["failed"]);
  });

  test("where the gentle end was due and did not come, the next request does not leave", () => {
    const { hooks, trace } = gateway({ failed: { text: FIXED, stop: STOP } });
    const request = () => hooks.modelCallStarted({ runId: "r1" }, CTX);
    request();
    assert.equal(refuse(hooks, "c1"), FIXED);
    assert.equal(trace.outgoing(FIXED), FIXED);
    request(); // its answer is shown to no hook, so nothing could be cut
    const second = refuse(hooks, "c2");
    assert.equal(second, `${FIXED} (run r1)`);
    assert.throws(() => trace.outgoing(second), { message: second });
  });

  test("another session is not touched", () => {
    const { hooks } = gateway({ failed: { text: FIXED, stop: STOP } });
    refuse(hooks, "c1");
    const message = assistant("c2");
    hooks.messageWritten({ message }, { agentId: "main", sessionKey: "agent:main:other" });
    hooks.messageWritten({ message }, {});
    assert.deepEqual(message, assistant("c2"));
  });

  test("a stop that the run survives unharmed counts as works, a call that runs anyway as fails", async () => {
    const { hooks, seams } = gateway({ failed: { text: FIXED, stop: STOP }, judge: { decision: "block", text: STOP } });
    refuse(hooks, "c1");
    hooks.messageWritten({ message: assistant("c2") }, CTX);
    hooks.agentEvent({ stream: "lifecycle", data: { phase: "end" }, runId: "r1" });
    assert.equal(seams.evidence.gracefulStop, "works");

    const other = gateway({ failed: { text: FIXED, stop: STOP }, judge: { decision: "block", text: STOP } });
    refuse(other.hooks, "c1");
    other.hooks.messageWritten({ message: assistant("c2") }, CTX);
    await other.hooks.beforeToolCall(call("c2"), { ...CTX, runId: "r1" });
    other.hooks.agentEvent({ stream: "lifecycle", data: { phase: "end" }, runId: "r1" });
    assert.equal(other.seams.evidence.gracefulStop, "fails");
  });

  test("a frozen message of the model throws nothing and counts as fails", () => {
    const { hooks, seams } = gateway({ failed: { text: FIXED, stop: STOP } });
    refuse(hooks, "c1");
    const message = assistant("c2");
    Object.freeze(message.content);
    hooks.messageWritten({ message: Object.freeze(message) }, CTX);
    assert.deepEqual(message, assistant("c2"));
    assert.equal(seams.evidence.gracefulStop, "fails");
  });

  for (const phase of ["end", "error"])
    test(`the run is forgotten (${phase})`, () => {
      const { engine, hooks, runs } = gateway({ failed: { text: FIXED, stop: STOP } });
      refuse(hooks, "c1");
      hooks.agentEvent({ stream: "lifecycle", data: { phase }, runId: "r1" });
      assert.deepEqual(engine.noted, [{ type: "run-end", run: "r1", session: CTX.sessionKey }]);
      assert.equal(runs.known("r1"), undefined);
      assert.equal(runs.knownCall("agent:main:main", "c1"), undefined);
      hooks.agentEvent({ stream: "lifecycle", data: { phase: "start" }, runId: "r2", ...CTX });
      const message = assistant("c2");
      hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message, assistant("c2"));
    });

  test("the start of a run starts the engine; other phases and streams do nothing", () => {
    const { engine, hooks } = gateway();
    for (const phase of ["model", "finishing"]) hooks.agentEvent({ stream: "lifecycle", data: { phase }, runId: "r1" });
    hooks.agentEvent({ stream: "assistant", data: { phase: "end" }, runId: "r1" });
    hooks.agentEvent({ stream: "lifecycle" });
    hooks.agentEvent(undefined);
    assert.equal(engine.starts, 1);
    assert.deepEqual(engine.noted, []);
  });
});

describe("before a call", () => {
  test("allow lets it run", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow", code: "allow" } });
    assert.equal(await hooks.beforeToolCall(call("c1"), { ...CTX, runId: "r1" }), undefined);
    assert.deepEqual(engine.asked, [
      {
        type: "judge", tool: "exec", params: { command: "ls" }, call: "c1", request: 0, cwd: "/home/x/main", run: "r1",
        agent: "main", session: CTX.sessionKey, native: false, channel: "", requester: "",
      },
    ]);
  });

  /** @type {[any, string, string][]} */
  const askers = [
    [{ requester: { channel: "telegram", senderId: "42", senderIsOwner: false } }, "telegram", "42"],
    [{ requester: { channel: "webchat", senderIsOwner: true } }, "webchat", "owner"],
    [{ requester: { senderId: 7 }, channelId: "irc" }, "irc", "7"],
    [{ channelId: "irc" }, "irc", ""],
    [{ requester: { channel: "irc", senderId: "owner" } }, "irc", "sender:owner"],
  ];
  for (const [ctx, channel, requester] of askers)
    test(`the engine is told who asks: ${JSON.stringify(ctx)}`, async () => {
      const { engine, hooks } = gateway({ judge: { decision: "allow", code: "allow" } });
      await hooks.beforeToolCall(call("c1"), { ...CTX, ...ctx });
      assert.deepEqual([engine.asked[0]?.channel, engine.asked[0]?.requester], [channel, requester]);
    });

  for (const decision of ["block", "hold", "something new"])
    test(`${decision} blocks it with the engine's text`, async () => {
      const { hooks } = gateway({ judge: { decision, code: "x", text: "because" } });
      assert.deepEqual(await hooks.beforeToolCall(call("c1"), CTX), { block: true, blockReason: "because" });
    });

  const BLOCKED = { block: true, blockReason: ENGINE_AWAY };
  /** @type {[string, any, string, any][]} */
  const away = [
    ["the default", {}, "exec", BLOCKED],
    ["no settings at all", undefined, "exec", BLOCKED],
    ["closed", { failMode: "closed" }, "exec", BLOCKED],
    ["closed, a tool that reads", { failMode: "closed" }, "read", undefined],
    ["open", { failMode: "open" }, "exec", undefined],
    ["off", { enabled: false }, "exec", undefined],
    ["disabled", { mode: "disabled" }, "exec", undefined],
    ["shadow", { mode: "shadow" }, "exec", undefined],
    ["soft", { mode: "soft" }, "exec", BLOCKED],
    ["shadow for this agent", { agents: { main: { mode: "shadow" } } }, "exec", undefined],
    ["shadow for another agent", { agents: { other: { mode: "shadow" } } }, "exec", BLOCKED],
    ["enforce for this agent", { mode: "shadow", agents: { main: { mode: "enforce" } } }, "exec", BLOCKED],
  ];
  for (const [what, config, tool, expected] of away)
    test(`the engine is away: ${what}`, async () => {
      const { hooks } = gateway({}, config);
      assert.deepEqual(await hooks.beforeToolCall(call("c1", tool), CTX), expected);
    });

  test("the engine is away and the kill switch is on", async () => {
    const state = folder();
    mkdirSync(join(state, "toolguard"));
    const { hooks } = gateway({}, { mode: "disabled" }, null, state);
    assert.equal(await hooks.beforeToolCall(call("c1"), CTX), undefined);
    writeFileSync(join(state, "toolguard", "kill-switch"), "{}");
    assert.deepEqual(await hooks.beforeToolCall(call("c2"), CTX), { block: true, blockReason: KILL_SWITCH_ON });
  });
});

describe("the question about a call", () => {
  test("names the request that the call came from", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow" } });
    for (const request of [1, 2, 3]) {
      hooks.modelCallStarted({ runId: "r1" }, CTX);
      await hooks.beforeToolCall(call(`c${request}`), CTX);
      assert.equal(engine.asked.at(-1)?.request, request);
    }
  });

  for (const [tool, cwd] of /** @type {[string, string][]} */ ([
    ["exec", "/home/x/main"], ["bash", "/home/x/main"], ["process", "/home/x/main"], ["read", ""],
    ["write", "/home/x/main"], ["apply_patch", "/home/x/main"], ["Exec", ""],
  ]))
    test(`names the folder only of what runs commands or changes files: ${tool}`, async () => {
      const { engine, hooks } = gateway({ judge: { decision: "allow" } });
      await hooks.beforeToolCall(call("c1", tool), CTX);
      assert.equal(engine.asked[0]?.cwd, cwd);
    });

  for (const [config, native] of /** @type {[any, boolean][]} */ ([
    [undefined, false], [{}, false], [{ approval: { mode: "nonce" } }, false], [{ approval: { mode: "native" } }, true],
  ]))
    test(`says whether the gateway may ask: ${JSON.stringify(config)}`, async () => {
      const { engine, hooks } = gateway({ judge: { decision: "allow" } }, config);
      await hooks.beforeToolCall(call("c1"), CTX);
      assert.equal(engine.asked[0]?.native, native);
    });
});

/** Params with something to change inside. */
const DEEP = { command: "make", env: { PATH: "/bin", list: [1, { x: 1 }] } };
/** @param {string} id @param {any} params */
const deep = (id, params, tool = "exec") => ({ ...call(id, tool), params });

describe("an allowed call", () => {
  /** @type {[Message, any][]} */
  const verdicts = [
    [{ decision: "allow" }, undefined],
    [{ decision: "allow", pin: false }, undefined],
    [{ decision: "allow", pin: true }, { params: DEEP }],
  ];
  for (const [verdict, expected] of verdicts)
    test(`is answered with its params only where they are pinned: ${JSON.stringify(verdict)}`, async () => {
      const { hooks } = gateway({ judge: verdict });
      assert.deepEqual(await hooks.beforeToolCall(deep("c1", structuredClone(DEEP)), CTX), expected);
    });

  test("is pinned to what was judged, whatever happens to the gateway's object meanwhile", async () => {
    /** @type {any} */
    const params = structuredClone(DEEP);
    const { engine, hooks } = gateway({ judge: () => {
      params.env.PATH = "/evil";
      return { decision: "allow", pin: true };
    } });
    const answer = /** @type {any} */ (await hooks.beforeToolCall(deep("c1", params), CTX));
    params.command = "evil";
    assert.deepEqual(answer, { params: DEEP });
    assert.deepEqual(engine.asked[0]?.params, DEEP);
  });
});

describe("a command in a room", () => {
  const ALLOWED = { decision: "allow", room: 7, roomName: "main", outcome: "tell" };
  const TOLD = { command: "ls", env: { TOOLGUARD_ROOM: "main" } };

  test("is told its room, and reported as the model wrote it", async () => {
    const { engine, hooks } = gateway({ judge: ALLOWED });
    const params = { command: "ls" };
    assert.deepEqual(await hooks.beforeToolCall({ ...call("c1", "exec"), params }, CTX), { params: TOLD });
    hooks.afterToolCall({ ...call("c1", "exec"), params: TOLD, result: { content: [{ type: "text", text: "a" }] } }, { ...CTX, runId: "r1" });
    assert.deepEqual(engine.asked.map(({ type }) => type), ["judge"]); // nothing else ran than what was judged
    assert.deepEqual(engine.noted.find(({ type }) => type === "came")?.params, params);
  });

  test("that may run there only is blocked where the gateway has another shell", async () => {
    const { hooks } = gateway({ judge: { ...ALLOWED, onlyThere: true } });
    const params = { command: "ls" };
    const answer = /** @type {any} */ (await hooks.beforeToolCall({ ...call("c1", "exec"), params }, CTX));
    assert.equal(answer.block, true);
    assert.match(answer.blockReason, /^TOOLGUARD_BLOCK\|This command did not run/);
  });

  test("that runs there only is reported as the model wrote it", async () => {
    const before = process.env.SHELL;
    useShell("/nowhere/bash", () => {});
    try {
      const { engine, hooks } = gateway({ judge: { ...ALLOWED, onlyThere: true } });
      const params = { command: "ls" };
      const ran = { command: "ls", host: "gateway", env: TOLD.env };
      assert.deepEqual(await hooks.beforeToolCall({ ...call("c1", "exec"), params }, CTX), { params: ran });
      hooks.afterToolCall({ ...call("c1", "exec"), params: ran, result: {} }, { ...CTX, runId: "r1" });
      assert.deepEqual(engine.asked.map(({ type }) => type), ["judge"]);
      assert.deepEqual(engine.noted.find(({ type }) => type === "came")?.params, params);
    } finally {
      useShell("");
      if (before === undefined) delete process.env.SHELL;
      else process.env.SHELL = before;
    }
  });

  test("that another plugin takes out of it is found out", async () => {
    const { engine, hooks } = gateway({ judge: ALLOWED, ran: {} });
    await hooks.beforeToolCall({ ...call("c1", "exec"), params: { command: "ls" } }, CTX);
    hooks.afterToolCall({ ...call("c1", "exec"), params: { command: "ls" }, result: {} }, { ...CTX, runId: "r1" });
    assert.deepEqual(engine.asked.map(({ type }) => type), ["judge", "ran"]);
  });

  test("that a model names is dropped where there is none, also while the engine is silent", async () => {
    const params = { command: "ls", env: { TOOLGUARD_ROOM: "main", A: "b" } };
    const expected = { params: { command: "ls", env: { A: "b" } } };
    for (const [answers, config] of [[{ judge: { decision: "allow" } }, {}], [{}, { failMode: "open" }]])
      assert.deepEqual(await gateway(/** @type {any} */ (answers), config).hooks.beforeToolCall({ ...call("c1", "exec"), params }, CTX), expected);
  });
});

describe("what ran", () => {
  const CHANGED = "Something else ran than what was judged.";

  /**
   * A call is judged, and something runs.
   * @param {any} ran
   * @param {{ judge?: any, event?: Message, answer?: any, id?: string, config?: any }} [more]
   */
  async function run(ran, { judge = { decision: "allow" }, event = {}, answer = { stop: CHANGED }, id = "c1", config = {} } = {}) {
    const others = [{ plugin: "a", priority: 5 }, { plugin: "toolguard", priority: -9 }, { plugin: "b", priority: -9 }];
    const all = gateway({ judge, ran: answer, message: {} }, config, others);
    await all.hooks.beforeToolCall(deep(id, structuredClone(DEEP)), CTX);
    all.hooks.afterToolCall({ ...deep(id, ran), ...event }, { ...CTX, runId: "r1" });
    const questions = all.engine.asked.filter(({ type }) => type === "ran");
    return { ...all, questions, run: all.runs.known("r1") ?? assert.fail() };
  }

  /** @type {[string, any][]} */
  const equal = [
    ["the same", DEEP],
    ["another order of keys", { env: { list: [1, { x: 1 }], PATH: "/bin" }, command: "make" }],
    ["a member that JSON does not know", { ...DEEP, signal: undefined, callback: () => {} }],
  ];
  for (const [what, ran] of equal)
    for (const pin of [false, true])
      test(`${what}: nobody is asked (${pin ? "pinned" : "not pinned"})`, async () => {
        const { questions, run: { stop, watch } } = await run(ran, { judge: { decision: "allow", pin } });
        assert.deepEqual([questions, stop, watch], [[], "", false]);
      });

  /** @type {[string, any][]} */
  const different = [
    ["another value", { ...DEEP, command: "make install" }],
    ["another nested value", { ...DEEP, env: { PATH: "/evil", list: [1, { x: 1 }] } }],
    ["another value deep in a list", { ...DEEP, env: { PATH: "/bin", list: [1, { x: 2 }] } }],
    ["a member more", { ...DEEP, elevated: true }],
    ["a member less", { command: "make" }],
    ["a list in another order", { ...DEEP, env: { PATH: "/bin", list: [{ x: 1 }, 1] } }],
    ["nothing", undefined],
  ];
  for (const [what, ran] of different)
    test(`${what}: the engine is asked at once, and its stop ends the run at the next message`, async () => {
      const { hooks, questions, run: { stop, watch } } = await run(ran);
      const params = ran ?? undefined;
      assert.deepEqual(questions, [{
        type: "ran", tool: "exec", params, cwd: "/home/x/main", run: "r1", agent: "main", session: CTX.sessionKey, call: "c1",
        others: "a (priority 5), b (priority -9)",
      }]);
      assert.deepEqual([stop, watch], [CHANGED, true]);
      const message = assistant("c2", "c3");
      hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message.content, [{ type: "text", text: CHANGED }]);
      assert.equal(message.stopReason, "stop");
    });

  test("a difference that the engine lets pass ends nothing, but the run is watched", async () => {
    const { hooks, questions, run: { stop, watch } } = await run({ command: "make -j" }, { answer: {} });
    assert.deepEqual([questions.length, stop, watch], [1, "", true]);
    const message = assistant("c2");
    hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message, assistant("c2"));
  });

  for (const [config, stops] of /** @type {[any, boolean][]} */ ([[{}, true], [{ failMode: "open" }, false], [{ mode: "shadow" }, false]]))
    test(`a difference that nobody can judge: ${JSON.stringify(config)} ${stops ? "ends the run" : "ends nothing"}`, async () => {
      const { run: { stop } } = await run({ command: "make -j" }, { answer: null, config });
      assert.equal(stop, stops ? REWRITTEN_UNJUDGED : "");
    });

  /** @type {[string, any][]} */
  const uncompared = [
    ["another plugin or a person blocked it", { event: { error: "no", result: { details: { status: "blocked", deniedReason: "plugin-before-tool-call" } } } }],
    ["it was blocked", { judge: { decision: "block", text: "no" }, event: { error: "no" } }],
    ["it was blocked, and the host does not say so", { judge: { decision: "block", text: "no" } }],
    ["the engine was away", { judge: null }],
  ];
  for (const [what, more] of uncompared)
    test(`is not compared where ${what}`, async () => {
      const { questions, run: { stop } } = await run({ command: "other" }, more);
      assert.deepEqual([questions, stop], [[], ""]);
    });

  for (const event of [
    { error: "exit code 1" }, { error: "exit code 1", result: { details: { status: "failed" } } }, { result: { details: null } },
    { result: { details: { status: "blocked" } } },
    { error: "blocked", result: { content: [{ type: "text", text: '{"status":"blocked"}' }] } },
  ])
    test(`is compared however it went: ${JSON.stringify(event)}`, async () => {
      const { questions, run: { stop } } = await run({ command: "other" }, { event });
      assert.deepEqual([questions.length, stop], [1, CHANGED]);
    });

  test("is not compared where the gateway refused the call before it was judged", () => {
    const { engine, hooks } = gateway({ ran: { stop: CHANGED } });
    hooks.afterToolCall(deep("c1", {}), { ...CTX, runId: "r1" });
    hooks.agentEvent({ stream: "tool", runId: "r1", ...CTX, data: { phase: "start", toolCallId: "c2", name: "exec", args: DEEP } });
    hooks.afterToolCall(deep("c2", { command: "other" }), { ...CTX, runId: "r1" });
    assert.deepEqual(engine.asked, []);
  });

  test("a host whose hooks share one object: what a later hook changes in place is seen", async () => {
    for (const pin of [false, true]) {
      const { engine, hooks } = gateway({ judge: { decision: "allow", pin }, ran: { stop: CHANGED } });
      const event = deep("c1", structuredClone(DEEP));
      await hooks.beforeToolCall(event, CTX);
      event.params.env.PATH = "/evil";
      hooks.afterToolCall(event, { ...CTX, runId: "r1" });
      assert.equal(engine.asked.at(-1)?.type, "ran", `pin: ${pin}`);
    }
  });

  test("an id that comes again is another call, also while nobody judges it", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow" }, ran: { stop: CHANGED } }, { failMode: "open" });
    await hooks.beforeToolCall(deep("c1", DEEP), CTX);
    engine.answers.judge = () => null;
    await hooks.beforeToolCall(deep("c1", { command: "other" }), CTX);
    hooks.afterToolCall(deep("c1", { command: "other" }), { ...CTX, runId: "r1" });
    assert.deepEqual(engine.asked.map(({ type }) => type), ["judge", "judge"]);
  });

  test("a call inside Tool Search is compared by its own id, not by that of the outer one", async () => {
    const inner = "tool_search_code:c1:exec:1";
    const { engine, hooks } = gateway({ judge: { decision: "allow" }, ran: { stop: CHANGED } });
    const outer = { ...call("c1", "tool_call"), params: { name: "exec", args: DEEP } };
    const ctx = { ...CTX, runId: "r1" };
    await hooks.beforeToolCall(outer, CTX);
    await hooks.beforeToolCall(deep(inner, DEEP), CTX);
    hooks.afterToolCall(deep(inner, structuredClone(DEEP)), ctx);
    hooks.afterToolCall(outer, ctx);
    assert.deepEqual(engine.asked.map(({ type }) => type), ["judge", "judge"]);

    const second = "tool_search_code:c1:exec:2";
    await hooks.beforeToolCall(deep(second, DEEP), CTX);
    hooks.afterToolCall(deep(second, { command: "evil" }), ctx);
    const { type, call: id, tool } = engine.asked.at(-1) ?? {};
    assert.deepEqual([type, id, tool], ["ran", second, "exec"]);
  });

  test("two sessions may use the same id: neither is compared with the other", async () => {
    const { engine, hooks } = gateway({ judge: { decision: "allow" }, ran: { stop: CHANGED } });
    const other = { agentId: "main", sessionKey: "agent:main:other", runId: "r2" };
    const theirs = { ...deep("c1", { command: "theirs" }), runId: "r2" };
    await hooks.beforeToolCall(deep("c1", DEEP), CTX);
    await hooks.beforeToolCall(theirs, other);
    hooks.afterToolCall(deep("c1", DEEP), { ...CTX, runId: "r1" });
    hooks.afterToolCall(theirs, other);
    assert.deepEqual(engine.asked.map(({ type }) => type), ["judge", "judge"]);
  });
});

describe("a held or blocked call", () => {
  const WAIT = "This turn ends here: a call is waiting for approval.";
  /** @type {[string, Message, boolean][]} what, the verdict, whether the run ends */
  const verdicts = [
    ["held", { decision: "hold", text: "held" }, false],
    ["held for the last time", { decision: "hold", text: "held", stop: WAIT }, true],
    ["blocked for the last time", { decision: "block", text: "no", stop: WAIT }, true],
  ];
  for (const [what, judge, ends] of verdicts)
    test(`${what}: the model is told, and the next message is ${ends ? "replaced" : "asked about"}`, async () => {
      const { engine, hooks } = gateway({ judge, message: {} });
      assert.deepEqual(await hooks.beforeToolCall(call("c1"), CTX), { block: true, blockReason: judge.text });
      const message = assistant("c2");
      hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message.content, ends ? [{ type: "text", text: WAIT }] : assistant("c2").content);
      assert.deepEqual(engine.asked.map(({ type }) => type), ends ? ["judge"] : ["judge", "message"]);
    });
});

describe("the gateway's own prompt", () => {
  const NATIVE = { approval: { mode: "native" } };
  const PROMPT = { nonce: "0a1b2c3d", title: "exec waits", description: "make", severity: "warning", timeoutMs: 1_000 };
  const HOLD = { decision: "hold", text: "TOOLGUARD_ESCALATE|0a1b2c3d|Approve with it.", prompt: PROMPT };

  /** @param {string} [id] @param {Record<string, any>} [answers] */
  async function prompted(id = "c1", answers = {}) {
    const all = gateway({ judge: HOLD, failed: { text: FIXED }, ran: { stop: STOP }, ...answers }, NATIVE);
    const answer = /** @type {any} */ (await all.hooks.beforeToolCall(deep(id, structuredClone(DEEP)), CTX));
    return { ...all, answer, decide: answer.requireApproval.onResolution };
  }

  test("is shown instead of a refusal, and exactly what it shows may run", async () => {
    const { answer, runs, engine } = await prompted();
    assert.deepEqual(Object.keys(answer).sort(), ["params", "requireApproval"]);
    assert.deepEqual(answer.params, DEEP);
    assert.equal(answer.requireApproval.title, "exec waits");
    assert.equal(engine.asked[0]?.native, true);
    assert.deepEqual([runs.known("r1")?.stop, engine.noted], ["", []]);
  });

  /** @type {[string, string, boolean][]} decision, outcome, whether the next call is asked about in the same way */
  const decisions = [
    ["allow-once", "used", true], ["deny", "denied", true], ["timeout", "expired", true], ["cancelled", "unavailable", false],
  ];
  for (const [decision, outcome, again] of decisions)
    test(`${decision}: one note, and ${again ? "the next call may be asked about" : "no further prompt in this run"}`, async () => {
      const { engine, hooks, decide } = await prompted();
      decide(decision);
      assert.deepEqual(engine.asked.filter(({ type }) => type === "resolved"), [{ type: "resolved", nonce: "0a1b2c3d", outcome }]);
      await hooks.beforeToolCall(call("c2"), CTX);
      assert.equal(engine.asked.at(-1)?.native, again);
      await hooks.beforeToolCall({ ...call("c3"), runId: "r2" }, CTX);
      assert.equal(engine.asked.at(-1)?.native, true, "another run may ask");
    });

  /** @type {[string, any, boolean][]} the answer to the prompt, what ran, whether that is another call */
  const compared = [
    ["allow-once", DEEP, false],
    ["allow-once", { ...DEEP, command: "evil" }, true],
    ["", DEEP, true], // it ran although nobody had answered
    ["deny", DEEP, false], // the gateway's own refusal: nothing ran
    ["timeout", DEEP, false],
    ["cancelled", DEEP, false],
  ];
  for (const [decision, ran, differs] of compared)
    test(`"${decision}", then ${ran.command} runs: ${differs ? "that was not allowed" : "nobody is asked"}`, async () => {
      const { engine, hooks, runs, decide } = await prompted();
      if (decision) decide(decision);
      hooks.afterToolCall(deep("c1", structuredClone(ran)), { ...CTX, runId: "r1" });
      const questions = engine.asked.filter(({ type }) => type === "ran");
      assert.deepEqual(questions.map(({ cwd, params }) => ({ cwd, params })), differs ? [{ cwd: "/home/x/main", params: ran }] : []);
      assert.equal(runs.known("r1")?.stop, differs ? STOP : "");
    });

  /** @type {[string, string, string][]} the call that was asked about, the one whose result is written, decision */
  const cases = [
    ["c1", "c1", "cancelled"],
    ["tool_search_code:c1:exec:1", "c1", "cancelled"],
    ["tool_search_code:call_a_fc_b:exec:1", "call_a|fc_b", "cancelled"],
    ["c1", "c1", "deny"],
    ["tool_search_code:c1:exec:1", "c1", "deny"],
  ];
  for (const [asked, written, decision] of cases)
    test(`${decision} of ${asked}: what the model is told in the result of ${written}`, async () => {
      const { engine, hooks, runs, decide } = await prompted(asked);
      runs.call(CTX.sessionKey, written, { tool: "exec", run: "r1" });
      decide(decision);
      const message = toolResult(written, "Plugin approval unavailable (no approval route)");
      hooks.resultWritten({ toolCallId: written, message }, CTX);
      hooks.messageWritten({ message }, CTX);
      const nowhere = decision === "cancelled";
      assert.equal(message.content[0]?.text, nowhere ? HOLD.text : FIXED);
      assert.equal(engine.asked.some(({ type }) => type === "failed"), !nowhere);
    });

  test("a model whose prompt was cancelled gets the next held call refused under its nonce", async () => {
    const { engine, hooks, decide } = await prompted();
    decide("cancelled");
    engine.answers.judge = (question) => (question.native ? HOLD : { decision: "hold", text: HOLD.text });
    assert.deepEqual(await hooks.beforeToolCall(call("c2"), CTX), { block: true, blockReason: HOLD.text });
  });
});

describe("a reply to the person", () => {
  const HOW = (/** @type {string} */ nonce) =>
    `Approve with \`toolguard approve ${nonce}\` in a terminal or \`/toolguard approve ${nonce}\` in chat.`;
  const ONE = `This turn ends here: a call is waiting for approval.\n${HOW("0a1b2c3d")}`;
  const TWO = `This turn ends here: 2 calls are waiting for approval.\n${HOW("0a1b2c3d")}\n${HOW("4e5f6a7b")}`;

  const WAITING = new Map([[ONE, ["0a1b2c3d"]], [TWO, ["0a1b2c3d", "4e5f6a7b"]]]);

  /** A run that was stopped with this text. @param {string} stop */
  async function stopped(stop) {
    const all = gateway({ judge: { decision: "block", text: "no", stop, waiting: WAITING.get(stop) } });
    await all.hooks.beforeToolCall(call("c1"), CTX);
    return all;
  }
  const reply = (/** @type {any} */ payload, runId = "r1") => ({ payload, runId, sessionKey: CTX.sessionKey, kind: "final" });

  /** @type {[string, string, any, string | undefined][]} what, the stop, the payload, its new text */
  const rows = [
    ["an error notice becomes the reason", STOP, { text: "Something went wrong.", isError: true }, STOP],
    ["an error notice becomes the way to approve", ONE, { text: "Something went wrong.", isError: true }, ONE],
    ["an error notice that has the nonce is replaced all the same", ONE, { text: "failed: 0a1b2c3d", isError: true }, ONE],
    ["an error notice that says it already stays", STOP, { text: `Error: ${STOP}`, isError: true }, undefined],
    ["an answer without the nonce gets it", ONE, { text: "I wait for you." }, `I wait for you.\n\n${ONE}`],
    ["an answer with a piece of the nonce gets it", ONE, { text: "Approve 0a1b2c3." }, `Approve 0a1b2c3.\n\n${ONE}`],
    ["an empty answer gets it", ONE, { text: "" }, `\n\n${ONE}`],
    ["an answer with the nonce stays", ONE, { text: "Please approve 0a1b2c3d." }, undefined],
    ["the words themselves stay", ONE, { text: ONE }, undefined],
    ["an answer with one of two nonces gets both", TWO, { text: "Approve 0a1b2c3d." }, `Approve 0a1b2c3d.\n\n${TWO}`],
    ["an answer with the other of two nonces gets both", TWO, { text: "Approve 4e5f6a7b." }, `Approve 4e5f6a7b.\n\n${TWO}`],
    ["an answer with both nonces stays", TWO, { text: "Approve 0a1b2c3d and 4e5f6a7b." }, undefined],
    ["an answer to a run that was stopped for another reason stays", STOP, { text: "I could not do it." }, undefined],
    ["so does one whose text reads as if calls waited", `${ONE} `, { text: "I could not do it." }, undefined],
    ["a picture stays", ONE, { mediaUrl: "x.png" }, undefined],
    ["no payload", ONE, undefined, undefined],
    ["a text that is none", ONE, { text: 7 }, undefined],
    ["a run that was not stopped: an answer", "", { text: "Done." }, undefined],
    ["a run that was not stopped: an error notice", "", { text: "Something went wrong.", isError: true }, undefined],
  ];
  for (const [what, stop, payload, text] of rows)
    for (const over of [false, true])
      test(`${what} (${over ? "after" : "before"} the end of the run)`, async () => {
        const { hooks } = await stopped(stop);
        if (over) hooks.agentEvent({ stream: "lifecycle", data: { phase: "end" }, runId: "r1" });
        const before = structuredClone(payload);
        const answer = hooks.replySending(reply(payload && { ...payload, channelData: { x: 1 } }));
        assert.deepEqual(answer, text === undefined ? undefined : { payload: { ...payload, channelData: { x: 1 }, text } });
        assert.deepEqual(payload, before);
      });

  test("the next run of the session is another one", async () => {
    const { hooks } = await stopped(ONE);
    const event = (/** @type {string} */ runId, /** @type {string} */ phase) =>
      hooks.agentEvent({ stream: "lifecycle", data: { phase }, runId, ...CTX });
    const sent = (/** @type {string | undefined} */ runId) =>
      hooks.replySending({ ...reply({ text: "Hello." }), runId }) !== undefined;
    event("r1", "end");
    assert.deepEqual([sent("r1"), sent(undefined), sent("r2")], [true, true, false]);
    event("r2", "start");
    assert.deepEqual([sent(undefined), sent("r2")], [false, false]);
    event("r2", "end");
    assert.deepEqual([sent(undefined), sent("r2")], [false, false]);
  });

  test("another session's reply stays", async () => {
    const { hooks } = await stopped(ONE);
    for (const sessionKey of ["agent:main:other", "", undefined])
      assert.equal(hooks.replySending({ payload: { text: "Hello." }, sessionKey }), undefined);
  });
});

describe("the order of hooks", () => {
  test("is looked at when a run starts", () => {
    const { hooks, warned } = gateway({}, {}, [{ plugin: "toolguard", priority: -9 }, { plugin: "late", priority: -9 }]);
    assert.equal(warned.length, 1);
    assert.match(warned[0] ?? "", /late \(priority -9\) runs after the guard/);
    hooks.agentEvent({ stream: "lifecycle", data: { phase: "start" }, runId: "r2", ...CTX });
    assert.equal(warned.length, 1);
  });
});

describe("what came of a call", () => {
  const RUN = { ...CTX, runId: "r1" };
  const result = (/** @type {string} */ text, /** @type {any} */ details = {}) => ({ content: [{ type: "text", text }], details });
  const came = (/** @type {Message} */ { engine }) =>
    [...engine.noted, ...engine.asked].filter((/** @type {Message} */ message) => message.type === "came");

  /**
   * A call that is judged, runs, and is written: what the model sees of it.
   * @param {Hooks} hooks
   * @param {string} id
   * @param {Message} more of the event behind the call
   * @param {string} [outer] the call that it is inside of
   */
  async function ran(hooks, id, more, outer = id) {
    if (outer !== id) await hooks.beforeToolCall({ ...call(outer), toolName: "tool_call" }, RUN);
    await hooks.beforeToolCall(call(id), RUN);
    hooks.afterToolCall({ ...call(id), ...more }, RUN);
    const message = toolResult(outer, more.result?.content?.[0]?.text ?? "", {});
    hooks.resultWritten({ toolName: "exec", toolCallId: outer, message }, CTX);
    hooks.messageWritten({ message }, CTX);
    return message.content[0]?.text;
  }

  test("is told as a note, with what the engine needs to see whether it is new", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
    const done = result("hi\n(Command exited with code 2)", { status: "completed", exitCode: 2, durationMs: 7 });
    assert.equal(await ran(stage.hooks, "c1", { result: done }), "hi\n(Command exited with code 2)");
    assert.deepEqual(came(stage), [
      {
        type: "came", tool: "exec", params: { command: "ls" }, text: "hi\n(Command exited with code 2)", size: 31, rest: "", failed: false,
        status: "completed", exitCode: 2, run: "r1", agent: "main", session: CTX.sessionKey, call: "c1", request: 0,
      },
    ]);
  });

  test("names the process that a command goes on as", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
    const details = { status: "running", sessionId: "amber-harbor", pid: 7 };
    await ran(stage.hooks, "c1", { result: result("Command still running", details) });
    await ran(stage.hooks, "c2", { toolName: "process", result: result("Wrote 1 bytes", details) });
    await ran(stage.hooks, "c3", { result: result("done", { ...details, status: "completed" }) });
    assert.deepEqual(came(stage).map(({ process }) => process), ["amber-harbor", undefined, undefined]);
  });

  /** @type {[string, Message, Message][]} */
  const silent = [
    ["that nobody wants to hear of", { decision: "allow" }, { result: result("hi") }],
    [
      "that was blocked by somebody else", { decision: "allow", outcome: "ask" },
      { result: result("no", { status: "blocked", deniedReason: "plugin-approval" }) },
    ],
    ["that was blocked", { decision: "block", text: "no", outcome: "" }, { result: result("no") }],
  ];
  for (const [what, judge, more] of silent)
    test(`is not told of a call ${what}`, async () => {
      const stage = gateway({ judge });
      await ran(stage.hooks, "c1", more);
      assert.deepEqual(came(stage), []);
    });

  test("is not told of a call that the gateway refused", () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" }, failed: { text: FIXED, watch: true } });
    refuse(stage.hooks, "c1");
    assert.deepEqual(came(stage), []);
  });

  test("is both ends of a long text, and its size", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
    await ran(stage.hooks, "c1", { result: result(`${"a".repeat(9_000)}${"b".repeat(9_000)}`) });
    const [sentNote] = came(stage);
    assert.equal(sentNote?.text, `${"a".repeat(4_096)}\n${"b".repeat(4_096)}`);
    assert.equal(sentNote?.size, 18_000);
  });

  test("of a tool that calls its own result blocked is told", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
    await ran(stage.hooks, "c1", { result: result("card 7", { status: "blocked" }) });
    assert.equal(came(stage)[0]?.status, "blocked");
  });

  describe("has a digest of what is not told", () => {
    /** @param {...any} content */
    const restOf = async (...content) => {
      const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
      await ran(stage.hooks, "c1", { result: { content } });
      return came(stage)[0]?.rest;
    };
    const text = (/** @type {string} */ middle) => ({ type: "text", text: `${"a".repeat(6_000)}${middle}${"b".repeat(6_000)}` });
    const image = (/** @type {string} */ data) => ({ type: "image", mimeType: "image/png", data });
    /** @type {[string, any, any][]} */
    const pairs = [
      ["the middle of a long text", text("41"), text("42")],
      ["an image", image("AAAA"), image("AAAB")],
      ["the end of a large image", image(`${"A".repeat(50_000)}A`), image(`${"A".repeat(50_000)}B`)],
      ["the size of an image", image("A".repeat(50_000)), image("A".repeat(50_001))],
    ];
    for (const [what, one, two] of pairs)
      test(what, async () => {
        const digests = [await restOf(one), await restOf(one), await restOf(two)];
        assert.match(digests[0], /^[0-9a-f]{32}$/);
        assert.deepEqual(digests.map((digest) => digest === digests[0]), [true, true, false]);
      });

    test("and none where all is told", async () => {
      assert.equal(await restOf({ type: "text", text: "a".repeat(8_192) }, null, { type: "image" }), "");
    });
  });

  test("may be an error without a result", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
    await ran(stage.hooks, "c1", { error: new Error("ENOENT") });
    assert.deepEqual([came(stage)[0]?.text, came(stage)[0]?.failed], ["ENOENT", true]);
  });

  test("is asked about where a note may be due, and the note stands behind the result, once", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "ask" }, came: { note: "[TOOLGUARD NOTE] again" } });
    assert.equal(await ran(stage.hooks, "c1", { result: result("same") }), "same\n\n[TOOLGUARD NOTE] again");
    assert.equal(stage.engine.asked.filter(({ type }) => type === "came").length, 1);
  });

  for (const [room, text, asks] of /** @type {[number, string, boolean][]} */ ([
    [7, "cat: a: No such file or directory", true], [7, "EROFS: read-only file system, open", true],
    [7, "sudo: effective uid is not 0", true], [7, "fine", false], [-1, "cat: a: No such file or directory", false],
  ])) {
    test(`is asked about where a command may have failed on what is kept from it: ${room} ${text}`, async () => {
      const judge = { decision: "allow", outcome: "tell", room };
      const stage = gateway({ judge, came: { note: "[TOOLGUARD NOTE] kept" } });
      await ran(stage.hooks, "c1", { tool: "exec", params: { command: "cat a" }, result: result(text) });
      assert.equal(stage.engine.asked.some(({ type }) => type === "came"), asks);
    });
  }

  test("of a call inside Tool Search: the note stands behind the outer result", async () => {
    const stage = gateway({
      judge: (question) => ({ decision: "allow", outcome: question.tool === "tool_call" ? "" : "ask" }),
      came: { note: "[TOOLGUARD NOTE] again" },
    });
    for (const inner of ["tool_search_code:o1:web_fetch", "tool_search_code:o1:web_fetch:2"]) {
      const text = await ran(stage.hooks, inner, { result: result("same") }, "o1");
      assert.equal(text, "same\n\n[TOOLGUARD NOTE] again");
    }
  });

  for (const [outer, inside, tool] of [
    ["call_a|fc_b", "call_a_fc_b", "web_fetch"],
    [`${"x".repeat(120)}yz`, "x".repeat(120), "web_fetch"],
    ["o1", "o1", "core:message"],
    ["o:1", "o:1", "web_fetch"],
  ])
    test(`of a call of ${tool} inside ${outer?.slice(0, 12)}: the note stands behind the outer result`, async () => {
      const stage = gateway({
        judge: (question) => ({ decision: "allow", outcome: question.tool === "tool_call" ? "" : "ask" }),
        came: { note: "NOTE" },
      });
      await stage.hooks.beforeToolCall({ ...call("o"), toolName: "tool_call" }, RUN);
      const text = await ran(stage.hooks, `tool_search_code:${inside}:${tool}:1`, { result: result("same") }, outer);
      assert.equal(text, "same\n\nNOTE");
    });

  test("the note stands in a block of its own behind a result that does not begin with a text, once", async () => {
    for (const content of [[{ type: "image", data: "AAAA" }, { type: "text", text: "a" }], []]) {
      const stage = gateway({ judge: { decision: "allow", outcome: "ask" }, came: { note: "NOTE" } });
      await stage.hooks.beforeToolCall(call("c1"), RUN);
      stage.hooks.afterToolCall({ ...call("c1"), result: { content } }, RUN);
      const message = { ...toolResult("c1", "", {}), content: structuredClone(content) };
      stage.hooks.resultWritten({ toolName: "exec", toolCallId: "c1", message }, CTX);
      stage.hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message.content, [...content, { type: "text", text: "NOTE" }]);
    }
  });

  test("the note stands behind a correction as well", async () => {
    const stage = gateway({
      judge: { decision: "allow", outcome: "ask" }, came: { note: "NOTE" }, failed: { text: FIXED, watch: true },
    });
    await stage.hooks.beforeToolCall(call("c1"), RUN);
    stage.hooks.afterToolCall({ ...call("c1"), error: "no path", result: result(REFUSED) }, RUN);
    const message = toolResult("c1");
    stage.hooks.resultWritten({ toolName: "read", toolCallId: "c1", message }, CTX);
    stage.hooks.messageWritten({ message }, CTX);
    assert.equal(message.content[0]?.text, `${FIXED}\n\nNOTE`);
    stage.trace.outgoing(message.content[0]?.text ?? "");
    stage.hooks.modelCallStarted({ runId: "r1" }, CTX);
    assert.equal(stage.seams.evidence.inPlaceText, "works", "what is written is what is looked for");
  });

  test("is told without what the gateway's own loop detection said about it", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell" } });
    const note = "[System note: Tool-loop warning after 10 repeated calls. Change your approach or stop if you are not making progress.]";
    const blocks = (/** @type {string[]} */ ...texts) => ({ content: texts.map((text) => ({ type: "text", text })) });
    const long = "a".repeat(9_000);
    for (const [given, sent, size] of /** @type {[string[], string, number][]} */ ([
      [["queued", note], "queued", 6],
      [["queued", note, note], "queued", 6],
      [[note], "", 0],
      [[note, "queued"], `${note}\nqueued`, note.length + 7],
      [["queued", `${note} it says`], `queued\n${note} it says`, note.length + 15],
      [[long, note], `${"a".repeat(4_096)}\n${"a".repeat(4_096)}`, 9_000],
    ])) {
      await ran(stage.hooks, "c1", { result: blocks(...given) });
      const message = came(stage).at(-1);
      assert.deepEqual([message?.text, message?.size], [sent, size]);
    }
  });

  describe("where the gateway's own loop detection did not let it run", () => {
    const veto = (/** @type {any} */ details = {}) => ({
      error: "CRITICAL: enough", result: result("CRITICAL: enough", { status: "blocked", deniedReason: "tool-loop", ...details }),
    });

    test("is asked about, although the call was never judged, and the next message is looked at", () => {
      const stage = gateway({ came: {}, message: { stop: STOP } });
      stage.hooks.afterToolCall({ ...call("c1"), ...veto({ intervention: { toolCallId: "c1" } }) }, RUN);
      const [sentNote] = came(stage);
      assert.deepEqual([sentNote?.vetoed, sentNote?.tool, sentNote?.run, sentNote?.call], [true, "exec", "r1", "c1"]);
      assert.equal(stage.engine.noted.filter(({ type }) => type === "came").length, 0);
      const message = assistant("c2");
      stage.hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message.content, [{ type: "text", text: STOP }]);
    });

    test("ends the run where the engine says so", () => {
      const stage = gateway({ came: { stop: STOP } });
      stage.hooks.afterToolCall({ ...call("c1"), ...veto() }, RUN);
      assert.equal(stage.runs.get("r1").stop, STOP);
    });

    test("is not told of the other calls of the message", () => {
      const stage = gateway({ came: { stop: STOP } });
      stage.hooks.afterToolCall({ ...call("c2"), ...veto({ intervention: { toolCallId: "c1" } }) }, RUN);
      assert.deepEqual(came(stage), []);
    });
  });

  test("a note of the verdict stands behind the result", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "tell", note: "mind" } });
    assert.equal(await ran(stage.hooks, "c1", { result: result("done") }), "done\n\nmind");
  });

  test("the end of the run comes with the next message of the model", async () => {
    const stage = gateway({ judge: { decision: "allow", outcome: "ask" }, came: { note: "enough", stop: STOP } });
    await ran(stage.hooks, "c1", { result: result("same") });
    const message = assistant("c2");
    stage.hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message.content, [{ type: "text", text: STOP }]);
  });

  test("an id that comes again is another call, without the note of the one before", async () => {
    let asked = 0;
    const stage = gateway({ judge: () => ({ decision: "allow", outcome: (asked += 1) === 1 ? "ask" : "tell" }), came: { note: "once" } });
    assert.equal(await ran(stage.hooks, "c1", { result: result("same") }), "same\n\nonce");
    assert.equal(await ran(stage.hooks, "c1", { result: result("same") }), "same");
  });
});

test("the end of a session is told, unless the session goes on", () => {
  const { engine, hooks } = gateway();
  const ends = /** @type {[any, any][]} */ ([
    [{ sessionKey: "s1", reason: "reset" }, {}], [{ reason: "idle" }, { sessionKey: "s2" }], [{ sessionKey: "s3" }, undefined],
    [{ sessionKey: "s4", reason: "compaction" }, {}], [{ sessionKey: "s5", reason: "restart" }, {}], [{ reason: "new" }, {}], [undefined, undefined],
  ]);
  for (const [event, ctx] of ends) hooks.sessionEnded(event, ctx);
  assert.deepEqual(engine.noted, ["s1", "s2", "s3"].map((session) => ({ type: "session-end", session })));
});

describe("a compaction", () => {
  test("is told of the run that goes on", () => {
    const { engine, hooks } = gateway();
    hooks.compacted(CTX);
    hooks.compacted({ ...CTX, sessionKey: "agent:main:unknown" });
    hooks.compacted(undefined);
    assert.deepEqual(engine.noted, [{ type: "compacted", run: "r1", agent: "main", session: CTX.sessionKey }]);
  });

  test("after which a request is made again is told of by an event, one along the way is not told at all", () => {
    const { engine, hooks } = gateway();
    const ended = (/** @type {any} */ data, runId = "r1") =>
      hooks.agentEvent({ stream: "compaction", runId, ...CTX, data: { phase: "end", ...data } });
    const countNoted = () => engine.noted.splice(0).length;
    ended({ completed: true, willRetry: true });
    assert.equal(countNoted(), 1);
    ended({ completed: true, willRetry: false });
    hooks.compacted(CTX);
    assert.equal(countNoted(), 0, "along the way");
    hooks.compacted(CTX);
    assert.equal(countNoted(), 1, "another one, of which no event was seen");
    ended({ completed: true, willRetry: false });
    hooks.modelCallStarted({ runId: "r1" }, CTX);
    hooks.compacted(CTX);
    assert.equal(countNoted(), 1, "later");
    ended({ completed: false, willRetry: true });
    ended({ completed: true });
    ended({ completed: true, willRetry: true }, "r9");
    hooks.agentEvent({ stream: "compaction", runId: "r1", ...CTX, data: { phase: "start" } });
    assert.equal(countNoted(), 0);
  });

  test("asks the model for a summary under an id of its own, which is not another run of the session", async () => {
    const { engine, hooks, runs } = gateway({ judge: { decision: "allow", code: "allow" } });
    hooks.modelCallStarted({ runId: "r1" }, CTX);
    hooks.modelCallStarted({ runId: "r1:compaction:ovf-1", sessionKey: CTX.sessionKey }, CTX);
    hooks.compacted(CTX);
    assert.equal(engine.noted.at(-1)?.run, "r1");
    assert.equal(runs.known("r1:compaction:ovf-1"), undefined);
    hooks.modelCallStarted({ runId: "r1" }, CTX);
    await hooks.beforeToolCall({ toolName: "read", params: {}, runId: "r1", toolCallId: "c1" }, CTX);
    assert.equal(engine.asked.at(-1)?.request, 2);
  });

  test("of a run whose id only begins like another's is that run's", () => {
    const { engine, hooks } = gateway();
    hooks.modelCallStarted({ runId: "r10", sessionKey: CTX.sessionKey }, CTX);
    hooks.compacted(CTX);
    assert.equal(engine.noted.at(-1)?.run, "r10");
  });
});

describe("an answer that is an error is no silence", () => {
  const ERROR = { type: "error", id: 1, error: "cannot be read" };
  /** @type {[any, boolean][]} */
  const modes = [
    [{}, true],
    [{ failMode: "open" }, true],
    [{ mode: "soft", failMode: "open" }, true],
    [{ mode: "shadow", failMode: "open" }, true],
    [{ mode: "disabled" }, false],
    [{ enabled: false }, false],
  ];
  for (const [config, blocks] of modes)
    for (const tool of ["exec", "read"])
      test(`a call of ${tool} is ${blocks ? "blocked" : "let through"} with ${JSON.stringify(config)}, and reported`, async () => {
        const { engine, hooks } = gateway({ judge: ERROR }, config);
        const verdict = await hooks.beforeToolCall(call("c1", tool), { ...CTX, runId: "r1" });
        assert.deepEqual(verdict, blocks ? { block: true, blockReason: UNJUDGED } : undefined);
        const reports = engine.asked.filter(({ type }) => type === "unjudged");
        assert.deepEqual(reports.map(({ code, tool: name, run }) => [code, name, run]), blocks ? [["guard.unreadable", tool, "r1"]] : []);
      });

  test("the kill switch comes first", async () => {
    const state = folder();
    mkdirSync(join(state, "toolguard"));
    writeFileSync(join(state, "toolguard", "kill-switch"), "{}");
    const { hooks } = gateway({ judge: ERROR }, { mode: "disabled" }, null, state);
    assert.deepEqual(await hooks.beforeToolCall(call("c1"), CTX), { block: true, blockReason: KILL_SWITCH_ON });
  });

  test("an endless one ends the run", async () => {
    const { hooks, runs } = gateway({ judge: ERROR }, { failMode: "open" });
    for (const id of ["c1", "c2", "c3", "c4"]) await hooks.beforeToolCall(call(id), { ...CTX, runId: "r1" });
    assert.equal(runs.known("r1")?.stop, "");
    await hooks.beforeToolCall(call("c5"), { ...CTX, runId: "r1" });
    assert.match(runs.known("r1")?.stop ?? "", /^\[TOOL ERROR LIMIT\]/);
  });

  test("an answer without a verdict blocks", async () => {
    for (const answer of [{ type: "pong" }, { type: "verdict" }, { type: "verdict", decision: true }]) {
      const { hooks } = gateway({ judge: answer }, { failMode: "open" });
      assert.deepEqual(await hooks.beforeToolCall(call("c1"), CTX), { block: true, blockReason: UNJUDGED });
    }
  });

  for (const [config, stop] of /** @type {[any, string][]} */ ([[{}, REWRITTEN_UNJUDGED], [{ failMode: "open" }, REWRITTEN_UNJUDGED], [{ mode: "disabled" }, ""]]))
    test(`something else ran, with ${JSON.stringify(config)}`, async () => {
      const { hooks, runs } = gateway({ judge: { decision: "allow" }, ran: ERROR }, config);
      await hooks.beforeToolCall(call("c1"), { ...CTX, runId: "r1" });
      hooks.afterToolCall({ ...call("c1"), params: { command: "other" } }, { ...CTX, runId: "r1" });
      assert.equal(runs.known("r1")?.stop, stop);
    });

  test("a refusal is corrected with what is known here", () => {
    const { hooks } = gateway({ failed: ERROR });
    assert.match(refuse(hooks, "c1"), /was refused/);
  });
});

describe("arguments that break a bound", () => {
  let deep = /** @type {any} */ ([]);
  for (let at = 0; at < 990; at++) deep = [deep];
  const event = (/** @type {string} */ id, tool = "read") => ({ ...call(id, tool), params: { path: "key", x: deep } });

  for (const config of [{}, { failMode: "open" }, { mode: "shadow" }, { neverBlock: ["read"] }])
    test(`never run, and no engine is asked: ${JSON.stringify(config)}`, async () => {
      const { engine, hooks } = gateway({ judge: { decision: "allow" }, unjudged: { type: "pong" } }, config);
      const verdict = /** @type {any} */ (await hooks.beforeToolCall(event("c1"), { ...CTX, runId: "r1" }));
      assert.match(verdict.blockReason, /nested more than 64 levels deep\. It did not run\./);
      const reports = engine.asked.map(({ type, code, tool, run, shown }) => ({ type, code, tool, run, shown }));
      assert.deepEqual(reports, [{ type: "unjudged", code: "call.too-deep", tool: "read", run: "r1", shown: "path: key" }]);
    });

  for (const config of [{ mode: "disabled" }, { enabled: false }])
    test(`are nobody's business where the guard is off: ${JSON.stringify(config)}`, async () => {
      const { engine, hooks } = gateway({}, config);
      assert.equal(await hooks.beforeToolCall(event("c1"), CTX), undefined);
      assert.deepEqual(engine.asked, []);
    });

  test("the line for the audit log waits for the engine", async () => {
    const { engine, hooks } = gateway({});
    await hooks.beforeToolCall(event("c1"), CTX);
    await Promise.resolve();
    engine.asked = [];
    engine.answers = { unjudged: { type: "pong" } };
    hooks.engineReady();
    const asked = engine.asked.filter(({ type }) => type !== "secrets");
    assert.deepEqual(asked.map(({ type, code }) => [type, code]), [["unjudged", "call.too-deep"]]);
  });

  test("end the run where they ran instead of what was judged", async () => {
    const { engine, hooks, runs } = gateway({ judge: { decision: "allow", outcome: "tell" } });
    await hooks.beforeToolCall(call("c1"), { ...CTX, runId: "r1" });
    hooks.afterToolCall(event("c1", "exec"), { ...CTX, runId: "r1" });
    assert.equal(runs.known("r1")?.stop, REWRITTEN_UNJUDGED);
    assert.equal(engine.noted.find(({ type }) => type === "came")?.params, null);
  });

  test("do not keep a refused call from being corrected, nor a message from being looked at", () => {
    const { engine, hooks, runs } = gateway({ failed: { text: FIXED }, message: {} });
    hooks.agentEvent({ stream: "tool", data: { phase: "start", toolCallId: "c1", name: "read", args: event("c1").params }, runId: "r1", ...CTX });
    const message = toolResult("c1");
    hooks.resultWritten({ toolName: "read", toolCallId: "c1", message }, CTX);
    assert.equal(message.content[0]?.text, FIXED);
    const wanted = assistant("c2");
    Object.assign(wanted.content[1] ?? {}, { arguments: event("c2").params });
    hooks.messageWritten({ message: wanted }, CTX);
    assert.deepEqual(engine.asked.map(({ type, params, calls }) => [type, calls ?? params]), [
      ["failed", null], ["message", [{ tool: "read", params: null, call: "c2" }]],
    ]);
    assert.ok(runs.known("r1"));
  });
});

describe("the engine is silent", () => {
  for (const [failMode, ran, refused] of /** @type {const} */ ([["open", 2, 0], ["closed", 1, 1]]))
    test(`what ran and was refused becomes one line when it is back, with ${failMode}`, async () => {
      const { engine, hooks } = gateway({}, { failMode });
      await hooks.beforeToolCall(call("c1"), CTX);
      await hooks.beforeToolCall({ ...call("c2", "read"), params: { path: "notes.md" } }, CTX);
      engine.answers = { judge: { decision: "allow" }, unjudged: { type: "pong" } };
      await hooks.beforeToolCall(call("c3"), CTX);
      await hooks.beforeToolCall(call("c4"), CTX);
      const lines = engine.asked.filter(({ type }) => type === "unjudged");
      assert.equal(lines.length, 1);
      assert.match(lines[0]?.reason, new RegExp(`: ${ran} calls ran unjudged, ${refused} were refused \\(exec, read\\)$`));
    });

  for (const failMode of ["open", "closed"])
    test(`what names a protected place is blocked and reported, with ${failMode}`, async () => {
      const { engine, hooks } = gateway({}, { failMode });
      const verdict = await hooks.beforeToolCall({ ...call("c1", "read"), params: { path: "~/.ssh/id_rsa" } }, CTX);
      assert.deepEqual(verdict, { block: true, blockReason: PROTECTED });
      assert.deepEqual(engine.asked.slice(1).map(({ type, code, shown }) => [type, code, shown]), [
        ["unjudged", "guard.silent", "path: ~/.ssh/id_rsa"],
      ]);
    });
});

describe("the engine is away", () => {
  test("refusals are corrected with what is known here, until there were too many", () => {
    const { hooks } = gateway({}, { maxFailuresPerTurn: 3 });
    const correction =
      '[TOOL ERROR] read() was refused: Validation failed for tool "read": - path: must have required properties path. ' +
      "Fix your call and retry; do not repeat it unchanged.";
    assert.equal(refuse(hooks, "c1"), correction);
    const between = assistant("c2");
    hooks.messageWritten({ message: between }, CTX);
    assert.deepEqual(between, assistant("c2"));
    assert.equal(refuse(hooks, "c2"), correction);
    const last = refuse(hooks, "c3");
    assert.match(last, /^\[TOOL ERROR LIMIT\] 3 tool failures in this turn\.\n/);
    const message = assistant("c4");
    hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message.content, [{ type: "text", text: last }]);
  });

  /** @type {[string, any, number][]} */
  const limits = [
    ["5 by default", undefined, 5],
    ["as configured", { maxFailuresPerTurn: 2 }, 2],
    ["as configured for the agent", { maxFailuresPerTurn: 2, agents: { main: { maxFailuresPerTurn: 4 } } }, 4],
  ];
  for (const [what, config, most] of limits)
    test(`the limit is ${what}`, () => {
      const { hooks } = gateway({}, config);
      for (let n = 1; n < most; n++) assert.ok(refuse(hooks, `c${n}`).startsWith("[TOOL ERROR] "));
      assert.ok(refuse(hooks, "last").startsWith("[TOOL ERROR LIMIT] "));
    });

  for (const config of [{ mode: "shadow" }, { mode: "disabled" }, { enabled: false }, { agents: { main: { mode: "shadow" } } }])
    test(`nothing is corrected with ${JSON.stringify(config)}`, () => {
      const { hooks } = gateway({}, config);
      for (let n = 1; n < 9; n++) assert.equal(refuse(hooks, `c${n}`), REFUSED);
    });

  test("what a tool reports from its work stays", async () => {
    const { hooks } = gateway({}, { failMode: "open" });
    await hooks.beforeToolCall(call("c1"), { ...CTX, runId: "r1" });
    assert.equal(refuse(hooks, "c1", toolResult("c1", "exit code 1")), "exit code 1");
  });

  test("an engine that is back takes over", () => {
    const { engine, hooks } = gateway();
    assert.match(refuse(hooks, "c1"), /was refused/);
    engine.answers = { failed: { text: FIXED } };
    assert.equal(refuse(hooks, "c2"), FIXED);
  });
});

describe("the net: a host that shows events but calls no hooks", () => {
  /**
   * @param {Hooks} hooks
   * @param {string} id
   * @param {Message} [more]
   */
  function eventsOf(hooks, id, more = {}) {
    const result = { content: [{ type: "text", text: REFUSED }] };
    const base = { stream: "tool", runId: "r1", ...CTX };
    hooks.agentEvent({ ...base, data: { phase: "start", toolCallId: id, name: "read", args: {} } });
    hooks.agentEvent({ ...base, data: { phase: "result", toolCallId: id, name: "read", isError: true, result, ...more } });
  }

  test("the refusal is asked about once, and the request shows the answer", () => {
    const { engine, hooks, seams, trace } = gateway({ failed: { text: FIXED } });
    eventsOf(hooks, "c1");
    assert.equal(seams.evidence.hooks, "fails");
    assert.equal(engine.asked.length, 1);
    const { tool, params, text, judged, run, agent, session } = engine.asked[0] ?? {};
    assert.deepEqual(
      { tool, params, text, judged, run, agent, session },
      { tool: "read", params: {}, text: REFUSED, judged: false, run: "r1", agent: "main", session: CTX.sessionKey },
    );
    hooks.modelCallStarted({ runId: "r1" }, CTX);
    assert.equal(trace.outgoing(REFUSED), FIXED);
    assert.equal(seams.evidence.textTransform, "works");
  });

  test("a run that has to end is ended from the request", () => {
    const { hooks, trace } = gateway({ failed: { text: FIXED, stop: STOP } });
    eventsOf(hooks, "c1");
    assert.throws(() => trace.outgoing(REFUSED), { message: `${FIXED} (run r1)` });
    hooks.agentEvent({ stream: "lifecycle", data: { phase: "error" }, runId: "r1" });
    assert.equal(trace.outgoing(REFUSED), `${FIXED} (run r1)`);
  });

  test("hooks that come later ask nothing again, before or after the event", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED } });
    eventsOf(hooks, "c1");
    assert.equal(refuse(hooks, "c1"), FIXED);
    assert.equal(engine.asked.length, 1);
    assert.equal(refuse(hooks, "c2"), FIXED);
    eventsOf(hooks, "c2");
    assert.equal(engine.asked.length, 2);
  });

  test("where hooks are called, events are not asked about", () => {
    const { engine, hooks, seams } = gateway({ failed: { text: FIXED } });
    hooks.messageWritten({ message: assistant("c1") }, CTX);
    eventsOf(hooks, "c1");
    assert.equal(seams.evidence.hooks, "works");
    assert.deepEqual(engine.asked, []);
  });

  /** @type {[string, Message][]} */
  const ignored = [
    ["a success", { isError: false }],
    ["the inner call of Tool Search", { parentToolCallId: "c0" }],
    ["a result without a text", { result: { content: [] } }],
    ["no result", { result: undefined }],
  ];
  for (const [what, more] of ignored)
    test(`ignored: ${what}`, () => {
      const { engine, hooks } = gateway({ failed: { text: FIXED } });
      eventsOf(hooks, "c1", more);
      assert.deepEqual(engine.asked, []);
    });

  test("a result of no run is ignored", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED } });
    const result = { content: [{ type: "text", text: REFUSED }] };
    hooks.agentEvent({ stream: "tool", data: { phase: "result", toolCallId: "c1", name: "read", isError: true, result } });
    assert.deepEqual(engine.asked, []);
  });
});

describe("what a run hears", () => {
  test("the text of a page is noted, with the run and the short parameters", () => {
    const { engine, hooks } = gateway();
    const params = { url: "https://a.example" };
    const result = { content: [{ type: "text", text: "hello" }] };
    hooks.afterToolCall({ toolName: "web_fetch", toolCallId: "c1", runId: "r1", params, result }, CTX);
    const place = { run: "r1", agent: "main", session: "agent:main:main" };
    assert.deepEqual(engine.noted, [{ type: "heard", tool: "web_fetch", params, text: "hello", ...place }]);
    assert.deepEqual(engine.asked, []);
  });

  for (const config of [{ enabled: false }, { mode: "disabled" }, { agents: { main: { mode: "disabled" } } }])
    test(`nothing is noted where the guard is off: ${JSON.stringify(config)}`, () => {
      const { engine, hooks } = gateway({}, config);
      const result = { content: [{ type: "text", text: "hello" }] };
      hooks.afterToolCall({ toolName: "web_fetch", toolCallId: "c1", runId: "r1", params: {}, result }, CTX);
      hooks.messageWritten({ message: { role: "user", content: "hello" } }, CTX);
      assert.deepEqual(engine.noted, []);
    });

  test("what a person wrote is noted", () => {
    const { engine, hooks } = gateway();
    hooks.messageWritten({ message: { role: "user", content: "hello" } }, CTX);
    assert.deepEqual(engine.noted, [{ type: "said", agent: "main", session: "agent:main:main", text: "hello", owner: true, person: false }]);
    assert.deepEqual(engine.asked, []);
  });
});

describe("before a run begins", () => {
  const stop = { type: "stopped", stop: "The limit is reached." };
  const asked = { type: "message", run: "", agent: "main", session: CTX.sessionKey, calls: [] };

  test("a message in chat is answered without the model, a command is not", async () => {
    const { engine, hooks } = gateway({ message: stop });
    assert.deepEqual(await hooks.messageArriving({ content: "go on", sessionKey: CTX.sessionKey }, {}), {
      handled: true, text: stop.stop,
    });
    assert.deepEqual(engine.asked, [asked]);
    assert.equal(await hooks.messageArriving({ content: " /toolguard pending" }, CTX), undefined);
    assert.equal(engine.asked.length, 1);
  });

  test("a run gets the text as its answer, a heartbeat none", async () => {
    const { hooks } = gateway({ message: stop });
    assert.deepEqual(await hooks.runBeginning({}, { ...CTX, trigger: "cron" }), { handled: true, reply: { text: stop.stop } });
    assert.deepEqual(await hooks.runBeginning({}, { ...CTX, trigger: "heartbeat" }), { handled: true });
  });

  test("the model that a run will use is named, if the gateway says which", async () => {
    const { engine, hooks } = gateway({ message: stop });
    await hooks.runBeginning({}, { ...CTX, modelProviderId: "anthropic", modelId: "claude-9" });
    for (const modelId of [undefined, null, 5, {}, ""]) await hooks.runBeginning({}, { ...CTX, modelProviderId: "p", modelId });
    const found = engine.asked.map(({ provider, model, calls }) => [provider, model, calls]);
    assert.deepEqual(found, [["anthropic", "claude-9", []], ...Array(5).fill([undefined, undefined, []])]);
  });

  for (const [name, answer] of Object.entries({ "may begin": { type: "stopped" }, away: null, fails: { type: "error", error: "x" } }))
    test(`it begins where the engine says or is: ${name}`, async () => {
      const { hooks } = gateway(answer ? { message: answer } : {});
      assert.equal(await hooks.messageArriving({ content: "go on" }, CTX), undefined);
      assert.equal(await hooks.runBeginning({}, CTX), undefined);
    });
});

describe("secrets", () => {
  const TOKEN = "8f3a1c9b7e2d4f60a1b2c3d4e5f60718";
  const MARK = "[redacted: gateway token]";
  const LIST = { type: "secrets", hidden: [[TOKEN, MARK, "gateway.auth.token"]] };
  const PLAIN = { isError: false };

  /** @param {any} [config] @param {FakeEngine["answers"]} [answers] */
  async function told(config = {}, answers = {}) {
    const made = gateway({ secrets: LIST, redacted: { type: "pong" }, ...answers }, config);
    made.hooks.engineReady();
    await Promise.resolve();
    made.engine.asked = [];
    return made;
  }

  /** @param {FakeEngine} engine */
  const reports = (engine) => engine.asked.filter(({ type }) => type === "redacted");

  for (const way of ["resultWritten", "messageWritten"])
    test(`are replaced where a result is written: ${way}`, async () => {
      const { engine, hooks } = await told();
      const message = toolResult("c1", `token: ${TOKEN}`, PLAIN);
      if (way === "resultWritten") hooks.resultWritten({ toolName: "read", toolCallId: "c1", message }, CTX);
      else hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message, toolResult("c1", `token: ${MARK}`, PLAIN));
      assert.deepEqual(reports(engine), [
        { type: "redacted", names: ["gateway.auth.token"], tool: "read", kept: false, run: "r1", call: "c1", agent: "main",
          session: CTX.sessionKey },
      ]);
    });

  test("are replaced in the record of a call inside Tool Search", async () => {
    const { engine, hooks } = await told();
    const message = { role: "custom", content: "", details: { toolName: "exec", result: { content: [{ type: "text", text: TOKEN }] } } };
    hooks.messageWritten({ message }, CTX);
    assert.equal(message.details.result.content[0]?.text, MARK);
    assert.deepEqual(reports(engine).map(({ tool }) => tool), ["exec"]);
  });

  test("are reported once for a run and a tool, however often they are read", async () => {
    const { engine, hooks } = await told();
    for (let at = 0; at < 50; at++) hooks.messageWritten({ message: toolResult(`c${at}`, TOKEN, PLAIN) }, CTX);
    assert.equal(reports(engine).length, 1);
    hooks.messageWritten({ message: { ...toolResult("d1", TOKEN, PLAIN), toolName: "exec" } }, CTX);
    hooks.agentEvent({ stream: "lifecycle", data: { phase: "start" }, runId: "r2", ...CTX });
    hooks.messageWritten({ message: toolResult("d2", TOKEN, PLAIN) }, CTX);
    await new Promise((go) => setImmediate(go));
    assert.deepEqual(reports(engine).map(({ tool, run }) => [tool, run]), [["read", "r1"], ["exec", "r1"], ["read", "r2"]]);
  });

  test("do not reach the engine with a refusal that quotes them", async () => {
    const { engine, hooks } = await told({}, { failed: { text: FIXED } });
    refuse(hooks, "c1", toolResult("c1", `${REFUSED}\n${TOKEN}`));
    assert.equal(engine.asked.find(({ type }) => type === "failed")?.text, `${REFUSED}\n${MARK}`);
  });

  test("are replaced in every other text that is sent", async () => {
    const { engine, hooks } = await told();
    assert.equal(hooks.textSent(`System: exec completed :: ${TOKEN}`), `System: exec completed :: ${MARK}`);
    assert.equal(hooks.textSent("nothing here"), "nothing here");
    assert.deepEqual(reports(engine).map(({ tool, names }) => [tool, names]), [["", ["gateway.auth.token"]]]);
  });

  test("stay replaced while the engine is silent, and the line for the audit log waits for it", async () => {
    const { engine, hooks } = await told();
    engine.answers = {};
    const message = toolResult("c1", TOKEN, PLAIN);
    hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message, toolResult("c1", MARK, PLAIN));
    await new Promise((go) => setImmediate(go));
    engine.asked = [];
    engine.answers = { redacted: { type: "pong" } };
    hooks.engineReady();
    assert.equal(reports(engine).length, 1);
  });

  test("are only reported for an agent that is only watched", async () => {
    const { engine, hooks } = await told({ agents: { main: { mode: "shadow" } } });
    const message = toolResult("c1", TOKEN, PLAIN);
    hooks.messageWritten({ message }, CTX);
    assert.deepEqual(message, toolResult("c1", TOKEN, PLAIN));
    assert.deepEqual(reports(engine).map(({ kept }) => kept), [true]);
  });

  for (const config of [{ mode: "disabled" }, { enabled: false }, { agents: { main: { mode: "disabled" } } }])
    test(`are nobody's business where the guard is off: ${JSON.stringify(config)}`, async () => {
      const { engine, hooks } = await told(config);
      const message = toolResult("c1", TOKEN, PLAIN);
      hooks.messageWritten({ message }, CTX);
      assert.deepEqual(message, toolResult("c1", TOKEN, PLAIN));
      assert.deepEqual(reports(engine), []);
    });
});
