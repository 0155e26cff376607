import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

import { Engine } from "../../plugin/gateway/engine.mjs";
import { isError } from "../../plugin/gateway/engine_lines.mjs";
import { StartWatch } from "../../plugin/gateway/start_watch.mjs";
import { VERSION } from "../../plugin/gateway/version.mjs";
import { alive, folder, GATEWAY, Log, PYTHON, refusal, until } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

const PING = { type: "ping" };
const REAL = { python: PYTHON, args: ["-P", "-E", "-m", "toolguard_engine"] };

/** For an engine that has to start first, on a busy machine. */
const GENEROUS = 60_000; // ms

/**
 * An engine that stops with the test, of which no process is left.
 * @param {TestContext} t
 * @param {{ python: string, args: string[], env?: NodeJS.ProcessEnv }} [command]
 * @param {Record<string, any>} [config]
 * @param {() => void} [onReady]
 * @param {(message: any) => void} [onEvent]
 */
function engineFor(t, command = REAL, config = {}, onReady = () => {}, onEvent = undefined, retry = /** @type {any} */ (undefined)) {
  const log = new Log();
  const state = folder();
  const env = { ...process.env, HOME: state, ...command.env };
  const engine = new Engine({ ...command, cwd: state, env }, { stateDir: state, config, gateway: "test" }, log, onReady, onEvent, retry);
  engine.ask = (message, limit = GENEROUS) => Engine.prototype.ask.call(engine, message, limit);
  t.after(async () => {
    await engine.stop();
    await until(() => !log.pids.some(alive), "the end of every engine");
  });
  return { engine, log, state };
}

/**
 * An engine of a few lines: `answer(question)` sees every message and returns the members of an answer, or nothing.
 * @param {string} body
 */
function scripted(body) {
  const script = `
    const held = [];
    const say = (question, type, more) => process.stdout.write(JSON.stringify({ type, id: question.id, ...more }) + "\\n");
    const answer = (question) => { ${body} };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line)));`;
  return { python: process.execPath, args: ["-e", script] };
}

const INTRODUCED = 'if (question.type === "hello") return say(question, "ready", { v: 1, pid: process.pid, version: "0" });';

/**
 * @template T
 * @param {() => T} look
 */
function quietly(look) {
  try {
    return look();
  } catch {
    return null;
  }
}

/** @param {string} tool */
function failed(tool) {
  return { type: "failed", tool, params: {}, text: refusal(tool), run: `run of ${tool}` };
}

/**
 * Once, and louder than a warning: the audit log has no line about an engine that never began.
 * @param {Log} log
 */
function saysWhy(log) {
  assert.deepEqual(log.warnings, []);
  const errors = log.lines.filter(({ level }) => level === "error").map(({ text }) => text);
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? "", /every tool call is blocked: speaks protocol 99\. Run `toolguard doctor`/);
}

/** @param {string[]} complaints */
function eachOnce(complaints) {
  const causes = complaints.map((text) => text.replace(/\d+/g, "#"));
  assert.deepEqual(causes, [...new Set(causes)]);
}

describe("what the engine says without being asked", () => {
  const WAKE = { type: "wake", nonce: "0a1b2c3d", agent: "main", session: "s", text: "Repeat it." };
  const said = JSON.stringify(JSON.stringify(WAKE) + "\n");
  const waking = scripted(`
    ${INTRODUCED}
    if (question.times) for (let n = 0; n < question.times; n++) process.stdout.write(${said});
    if (question.type === "question") say(question, "answer", {});`);

  /** @param {TestContext} t */
  function listener(t) {
    /** @type {any[]} */
    const heard = [];
    return { heard, ...engineFor(t, waking, {}, undefined, (message) => heard.push(message)) };
  }

  test("reaches who listens, whoever waits for something else meanwhile", async (t) => {
    const { engine, heard, log } = listener(t);
    assert.equal(engine.askNow({ type: "question", times: 1 }, GENEROUS)?.type, "answer");
    assert.deepEqual(heard, [WAKE]);
    assert.equal((await engine.ask({ type: "question", times: 2 }))?.type, "answer");
    assert.deepEqual(heard, [WAKE, WAKE, WAKE]);
    engine.note({ type: "note", times: 1 });
    await until(() => heard.length === 4);
    assert.deepEqual(log.warnings, []);
  });

  test("answers no question, whatever its id", async (t) => {
    const { engine } = engineFor(t, scripted(`${INTRODUCED} say(question, "wake", {}); say(question, "answer", { number: 1 });`));
    assert.equal(engine.askNow({ type: "question" }, GENEROUS)?.number, 1);
    assert.equal((await engine.ask({ type: "question" }))?.number, 1);
  });

  test("comes from no engine that was refused", async (t) => {
    /** @type {any[]} */
    const heard = [];
    const refusing = scripted(`say(question, "error", { error: "too old" }); process.stdout.write(${said});`);
    const { engine } = engineFor(t, refusing, {}, undefined, (message) => heard.push(message));
    assert.ok(isError(await engine.ask(PING)));
    await engine.stop();
    assert.deepEqual(heard, []);
  });
});

