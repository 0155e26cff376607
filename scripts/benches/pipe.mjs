// From a gateway event to the verdict back in the gateway, beside a bare Node-to-Python pipe measured in the same run.
// Prints one JSON object: rows of {name, p50, p99} in milliseconds, and what the engine costs.
//   node scripts/benches/pipe.mjs PYTHON STATE_DIR [ROUNDS]

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

import { Engine } from "../../plugin/gateway/engine.mjs";
import { Hooks } from "../../plugin/gateway/hooks.mjs";
import { Runs } from "../../plugin/gateway/runs.mjs";
import { Seams, Trace } from "../../plugin/gateway/seams.mjs";

const [python, stateDir, given] = process.argv.slice(2);
const ROUNDS = Number(given ?? 5_000);
const WARM_UP = 500;
const PADDING = "x".repeat(200); // a line of about 300 bytes
const ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n";
let enginePid = 0;
const LOGGER = {
  info() {},
  warn() {}, // the deaths that are measured here are no news
  error: console.error,
  debug: (text) => (enginePid = Number(/\(pid (\d+)\)/.exec(text)?.[1] ?? enginePid)),
};

/**
 * Times `once` in milliseconds, one round after another. `before` is not timed: it waits until the engine has done what it
 * does after an answer (the log), as it has between two refused calls of a model.
 */
async function measure(name, once, before = async () => {}) {
  const times = [];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    await before();
    const start = performance.now();
    await once(round);
    if (round >= 0) times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (share) => Number(times[Math.floor(times.length * share)].toFixed(4));
  return { name, p50: at(0.5), p99: at(0.99) };
}

async function bareEcho() {
  const child = spawn(python, ["-c", ECHO], { stdio: ["pipe", "pipe", "inherit"] });
  let answered = () => {};
  child.stdout.setEncoding("utf8").on("data", () => answered());
  const line = `${JSON.stringify({ id: 1, type: "judge", tool: "read", params: { path: PADDING } })}\n`;
  const row = await measure("bare pipe echo", () => {
    const answer = new Promise((resolve) => (answered = resolve));
    child.stdin.write(line);
    return answer;
  });
  child.stdin.end();
  return row;
}

function makeEngine() {
  const command = { python, args: ["-P", "-E", "-m", "toolguard_engine"], cwd: stateDir, env: process.env };
  return new Engine(command, { stateDir, config: { maxFailuresPerTurn: 100, maxIdenticalFailures: 100 } }, LOGGER);
}

async function startUp() {
  const times = [];
  for (let round = 0; round < 10; round++) {
    const engine = makeEngine();
    const start = performance.now();
    await engine.ask({ type: "ping" });
    times.push(performance.now() - start);
    await engine.stop();
  }
  return Number(times.sort((a, b) => a - b)[5].toFixed(1));
}

/** The longest of five: killed, until it answers again. */
async function comeBack() {
  const times = [];
  for (let round = 0; round < 5; round++) {
    const engine = makeEngine();
    await engine.ask({ type: "ping" });
    process.kill(enginePid, "SIGKILL");
    const start = performance.now();
    while (!(await engine.ask({ type: "ping" }, 2_000)));
    times.push(performance.now() - start);
    await engine.stop();
  }
  return Number(Math.max(...times).toFixed(1));
}

const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

const REFUSAL = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}';

const echo = await bareEcho();
const ready = await startUp();
const engine = makeEngine();
const seams = new Seams(() => {});
const hooks = new Hooks(engine, {}, new Runs(), seams, new Trace(seams));
const ctx = { agentId: "main", sessionKey: "agent:main:main" };
const asked = await measure("valid call, asynchronous", (round) =>
  hooks.beforeToolCall({ toolName: "read", params: { path: PADDING, round }, runId: "run", toolCallId: `a${round}` }, ctx));
let refused = 0;
const waited = await measure("refused call, synchronous", (round) => {
  const run = `run-${Math.floor(round / 50)}`; // a new run now and then, or the limit would be reached
  hooks.modelCallStarted({ runId: run, sessionKey: ctx.sessionKey }, ctx);
  const message = { role: "toolResult", toolCallId: `s${round}`, isError: true, content: [{ type: "text", text: REFUSAL }] };
  hooks.afterToolCall({ toolName: "read", params: {}, runId: run, toolCallId: `s${round}`, error: "x" }, ctx);
  hooks.resultWritten({ message, toolCallId: `s${round}` }, ctx);
  refused += message.content[0].text.startsWith("[");
}, () => engine.ask({ type: "ping" }));
if (refused < ROUNDS) throw new Error(`only ${refused} refusals were corrected`);
const memory = Number(rss(enginePid).toFixed(1));
await engine.stop();
const back = await comeBack();
console.log(JSON.stringify({ rows: [echo, asked, waited], readyMs: ready, memoryMb: memory, restartMs: back }));
