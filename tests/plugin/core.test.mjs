import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Membership } from "../../plugin/gateway/core.mjs";
import { alive, environment, folder, GATEWAY, Log, PYTHON, refusal, until } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

/** In milliseconds: on a busy machine an engine may take longer to start than the gateway part waits for an answer. */
const LIMIT_MS = 60_000;

/**
 * What the instances of one gateway have in common: each `instance()` is the plugin, loaded once more.
 * @param {TestContext} t
 * @param {Record<string, any>} [config]
 */
function gateway(t, config = {}) {
  const log = new Log();
  const state = folder();
  const pluginConfig = { python: PYTHON, logPath: join(state, "guard.log"), ...config };
  const api = { pluginConfig, runtime: { version: "test", state: { resolveStateDir: () => state } } };
  const instance = (Kind = Membership) => {
    const one = new Kind({ ...api, pluginConfig: structuredClone(pluginConfig) }, GATEWAY, "1.0.0", log);
    t.after(() => one.leave());
    return one;
  };
  return { api, instance, log };
}

/**
 * A program in the place of Python that notes each line it gets in the file `heard`, and answers it.
 * @param {string} heard
 * @param {string} [more] what it does with each `message` besides
 */
function recorder(heard, more = "") {
  const path = join(folder(), "python");
  const script = `#!${process.execPath}
    const { appendFileSync } = require("node:fs");
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      appendFileSync(${JSON.stringify(heard)}, line + "\\n");
      const message = JSON.parse(line);
      const { id, type } = message;
      ${more}
      const answer = { id, type: type === "hello" ? "ready" : "pong", version: "0", pid: process.pid };
      if (id !== undefined) console.log(JSON.stringify(answer));
    });`;
  writeFileSync(path, script, { mode: 0o700 });
  return path;
}

describe("instances of one gateway", () => {
  test("share one core", (t) => {
    const { instance } = gateway(t);
    const core = instance().core;
    assert.ok(core);
    assert.equal(instance().core, core);
  });

  test("share it across copies of the module", async (t) => {
    const { instance } = gateway(t);
    const copy = await import(new URL("../../plugin/gateway/core.mjs?copy", import.meta.url).href);
    assert.notEqual(copy.Membership, Membership);
    assert.equal(instance(copy.Membership).core, instance().core);
  });

  test("have another core with other settings", (t) => {
    const { api, instance, log } = gateway(t);
    const other = new Membership({ ...api, pluginConfig: { ...api.pluginConfig, mode: "soft" } }, GATEWAY, "1.0.0", log);
    t.after(() => other.leave());
    assert.notEqual(other.core, instance().core);
  });

  test("have another core with another version or folder", (t) => {
    const { api, instance, log } = gateway(t);
    const newer = new Membership(api, GATEWAY, "2.0.0", log);
    const elsewhere = new Membership(api, join(GATEWAY, "elsewhere"), "1.0.0", log);
    t.after(() => Promise.all([newer.leave(), elsewhere.leave()]));
    assert.equal(new Set([newer.core, elsewhere.core, instance().core]).size, 3);
  });
});

describe("the end of a core", () => {
  test("end() removes it, whoever holds it; the next need makes another", async (t) => {
    const { instance } = gateway(t);
    const [one, two] = [instance(), instance()];
    const core = one.core;
    assert.equal(two.core, core);
    await one.end();
    assert.ok(two.core);
    assert.notEqual(two.core, core);
  });

  test("end() stops the engine", async (t) => {
    const { instance, log } = gateway(t);
    const one = instance();
    assert.equal((await one.core?.engine.ask({ type: "ping" }, LIMIT_MS))?.type, "pong");
    assert.ok(alive(log.pids[0] ?? 0));
    await one.end();
    assert.ok(!alive(log.pids[0] ?? 0));
    await one.end();
  });

  test("the last one to leave stops the engine, the others do not", async (t) => {
    const { instance, log } = gateway(t);
    const [one, two, idle] = [instance(), instance(), instance()];
    assert.equal(one.core, two.core);
    await one.core?.engine.ask({ type: "ping" }, LIMIT_MS);
    await one.leave();
    await idle.leave();
    assert.ok(alive(log.pids[0] ?? 0));
    assert.equal((await two.core?.engine.ask({ type: "ping" }, LIMIT_MS))?.type, "pong");
    await two.leave();
    assert.ok(!alive(log.pids[0] ?? 0));
    assert.equal(log.pids.length, 1);
  });

  test("one that never used the core leaves nothing to do", async (t) => {
    const { instance, log } = gateway(t);
    await instance().leave();
    assert.deepEqual(log.lines, []);
  });
});

