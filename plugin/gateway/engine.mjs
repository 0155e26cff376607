// The engine as the hooks see it: ask (a promise), askNow (waits, at most `SYNC_LIMIT_MS`), note (no answer).
//
// `null` means that there is no answer: the engine is away, or took too long. Nothing here decides what that means.
// The worker starts on first need. It is unreferenced, so it never keeps a command-line run alive; only a question that
// is being waited for does.

import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

export const PROTOCOL = 1;
export const SYNC_LIMIT_MS = 250;
export const ASYNC_LIMIT_MS = 5_000;
const MAX_LINE = 8 * 1024 * 1024;
const MAX_CAUSES = 100;

/** @typedef {import("./engine-worker.mjs").Command} Command */
/** @typedef {Record<string, any>} Message */
/** @typedef {{ info(text: string): void, warn(text: string): void, error(text: string): void, debug?(text: string): void }} Logger */

export class Engine {
  #command;
  #hello;
  #logger;
  /** @type {Worker | null} */
  #worker = null;
  #signal = new Int32Array(new SharedArrayBuffer(4));
  /** @type {import("node:worker_threads").MessagePort | null} */
  #syncPort = null;
  #nextId = 1;
  /** @type {Map<number, (answer: Message | null) => void>} */
  #waiting = new Map();
  #disposed = false;
  /** @type {Set<string>} causes that were complained about since the engine was last ready */
  #complaints = new Set();
  /** @type {Promise<void> | null} */
  #stopping = null;
  /** @type {(() => void) | null} */
  #stopped = null;

  /**
   * @param {Command} command
   * @param {Message} hello what the engine is told first; `id`, `type` and `v` are added here
   * @param {Logger} logger
   */
  constructor(command, hello, logger) {
    this.#command = command;
    this.#hello = `${JSON.stringify({ id: 0, type: "hello", v: PROTOCOL, ...hello })}\n`;
    this.#logger = logger;
  }