describe("questions", () => {
  test("a synchronous question starts the engine and waits for it", (t) => {
    const { engine } = engineFor(t);
    const answer = engine.askNow(failed("read"), GENEROUS);
    assert.equal(answer?.type, "corrected");
    assert.match(answer?.text, /^\[TOOL ERROR\] read\(\) requires 'path'/);
  });

  test("an asynchronous question starts the engine and waits for it", async (t) => {
    const { engine } = engineFor(t);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("a note has no answer, and what it says is known to the next question", (t) => {
    const { engine } = engineFor(t);
    const askNow = () => engine.askNow(failed("read"), GENEROUS)?.text.slice(0, 15);
    assert.equal(askNow(), "[TOOL ERROR] re");
    assert.equal(askNow(), "[LOOP DETECTED]");
    engine.note({ type: "run-end", run: "run of read" });
    assert.equal(askNow(), "[TOOL ERROR] re");
  });

  test("a note starts no engine", (t) => {
    const { engine, log } = engineFor(t);
    engine.note({ type: "run-end", run: "1" });
    assert.deepEqual(log.lines, []);
  });

  test("hundreds of mixed questions: every answer reaches its asker", async (t) => {
    const { engine } = engineFor(t);
    await engine.ask(PING);
    /** @type {Promise<[string, any]>[]} */
    const answers = [];
    for (let n = 0; n < 400; n++) {
      const name = `tool_${n}_`;
      const answer = n % 3 === 0 ? engine.askNow(failed(name), 5_000) : engine.ask(failed(name));
      answers.push(Promise.resolve(answer).then((value) => [name, value]));
      if (n % 50 === 0) await answers[n];
    }
    for (const [name, answer] of await Promise.all(answers)) assert.ok(answer?.text.includes(`${name}()`), name);
  });

  test("hundreds of mixed questions to an engine that answers in any order", async (t) => {
    const { engine } = engineFor(t, scripted(`
      ${INTRODUCED}
      if (question.now) return say(question, "answer", { number: question.number });
      held.push(question);
      if (held.length === 7) for (const one of held.splice(0).reverse()) say(one, "answer", { number: one.number });`));
    const numbers = Array.from({ length: 700 }, (_, number) => number);
    const answers = numbers.map((number) => {
      const first = engine.ask({ type: "question", number });
      assert.equal(engine.askNow({ type: "question", now: true, number: number + 1_000 }, GENEROUS)?.number, number + 1_000);
      return first;
    });
    assert.deepEqual((await Promise.all(answers)).map((answer) => answer?.number), numbers);
  });

  test("an answer that does not come at the first look comes later, to both kinds", async (t) => {
    const { engine } = engineFor(t, scripted(`
      ${INTRODUCED}
      setTimeout(() => say(question, "late", { number: question.number }), 20);`));
    const open = [1, 2, 3].map((number) => engine.ask({ type: "question", number }));
    assert.deepEqual((await Promise.all(open)).map((answer) => answer?.number), [1, 2, 3]);
    const quick = engine.ask({ type: "question", number: 4 });
    assert.equal(engine.askNow({ type: "question", number: 5 }, GENEROUS)?.number, 5);
    assert.equal((await quick)?.number, 4);
  });

  test("5 MB in both directions, more than the pipes hold", async (t) => {
    const { engine } = engineFor(t, scripted(`${INTRODUCED} say(question, "echo", { text: question.text });`));
    const text = "aé€😀".repeat(500_000);
    assert.ok((await engine.ask({ type: "echo", text }))?.text === text);
    assert.ok(engine.askNow({ type: "echo", text }, GENEROUS)?.text === text);
    assert.ok((await engine.ask({ type: "echo", text }))?.text === text);
    assert.equal(engine.askNow({ type: "echo", text: "short" }, GENEROUS)?.text, "short");
  });

  test("a synchronous question cannot overtake what is still unsent; the engine is not blamed for it", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [pid = 0] = log.pids;
    process.kill(pid, "SIGSTOP");
    const params = { content: "x".repeat(5 * 1024 * 1024) };
    engine.note({ type: "came", tool: "write", params, call: "c1", run: "r1", agent: "main", session: "s" });
    for (let n = 0; n < 5; n++) assert.equal(engine.askNow(PING), null);
    process.kill(pid, "SIGCONT");
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
    assert.deepEqual(log.pids, [pid]);
    assert.deepEqual(log.warnings, ["[toolguard] no answer to a synchronous question within 250 ms (busy)"]);
  });

  test("a synchronous question whose time ends in the middle of its line does not spoil the next one", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [pid = 0] = log.pids;
    process.kill(pid, "SIGSTOP");
    assert.equal(engine.askNow({ ...PING, ballast: "x".repeat(5 * 1024 * 1024) }, 20), null);
    process.kill(pid, "SIGCONT");
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
    assert.deepEqual(log.pids, [pid]);
    assert.deepEqual(log.warnings, ["[toolguard] no answer to a synchronous question within 20 ms (late)"]);
  });

  test("a question that the engine cannot read is answered with an error, the next one as always", async (t) => {
    const { engine, log } = engineFor(t);
    const answer = await engine.ask({ type: "no-such-question" });
    assert.ok(isError(answer));
    assert.match(answer?.error, /no-such-question/);
    assert.ok(isError(engine.askNow({ type: "no-such-question" }, GENEROUS)));
    assert.match(log.warnings[0] ?? "", /could not answer/);
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
  });

  test("a question that is too long is refused with a complaint", async (t) => {
    const { engine, log } = engineFor(t);
    const long = { type: "judge", tool: "write", params: { content: "x".repeat(9 * 1024 * 1024) } };
    assert.ok(isError(engine.askNow(long)));
    assert.ok(isError(await engine.ask(long)));
    assert.equal(log.warnings.length, 1);
    assert.match(log.warnings[0] ?? "", /is too long/);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("a question that is too long only in bytes is refused, too", async (t) => {
    const { engine, log } = engineFor(t);
    assert.ok(isError(await engine.ask({ type: "judge", tool: "write", params: "é".repeat(5 * 1024 * 1024) })));
    assert.match(log.warnings[0] ?? "", /is too long/);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("a question that cannot be written as JSON is answered with an error", async (t) => {
    const { engine, log } = engineFor(t);
    const cyclic = { type: "judge", tool: "write", params: /** @type {any} */ ({}) };
    cyclic.params.self = cyclic.params;
    assert.ok(isError(engine.askNow(cyclic)));
    assert.ok(isError(await engine.ask(cyclic)));
    engine.note(cyclic);
    assert.match(log.warnings[0] ?? "", /cannot be written as JSON/);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("settings that cannot be read are reported, and the engine works", async (t) => {
    const { engine, log } = engineFor(t, REAL, { mode: "strange" });
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.match(log.lines.find(({ level }) => level === "error")?.text ?? "", /mode.*default settings are in force/);
  });
});

describe("an engine that dies", () => {
  test("open questions are answered with null, and it comes back", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [first = 0] = log.pids;
    process.kill(first, "SIGSTOP"); // so that the questions are open when it dies
    const open = [engine.ask(PING), engine.ask(failed("read")), engine.ask(PING)];
    process.kill(first, "SIGKILL");
    assert.deepEqual(await Promise.all(open), [null, null, null]);
    assert.equal((await engine.ask(PING, GENEROUS))?.type, "pong");
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
    assert.notEqual(log.pids[1], first);
    assert.deepEqual(log.warnings, ["[toolguard] the engine exited (signal SIGKILL); next start in 20 ms"]);
  });

  test("questions that come before the next start wait for it", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    process.kill(log.pids[0] ?? 0, "SIGKILL");
    while (log.warnings.length === 0) await turn();
    /** @type {Promise<any>[]} */
    const open = [];
    for (; log.pids.length === 1; await turn()) if (open.length < 1_000) open.push(engine.ask(PING, GENEROUS));
    assert.deepEqual(new Set((await Promise.all(open)).map((answer) => answer?.type)), new Set(["pong"]));
  });

  test("a synchronous question that is open gets null before its time is over", async (t) => {
    const mortal = `
      ${INTRODUCED}
      if (question.type === "die") return process.kill(process.pid, "SIGKILL");
      say(question, "pong");`;
    const { engine, log } = engineFor(t, scripted(mortal));
    await engine.ask(PING);
    const other = engine.ask({ type: "die" });
    assert.equal(engine.askNow({ type: "die" }, GENEROUS), null);
    assert.equal(await other, null);
    await until(() => log.pids[1], "a second engine");
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
    assert.deepEqual(log.warnings, [
      `[toolguard] no answer to a synchronous question within ${GENEROUS} ms (closed)`,
      "[toolguard] the engine exited (signal SIGKILL); next start in 20 ms",
    ]);
  });

  test("whoever wants to know is told at each start", async (t) => {
    /** @type {number[]} */
    const starts = [];
    const { engine, log } = engineFor(t, REAL, {}, () => starts.push(log.pids.length));
    engine.askNow(PING, GENEROUS);
    assert.deepEqual(starts, [1]);
    process.kill(log.pids[0] ?? 0, "SIGKILL");
    await until(() => starts.length === 2, "the second start");
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.deepEqual(starts, [1, 2]);
  });

  test("the first four starts follow at once, then each takes twice as long, up to 2 s", async (t) => {
    const place = folder();
    writeFileSync(join(place, "file"), "");
    const { engine } = engineFor(t, { python: join(place, "file", "python"), args: [] });
    let now = 0;
    /** @type {{ act: () => void, delay: number }[]} */
    const timers = [];
    t.mock.method(performance, "now", () => now);
    t.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ act, /** @type {number} */ delay) => {
      timers.push({ act, delay });
      return { unref() {} };
    });
    engine.start();
    for (let death = 1; death < 16; death++) {
      now += timers[death - 1]?.delay ?? 0;
      timers[death - 1]?.act();
    }
    const delays = [20, 20, 20, 20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000, 2_000, 2_000, 2_000, 2_000];
    assert.deepEqual(timers.map(({ delay }) => delay - 1), delays);
    assert.equal(await engine.ask(PING), null); // at once: it made no timer
    assert.equal(timers.length, delays.length);
    t.mock.restoreAll();
  });

  test("five deaths in a row, and it still comes back", async (t) => {
    const { engine, log } = engineFor(t);
    engine.start();
    for (let death = 1; death <= 5; death++) {
      process.kill(await until(() => log.pids[death - 1]), "SIGKILL");
    }
    assert.equal((await until(() => engine.ask(PING))).type, "pong");
    assert.equal(new Set(log.pids).size, 6);
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
  });
});

describe("an engine that hangs", () => {
  test("an asynchronous question that runs into its limit ends it; it comes back", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [first = 0] = log.pids;
    process.kill(first, "SIGSTOP");
    const other = engine.ask(PING, GENEROUS);
    assert.equal(await engine.ask(PING, 20), null);
    assert.equal(await other, null);
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.notEqual(log.pids[1], first);
    assert.deepEqual(log.warnings, [
      "[toolguard] no answer to a question in time; restarting the engine",
      "[toolguard] the engine exited (signal SIGKILL); next start in 20 ms",
    ]);
  });

  test("after synchronous questions without an answer, silence ends it; it comes back", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [first = 0] = log.pids;
    process.kill(first, "SIGSTOP");
    for (let n = 0; n < 3; n++) assert.equal(engine.askNow(PING, 20), null);
    await until(() => log.pids[1], "a second engine");
    assert.ok(!alive(first));
    assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
    assert.deepEqual(log.warnings, [
      "[toolguard] no answer to a synchronous question within 20 ms (late)",
      "[toolguard] the engine exited (signal SIGKILL); next start in 20 ms",
    ]);
  });

  test("an answer breaks the row", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [pid = 0] = log.pids;
    for (let round = 0; round < 3; round++) {
      process.kill(pid, "SIGSTOP");
      for (let n = 0; n < 2; n++) assert.equal(engine.askNow(PING, 20), null);
      assert.equal(engine.askNow(PING, GENEROUS), null); // not waited for
      process.kill(pid, "SIGCONT");
      await engine.ask(PING);
      assert.equal(engine.askNow(PING, GENEROUS)?.type, "pong");
    }
    assert.deepEqual(log.pids, [pid]);
  });

  test("one that still starts does not hang", async (t) => {
    const { engine, log } = engineFor(t);
    for (let n = 0; n < 10; n++) assert.equal(engine.askNow(PING, 0), null);
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.equal(log.pids.length, 1);
    assert.deepEqual(log.warnings, ["[toolguard] no answer to a synchronous question within 0 ms (late)"]);
  });

  test("one whose answer waits in the pipe while the gateway computes does not hang", async (t) => {
    const marker = join(folder(), "answered");
    const { engine, log } = engineFor(t, { ...scripted(`
      ${INTRODUCED}
      const answered = () => require("node:fs").writeFileSync(process.env.MARKER, "");
      setTimeout(() => { say(question, "pong"); answered(); }, 20);`), env: { MARKER: marker } });
    engine.start();
    await until(() => log.pids[0], "a ready engine");
    await turn(); // what follows in the loop is its timers, then its pipes
    const open = engine.ask(PING, 1);
    while (!existsSync(marker)); // the loop stands still until long after the limit
    assert.equal((await open)?.type, "pong");
    assert.equal(log.pids.length, 1);
    assert.deepEqual(log.warnings, []);
  });
});