describe("an instance that has left", () => {
  test("makes no core", async (t) => {
    const one = gateway(t).instance();
    assert.ok(one.core);
    await one.leave();
    assert.equal(one.core, null);
  });

  test("uses that of its successor, without holding it", async (t) => {
    const { instance } = gateway(t);
    const [one, two] = [instance(), instance()];
    await one.leave();
    const core = two.core;
    assert.equal(one.core, core);
    await two.leave();
    assert.equal(one.core, null);
  });

  test("uses that of its successor with other settings", async (t) => {
    const { api, instance, log } = gateway(t);
    const one = instance();
    assert.ok(one.core);
    await one.leave();
    const successor = new Membership({ ...api, pluginConfig: { ...api.pluginConfig, mode: "soft" } }, GATEWAY, "1.0.0", log);
    t.after(() => successor.leave());
    const core = successor.core;
    assert.ok(core);
    assert.equal(one.core, core);
  });
});

describe("what a core says", () => {
  test("that hooks are not called, once and as an error", (t) => {
    const { instance, log } = gateway(t, { python: "/nowhere/python" });
    const hooks = instance().core?.hooks;
    hooks?.agentEvent({ stream: "lifecycle", runId: "r1", data: { phase: "start" } });
    const result = { content: [{ type: "text", text: refusal("read") }] };
    for (const id of ["c1", "c2"])
      hooks?.agentEvent({ stream: "tool", runId: "r1", data: { phase: "result", toolCallId: id, name: "read", result } });
    const errors = log.lines.filter(({ level }) => level === "error").map(({ text }) => text);
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? "", /NOT FULLY GUARDED/);
  });

  test("nothing about hooks where the start of the run was not seen", (t) => {
    const { instance, log } = gateway(t, { python: "/nowhere/python" });
    const { hooks } = instance().core ?? assert.fail();
    hooks.modelCallStarted({ runId: "r1" }, {});
    hooks.agentEvent({ stream: "tool", runId: "r1", data: { phase: "result", toolCallId: "c1", name: "read", result: {} } });
    assert.deepEqual(log.lines, []);
  });

  test("to each engine, as soon as it is ready: which seams work", async (t) => {
    const heard = join(folder(), "heard");
    const { instance, log } = gateway(t, { python: recorder(heard) });
    const { engine, hooks } = instance().core ?? assert.fail();
    hooks.messageWritten({ message: { role: "user" } }, {}); // no engine yet: only the log hears it
    assert.equal((await engine.ask({ type: "ping" }, LIMIT_MS))?.type, "pong");
    await until(() => readFileSync(heard, "utf8").includes("seams"), "the first note");
    process.kill(log.pids[0] ?? 0, "SIGKILL");
    await until(() => log.pids[1], "a second engine");
    assert.equal((await engine.ask({ type: "ping" }, LIMIT_MS))?.type, "pong");
    const sent = readFileSync(heard, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const notes = sent.filter(({ type }) => type === "seams").map(({ seams }) => seams.hooks);
    assert.deepEqual(notes, ["works", "works"]);
    assert.equal(sent.filter(({ type }) => type === "hello").length, 2);
  });

  test("which seam fails, as a warning; which works, for those who debug", (t) => {
    const { instance, log } = gateway(t, { python: "/nowhere/python" });
    const { hooks, trace } = instance().core ?? assert.fail();
    hooks.messageWritten({ message: { role: "user" } }, {});
    trace.replaced("bad", "good", "r1", true, false);
    trace.requested("r1");
    assert.deepEqual(log.lines, [
      { level: "debug", text: "[toolguard] seam hooks works" },
      { level: "warn", text: "[toolguard] integration point inPlaceText does not work with this OpenClaw; using the next one" },
    ]);
  });
});

