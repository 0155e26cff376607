// The engine as the hooks see it: ask (a promise), askNow (waits, at most `SYNC_LIMIT_MS`), note (no answer).
//
// `null` means that there is no answer: the engine is away, or took too long. An answer of the type `error` is an answer: the
// engine, or the way to it, could not take this very question (`isError`). So is every question after an engine has answered
// its introduction with an error: that engine is there and cannot judge, which is no silence. It is not started again. The
// process starts on first need and is started again when it dies. Process and pipes are unreferenced, so they never keep
// a command-line run alive; only a question that is being waited for does.

import { spawn } from "node:child_process";

import { descriptor, Lines, readUntil, writeAll } from "./pipe.mjs";

export const PROTOCOL = 1;
export const SYNC_LIMIT_MS = 250;
export const ASYNC_LIMIT_MS = 5_000;
const MAX_LINE = 8 * 1024 * 1024;
const MAX_CAUSES = 100;
const LONGEST_REFUSAL = 1_000;
/** Where an answer stands in its line; the engine writes type and id first. */
const ANSWERED = /^\s*\{(?:\s*"type"\s*:\s*"[\w-]{1,40}"\s*,)?\s*"id"\s*:\s*(\d{1,16})\b/;

const FIRST_DELAY_MS = 20;
const LAST_DELAY_MS = 10_000;
/** Deaths within this time count as a row; the first ones in a row are followed by a start at once. */
const ROW_MS = 10_000;
const FREE_DEATHS = 4;
/** While the next start is further away than this, questions are refused at once instead of waiting for it. */
const WORTH_WAITING_MS = 500;
/** How long an asynchronous question is looked after before the event loop takes over, and the longest line for that. */
const LOOK_MS = 0.15;
const LOOK_MAX_LINE = 32_768;
/** An engine whose files are held by others takes up to 3.5 s to write the rest; the gateway waits 5 s for a plugin. */
const STOP_LIMIT_MS = 4_000;
/** After as many unanswered synchronous questions in a row the engine is taken for hung. */
const HUNG_AFTER = 3;

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {Record<string, any>} Message */
/** @typedef {(text: string) => void} Write */
/** @typedef {{ info: Write, warn: Write, error: Write, debug?: Write }} Logger */
/** @typedef {import("node:child_process").ChildProcessWithoutNullStreams} Child */

/**
 * Whether the engine answered, and could not take the question. That is no silence.
 * @param {Message | null | undefined} answer
 */
export function isError(answer) {
  return answer?.type === "error";
}

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
  /** @type {number[]} */
  #deaths = [];
  /** Milliseconds spent waiting for a start. They do not count between deaths, or no row would reach the last delay. */
  #waited = 0;
  /** Why the engine did not take its introduction; empty while it may be started. */
  #refusal = "";
  #ready = false;
  #nextId = 1;
  /** @type {Map<number, (answer: Message | null) => void>} */
  #waiting = new Map();
  #unanswered = 0;
  #disposed = false;
  /** @type {Set<string>} causes that were complained about since the engine was last ready */
  #complaints = new Set();
  /** @type {Promise<void> | null} */
  #stopping = null;

  /**
   * @param {Command} command
   * @param {Message} hello what the engine is told first; `id`, `type` and `v` are added here
   * @param {Logger} logger
   * @param {() => void} [onReady] called at each start, when the engine has introduced itself
   * @param {(message: Message) => void} [onEvent] called for what the engine says without being asked
   */
  constructor(command, hello, logger, onReady = () => {}, onEvent = () => {}) {
    this.#command = command;
    this.#hello = `${JSON.stringify({ id: 0, type: "hello", v: PROTOCOL, ...hello })}\n`;
    this.#logger = logger;
    this.#onReady = onReady;
    this.#onEvent = onEvent;
  }

  /** Starts the process, unless it runs, or died so often that it has to wait. */
  start() {
    if (this.#child || this.#disposed || this.#refusal || performance.now() < this.#restartAt) return;
    if (this.#restart) clearTimeout(this.#restart);
    this.#restart = null;
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
    this.#lines = new Lines(MAX_LINE, (line) => this.#receive(line));
    const complaints = new Lines(MAX_LINE, (line) => this.#complain(`engine: ${explained(line)}`));
    child.stdin.on("error", () => {}); // a dying engine closes its pipe; `exit` reports it
    child.stdout.on("data", (data) => this.#child === child && this.#lines?.feed(data));
    child.stderr.on("data", (data) => complaints.feed(data));
    child.on("error", (error) => this.#complain(`engine: ${error.message}`));
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
    if (this.#refusal) return Promise.resolve(refused(id, this.#refusal));
    if (this.#isFarAway()) return Promise.resolve(null);
    const quick = this.#askBriefly(id, line);
    if (quick.answer) return Promise.resolve(quick.answer.message);
    return new Promise((resolve) => {
      // This timer keeps the process alive for as long as somebody waits for the answer. Where the loop stood still for
      // long, timers are late and come first: what is in the pipe by then is read before anything is concluded.
      const timer = setTimeout(() => setImmediate(() => this.#hung(id)), limit);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      if (!quick.sent) this.#write(id, line);
    });
  }

  /**
   * Most answers are there before the event loop could be woken up for them, so the first moment is spent looking.
   * @param {number} id
   * @param {string} line
   * @returns {{ sent: boolean, answer: { message: Message | null } | null }}
   */
  #askBriefly(id, line) {
    if (!this.#child || !this.#ready || line.length > LOOK_MAX_LINE) return { sent: false, answer: null };
    /** @type {{ message: Message | null } | null} */
    let answer = null;
    this.#waiting.set(id, (got) => (answer = { message: got }));
    const outcome = this.#exchange(this.#child, line, () => answer !== null, LOOK_MS);
    this.#waiting.delete(id);
    return { sent: outcome === "answered" || outcome === "late", answer };
  }

  /**
   * Blocks this thread until the answer is there.
   * @param {Message} message
   * @param {number} [limit] milliseconds
   * @returns {Message | null}
   */
  askNow(message, limit = SYNC_LIMIT_MS) {
    const id = this.#nextId++;
    const line = this.#line({ id, ...message });
    if (!line) return unsent(id);
    if (this.#refusal) return refused(id, this.#refusal);
    this.start();
    const child = this.#child;
    if (!child || this.#disposed) return null;
    /** @type {{ message: Message | null } | null} */
    let answer = null;
    this.#waiting.set(id, (got) => (answer = { message: got }));
    const outcome = this.#exchange(child, line, () => answer !== null, limit);
    this.#waiting.delete(id);
    if (outcome !== "answered") this.#unansweredNow(child, outcome, limit);
    else this.#unanswered = 0;
    return /** @type {{ message: Message | null } | null} */ (answer)?.message ?? null;
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
   * Writes a question, now or when the engine is back.
   * @param {number} id
   * @param {string} line
   */
  #write(id, line) {
    if (this.#child) return void this.#child.stdin.write(line);
    const again = () => {
      this.start();
      if (this.#child) this.#child.stdin.write(line);
      else this.#settle(id, this.#refusal ? refused(id, this.#refusal) : null);
    };
    setTimeout(again, Math.ceil(Math.max(0, this.#restartAt - performance.now())) + 1); // timers drop fractions
  }

  /**
   * @param {Child} child
   * @param {string} line
   * @param {() => boolean} answered
   * @param {number} limit
   * @returns {"answered" | "late" | "unsent" | "closed" | "busy" | "blind"}
   */
  #exchange(child, line, answered, limit) {
    const deadline = performance.now() + limit;
    const input = descriptor(child.stdin);
    const output = descriptor(child.stdout);
    if (input < 0 || output < 0 || !this.#lines) return "blind";
    if (child.stdin.writableLength > 0) return "busy"; // the loop has to send the rest first, and it stands still
    const data = Buffer.from(line);
    const written = writeAll(input, data, deadline);
    if (written <= 0) return written === 0 ? "unsent" : "closed";
    if (written < data.length) {
      child.stdin.write(data.subarray(written)); // half a line would spoil the next one: the loop sends the rest
      return "late";
    }
    return readUntil(output, this.#lines, answered, deadline);
  }

  /**
   * @param {Child} child
   * @param {string} outcome
   * @param {number} limit
   */
  #unansweredNow(child, outcome, limit) {
    this.#complain(`no answer to a synchronous question within ${limit} ms (${outcome})`);
    if (!this.#ready || outcome === "blind" || outcome === "busy") return; // it starts, or was not asked at all
    this.#unanswered += 1;
    if (this.#unanswered < HUNG_AFTER) return;
    this.#unanswered = 0;
    child.kill("SIGKILL");
  }

  /**
   * A question was not answered in time: an engine that hangs helps nobody.
   * @param {number} id
   */
  #hung(id) {
    if (!this.#waiting.has(id)) return;
    this.#complain("no answer to a question in time; the engine is started again");
    this.#child?.kill("SIGKILL");
    this.#settle(id, null);
  }

  /**
   * @param {Child} child
   * @param {string} reason
   */
  #gone(child, reason) {
    if (this.#child !== child) return;
    this.#child = null;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, this.#refusal ? refused(id, this.#refusal) : null);
    this.#died(reason);
  }

  /** @param {string} reason */
  #died(reason) {
    if (this.#disposed || this.#refusal) return;
    const now = performance.now();
    const active = now - this.#waited;
    this.#deaths = [...this.#deaths.filter((then) => active - then < ROW_MS), active];
    const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, this.#deaths.length - FREE_DEATHS), LAST_DELAY_MS);
    this.#waited += delay;
    this.#restartAt = now + delay;
    this.#restart = setTimeout(() => this.start(), delay + 1);
    this.#restart.unref();
    this.#complain(`the engine ended (${reason}); next start in ${delay} ms`);
  }

  /** @param {string} line */
  #receive(line) {
    if (this.#refusal) return;
    const message = parsed(line);
    if (!message) return this.#unreadable(line);
    const level = /** @type {keyof Logger} */ (message.level);
    if (message.type === "log") return this.#logger[level]?.(`[toolguard] ${message.text}`);
    if (message.type === "wake") return this.#onEvent(message);
    if (message.id === 0) return this.#introduced(message);
    if (message.type === "error") this.#complain(`the engine could not answer: ${message.error}`);
    this.#settle(message.id, message);
  }

  /**
   * An answer that cannot be read: whoever asked hears so at once, instead of taking it for silence.
   * @param {string} line
   */
  #unreadable(line) {
    this.#complain(`unreadable answer: ${line.slice(0, 200)}`);
    const id = Number(ANSWERED.exec(line.slice(0, 200))?.[1] ?? 0);
    if (id > 0) this.#settle(id, { type: "error", id, error: "its answer cannot be read" });
  }

  /** @param {any} answer to `hello` */
  #introduced(answer) {
    if (answer.type === "error") return this.#giveUp(String(answer.error || "it did not say why").slice(0, LONGEST_REFUSAL));
    this.#ready = true;
    this.#unanswered = 0;
    this.#complaints.clear();
    this.#logger.debug?.(`[toolguard] engine ${answer.version} is ready (pid ${answer.pid})`);
    if (answer.configError) this.#logger.error(`[toolguard] ${answer.configError}; default settings are in force`);
    this.#onReady();
  }

  /**
   * The engine cannot serve this gateway, and a new process would say the same. No audit log has a line about it.
   * @param {string} why
   */
  #giveUp(why) {
    this.#refusal = why;
    this.#logger.error(
      `[toolguard] the engine cannot serve this gateway, so every tool call is blocked: ${why.replace(/[\0-\x1f\x7f]/g, " ")}. ` +
        "Run `toolguard doctor`, then restart the gateway",
    );
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
    resolve?.(answer);
  }

  /**
   * @param {Message} message
   * @returns {string} empty where it cannot be sent
   */
  #line(message) {
    let line = "";
    try {
      line = `${JSON.stringify(message)}\n`;
    } catch (error) {
      this.#complain(`a question cannot be written as JSON: ${error instanceof Error ? error.message : error}`);
      return "";
    }
    if (Buffer.byteLength(line) <= MAX_LINE) return line;
    this.#complain(`a question of ${line.length} characters is too long`);
    return "";
  }

  /**
   * Once per cause until the engine is ready again: an engine that cannot start must not fill the gateway's log.
   * @param {string} text
   */
  #complain(text) {
    const cause = text.replace(/\d+/g, "#");
    if (this.#disposed || this.#complaints.has(cause) || this.#complaints.size >= MAX_CAUSES) return;
    this.#complaints.add(cause);
    this.#logger.warn(`[toolguard] ${text}`);
  }
}

/**
 * @param {number} id
 * @param {string} why
 * @returns {Message}
 */
function refused(id, why) {
  return { type: "error", id, error: `the engine cannot serve this gateway: ${why}` };
}

/** @param {number} id */
function unsent(id) {
  return { type: "error", id, error: "the question cannot be sent" };
}

/**
 * @param {string} line
 * @returns {any} null where it is no message
 */
function parsed(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** @param {string} text */
function explained(text) {
  return /No module named '?(toolguard_engine|toolguard_manifests|msgspec)/.test(text)
    ? `${text} - this Python does not have toolguard; run \`toolguard install\` again`
    : text;
}