describe("an engine that is busy for long", () => {
  /** Says `working` all the time, and answers everything but `hold`. */
  const BUSY = scripted(`
    ${INTRODUCED}
    if (question.type !== "hold") return say(question, "pong", { seen: held.length });
    held.push(question);
    setInterval(() => process.stdout.write('{"type":"working"}\\n'), 1).unref();`);

  for (const answers of [true, false])
    test(`is waited for 12 s, then the call is blocked; ${answers ? "it goes on, for it" : "it is ended, for it never"} answers`, async (t) => {
      const { engine, log } = engineFor(t, BUSY);
      await engine.ask(PING);
      const [pid = 0] = log.pids;
      let now = performance.now();
      let looks = 0;
      /** @type {{ act: () => void, delay: number }[]} */
      const timers = [];
      t.mock.method(performance, "now", () => (looks++, (now += 0.01)));
      t.mock.method(globalThis, "setTimeout", (/** @type {any} */ act, /** @type {number} */ delay, /** @type {any[]} */ ...more) => {
        timers.push({ act: () => act(...more), delay });
        return { unref() {} };
      });
      const other = engine.ask({ type: "hold" }, 60_000);
      const open = Engine.prototype.ask.call(engine, { type: "hold" }); // with the limit of a gateway
      let result = /** @type {any} */ (undefined);
      open.then((answer) => (result = answer));
      if (answers) assert.equal(engine.askNow(PING)?.type, "pong");
      for (let at = 1; result === undefined; at = timers.length - 1) {
        now += timers[at]?.delay ?? 0;
        for (const before = looks; looks === before; ) await turn(); // until it has said `working`
        timers[at]?.act();
        for (let n = 0; n < 3; n++) await turn();
      }
      assert.match(result?.error, /too busy/);
      assert.deepEqual(timers.slice(0, 9).map(({ delay }) => delay), [60_000, 5_000, ...Array(7).fill(1_000)]);
      if (answers) assert.ok(alive(pid));
      else assert.ok(isError(await other)); // no fail mode lets it run
      t.mock.restoreAll();
    });

  test("gets synchronous questions that are not waited for, too", async (t) => {
    const { engine, log } = engineFor(t, BUSY);
    await engine.ask(PING);
    const [pid = 0] = log.pids;
    process.kill(pid, "SIGSTOP");
    for (let n = 0; n < 2; n++) assert.equal(engine.askNow({ type: "hold" }, 20), null);
    assert.equal(engine.askNow({ type: "hold" }, 60_000), null);
    process.kill(pid, "SIGCONT");
    assert.equal((await engine.ask(PING))?.seen, 3);
  });
});

