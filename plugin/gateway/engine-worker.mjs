// The thread that owns the engine process: starts it, passes lines in both directions, starts it again when it dies.
//
// It lives beside the gateway's own thread so that a synchronous hook can wait for an answer (`engine.mjs`). Answers to
// waiting hooks go through `syncPort` and wake the waiter; all others go to the parent port.

import { spawn } from "node:child_process";
import { parentPort, workerData } from "node:worker_threads";

/** @typedef {{ python: string, args: string[], cwd: string, env: NodeJS.ProcessEnv }} Command */
/** @typedef {{ command: Command, hello: string, signal: SharedArrayBuffer, syncPort: import("node:worker_threads").MessagePort }} Setup */
/** @typedef {{ id: number | null, line: string, sync: boolean }} Outgoing */

const QUICK_DEATH_MS = 5_000;
const FIRST_DELAY_MS = 20;
const LAST_DELAY_MS = 10_000;
/** While the next start is further away than this, questions are refused at once instead of being kept. */
const WORTH_WAITING_MS = 500;
const STOP_LIMIT_MS = 1_000;
const MAX_LINE = 8 * 1024 * 1024;

const { command, hello, signal, syncPort } = /** @type {Setup} */ (workerData);
const parent = /** @type {import("node:worker_threads").MessagePort} */ (parentPort);
const wake = new Int32Array(signal);

/** @type {import("node:child_process").ChildProcess | null} */
let child = null;
let ready = false;
let refused = false;
let stopping = false;
let delay = FIRST_DELAY_MS;
/** @type {NodeJS.Timeout | null} */
let restart = null;
/** Questions that wait for an answer: id to "somebody waits synchronously". @type {Map<number, boolean>} */
const open = new Map();
/** Lines that wait for the engine to be ready. @type {Outgoing[]} */
let queue = [];

function start() {
  restart = null;
  refused = false;
  const started = performance.now();
  const process = spawned();
  if (process instanceof Error) return gone(null, started, process.message);
  child = process;
  process.on("error", (error) => gone(process, started, error.message));
  process.on("exit", (code, name) => gone(process, started, name ? `signal ${name}` : `exit code ${code}`));
  if (process.pid === undefined) return; // `error` follows; there may be no pipes
  process.stdin.on("error", () => {}); // a dying engine closes its pipe; `exit` reports it
  eachLine(process.stdout, receive);
  eachLine(process.stderr, (text) => parent.postMessage({ stderr: text }));
  process.stdin.write(hello);
}

/** Most faults come as an event, some are thrown: a path that leads through a file, no memory. */
function spawned() {
  try {
    return spawn(command.python, command.args, { cwd: command.cwd, env: command.env, stdio: "pipe" });
  } catch (error) {
    return /** @type {Error} */ (error);
  }
}

/**
 * @param {import("node:child_process").ChildProcess | null} process
 * @param {number} started
 * @param {string} reason
 */
function gone(process, started, reason) {
  if (child !== process) return;
  child = null;
  ready = false;
  for (const [id, sync] of open) deliver(id, sync, null);
  open.clear();
  if (stopping) return finish();
  delay = performance.now() - started > QUICK_DEATH_MS ? FIRST_DELAY_MS : Math.min(delay * 2, LAST_DELAY_MS);
  restart = setTimeout(start, delay);
  if (delay > WORTH_WAITING_MS) refuseQueue();
  parent.postMessage({ down: reason, delay });
}

function refuseQueue() {
  for (const { id, sync } of queue) if (id !== null) deliver(id, sync, null);
  queue = [];
}

/** @param {string} line */
function receive(line) {
  const match = /^\{"type":"([a-z-]+)"(?:,"id":(\d+))?/.exec(line);
  if (!match) return void parent.postMessage({ stderr: `unreadable answer: ${line.slice(0, 200)}` });
  if (match[1] === "log") return void parent.postMessage({ log: line });
  const id = Number(match[2] ?? -1);
  if (id === 0) return introduced(match[1] === "ready", line);
  const sync = open.get(id);
  if (sync === undefined) return;
  open.delete(id);
  deliver(id, sync, line);
}

/**
 * The answer to `hello`, which always has id 0.
 * @param {boolean} accepted
 * @param {string} line
 */
function introduced(accepted, line) {
  parent.postMessage(accepted ? { ready: line } : { refused: line });
  refused = !accepted;
  if (refused) return refuseQueue();
  ready = true;
  const waiting = queue;
  queue = [];
  for (const outgoing of waiting) send(outgoing);
}

/**
 * @param {number} id
 * @param {boolean} sync
 * @param {string | null} line
 */
function deliver(id, sync, line) {
  if (!sync) return void parent.postMessage({ id, line });
  syncPort.postMessage({ id, line });
  Atomics.add(wake, 0, 1);
  Atomics.notify(wake, 0);
}

/** @param {Outgoing} outgoing */
function send(outgoing) {
  if (!ready || !child?.stdin) {
    const far = refused || (restart !== null && delay > WORTH_WAITING_MS);
    if (!far) queue.push(outgoing);
    else if (outgoing.id !== null) deliver(outgoing.id, outgoing.sync, null);
    return;
  }
  if (outgoing.id !== null) open.set(outgoing.id, outgoing.sync);
  child.stdin.write(outgoing.line);
}

function stop() {
  stopping = true;
  if (restart) clearTimeout(restart);
  if (!child) return finish();
  const process = child;
  process.stdin?.end();
  setTimeout(() => process.kill("SIGKILL"), STOP_LIMIT_MS).unref();
}

function finish() {
  refuseQueue();
  parent.postMessage({ stopped: true });
  parent.close();
}

/**
 * @param {import("node:stream").Readable} stream
 * @param {(line: string) => void} take
 */
function eachLine(stream, take) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (/** @type {string} */ text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE) rest = "";
    for (const line of lines) if (line) take(line);
  });
}

parent.on("message", (/** @type {Outgoing | "stop"} */ message) => (message === "stop" ? stop() : send(message)));
start();
