// The engine process, for the hooks: `ask` (a promise), `askNow` (blocks, at most `SYNC_LIMIT_MS`), `note` (no answer).
//
// An answer of null means silence: the engine does not run or took too long. An answer of the type `error` is not silence: the
// engine could not take this question, or it could not be sent (`isError`). Nor is it silence while the engine says `working`:
// a question waits on, and after `WORKING_LIMIT_MS` its answer is such an error, also while the engine starts. An engine that
// answers its introduction with an error cannot judge; every question then gets that error until another start succeeds. It is
// retried when the gateway's config has changed, else at most every `RETRY_MS` while questions arrive.
//
// The process starts on first use and is restarted when it dies. Process and pipes are unreferenced, so that they never keep
// a command-line run alive; only a pending question does.

import { spawn } from "node:child_process";

import { Complaints } from "./complaints.mjs";
import { answeredBy, explained, gone, isMissing, parsed, refused, unsent } from "./engine_lines.mjs";
import { exchange, Lines } from "./pipe.mjs";
import { FIRST_DELAY_MS, RestartDelays } from "./restart_delays.mjs";
import { StartWatch } from "./start_watch.mjs";

export const PROTOCOL = 1;
export const SYNC_LIMIT_MS = 250;
export const ASYNC_LIMIT_MS = 5_000;
const MAX_LINE = 8 * 1024 * 1024;
/** How long a refused introduction counts while the gateway's config is unchanged. */
export const RETRY_MS = 30_000;
const LONGEST_REFUSAL = 1_000;

/** If the next start is further away than this, questions get no answer instead of waiting for it. */
const WORTH_WAITING_MS = 500;
/** How long an asynchronous question is polled before the event loop takes over, and the longest line for that. */
const LOOK_MS = 0.15;
const LOOK_MAX_LINE = 32_768;
/** An engine that waits for locks takes up to 3.5 s to write its last rows; the gateway waits 5 s for a plugin. */
const STOP_LIMIT_MS = 4_000;
/** While this many synchronous questions are unanswered, no other one is waited for: the gateway's loop would stand still. */
const MAX_UNANSWERED = 2;
const MAX_KEPT_UNANSWERED = 1_000;
/** An engine that says nothing for so long after an unanswered synchronous question counts as hung. */
const HUNG_MS = 2_000;
/** A question waits for an engine that works until shortly before the gateway blocks the call (15 s for each hook). */
const WORKING_LIMIT_MS = 12_000;
/** Between two looks whether such an engine still speaks. */
const WORKING_LOOK_MS = 1_000;

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {Record<string, any>} Message */
/** @typedef {(text: string) => void} Write */
/** @typedef {{ info: Write, warn: Write, error: Write, debug?: Write }} Logger */
/** @typedef {import("node:child_process").ChildProcessWithoutNullStreams} Child */

export class Engine {
  #command;
  #hello;
  #logger;
  #onReady;
  #onEvent;
  /** @type {Child | null} */
  #child = null;
  /** @type {Lines | null} */
  #lines = null;
  /** @type {NodeJS.Timeout | null} */
  #restart = null;
  #restartAt = 0;
  #delays = new RestartDelays();
  /** Why the last engine refused its introduction; empty once one accepted it. */
  #refusal = "";
  #refusedAt = 0;
  /** The stamp of the gateway's config when the last introduction was sent. */
  #introducedWith = "";
  /** Whether an engine is starting although the last one refused. */
  #retrying = false;
  #configStamp;
  #retryMs;
  #ready = false;
  #nextId = 1;
  /** @type {Map<number, (answer: Message | null) => void>} */
  #waiting = new Map();
  /** @type {Set<number>} synchronous questions that the engine has not answered yet */
  #unanswered = new Set();
  /** When the engine last said anything, and when anything but that it works. */
  #spokeAt = 0;
  #answeredAt = 0;
  /** @type {NodeJS.Timeout | null} */
  #suspicion = null;
  /** Whether the engine was ended although it said that it works: its open questions are left to no fail mode. */
  #endedBusy = false;
  #disposed = false;
  #starts;
  #complaints;
  /** @type {Promise<void> | null} */
  #stopping = null;