describe("an engine that cannot start", () => {
  /** What the engine asks about its starts, driven by a test. */
  function starts() {
    return Object.assign(new StartWatch(), {
      spokeAt: () => 0,
      over: (/** @type {number} */ _seconds) => {},
      begin(/** @type {() => number} */ spokeAt, /** @type {(seconds: number) => void} */ over) {
        Object.assign(this, { spokeAt, over });
      },
    });
  }
  const WORKS = scripted(`setInterval(() => process.stdout.write('{"type":"working"}\\n'), 1);`);

  test("a Python that hangs is ended, and the next one answers", async (t) => {
    const { command, become, started } = moody();
    become("hangs");
    const watch = starts();
    const { engine, log } = engineFor(t, command, {}, undefined, undefined, { starts: watch });
    const open = engine.ask(PING, GENEROUS);
    await until(() => quietly(started), "an engine that has read its introduction");
    become("serves");
    watch.over(10);
    assert.equal(await open, null);
    assert.equal((await until(() => engine.ask(PING, GENEROUS)))?.type, "pong");
    assert.equal(log.warnings[0], "[toolguard] the engine was not ready after 10 s; restarting it, and it gets twice as long");
  });

  test("one that says that it works is waited for", async (t) => {
    const watch = starts();
    const { engine } = engineFor(t, WORKS, {}, undefined, undefined, { starts: watch });
    const real = setTimeout;
    /** @type {{ act: () => void, delay: number }[]} */
    const timers = [];
    t.mock.method(globalThis, "setTimeout", (/** @type {any} */ act, /** @type {number} */ delay, /** @type {any[]} */ ...more) => {
      if (delay < 1_000) return real(act, delay, ...more);
      timers.push({ act: () => act(...more), delay });
      return { unref() {} };
    });
    void engine.ask(PING, 7_000);
    const asked = performance.now();
    await until(() => watch.spokeAt() > asked, "a sign of work");
    timers[0]?.act();
    await until(() => timers.length > 1, "another look");
    assert.deepEqual(timers.map(({ delay }) => delay), [7_000, 1_000]);
    t.mock.restoreAll();
  });

  test("one that works too long is ended, and its calls are left to no fail mode", async (t) => {
    const watch = starts();
    const { engine } = engineFor(t, WORKS, {}, undefined, undefined, { starts: watch });
    const open = engine.ask(PING);
    await until(() => watch.spokeAt() > 0, "a sign of work");
    watch.over(60);
    const answer = await open;
    assert.match(answer?.error, /the engine is still starting/);
    assert.equal(answer?.late, true);
  });

  test("the real engine says that it works before it is ready", (t, done) => {
    const child = spawn(PYTHON, REAL.args, { stdio: "pipe", env: { ...process.env, HOME: folder() } });
    t.after(() => child.kill("SIGKILL"));
    child.stdout.once("data", (data) => {
      assert.equal(String(data).split("\n")[0], '{"type":"working"}');
      done();
    });
  });

  /** @type {[string, (state: string) => string][]} */
  const interpreters = [
    ["does not exist", (state) => join(state, "no", "python")],
    ["lies below a file", (state) => join(state, "file", "python")],
    ["may not be executed", (state) => join(state, "file")],
    ["is empty text", () => ""],
  ];
  for (const [what, python] of interpreters)
    test(`a Python that ${what}: null, and one complaint for each cause`, async (t) => {
      const place = folder();
      writeFileSync(join(place, "file"), "", { mode: 0o600 });
      const { engine, log } = engineFor(t, { python: python(place), args: [] });
      assert.equal(engine.askNow(PING), null);
      assert.equal(await engine.ask(PING), null);
      await until(() => log.warnings.length > 0, "a complaint");
      assert.equal(engine.askNow(PING), null);
      assert.ok(log.warnings.some((text) => /the engine exited \(|is not a program \(/.test(text)), log.warnings.join("\n"));
      eachOnce(log.warnings);
      assert.equal(await engine.ask(PING), null);
      assert.equal(log.warnings.some((text) => text.includes("synchronous")), false); // nothing was there to be asked
    });

  for (const [what, python] of interpreters)
    test(`a Python that ${what}: stop right after start ends`, async (t) => {
      const place = folder();
      writeFileSync(join(place, "file"), "", { mode: 0o600 });
      const { engine, log } = engineFor(t, { python: python(place), args: [] });
      engine.start();
      engine.note(PING);
      const open = engine.ask(PING);
      await engine.stop();
      assert.equal(await open, null);
      eachOnce(log.warnings);
    });

  test("a Python without toolguard: each line of its complaint once, with the mend", async (t) => {
    const starts = join(folder(), "starts");
    const script = `
      require("node:fs").appendFileSync(process.env.STARTS, "x");
      console.error("Traceback:\\nNo module named toolguard_engine");
      process.exit(1);`;
    const { engine, log } = engineFor(t, { python: process.execPath, args: ["-e", script], env: { STARTS: starts } });
    writeFileSync(starts, "");
    engine.start();
    await until(() => readFileSync(starts, "utf8").length >= 4, "four starts");
    await until(() => log.warnings.length >= 3, "three complaints");
    eachOnce(log.warnings);
    assert.equal(log.warnings.filter((text) => text.includes("run `toolguard doctor`")).length, 1);
  });

  /** @type {[string, string, string[], RegExp][]} */
  const broken = [
    ["removed", "/opt/homebrew/opt/python@3.12/bin/python3.12", [], /was removed.*\(spawn \/opt\/homebrew\S+ ENOENT\)\. No call is judged/],
    ["a file that is no program", fileURLToPath(import.meta.url), [], /is not a program \(spawn .* EACCES\)\. No call is judged/],
    ["replaced", process.execPath, ["-e", 'console.error("dyld[12]: Library not loaded: x"); process.exit(6)'], /removed or replaced/],
  ];
  for (const [what, python, args, expected] of broken)
    test(`a Python that was ${what}: one line that says what to do`, async (t) => {
      const { engine, log } = engineFor(t, { python, args });
      engine.start();
      await until(() => log.warnings.some((text) => expected.test(text)), "the line");
      assert.equal(await engine.ask(PING), null);
      for (const command of ["`uv tool install --force openclaw-toolguard==", "/bin/pip install openclaw-toolguard=="])
        assert.equal(log.warnings.filter((text) => text.includes(`${command}${VERSION}\``)).length, 1);
    });

  test("an engine that refuses the introduction: every question gets an error at once, which is no silence", async (t) => {
    const { engine, log } = engineFor(t, scripted('say(question, "error", { error: "speaks protocol 99" });'));
    const open = [engine.ask(PING, GENEROUS), engine.ask(PING, GENEROUS)];
    assert.deepEqual((await Promise.all(open)).map(isError), [true, true]);
    assert.ok(isError(engine.askNow(PING, GENEROUS)));
    assert.match((await engine.ask(PING, GENEROUS))?.error, /speaks protocol 99/);
    saysWhy(log);
  });

  /** Refuses its introduction, or fails as it says, until the file says otherwise; each start leaves a line in `starts`. */
  function moody() {
    const base = folder();
    const [starts, mood] = [join(base, "starts"), join(base, "mood")];
    writeFileSync(mood, "refuses");
    const body = `
      const fs = require("node:fs");
      const mood = fs.readFileSync(process.env.MOOD, "utf8");
      if (question.type === "hello") fs.appendFileSync(process.env.STARTS, "x");
      if (mood === "dies") process.exit(1);
      if (mood === "hangs") return;
      if (question.type !== "hello") return say(question, "pong");
      if (mood === "refuses") return say(question, "error", { error: "speaks protocol 99" });
      say(question, "ready", { v: 1, pid: process.pid, version: "0" });`;
    const command = { ...scripted(body), env: { STARTS: starts, MOOD: mood } };
    return { command, become: (/** @type {string} */ text) => writeFileSync(mood, text), started: () => readFileSync(starts, "utf8").length };
  }

  for (const kind of ["ask", "askNow"])
    test(`after a refusal an engine is tried again when the config changes (${kind})`, async (t) => {
      const { command, become, started } = moody();
      let stamp = "1";
      const { engine, log } = engineFor(t, command, {}, undefined, undefined, { configStamp: () => stamp });
      const asked = () => (kind === "ask" ? engine.ask(PING, GENEROUS) : engine.askNow(PING, GENEROUS));
      assert.ok(isError(await asked()));
      become("serves");
      assert.match((await asked())?.error, /speaks protocol 99/);
      engine.start();
      assert.equal(started(), 1, "nothing has changed");
      stamp = "2";
      assert.equal((await asked())?.type, "pong");
      assert.equal(started(), 2);
      assert.ok(log.lines.some(({ level, text }) => level === "info" && text.includes("serves this gateway again")));
      assert.equal((await asked())?.type, "pong");
    });

  test("an engine that refuses again is not started for each question, and says why once", async (t) => {
    const { command, started } = moody();
    let stamp = "1";
    const { engine, log } = engineFor(t, command, {}, undefined, undefined, { configStamp: () => stamp });
    assert.ok(isError(await engine.ask(PING, GENEROUS)));
    stamp = "2";
    for (let time = 0; time < 3; time++) assert.ok(isError(await engine.ask(PING, GENEROUS)));
    assert.equal(started(), 2);
    saysWhy(log);
  });

  test("after a refusal an engine is tried again when its time has passed", async (t) => {
    const { command, become, started } = moody();
    const { engine } = engineFor(t, command, {}, undefined, undefined, { retryMs: 0 });
    assert.ok(isError(await engine.ask(PING, GENEROUS)));
    become("serves");
    assert.equal((await engine.ask(PING, GENEROUS))?.type, "pong");
    assert.equal(started(), 2);
  });

  for (const mood of ["dies", "hangs"])
    test(`while an engine is tried again no question is left to the fail mode: it ${mood}`, async (t) => {
      const { command, become } = moody();
      const { engine } = engineFor(t, command, {}, undefined, undefined, { retryMs: 0 });
      assert.ok(isError(await engine.ask(PING, GENEROUS)));
      become(mood);
      assert.match(engine.askNow(PING, 50)?.error, /speaks protocol 99/);
      assert.match((await engine.ask(PING, 300))?.error, /speaks protocol 99/);
      assert.match((await engine.ask(PING, 300))?.error, /speaks protocol 99/);
    });

  test("a refused introduction ends a synchronous question, too, and is not tried again", async (t) => {
    const starts = join(folder(), "starts");
    const { engine, log } = engineFor(t, { ...scripted(`
      if (question.type !== "hello") return;
      require("node:fs").appendFileSync(process.env.STARTS, process.pid + "\\n");
      say(question, "error", { error: "speaks protocol 99" });`), env: { STARTS: starts } });
    const open = engine.ask({ type: "never" }, GENEROUS);
    assert.ok(isError(engine.askNow(PING, GENEROUS)));
    assert.ok(isError(await open));
    const [pid = 0, ...more] = readFileSync(starts, "utf8").trim().split("\n").map(Number);
    await until(() => !alive(pid), "the end of the engine");
    engine.start();
    assert.ok(isError(engine.askNow(PING, GENEROUS)));
    assert.match((await engine.ask(PING, GENEROUS))?.error, /speaks protocol 99/);
    assert.deepEqual(more, []);
    assert.deepEqual(readFileSync(starts, "utf8"), `${pid}\n`);
    saysWhy(log);
  });
});

describe("an engine that is slow", () => {
  const SLOW = scripted(`
    ${INTRODUCED}
    if (question.type === "hold") return void held.push(question);
    for (const one of held.splice(0)) say(one, "late", { number: one.number });
    say(question, "answer", { number: question.number });`);

  test("a synchronous question ends at its limit; the late answer confuses nobody", async (t) => {
    const { engine, log } = engineFor(t, SLOW);
    await engine.ask({ type: "next" });
    assert.equal(engine.askNow({ type: "hold", number: 1 }, 60), null);
    assert.equal(engine.askNow({ type: "next", number: 2 }, GENEROUS)?.number, 2);
    assert.equal(engine.askNow({ type: "next", number: 3 }, GENEROUS)?.number, 3);
    assert.deepEqual(log.warnings, ["[toolguard] no answer to a synchronous question within 60 ms (late)"]);
  });

  for (const broken of ["{", "}{", ",", '"}', "x".repeat(9 * 1024 * 1024)])
    test(`an answer that cannot be read is an error for its asker: ${broken.slice(0, 10)}`, async (t) => {
      const torn = `
        ${INTRODUCED}
        if (question.type === "ping") return say(question, "pong");
        process.stdout.write('{"type":"verdict","id":' + question.id + ',"decision":' + ${JSON.stringify(broken.slice(0, 10))}.repeat(${broken.length > 10 ? 900_000 : 1}) + "\\n");`;
      const { engine, log } = engineFor(t, scripted(torn));
      assert.equal((await engine.ask(PING))?.type, "pong");
      assert.ok(isError(await engine.ask({ type: "judge" }, GENEROUS)));
      assert.ok(isError(engine.askNow({ type: "judge" }, GENEROUS)));
      assert.match(log.warnings[0] ?? "", /unreadable answer/);
      assert.equal((await engine.ask(PING))?.type, "pong");
    });

  for (const output of ["hello?", "null", "5", "[]", '{"id":'])
    test(`output that is no answer is reported and skipped: ${output}`, async (t) => {
      const noisy = `${INTRODUCED} console.log(${JSON.stringify(output)}); say(question, "pong");`;
      const { engine, log } = engineFor(t, scripted(noisy));
      assert.equal((await engine.ask(PING))?.type, "pong");
      assert.deepEqual(log.warnings, [`[toolguard] unreadable answer: ${output}`]);
    });
});

describe("the end", () => {
  test("stop leaves no process, and nothing starts after it", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const [pid = 0] = log.pids;
    await engine.stop();
    assert.ok(!alive(pid));
    engine.start();
    assert.equal(engine.askNow(PING), null);
    assert.equal(await engine.ask(PING), null);
    engine.note(PING);
    assert.deepEqual(log.pids, [pid]);
    assert.deepEqual(log.warnings, []);
  });

  test("stop waits for an engine whose metrics file is held by another process", async (t) => {
    const path = join(folder(), "metrics.db");
    const { engine, log, state } = engineFor(t, REAL, { metrics: { enabled: true, dbPath: path } });
    assert.equal((await engine.ask(PING))?.type, "pong");
    const rows = () => new DatabaseSync(path).prepare("SELECT count(*) AS many FROM toolguard_gateways").get()?.many;
    await until(() => existsSync(path) && quietly(rows) === 1, "the gateway in the metrics file");
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    for (let n = 0; n < 3; n++) engine.note({ type: "answered", run: `${n}`, usage: { totalTokens: 2 }, stop: "stop" });
    await engine.stop();
    const lost = "[toolguard] metrics: the engine ended before the last 3 rows could be written";
    await until(() => log.warnings.includes(lost), lost);
    other.exec("ROLLBACK");
    other.close();
    assert.deepEqual(readdirSync(join(state, "toolguard", "engines")), []);
    assert.ok(existsSync(join(state, "toolguard", "last-engine.json")));
  });

  test("stop before any start", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.stop();
    assert.equal(await engine.ask(PING), null);
    assert.deepEqual(log.lines, []);
  });

  test("stop right after start", async (t) => {
    const { engine, log } = engineFor(t);
    engine.start();
    await engine.stop();
    for (const pid of log.pids) assert.ok(!alive(pid));
    assert.deepEqual(log.warnings, []);
  });

  test("two stops at once both end", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    await Promise.all([engine.stop(), engine.stop()]);
    assert.ok(!alive(log.pids[0] ?? 0));
  });

  test("stop answers what is open with null, and at once what comes while it ends", async (t) => {
    const { engine, log } = engineFor(t, scripted(`${INTRODUCED} if (question.type === "ping") say(question, "pong");`));
    await engine.ask(PING);
    const open = [1, 2, 3].map(() => engine.ask({ type: "never" }, GENEROUS));
    const end = engine.stop();
    assert.equal(engine.askNow(PING, GENEROUS), null);
    assert.equal(await engine.ask(PING, GENEROUS), null);
    engine.note(PING);
    await end;
    assert.deepEqual(await Promise.all(open), [null, null, null]);
    assert.ok(!alive(log.pids[0] ?? 0));
    assert.deepEqual(log.warnings, []);
  });

  test("stop answers what waits for the next start with null", async (t) => {
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    process.kill(log.pids[0] ?? 0, "SIGKILL");
    while (log.warnings.length === 0) await turn();
    const open = engine.ask(PING, GENEROUS);
    await engine.stop();
    assert.equal(await open, null);
    assert.equal(log.pids.length, 1);
  });

  test("stop sends what is still unsent", async (t) => {
    const heard = join(folder(), "heard");
    const { engine, log } = engineFor(t, { ...scripted(`
      ${INTRODUCED}
      if (question.text) require("node:fs").writeFileSync(process.env.HEARD, question.text);
      say(question, "pong");`), env: { HEARD: heard } });
    await engine.ask(PING);
    const [pid = 0] = log.pids;
    process.kill(pid, "SIGSTOP");
    const text = "x".repeat(1024 * 1024);
    engine.note({ type: "long", text });
    const end = engine.stop();
    engine.note(PING);
    process.kill(pid, "SIGCONT");
    await end;
    assert.ok(readFileSync(heard, "utf8") === text);
  });

  test("stop ends an engine that does not leave by itself", async (t) => {
    const { engine, log } = engineFor(t, scripted(`${INTRODUCED} setInterval(() => {}, 1_000); say(question, "pong");`));
    await engine.ask(PING);
    await engine.stop();
    assert.ok(!alive(log.pids[0] ?? 0));
  });

  test("stop while the next start is being waited for", async (t) => {
    const { engine, log } = engineFor(t, { python: join(folder(), "python"), args: [] });
    engine.start();
    await until(() => log.warnings.length > 0, "a complaint");
    await engine.stop();
  });
});