  /** Starts the worker and the engine process, once. */
  start() {
    if (this.#worker || this.#disposed) return;
    const { port1, port2 } = new MessageChannel();
    this.#syncPort = port1;
    port1.unref();
    const workerData = { command: this.#command, hello: this.#hello, signal: this.#signal.buffer, syncPort: port2 };
    const worker = new Worker(new URL("./engine-worker.mjs", import.meta.url), {
      workerData, transferList: [port2], execArgv: [], name: "toolguard-engine",
    });
    worker.on("message", (message) => this.#receive(message));
    worker.on("error", (error) => this.#lost(worker, error.message));
    worker.on("exit", () => this.#lost(worker, ""));
    worker.unref(); // only now: a new listener would reference it again
    this.#worker = worker;
  }

  /**
   * @param {Message} message
   * @param {number} [limit] milliseconds
   * @returns {Promise<Message | null>}
   */
  ask(message, limit = ASYNC_LIMIT_MS) {
    const id = this.#send(message, false);
    if (id === null) return Promise.resolve(null);
    this.#worker?.ref();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(id, null), limit);
      timer.unref();
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
  }

  /**
   * Blocks this thread until the answer is there.
   * @param {Message} message
   * @param {number} [limit] milliseconds
   * @returns {Message | null}
   */
  askNow(message, limit = SYNC_LIMIT_MS) {
    const id = this.#send(message, true);
    const port = this.#syncPort;
    if (id === null || !port) return null;
    const deadline = performance.now() + limit;
    for (;;) {
      const seen = Atomics.load(this.#signal, 0);
      for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port))
        if (got.message.id === id) return this.#read(got.message.line);
      const left = deadline - performance.now();
      if (left <= 0) {
        this.#complain(`no answer to a synchronous question within ${limit} ms`);
        return null;
      }
      Atomics.wait(this.#signal, 0, seen, left);
    }
  }

  /** @param {Message} message */
  note(message) {
    const line = this.#worker && this.#line(message);
    if (line) this.#worker?.postMessage({ id: null, line, sync: false });
  }

  /** Ends the engine process and the worker; resolves when both are gone. */
  stop() {
    return (this.#stopping ??= this.#end());
  }

  async #end() {
    this.#disposed = true;
    const worker = this.#worker;
    if (!worker) return;
    const stopped = new Promise((resolve) => (this.#stopped = () => resolve(undefined)));
    worker.ref();
    worker.postMessage("stop");
    await stopped;
    await worker.terminate();
  }

  /**
   * @param {Message} message
   * @param {boolean} sync
   */
  #send(message, sync) {
    this.start();
    if (!this.#worker) return null;
    const id = this.#nextId++;
    const line = this.#line({ id, ...message });
    if (!line) return null;
    this.#worker.postMessage({ id, line, sync });
    return id;
  }

  /**
   * @param {Message} message
   * @returns {string} empty where it cannot be sent
   */
  #line(message) {
    try {
      const line = `${JSON.stringify(message)}\n`;
      if (line.length <= MAX_LINE) return line;
      this.#complain(`a message of ${line.length} characters is too long`);
    } catch (error) {
      this.#complain(`a message cannot be written as JSON: ${/** @type {Error} */ (error).message.split("\n")[0]}`);
    }
    return "";
  }

  /** @param {any} message */
  #receive(message) {
    if (message.id !== undefined) return this.#settle(message.id, this.#read(message.line));
    if (message.ready) this.#introduced(JSON.parse(message.ready));
    else if (message.refused) this.#complain(JSON.parse(message.refused).error ?? "the engine refused to start");
    else if (message.log) this.#log(JSON.parse(message.log));
    else if (message.stderr) this.#complain(`engine: ${explained(message.stderr)}`);
    else if (message.down) this.#complain(`the engine ended (${message.down}); next start in ${message.delay} ms`);
    else if (message.stopped) this.#stopped?.();
  }

  /** @param {{ pid: number, version: string, configError: string }} ready */
  #introduced(ready) {
    this.#complaints.clear();
    this.#logger.debug?.(`[toolguard] engine ${ready.version} is ready (pid ${ready.pid})`);
    if (ready.configError) this.#logger.error(`[toolguard] ${ready.configError}; default settings are in force`);
  }

  /**
   * @param {number} id
   * @param {Message | null} answer
   */
  #settle(id, answer) {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    resolve?.(answer);
  }

  /** @param {string | null} line */
  #read(line) {
    if (line === null) return null;
    const answer = JSON.parse(line);
    if (answer.type !== "error") return answer;
    this.#complain(`the engine could not answer: ${answer.error}`);
    return null;
  }

  /**
   * @param {Worker} worker
   * @param {string} reason
   */
  #lost(worker, reason) {
    if (this.#worker !== worker) return; // its `exit` after its `error`: the next one may be at work already
    this.#worker = null;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
    this.#stopped?.();
    if (reason) this.#complain(`the engine's thread failed: ${reason}`);
  }

  /** @param {{ level: "debug" | "info" | "warn" | "error", text: string }} log */
  #log(log) {
    this.#logger[log.level]?.(`[toolguard] ${log.text}`);
  }

  /**
   * Once per cause: an engine that cannot start must not fill the gateway's log.
   * @param {string} text
   */
  #complain(text) {
    const cause = text.replace(/\d+/g, "#");
    if (this.#complaints.has(cause) || this.#disposed) return;
    if (this.#complaints.size >= MAX_CAUSES) this.#complaints.clear();
    this.#complaints.add(cause);
    this.#logger.warn(`[toolguard] ${text}`);
  }
}

/** @param {string} text */
function explained(text) {
  return /No module named '?(toolguard_engine|toolguard_manifests|msgspec)/.test(text)
    ? `${text} - this Python does not have toolguard; run \`toolguard install\` again`
    : text;
}