/** @param {string} heard @param {string} type */
function messages(heard, type) {
  const lines = readFileSync(heard, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  return lines.filter((message) => message.type === type);
}

describe("what a core brings together", () => {
  test("the engine is told where the gateway's config and the plugin are", async (t) => {
    environment(t, { OPENCLAW_CONFIG_PATH: undefined });
    const heard = join(folder(), "heard");
    const { api, instance } = gateway(t, { python: recorder(heard) });
    await instance().core?.engine.ask({ type: "ping" }, LIMIT_MS);
    const state = api.runtime.state.resolveStateDir();
    const [{ configPath, root, stateDir }] = messages(heard, "hello");
    assert.deepEqual({ configPath, root, stateDir }, { configPath: join(state, "openclaw.json"), root: GATEWAY, stateDir: state });
  });

  test("who runs after the guard is logged as an error, and told to the engine", async (t) => {
    const shared = /** @type {any} */ (globalThis);
    const STATE = Symbol.for("openclaw.plugins.hook-runner-global-state");
    t.after(() => delete shared[STATE]);
    const hook = (/** @type {string} */ pluginId) => ({ pluginId, hookName: "before_tool_call", priority: -9 });
    const heard = join(folder(), "heard");
    const { instance, log } = gateway(t, { python: recorder(heard) });
    const { engine, order } = instance().core ?? assert.fail();
    await engine.ask({ type: "ping" }, LIMIT_MS);
    shared[STATE] = { registry: { typedHooks: [hook("toolguard"), hook("late")] } };
    order.check();
    await engine.ask({ type: "ping" }, LIMIT_MS);
    const [{ text }, ...more] = messages(heard, "warned");
    assert.match(text, /^SECURITY: late \(priority -9\) runs after the guard/);
    assert.deepEqual(more, []);
    assert.deepEqual(log.lines.filter(({ level }) => level === "error"), [{ level: "error", text: `[toolguard] ${text}` }]);
  });

  test("an approval wakes an idle session through the instance whose service runs, a busy one not", async (t) => {
    const heard = join(folder(), "heard");
    const wake =
      'if (message.wake) console.log(JSON.stringify({ type: "wake", nonce: "0a1b2c3d", agent: "main", session: message.wake, text: "Go on." }));';
    const { instance, log } = gateway(t, { python: recorder(heard, wake) });
    const { engine, hooks, waker } = instance().core ?? assert.fail();
    /** @type {string[]} */
    const woken = [];
    waker.through({
      session: { workflow: { enqueueNextTurnInjection: async () => ({ enqueued: true }) } },
      runtime: { system: { requestHeartbeat: (/** @type {any} */ { sessionKey }) => void woken.push(sessionKey) } },
    });
    hooks.agentEvent({ stream: "lifecycle", runId: "r1", sessionKey: "busy", data: { phase: "start" } });
    await engine.ask({ type: "ping", wake: "busy" });
    await engine.ask({ type: "ping", wake: "idle" });
    await until(() => woken.length > 0, "the idle session is woken");
    assert.deepEqual(woken, ["idle"]);
    hooks.agentEvent({ stream: "lifecycle", runId: "r1", sessionKey: "busy", data: { phase: "end" } });
    await engine.ask({ type: "ping", wake: "busy" });
    await until(() => woken.length > 1, "the session is woken after its run");
    assert.deepEqual(woken, ["idle", "busy"]);
    assert.deepEqual(log.warnings, []);
  });

  /** @type {[string, any, string][]} what, the gateway's way to say it, the folder */
  const places = [
    [
      "as the gateway says",
      { resolveAgentWorkspaceDir: (/** @type {any} */ config, /** @type {string} */ agent) => `${config.base}/${agent}` }, "/w/main",
    ],
    ["nothing where the gateway says nothing", { resolveAgentWorkspaceDir: () => undefined }, ""],
    ["nothing where the gateway fails", { resolveAgentWorkspaceDir: () => assert.fail("no such agent") }, ""],
    ["nothing on an older host", undefined, ""],
  ];
  for (const [what, agent, cwd] of places)
    test(`where a command runs: ${what}; asked once`, async (t) => {
      const heard = join(folder(), "heard");
      const { api, instance } = gateway(t, { python: recorder(heard) });
      let asked = 0;
      Object.assign(api.runtime, { agent, config: { current: () => (asked++, { base: "/w" }) } });
      const { hooks } = instance().core ?? assert.fail();
      for (const [n, toolName] of ["exec", "exec", "read"].entries())
        await hooks.beforeToolCall({ toolName, params: {}, runId: "r1", toolCallId: `c${n}` }, { agentId: "main", sessionKey: "s" });
      assert.deepEqual(messages(heard, "judge").map((message) => message.cwd), [cwd, cwd, ""]);
      assert.equal(asked, agent ? 1 : 0);
    });
});