  /**
   * @param {Command} command
   * @param {Message} hello the introduction; `id`, `type` and `v` are added here
   * @param {Logger} logger
   * @param {(answer: Message) => void} [onReady] called after each start, when the engine has accepted the introduction
   * @param {(message: Message) => void} [onEvent] called for messages that answer no question
   * @param {{ configStamp?: () => string, retryMs?: number, starts?: StartWatch }} [retry] `configStamp`: differs when the
   *   gateway's config does
   */
  constructor(command, hello, logger, onReady = () => {}, onEvent = () => {}, { configStamp = () => "", retryMs = RETRY_MS, starts = new StartWatch() } = {}) {
    this.#command = command;
    this.#hello = `${JSON.stringify({ id: 0, type: "hello", v: PROTOCOL, ...hello })}\n`;
    this.#logger = logger;
    this.#complaints = new Complaints(logger, () => this.#disposed);
    this.#onReady = onReady;
    this.#onEvent = onEvent;
    this.#configStamp = configStamp;
    this.#retryMs = retryMs;
    this.#starts = starts;
  }

  /** Starts the process, unless it runs or has to wait after repeated deaths. */
  start() {
    if (this.#child || this.#disposed || this.#isRefused() || performance.now() < this.#restartAt) return;
    if (this.#restart) clearTimeout(this.#restart);
    this.#restart = null;
    this.#introducedWith = this.#configStamp();
    const { python, args, cwd, env } = this.#command;
    /** @type {Child} */
    let child;
    try {
      child = spawn(python, args, { cwd, env, stdio: "pipe" });
    } catch (error) {
      return this.#died(error instanceof Error ? error.message : String(error));
    }
    if (child.pid === undefined) {
      this.#restartAt = performance.now() + FIRST_DELAY_MS;
      return void child.once("error", (error) => this.#died(error.message)); // there may be no pipes, and there is no `exit`
    }
    this.#child = child;
    this.#ready = false;
    this.#spokeAt = 0;
    this.#lines = new Lines(MAX_LINE, (line) => this.#receive(line));
    const complaints = new Lines(MAX_LINE, (line) => this.#complaints.add(`engine: ${explained(line)}`));
    child.stdin.on("error", () => {}); // a dying engine closes its pipe; `exit` reports it
    child.stdout.on("data", (data) => this.#child === child && this.#lines?.feed(data));
    this.#starts.begin(() => this.#spokeAt, (seconds) => this.#hungAtStart(child, seconds));
    child.stderr.on("data", (data) => complaints.feed(data));
    child.on("error", (error) => this.#complaints.add(`engine: ${error.message}`));
    child.on("exit", (code, signal) => this.#gone(child, signal ? `signal ${signal}` : `exit code ${code}`));
    this.#unreference(child);
    child.stdin.write(this.#hello);
  }

  /**
   * @param {Message} message
   * @param {number} [limit] milliseconds
   * @returns {Promise<Message | null>}
   */
  ask(message, limit = ASYNC_LIMIT_MS) {
    const id = this.#nextId++;
    const line = this.#line({ id, ...message });
    if (!line) return Promise.resolve(unsent(id));
    this.#retry();
    if (this.#isRefused() || this.#isFarAway()) return Promise.resolve(this.#noAnswer(id));
    const quick = this.#askBriefly(id, line);
    if (quick.answer) return Promise.resolve(quick.answer.message);
    return new Promise((resolve) => {
      // This timer keeps the process alive while the answer is pending. After a long block of the event loop, timers run
      // before I/O: `setImmediate` lets the pipe be read first.
      const asked = performance.now();
      /** @type {NodeJS.Timeout} */
      let timer;
      const look = (/** @type {number} */ since) => setImmediate(() => this.#overdue(id, asked, since, wait));
      const wait = (/** @type {number} */ delay) => void (timer = setTimeout(look, delay, performance.now()));
      wait(limit);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      if (!quick.sent) this.#write(id, line);
    });
  }

  /**
   * Most answers arrive before the event loop could be woken up for them, so the pipe is polled first.
   * @param {number} id
   * @param {string} line
   * @returns {{ sent: boolean, answer: { message: Message | null } | null }}
   */
  #askBriefly(id, line) {
    if (!this.#child || !this.#ready || line.length > LOOK_MAX_LINE) return { sent: false, answer: null };
    /** @type {{ message: Message | null } | null} */
    let answer = null;
    this.#waiting.set(id, (got) => (answer = { message: got }));
    const outcome = exchange(this.#child, this.#lines, line, () => answer !== null, LOOK_MS);
    this.#waiting.delete(id);
    return { sent: outcome === "answered" || outcome === "late", answer };
  }

  /**
   * Blocks this thread until the answer arrives.
   * @param {Message} message
   * @param {number} [limit] milliseconds
   * @returns {Message | null}
   */
  askNow(message, limit = SYNC_LIMIT_MS) {
    const id = this.#nextId++;
    const line = this.#line({ id, ...message });
    if (!line) return unsent(id);
    this.#retry();
    this.start();
    const child = this.#child;
    if (!child || this.#disposed) return this.#noAnswer(id);
    if (this.#unanswered.size >= MAX_UNANSWERED) return this.#tell(child, id, line);
    /** @type {{ message: Message | null } | null} */
    let answer = null;
    this.#waiting.set(id, (got) => (answer = { message: got }));
    const outcome = exchange(child, this.#lines, line, () => answer !== null, limit);
    this.#waiting.delete(id);
    if (outcome !== "answered") this.#unansweredNow(id, outcome, limit);
    return /** @type {{ message: Message | null } | null} */ (answer)?.message ?? this.#noAnswer(id);
  }

  /**
   * A synchronous question that is not waited for. The engine gets it all the same: it counts what happens.
   * @param {Child} child
   * @param {number} id
   * @param {string} line
   */
  #tell(child, id, line) {
    if (this.#unanswered.size < MAX_KEPT_UNANSWERED) {
      this.#unanswered.add(id);
      child.stdin.write(line);
    }
    return this.#noAnswer(id);
  }

  /** @param {Message} message */
  note(message) {
    if (!this.#child || this.#disposed) return;
    const line = this.#line(message);
    if (line) this.#child.stdin.write(line);
  }

  /** Ends the process for good; resolves when it is gone. */
  stop() {
    return (this.#stopping ??= this.#end());
  }

  async #end() {
    this.#disposed = true;
    this.#starts.close();
    if (this.#restart) clearTimeout(this.#restart);
    const child = this.#child;
    if (!child) return;
    await new Promise((resolve) => {
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
      child.once("exit", () => {
        clearTimeout(timer);
        resolve(undefined);
      });
      child.ref();
      child.stdin.end();
    });
  }

  /** @param {Child} child */
  #unreference(child) {
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) /** @type {any} */ (stream).unref?.();
  }

  #isFarAway() {
    this.start();
    if (this.#disposed) return true;
    return !this.#child && this.#restartAt - performance.now() > WORTH_WAITING_MS;
  }

  /**
   * Writes a question, now or when the engine runs again.
   * @param {number} id
   * @param {string} line
   */
  #write(id, line) {
    if (this.#child) return void this.#child.stdin.write(line);
    const again = () => {
      this.start();
      if (this.#child) this.#child.stdin.write(line);
      else this.#settle(id, null);
    };
    setTimeout(again, Math.ceil(Math.max(0, this.#restartAt - performance.now())) + 1); // timers drop fractions
  }

  /**
   * @param {number} id
   * @param {string} outcome
   * @param {number} limit
   */
  #unansweredNow(id, outcome, limit) {
    this.#complaints.add(`no answer to a synchronous question within ${limit} ms (${outcome})`);
    if (outcome === "blind" || outcome === "busy" || outcome === "closed") return; // not asked at all, or it has ended
    this.#unanswered.add(id);
    this.#suspicion ??= setTimeout(() => setImmediate(() => this.#mustHaveSpoken()), HUNG_MS);
    this.#suspicion.unref();
  }

  /** Synchronous questions are unanswered for long: an engine that has not said anything since is killed. */
  #mustHaveSpoken() {
    this.#suspicion = null;
    if (!this.#child || !this.#ready || this.#unanswered.size === 0) return;
    const silent = performance.now() - this.#spokeAt;
    if (silent < HUNG_MS) {
      this.#suspicion = setTimeout(() => setImmediate(() => this.#mustHaveSpoken()), HUNG_MS - silent + 1);
      this.#suspicion.unref();
    } else this.#child.kill("SIGKILL");
  }

  /**
   * @param {Child} child
   * @param {number} seconds that it had
   */
  #hungAtStart(child, seconds) {
    if (this.#child !== child || this.#ready) return;
    this.#complaints.add(`the engine was not ready after ${seconds} s; restarting it, and it gets twice as long`);
    this.#endedBusy = this.#spokeAt > 0;
    child.kill("SIGKILL");
  }

  /**
   * A question was not answered in time. An engine that is silent is killed; one that works is waited for.
   * @param {number} id
   * @param {number} asked when
   * @param {number} since when it was last looked at
   * @param {(delay: number) => void} wait looks again after so many milliseconds
   */
  #overdue(id, asked, since, wait) {
    if (!this.#waiting.has(id)) return;
    const isWorking = this.#spokeAt > since;
    if (isWorking && performance.now() - asked < WORKING_LIMIT_MS) return wait(WORKING_LOOK_MS);
    const hangs = this.#ready && this.#answeredAt < asked;
    this.#complaints.add(`no answer to a question in time${hangs ? "; restarting the engine" : ""}`);
    this.#settle(id, isWorking ? this.#busy(id) : null);
    if (!hangs) return;
    this.#endedBusy = isWorking;
    this.#child?.kill("SIGKILL");
  }

  /**
   * @param {Child} child
   * @param {string} reason
   */
  #gone(child, reason) {
    if (this.#child !== child) return;
    this.#child = null;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, this.#endedBusy ? this.#busy(id) : null);
    this.#endedBusy = false;
    this.#starts.end();
    this.#died(reason);
  }

  /** @param {string} reason */
  #died(reason) {
    if (this.#disposed) return;
    if (this.#refusal) return this.#stayRefused();
    const now = performance.now();
    const delay = this.#delays.next(now);
    this.#restartAt = now + delay;
    this.#restart = setTimeout(() => this.start(), delay + 1);
    this.#restart.unref();
    this.#complaints.add(isMissing(reason) ? gone(reason) : `the engine exited (${reason}); next start in ${delay} ms`);
  }

  /** @param {string} line */
  #receive(line) {
    if (this.#isRefused()) return;
    this.#spokeAt = performance.now();
    const message = parsed(line);
    if (!message) return this.#unreadable(line);
    if (message.type === "working") return;
    this.#answeredAt = this.#spokeAt;
    this.#unanswered.delete(message.id);
    const level = /** @type {keyof Logger} */ (message.level);
    if (message.type === "log") return this.#logger[level]?.(`[toolguard] ${message.text}`);
    const isAnswer = message.id !== undefined;
    if (message.type === "wake" || message.type === "decided" || (message.type === "secrets" && !isAnswer)) return this.#onEvent(message);
    if (message.id === 0) return this.#introduced(message);
    if (message.type === "error") this.#complaints.add(`the engine could not answer: ${message.error}`);
    this.#settle(message.id, message);
  }

  /**
   * An answer that cannot be read: the question gets an error at once, not silence.
   * @param {string} line
   */
  #unreadable(line) {
    this.#complaints.add(`unreadable answer: ${line.slice(0, 200)}`);
    const id = answeredBy(line);
    if (id > 0) this.#settle(id, { type: "error", id, error: "its answer cannot be read" });
  }

  /** @param {any} answer to `hello` */
  #introduced(answer) {
    if (answer.type === "error") return this.#giveUp(String(answer.error || "no reason given").slice(0, LONGEST_REFUSAL));
    if (this.#refusal) this.#logger.info("[toolguard] the engine serves this gateway again");
    this.#refusal = "";
    this.#retrying = false;
    this.#ready = true;
    this.#starts.succeeded();
    this.#unanswered.clear();
    this.#complaints.clear();
    this.#logger.debug?.(`[toolguard] engine ${answer.version} is ready (pid ${answer.pid})`);
    if (answer.configError) this.#logger.error(`[toolguard] ${answer.configError}; default settings are in force`);
    this.#onReady(answer);
  }

  /**
   * The engine cannot serve this gateway, and a new process would answer the same until something changes. Only the
   * gateway's log records this, not the audit log.
   * @param {string} why
   */
  #giveUp(why) {
    if (why !== this.#refusal)
      this.#logger.error(
        `[toolguard] the engine cannot serve this gateway, so every tool call is blocked: ${why.replace(/[\0-\x1f\x7f]/g, " ")}. ` +
          "Run `toolguard doctor`. The engine is retried when openclaw.json changes, and every 30 s while calls arrive. " +
          "After an upgrade of toolguard, restart the gateway",
      );
    this.#refusal = why;
    this.#stayRefused();
    const child = this.#child;
    child?.kill("SIGKILL");
    if (child) this.#gone(child, why);
  }

  /**
   * @param {number} id
   * @param {Message | null} answer
   */
  #settle(id, answer) {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(answer ?? this.#noAnswer(id));
  }

  /**
   * The answer to a question that no engine answered: null, or after a refusal an error, so that no fail mode lets the call
   * run.
   * @param {number} id
   * @returns {Message | null}
   */
  #noAnswer(id) {
    return this.#refusal ? refused(id, this.#refusal) : null;
  }

  /**
   * The answer to a question of an engine that works, but not fast enough. `late`: it may not have heard the question.
   * @param {number} id
   * @returns {Message}
   */
  #busy(id) {
    return { type: "error", id, late: true, error: this.#ready ? "the engine is too busy to answer" : "the engine is still starting" };
  }

  /** Whether questions are answered with the refusal, because no engine is being tried. */
  #isRefused() {
    return this.#refusal !== "" && !this.#retrying;
  }

  #stayRefused() {
    this.#retrying = false;
    this.#refusedAt = performance.now();
  }

  /** Permits another start after a refusal, if the config changed or enough time has passed. */
  #retry() {
    if (!this.#isRefused() || this.#disposed || this.#child) return;
    const isLongAgo = performance.now() - this.#refusedAt >= this.#retryMs;
    if (!isLongAgo && this.#configStamp() === this.#introducedWith) return;
    this.#retrying = true;
    this.#restartAt = 0;
  }

  /**
   * @param {Message} message
   * @returns {string} empty if it cannot be sent
   */
  #line(message) {
    let line = "";
    try {
      line = `${JSON.stringify(message)}\n`;
    } catch (error) {
      this.#complaints.add(`a question cannot be written as JSON: ${error instanceof Error ? error.message : error}`);
      return "";
    }
    if (Buffer.byteLength(line) <= MAX_LINE) return line;
    this.#complaints.add(`a question of ${line.length} characters is too long`);
    return "";
  }
}
