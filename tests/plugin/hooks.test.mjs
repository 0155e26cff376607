import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Hooks } from "../../plugin/gateway/hooks.mjs";
import { ENGINE_AWAY } from "../../plugin/gateway/messages.mjs";
import { Runs } from "../../plugin/gateway/runs.mjs";
import { Seams, Trace } from "../../plugin/gateway/seams.mjs";
import { refusal } from "./support.mjs";

/** @typedef {Record<string, any>} Message */

const CTX = { agentId: "main", sessionKey: "agent:main:main" };
const REFUSED = refusal("read");
const FIXED = "[TOOL ERROR] read() requires 'path'. Fix your call and retry.";
const STOP = "[TOOL ERROR LIMIT] It is enough.";

/** An engine that answers from a table; a missing entry is an engine that is away. */
class FakeEngine {
  /** @type {Message[]} */
  asked = [];
  /** @type {Message[]} */
  noted = [];
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
    this.noted.push(message);
  }

  start() {
    this.starts += 1;
  }
}

/**
 * The hooks with all that belongs to them, in a run that has begun.
 * @param {FakeEngine["answers"]} [answers]
 * @param {any} [config]
 */
function gateway(answers = {}, config = {}) {
  const engine = new FakeEngine(answers);
  const seams = new Seams(() => {});
  const trace = new Trace(seams);
  const runs = new Runs();
  const hooks = new Hooks(engine, config, runs, seams, trace);
  hooks.agentEvent({ stream: "lifecycle", data: { phase: "start" }, runId: "r1", ...CTX });
  return { engine, hooks, seams, trace, runs };
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
    assert.equal(engine.asked[1]?.type, "failed");
    assert.equal(engine.asked[1]?.judged, true);
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
      assert.deepEqual(engine.noted, [{ type: "run-end", run: "r1" }]);
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
      { type: "judge", tool: "exec", params: { command: "ls" }, call: "c1", run: "r1", agent: "main", session: CTX.sessionKey },
    ]);
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
});

describe("after a call", () => {
  test("a success is noted only in a run that is watched", () => {
    const { engine, hooks } = gateway({ failed: { text: FIXED, watch: true } });
    const ctx = { ...CTX, runId: "r1" };
    hooks.afterToolCall(call("c1"), ctx);
    assert.deepEqual(engine.noted, []);
    refuse(hooks, "c2");
    hooks.afterToolCall({ ...call("c3"), error: "exit code 1" }, ctx);
    assert.deepEqual(engine.noted, []);
    hooks.afterToolCall(call("c4"), ctx);
    assert.deepEqual(engine.noted, [
      { type: "done", tool: "exec", params: { command: "ls" }, run: "r1", agent: "main", session: CTX.sessionKey, call: "c4" },
    ]);
  });
});

describe("the engine is away", () => {
  test("refusals are corrected with what is known here, until there were too many", () => {
    const { hooks } = gateway({}, { maxFailuresPerTurn: 3 });
    const correction =
      '[TOOL ERROR] read() was refused: Validation failed for tool "read": - path: must have required properties path. ' +
      "Fix your call and retry; do not repeat it as it is.";
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
