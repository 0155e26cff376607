import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Engine } from "../../plugin/gateway/engine.mjs";
import plugin from "../../plugin/gateway/index.mjs";
import { alive, environment, folder, GATEWAY, Log, PYTHON, refusal, until } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */
/** @typedef {(event?: any, ctx?: any) => any} Handler */

const RUN = { runId: "r1", agentId: "main", sessionKey: "agent:main:main" };

/**
 * A host that remembers what was registered. `without` takes away what older hosts do not have.
 * @param {TestContext} t
 * @param {Record<string, any>} [config]
 * @param {string[]} [without]
 */
function host(t, config = {}, without = []) {
  const log = new Log();
  const state = folder();
  /** @type {Record<string, { handler: Handler, options: any }>} */
  const hooks = {};
  /** @type {Record<string, any>} */
  const registered = {};
  /** @param {string} what */
  const keep = (what) => (/** @type {any} */ value) => void (registered[what] = value);
  /** @type {Record<string, any>} */
  const api = {
    registrationMode: "full", logger: log, rootDir: GATEWAY,
    pluginConfig: { python: PYTHON, logPath: join(state, "guard.log"), logLevel: "debug", ...config },
    runtime: { version: "test", state: { resolveStateDir: () => state } },
    on: (/** @type {string} */ name, /** @type {Handler} */ handler, /** @type {any} */ options) =>
      void (hooks[name] = { handler, options }),
    registerTextTransforms: keep("transforms"),
    registerService: keep("service"),
    registerCommand: keep("command"),
    registerTool: keep("tool"),
    agent: { events: { registerAgentEventSubscription: keep("events") } },
    lifecycle: { onDispose: keep("dispose") },
  };
  for (const name of without) delete api[name];
  t.after(() => registered.service?.stop());
  return { api, hooks, registered, log, state };
}

test("the plugin has the id and version of its manifests", () => {
  const manifest = JSON.parse(readFileSync(join(GATEWAY, "openclaw.plugin.json"), "utf8"));
  const { version, openclaw } = JSON.parse(readFileSync(join(GATEWAY, "package.json"), "utf8"));
  assert.equal(plugin.id, manifest.id);
  assert.equal(version, manifest.version);
  assert.deepEqual(openclaw.extensions, ["./index.mjs"]);
});

test("where metrics are wanted, two events more", (t) => {
  const without = host(t);
  const { api, hooks } = host(t, { metrics: { enabled: true } });
  for (const each of [without.api, api]) plugin.register(each);
  const more = Object.keys(hooks).filter((name) => !(name in without.hooks));
  assert.deepEqual(more, ["model_call_ended", "message_received"]);
});

for (const [access, last] of /** @type {[boolean, string[]][]} */ ([[false, []], [true, ["before_agent_reply"]]]))
  test(`where usage is limited, a run is asked about before it begins; conversation access: ${access}`, (t) => {
    const { api, hooks } = host(t, { limits: [{ per: "day", usd: 1 }] });
    api.config = { plugins: { entries: { toolguard: { hooks: { allowConversationAccess: access } } } } };
    plugin.register(api);
    assert.deepEqual(Object.keys(hooks).slice(-3 - last.length), [
      "model_call_ended", "message_received", "before_dispatch", ...last,
    ]);
  });

test("everything is registered, and nothing is started by that", (t) => {
  const { api, hooks, registered, log } = host(t);
  plugin.register(api);
  assert.deepEqual(Object.entries(hooks).map(([name, { options }]) => [name, options?.priority]), [
    ["model_call_started", undefined],
    ["before_message_write", undefined],
    ["after_tool_call", undefined],
    ["tool_result_persist", undefined],
    ["before_tool_call", Number.MIN_SAFE_INTEGER],
    ["after_compaction", undefined],
    ["session_end", undefined],
    ["reply_payload_sending", undefined],
    ["gateway_start", undefined],
    ["gateway_stop", undefined],
  ]);
  assert.deepEqual(Object.keys(registered).sort(), ["command", "dispose", "events", "service", "transforms"]);
  assert.equal(registered.command.name, "toolguard");
  assert.equal(registered.events.id, "toolguard");
  assert.deepEqual(registered.events.streams, ["lifecycle", "tool", "compaction"]);
  assert.equal(registered.service.id, "toolguard");
  assert.deepEqual(log.lines, []);
});

