import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Engine } from "../../plugin/gateway/engine.mjs";
import { alive, folder, GATEWAY, Log, PYTHON, refusal, until } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

const PING = { type: "ping" };
const REAL = { python: PYTHON, args: ["-P", "-E", "-m", "toolguard_engine"] };

/**
 * An engine that stops with the test.
 * @param {TestContext} t
 * @param {{ python: string, args: string[], env?: NodeJS.ProcessEnv }} [command]
 * @param {Record<string, any>} [config]
 */
function engineFor(t, command = REAL, config = {}) {
  const log = new Log();
  const state = folder(t);
  const env = { ...process.env, HOME: state, ...command.env };
  const engine = new Engine({ ...command, cwd: state, env }, { stateDir: state, config, gateway: "test" }, log);
  t.after(() => engine.stop());
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

/** @param {string} tool */
function failed(tool) {
  return { type: "failed", tool, params: {}, text: refusal(tool), run: `run of ${tool}` };
}

/**
 * @template T
 * @param {() => T} act
 * @returns {[T, number]} the result, and how many milliseconds it took
 */
function timed(act) {
  const start = performance.now();
  const result = act();
  return [result, performance.now() - start];
}

/** @param {string[]} complaints */
function eachOnce(complaints) {
  const causes = complaints.map((text) => text.replace(/\d+/g, "#"));
  assert.deepEqual(causes, [...new Set(causes)]);
}

describe("questions", () => {
  test("a synchronous question starts the engine and waits for it", (t) => {
    const { engine } = engineFor(t);
    const answer = engine.askNow(failed("read"), 5_000);
    assert.equal(answer?.type, "corrected");
    assert.match(answer?.text, /^\[TOOL ERROR\] read\(\) requires 'path'/);
  });

  test("an asynchronous question starts the engine and waits for it", async (t) => {
    const { engine } = engineFor(t);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("a note has no answer, and what it says is known to the next question", (t) => {
    const { engine } = engineFor(t);
    const askNow = () => engine.askNow(failed("read"), 5_000)?.text.slice(0, 15);
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

  test("a question that the engine cannot read is answered with null, the next one as always", async (t) => {
    const { engine, log } = engineFor(t);
    assert.equal(await engine.ask({ type: "no-such-question" }), null);
    assert.match(log.warnings[0] ?? "", /could not answer/);
    assert.equal(engine.askNow(PING, 5_000)?.type, "pong");
  });

  test("a question that is too long is refused with a complaint", async (t) => {
    const { engine, log } = engineFor(t);
    const long = { type: "judge", tool: "write", params: { content: "x".repeat(9 * 1024 * 1024) } };
    assert.equal(engine.askNow(long), null);
    assert.equal(await engine.ask(long), null);
    assert.equal(log.warnings.length, 1);
    assert.match(log.warnings[0] ?? "", /is too long/);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("a question that is too long only in bytes is refused by the engine", async (t) => {
    const { engine, log } = engineFor(t);
    assert.equal(await engine.ask({ type: "judge", tool: "write", params: "é".repeat(5 * 1024 * 1024) }), null);
    assert.match(log.warnings[0] ?? "", /a line of more than/);
    assert.equal((await engine.ask(PING))?.type, "pong");
  });

  test("a question that cannot be written as JSON is answered with null", async (t) => {
    const { engine, log } = engineFor(t);
    const cyclic = { type: "judge", tool: "write", params: /** @type {any} */ ({}) };
    cyclic.params.self = cyclic.params;
    assert.equal(engine.askNow(cyclic), null);
    assert.equal(await engine.ask(cyclic), null);
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
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.equal(engine.askNow(PING, 5_000)?.type, "pong");
    assert.notEqual(log.pids[1], first);
    assert.deepEqual(log.warnings, ["[toolguard] the engine ended (signal SIGKILL); next start in 40 ms"]);
  });

  test("a synchronous question that is open gets null before its time is over", async (t) => {
    const mortal = `${INTRODUCED} if (question.type === "die") process.exit(3); say(question, "pong");`;
    const { engine } = engineFor(t, scripted(mortal));
    await engine.ask(PING);
    const [answer, ms] = timed(() => engine.askNow({ type: "die" }, 8_000));
    assert.equal(answer, null);
    assert.ok(ms < 4_000, `${ms} ms`);
    assert.equal(engine.askNow(PING, 8_000)?.type, "pong");
  });

  test("five deaths in a row, and it still comes back", async (t) => {
    const { engine, log } = engineFor(t);
    engine.start();
    for (let death = 1; death <= 5; death++) {
      process.kill(await until(() => log.pids[death - 1]), "SIGKILL");
    }
    assert.equal((await until(() => engine.ask(PING))).type, "pong");
    assert.equal(new Set(log.pids).size, 6);
    assert.equal(engine.askNow(PING, 5_000)?.type, "pong");
  });
});

describe("a thread that fails", () => {
  test("the next question makes a new one, which the end of the old one does not disturb", async (t) => {
    /** @type {import("node:worker_threads").Worker[]} */
    const workers = [];
    const remember = (/** @type {import("node:worker_threads").Worker} */ worker) => void workers.push(worker);
    process.on("worker", remember);
    t.after(() => process.off("worker", remember));
    const { engine, log } = engineFor(t);
    await engine.ask(PING);
    const open = engine.ask(PING);
    workers[0]?.emit("error", new Error("out of memory"));
    assert.equal(await open, null);
    const next = engine.ask(PING);
    await workers[0]?.terminate();
    assert.equal((await next)?.type, "pong");
    assert.equal(workers.length, 2);
    assert.deepEqual(log.warnings, ["[toolguard] the engine's thread failed: out of memory"]);
    await until(() => !alive(log.pids[0] ?? 0), "the end of the first engine");
  });
});

describe("an engine that cannot start", () => {
  /** @type {[string, (state: string) => string][]} */
  const interpreters = [
    ["does not exist", (state) => join(state, "no", "python")],
    ["lies below a file", (state) => join(state, "file", "python")],
    ["may not be executed", (state) => join(state, "file")],
    ["is empty text", () => ""],
  ];
  for (const [what, python] of interpreters)
    test(`a Python that ${what}: null, and one complaint for each cause`, async (t) => {
      const place = folder(t);
      writeFileSync(join(place, "file"), "", { mode: 0o600 });
      const { engine, log } = engineFor(t, { python: python(place), args: [] });
      assert.equal(engine.askNow(PING), null);
      assert.equal(await engine.ask(PING), null);
      // Once it is clear that this will take long, nobody has to wait any more.
      await until(() => timed(() => assert.equal(engine.askNow(PING, 1_000), null))[1] < 500, "an immediate refusal");
      assert.ok(log.warnings.some((text) => text.includes("the engine ended (")), log.warnings.join("\n"));
      eachOnce(log.warnings);
      assert.equal(await engine.ask(PING), null);
    });

  test("a Python without toolguard: each line of its complaint once, with the mend", async (t) => {
    const starts = join(folder(t), "starts");
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
    assert.equal(log.warnings.filter((text) => text.includes("run `toolguard install` again")).length, 1);
  });

  test("an engine that refuses the introduction: questions are refused at once", async (t) => {
    const { engine, log } = engineFor(t, scripted('say(question, "error", { error: "speaks protocol 99" });'));
    assert.equal(await engine.ask(PING), null);
    const [answer, ms] = timed(() => engine.askNow(PING, 8_000));
    assert.equal(answer, null);
    assert.ok(ms < 4_000, `${ms} ms`);
    assert.equal(await engine.ask(PING, 60_000), null);
    assert.deepEqual(log.warnings, ["[toolguard] speaks protocol 99"]);
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
    const [answer, ms] = timed(() => engine.askNow({ type: "hold", number: 1 }, 60));
    assert.equal(answer, null);
    assert.ok(ms >= 59 && ms < 2_000, `${ms} ms`);
    assert.equal(engine.askNow({ type: "next", number: 2 }, 5_000)?.number, 2);
    assert.equal(engine.askNow({ type: "next", number: 3 }, 5_000)?.number, 3);
    assert.deepEqual(log.warnings, ["[toolguard] no answer to a synchronous question within 60 ms"]);
  });

  test("an asynchronous question ends at its limit; the late answer confuses nobody", async (t) => {
    const { engine } = engineFor(t, SLOW);
    const busy = setInterval(() => {}, 1_000); // the limit alone does not keep a process alive
    t.after(() => clearInterval(busy));
    await engine.ask({ type: "next" });
    assert.equal(await engine.ask({ type: "hold", number: 1 }, 20), null);
    assert.equal((await engine.ask({ type: "next", number: 2 }))?.number, 2);
    assert.equal(engine.askNow({ type: "next", number: 3 }, 5_000)?.number, 3);
  });

  test("output that is no answer is reported and skipped", async (t) => {
    const { engine, log } = engineFor(t, scripted(`${INTRODUCED} process.stdout.write("hello?\\n"); say(question, "pong");`));
    assert.equal((await engine.ask(PING))?.type, "pong");
    assert.match(log.warnings[0] ?? "", /unreadable answer: hello\?/);
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

  test("stop answers what is open with null", async (t) => {
    const { engine, log } = engineFor(t, scripted(`${INTRODUCED} if (question.type === "ping") say(question, "pong");`));
    await engine.ask(PING);
    const open = engine.ask({ type: "never" }, 60_000);
    await engine.stop();
    assert.equal(await open, null);
    assert.ok(!alive(log.pids[0] ?? 0));
  });

  test("stop ends an engine that does not leave by itself", async (t) => {
    const { engine, log } = engineFor(t, scripted(`${INTRODUCED} setInterval(() => {}, 1_000); say(question, "pong");`));
    await engine.ask(PING);
    await engine.stop();
    assert.ok(!alive(log.pids[0] ?? 0));
  });

  test("stop while the next start is being waited for", async (t) => {
    const { engine, log } = engineFor(t, { python: join(folder(t), "python"), args: [] });
    engine.start();
    await until(() => log.warnings.length > 0, "a complaint");
    await engine.stop();
  });
});

describe("the process that holds an engine", () => {
  /**
   * Runs `body` in a process of its own, with `engine` and `say(text)`.
   * @param {TestContext} t
   * @param {string} body
   */
  function holder(t, body) {
    const state = folder(t);
    const module = JSON.stringify(pathToFileURL(join(GATEWAY, "engine.mjs")).href);
    const command = JSON.stringify({ ...REAL, cwd: state, env: { ...process.env, HOME: state } });
    const script = `
      import { Engine } from ${module};
      import { writeSync } from "node:fs";
      const say = (text) => writeSync(1, text + "\\n");
      const log = { debug: say, info: say, warn: say, error: say };
      const engine = new Engine(${command}, { stateDir: ${JSON.stringify(state)} }, log);
      ${body}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const seen = { output: "", doneAt: 0 };
    child.stdout.setEncoding("utf8").on("data", (text) => {
      seen.output += text;
      if (seen.output.includes("done")) seen.doneAt ||= performance.now();
    });
    return { child, seen };
  }

  /** @type {[string, string][]} */
  const works = [
    ["a synchronous question", "engine.askNow({ type: 'ping' }, 5000)"],
    ["an asynchronous question", "await engine.ask({ type: 'ping' })"],
    ["both kinds", "await engine.ask({ type: 'ping' }); engine.askNow({ type: 'ping' }, 5000)"],
  ];
  for (const [what, work] of works)
    test(`exits by itself right after ${what}`, async (t) => {
      const { child, seen } = holder(t, `${work}; say("done");`);
      const [code] = await once(child, "exit");
      assert.equal(code, 0);
      assert.ok(seen.doneAt > 0, seen.output);
      assert.ok(performance.now() - seen.doneAt < 2_000, `${performance.now() - seen.doneAt} ms`);
    });

  test("a start alone keeps nothing alive", async (t) => {
    const { child } = holder(t, 'engine.start(); say("done");');
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
  });

  test("takes its engine along when it is killed", async (t) => {
    const { child, seen } = holder(t, "await engine.ask({ type: 'ping' }); setInterval(() => {}, 1000);");
    const pid = Number(await until(() => /\(pid (\d+)\)/.exec(seen.output)?.[1], "the engine's pid"));
    assert.ok(alive(pid));
    child.kill("SIGKILL");
    await until(() => !alive(pid), "the end of the engine");
  });
});