describe("the process that holds an engine", () => {
  /**
   * Runs `body` in a process of its own, with `engine`, `say(text)`, `hang()` that makes the engine hang, and `done()`
   * that says what keeps the process.
   * @param {TestContext} t
   * @param {string} body
   */
  function holder(t, body) {
    const state = folder();
    const module = JSON.stringify(pathToFileURL(join(GATEWAY, "engine.mjs")).href);
    const command = JSON.stringify({ ...REAL, cwd: state, env: { ...process.env, HOME: state } });
    const script = `
      import { Engine } from ${module};
      import { writeSync } from "node:fs";
      let said = "";
      const say = (text) => {
        said += text;
        writeSync(1, text + "\\n");
      };
      const hang = () => process.kill(Number(/pid (\\d+)/.exec(said)[1]), "SIGSTOP");
      const done = () => say("kept by " + JSON.stringify(process.getActiveResourcesInfo()));
      const log = { debug: say, info: say, warn: say, error: say };
      const engine = new Engine(${command}, { stateDir: ${JSON.stringify(state)} }, log);
      ${body}`;
    const limited = ["-c", 'ulimit -n 100 && exec "$0" "$@"', process.execPath, "--input-type=module", "-e", script];
    const child = spawn("/bin/sh", limited, { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const seen = { output: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (seen.output += text));
    return { child, seen };
  }

  /** @type {[string, string][]} */
  const works = [
    ["a synchronous question", `engine.askNow({ type: 'ping' }, ${GENEROUS})`],
    ["an asynchronous question", `await engine.ask({ type: 'ping' }, ${GENEROUS})`],
    ["both kinds", `await engine.ask({ type: 'ping' }, ${GENEROUS}); engine.askNow({ type: 'ping' }, ${GENEROUS})`],
    ["a start", "engine.start()"],
    ["a note", "engine.start(); engine.note({ type: 'run-end', run: '1' })"],
    ["the end of an engine that hung", `await engine.ask({ type: 'ping' }, ${GENEROUS}); hang(); await engine.ask({ type: 'ping' }, 20)`],
  ];
  for (const [what, work] of works)
    test(`exits by itself right after ${what}`, async (t) => {
      const { child, seen } = holder(t, `${work}; done();`);
      const [code] = await once(child, "close");
      assert.equal(code, 0);
      assert.match(seen.output, /^kept by \[\]$/m);
      const pid = Number(/\(pid (\d+)\)/.exec(seen.output)?.[1] ?? 0);
      if (pid) await until(() => !alive(pid), "the end of the engine");
    });

  test("has no engine while no descriptor is left, and one afterwards", async (t) => {
    const { child, seen } = holder(t, `
      const { closeSync, openSync } = await import("node:fs");
      const open = [];
      try { for (;;) open.push(openSync("/dev/null")); } catch {}
      engine.start();
      engine.note({ type: "ping" });
      const answers = [engine.askNow({ type: "ping" }), await engine.ask({ type: "ping" })];
      for (const fd of open) closeSync(fd);
      const again = async () => (await engine.ask({ type: "ping" }))?.type ?? again();
      say(JSON.stringify([...answers, await again()]));`);
    const [code] = await once(child, "close");
    assert.equal(code, 0, seen.output);
    assert.match(seen.output, /^\[null,null,"pong"\]$/m);
    assert.match(seen.output, /EMFILE/);
  });

  test("takes its engine along when it is killed", async (t) => {
    const { child, seen } = holder(t, `await engine.ask({ type: 'ping' }, ${GENEROUS}); setInterval(() => {}, 1000);`);
    const pid = Number(await until(() => /\(pid (\d+)\)/.exec(seen.output)?.[1], "the engine's pid"));
    assert.ok(alive(pid));
    child.kill("SIGKILL");
    await until(() => !alive(pid), "the end of the engine");
  });
});