test("for the command line nothing is registered and nothing is touched", (t) => {
  const { api } = host(t);
  const touchy = new Proxy({ registrationMode: "cli-metadata" }, {
    get(target, name) {
      if (name === "registrationMode") return target.registrationMode;
      throw new Error(`${String(name)} was touched`);
    },
  });
  assert.notEqual(api.registrationMode, touchy.registrationMode);
  plugin.register(touchy);
});

describe("the agent's own tool", () => {
  /** @type {[any, boolean][]} */
  const rows = [
    [undefined, false], [null, false], [{}, false], [{ agentTool: false }, false], [{ agentTool: "true" }, false],
    [{ agentTool: 1 }, false], [{ agentTool: {} }, false], [{ agentTool: true }, true],
  ];
  for (const [approval, there] of rows)
    test(`with ${JSON.stringify(approval)}: ${there}`, (t) => {
      const { api, registered } = host(t, { approval });
      plugin.register(api);
      assert.equal(registered.tool?.name, there ? "toolguard_approve" : undefined);
    });

  test("is declared in the manifest, and off there", () => {
    const manifest = JSON.parse(readFileSync(join(GATEWAY, "openclaw.plugin.json"), "utf8"));
    assert.deepEqual(manifest.contracts?.tools, ["toolguard_approve"]);
    assert.notEqual(manifest.configSchema.properties.approval.properties.agentTool.default, true);
  });
});

describe("at the start of the gateway", () => {
  const STATE = Symbol.for("openclaw.plugins.hook-runner-global-state");
  const shared = /** @type {any} */ (globalThis);
  /** @param {string} pluginId */
  const hook = (pluginId) => ({ pluginId, hookName: "before_tool_call", priority: Number.MIN_SAFE_INTEGER });

  /** @type {[string, any, RegExp[]][]} */
  const rows = [
    [
      "a plugin after the guard is named",
      [hook("toolguard"), hook("late")], [/^\[toolguard\] SECURITY: late \(priority -\d+\) runs after/],
    ],
    ["a plugin before the guard is not", [hook("early"), hook("toolguard")], []],
    ["a list of another shape is no news", {}, []],
  ];
  for (const [what, typedHooks, expected] of rows)
    test(what, (t) => {
      t.after(() => delete shared[STATE]);
      const { api, hooks, log } = host(t);
      plugin.register(api);
      shared[STATE] = { registry: { typedHooks } };
      hooks.gateway_start?.handler();
      hooks.gateway_start?.handler();
      assert.equal(log.lines.length, expected.length);
      for (const [n, pattern] of expected.entries()) {
        assert.equal(log.lines[n]?.level, "error");
        assert.match(log.lines[n]?.text ?? "", pattern);
      }
    });
});

describe("older hosts", () => {
  /** @type {string[][]} */
  const missing = [
    ["lifecycle"], ["agent"], ["registerService"], ["registerTextTransforms"], ["registerCommand"], ["registerTool"],
    ["rootDir"], ["logger"],
    [
      "lifecycle", "agent", "registerService", "registerTextTransforms", "registerCommand", "registerTool", "rootDir", "logger",
      "registrationMode",
    ],
  ];
  for (const without of missing)
    test(`without ${without.join(", ")}`, (t) => {
      const { api, hooks } = host(t, { approval: { agentTool: true } }, without);
      plugin.register(api);
      assert.equal(Object.keys(hooks).length, 10);
    });

  test("events under their older name", (t) => {
    const { api, registered } = host(t, {}, ["agent"]);
    api.registerAgentEventSubscription = (/** @type {any} */ value) => void (registered.events = value);
    plugin.register(api);
    assert.equal(registered.events.id, "toolguard");
  });

  test("without runtime and config: the guard answers as it does without an engine", async (t) => {
    const { api, hooks, state } = host(t, {}, ["runtime", "lifecycle", "agent", "registerTextTransforms"]);
    api.pluginConfig = { python: join(state, "missing") };
    environment(t, { OPENCLAW_STATE_DIR: state });
    plugin.register(api);
    const handler = hooks.before_tool_call?.handler;
    assert.equal((await handler?.({ ...RUN, toolName: "exec", toolCallId: "c1", params: {} }, RUN)).block, true);
    assert.equal(await handler?.({ ...RUN, toolName: "read", toolCallId: "c2", params: {} }, RUN), undefined);
  });
});

/**
 * Hooks that block wait as long as a busy machine needs. Their own limit has tests in engine.test.mjs.
 * @param {TestContext} t
 */
function patient(t) {
  const { askNow } = Engine.prototype;
  /** @this {Engine} @param {import("../../plugin/gateway/engine.mjs").Message} message */
  function waits(message) {
    return askNow.call(this, message, 60_000);
  }
  t.mock.method(Engine.prototype, "askNow", waits);
}

describe("with the real engine", () => {
  test("a loop is corrected, named and ended", async (t) => {
    patient(t);
    const { api, hooks, registered, log } = host(t);
    plugin.register(api);
    const fire = (/** @type {string} */ name, /** @type {any} */ event) => hooks[name]?.handler({ ...RUN, ...event }, RUN);
    const event = (/** @type {string} */ stream, /** @type {any} */ data) => registered.events.handle({ ...RUN, stream, data });
    /** @param {string} id */
    const turn = (id) => {
      fire("model_call_started", { provider: "openai", model: "gpt-x" });
      const call = { type: "toolCall", id, name: "read", arguments: {} };
      const message = { role: "assistant", provider: "openai", model: "gpt-x", stopReason: "toolUse", content: [call] };
      fire("before_message_write", { message });
      if (message.stopReason === "stop") return message;
      event("tool", { phase: "start", toolCallId: id, name: "read", args: {} });
      fire("after_tool_call", { toolName: "read", params: {}, toolCallId: id, error: "Validation failed" });
      const content = [{ type: "text", text: refusal("read") }];
      const result = { role: "toolResult", toolCallId: id, toolName: "read", isError: true, content };
      fire("tool_result_persist", { toolName: "read", toolCallId: id, message: result });
      fire("before_message_write", { message: result });
      let sent = String(result.content[0]?.text);
      for (const { from, to } of registered.transforms.input) sent = sent.replace(from, to);
      assert.equal(sent, result.content[0]?.text);
      return result;
    };
    registered.service.start();
    event("lifecycle", { phase: "start" });
    assert.equal(await fire("before_tool_call", { toolName: "exec", params: { command: "ls" }, toolCallId: "c0" }), undefined);
    /** @type {[string, RegExp][]} */
    const expected = [
      ["c1", /^\[TOOL ERROR\] read\(\) requires 'path'/],
      ["c2", /^\[LOOP DETECTED\]/],
      ["c3", /^\[TOOL ERROR LIMIT\]/],
    ];
    for (const [id, text] of expected) {
      const [first] = /** @type {any[]} */ (turn(id).content);
      assert.match(first.text, text);
      assert.equal(first.type, "text");
    }
    const notice = { text: "Something went wrong.", isError: true };
    const sent = fire("reply_payload_sending", { payload: notice });
    assert.match(sent.payload.text, /^\[TOOL ERROR LIMIT\]/);
    event("lifecycle", { phase: "end" });
    assert.deepEqual(fire("reply_payload_sending", { payload: notice }), sent);
    const next = { runId: "r2", toolName: "exec", params: { command: "ls" }, toolCallId: "c4" };
    assert.equal(await fire("before_tool_call", next), undefined);
    assert.deepEqual(log.lines.filter(({ text }) => text.includes("seam")).map(({ text }) => text).sort(), [
      "[toolguard] seam gracefulStop works", "[toolguard] seam hooks works", "[toolguard] seam inPlaceText works",
    ]);
    await registered.service.stop();
    assert.ok(!alive(log.pids[0] ?? 0));
  });

  test("a held call is listed, approved in chat by its owner, and runs once, pinned; the idle agent is woken", async (t) => {
    const { api, hooks, registered } = host(t, { alwaysBlock: ["exec"] });
    /** @type {any[]} */
    const woken = [];
    const workflow = { enqueueNextTurnInjection: async (/** @type {any} */ value) => (woken.push(value), { enqueued: true }) };
    api.session = { workflow };
    api.runtime.system = { requestHeartbeat: async (/** @type {any} */ value) => void woken.push(value) };
    plugin.register(api);
    registered.service.start();
    const params = { command: "make", env: { A: "1" } };
    const judge = (/** @type {string} */ toolCallId) =>
      hooks.before_tool_call?.handler({ ...RUN, toolName: "exec", params: structuredClone(params), toolCallId }, RUN);
    const say = (/** @type {string} */ args, senderIsOwner = true) =>
      registered.command.handler({ args, senderIsOwner, channel: "telegram", senderId: "42" });

    const held = await judge("c1");
    const nonce = /^TOOLGUARD_ESCALATE\|([0-9a-f]{8})\|/.exec(held.blockReason)?.[1] ?? assert.fail(held.blockReason);
    registered.events.handle({ ...RUN, stream: "lifecycle", data: { phase: "end" } });
    assert.match((await say("pending")).text, new RegExp(`^\`\`\`\n${nonce} is waiting for approval, .*\nexec by agent main\n`));
    assert.equal((await say(`approve ${nonce}`, false)).isError, true);
    assert.equal((await say("approve ffff0000")).isError, true);
    assert.equal(woken.length, 0);
    const yes = await say(`approve ${nonce}`);
    assert.equal(yes.isError, false, yes.text);
    await until(() => woken.length === 2, "the agent is woken");
    const { sessionKey, idempotencyKey } = woken[0];
    assert.deepEqual({ sessionKey, idempotencyKey }, { sessionKey: RUN.sessionKey, idempotencyKey: `toolguard-${nonce}` });
    assert.deepEqual(await judge("c2"), { params });
    const again = await judge("c3");
    assert.equal(again.block, true);
    assert.ok(!again.blockReason.includes(nonce), again.blockReason);
  });

  test("the service brings the dashboard along, where it is wanted, keeps it over a reload, and takes it away", async (t) => {
    const place = folder();
    const [python, noted] = [join(place, "python"), join(place, "pid")];
    const script = `#!/bin/sh
      case "$*" in *toolguard_cli.dashboard*) echo $$ >> '${noted}'; exec cat;; *) exec '${PYTHON}' "$@";; esac`;
    writeFileSync(python, script, { mode: 0o700 });
    const settings = { python, metrics: { dashboard: { enabled: true } } };
    const { api, registered } = host(t, settings);
    plugin.register(api);
    registered.service.start();
    const pid = Number(await until(() => existsSync(noted) && readFileSync(noted, "utf8")));
    await registered.service.stop();
    api.pluginConfig = { ...settings, mode: "shadow" };
    plugin.register(api);
    registered.service.start();
    assert.ok(alive(pid));
    assert.equal(Number(readFileSync(noted, "utf8")), pid);
    await registered.service.stop();
    await until(() => !alive(pid));
  });

  test("disposal ends the engine where no service was stopped; a late event is answered without it", async (t) => {
    const { api, hooks, registered, log } = host(t);
    plugin.register(api);
    const fire = (/** @type {string} */ tool) =>
      hooks.before_tool_call?.handler({ ...RUN, toolName: tool, params: {}, toolCallId: "c1" }, RUN);
    assert.equal(await fire("exec"), undefined);
    await registered.dispose();
    assert.ok(!alive(log.pids[0] ?? 0));
    assert.equal((await fire("exec")).block, true);
    assert.equal(await fire("read"), undefined);
    assert.equal("any text".replace(/^.*$/s, registered.transforms.input[0].to), "any text");
    assert.equal(log.pids.length, 1);
  });

  test("the log level keeps quieter lines back", async (t) => {
    const { api, hooks, log } = host(t, { logLevel: "warn" });
    plugin.register(api);
    const event = { ...RUN, toolName: "exec", params: {}, toolCallId: "c1" };
    assert.equal(await hooks.before_tool_call?.handler(event, RUN), undefined);
    assert.deepEqual(log.lines, []);
  });
});
