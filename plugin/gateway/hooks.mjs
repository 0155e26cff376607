// The gateway's events, one function each: an event becomes a question to the engine, the answer what the gateway expects.
//
// Order within a tool call (see docs/architecture.md): the model's message, then for valid calls `beforeToolCall`, then
// `afterToolCall`, then `resultWritten`. A call that the gateway refuses skips `beforeToolCall`.

import { CHANGES_FILE, COMMAND } from "./catalogue.mjs";
import { isError as isEngineError } from "./engine.mjs";
import { acts, isOn, setting, verdictOnUnjudged, verdictWithoutEngine } from "./failmode.mjs";
import { outsideText, shortParams, userMessage } from "./incoming.mjs";
import { outcomeOf } from "./outcome.mjs";
import { correction, limit, misshapen, PROTECTED, REFUSED_WHEN_RUN, REWRITTEN_UNJUDGED, UNJUDGED } from "./messages.mjs";
import { factsOf, Places } from "./places.mjs";
import { Prompts } from "./prompts.mjs";
import { Reports } from "./reports.mjs";
import { inRoom, wasUsed, withoutRoom } from "./room.mjs";
import { copy, same } from "./same.mjs";
import { addNoteBlock, bound, endRunInPlace, replaceResultText, resultText, toolCalls } from "./seams.mjs";
import { KnownSecrets } from "./secrets.mjs";
import { bounded, faultOf, glimpse } from "./shape.mjs";
import { agentOf } from "./usage.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "ask" | "askNow" | "note" | "start">} Engine */
/** @typedef {import("./runs.mjs").Runs} Runs */
/** @typedef {import("./runs.mjs").Run} Run */
/** @typedef {import("./runs.mjs").Call} Call */
/** @typedef {import("./seams.mjs").Seams} Seams */
/** @typedef {import("./seams.mjs").Trace} Trace */
/** @typedef {import("./order.mjs").OrderWatch} OrderWatch */

const DEFAULT_MAX_FAILURES = 5;
const LONGEST_NAME = 1_000;
const MAX_FOUND = 5_000;
/** What a program prints that did not get at a file. The engine has the same (`hidden_paths`). */
const KEPT = /no such file or directory|read-only file system|permission denied|device or resource busy|\b(?:ENOENT|EROFS|EACCES|EBUSY)\b/i;

export class Hooks {
  #engine;
  #config;
  #runs;
  #seams;
  #trace;
  #order;
  #prompts;
  #workspace;
  #state;
  #places;
  #reports;
  #secrets;
  /** @type {Map<string, true>} reports about secrets that were sent */
  #found = new Map();

  /**
   * @param {Engine} engine
   * @param {any} config the plugin's entry in the gateway's config
   * @param {Runs} runs
   * @param {Seams} seams
   * @param {Trace} trace
   * @param {OrderWatch} order
   * @param {(agent: string) => string} workspace where an agent's commands run
   * @param {string} state the gateway's state directory
   * @param {() => Places} [places] the protected places
   * @param {import("./reports.mjs").Waiting} [waiting] reports for the engine
   * @param {Pick<import("./answerer.mjs").Answerer, "answer">} [answerer] of the gateway's own prompts
   * @param {KnownSecrets} [secrets]
   */
  constructor(engine, config, runs, seams, trace, order, workspace, state, places, waiting, answerer, secrets) {
    this.#engine = engine;
    this.#config = config ?? {};
    this.#runs = runs;
    this.#seams = seams;
    this.#trace = trace;
    this.#order = order;
    this.#prompts = new Prompts(engine, runs, answerer);
    this.#workspace = workspace;
    this.#state = state;
    this.#places = places ?? (() => new Places(factsOf(state, "", config)));
    this.#reports = new Reports(engine, waiting);
    this.#secrets = secrets ?? new KnownSecrets();
  }

  /** @param {any} message of the engine: a held call was decided on elsewhere */
  decided({ nonce, decision }) {
    this.#prompts.decided(nonce, decision);
  }

  /** The engine is ready, perhaps again: sends the reports that it missed. */
  engineReady() {
    for (const run of this.#runs.begun()) this.#announce(run);
    this.#reports.answered();
    void this.#reports.send();
    void this.#askSecrets();
  }

  /** @param {Run} run that is in progress: meanwhile an approval for it lasts */
  #announce({ id, agent, session }) {
    this.#engine.note({ type: "run-start", run: id, agent, session });
  }

  /** The engine sends another list by itself when they change. */
  async #askSecrets() {
    const answer = await this.#engine.ask({ type: "secrets" });
    if (answer?.type === "secrets") this.#secrets.use(answer.hidden);
  }

  /**
   * Any text of a request to the model, on hosts that call no hooks as well: the last place where a secret is replaced. It
   * also covers what no result contains, such as the notice about a command that has ended in the background.
   * @param {string} text
   */
  textSent(text) {
    if (!acts(this.#config, "")) return text;
    /** @type {Set<string>} */
    const names = new Set();
    const clean = this.#secrets.clean(text, names);
    if (names.size > 0) this.#reportSecrets(names, "", undefined, {});
    return clean;
  }

  /**
   * Replaces the secrets in a tool result. An agent that is only watched gets it unchanged.
   * @param {any} message
   * @param {string | undefined} id
   * @param {any} ctx
   */
  #hideSecrets(message, id, ctx) {
    const kept = !acts(this.#config, ctx?.agentId);
    if (kept && !isOn(this.#config, ctx?.agentId)) return;
    const names = this.#secrets.cleanResult(message, kept);
    if (names.size === 0) return;
    const call = id ? this.#runs.knownCall(ctx?.sessionKey, id) : undefined;
    const run = this.#runs.known(call?.run ?? "") ?? this.#runs.ofSession(ctx?.sessionKey);
    const place = { agent: ctx?.agentId ?? "", session: ctx?.sessionKey ?? "", run: run?.id ?? "" };
    this.#reportSecrets(names, call?.tool || String(message?.toolName ?? message?.details?.toolName ?? ""), kept, { ...place, call: id ?? "" });
  }

  /**
   * For the audit log: each secret once for a run and a tool, however often it is read.
   * @param {Set<string>} names
   * @param {string} tool
   * @param {boolean | undefined} kept
   * @param {{ agent?: string, session?: string, run?: string, call?: string }} where
   */
  #reportSecrets(names, tool, kept, where) {
    const key = (/** @type {string} */ name) => JSON.stringify([where.session, where.run, tool, name]);
    const fresh = [...names].filter((name) => !this.#found.has(key(name)));
    if (fresh.length === 0) return;
    for (const name of fresh) this.#found.set(key(name), true);
    bound(this.#found, MAX_FOUND);
    this.#reports.add({ type: "redacted", names: fresh, tool: tool.slice(0, LONGEST_NAME), kept: kept === true, ...where });
  }

  /**
   * @param {any} event
   * @param {any} ctx
   */
  modelCallStarted(event, ctx) {
    const session = event.sessionKey ?? ctx?.sessionKey;
    if (isOnBehalfOf(this.#runs.ofSession(session), event.runId)) return;
    const run = this.#runs.get(event.runId, session, ctx?.agentId);
    run.provider = event.provider ?? "";
    run.model = event.model ?? "";
    run.requests += 1;
    run.trimmed = false;
    this.#trace.requested(event.runId);
  }

  /**
   * @param {any} event
   * @param {any} ctx
   */
  messageWritten(event, ctx) {
    this.#seams.seen("hooks", "works");
    const message = event.message;
    if (message?.role === "assistant") this.#modelAnswered(message, ctx);
    else if (message?.role === "toolResult") this.resultWritten({ message, toolCallId: message.toolCallId }, ctx);
    else if (message?.role === "user") this.#userWrote(message, ctx);
    else if (message?.role === "custom") this.#hideSecrets(message, undefined, ctx); // results of Tool Search's inner calls
  }

  /**
   * @param {any} message
   * @param {any} ctx
   */
  #userWrote(message, ctx) {
    const written = isOn(this.#config, ctx?.agentId) ? userMessage(message) : null;
    if (written) this.#engine.note({ type: "said", agent: ctx?.agentId ?? "", session: ctx?.sessionKey ?? "", ...written });
  }

  /**
   * The model's message, before any of its calls run: here a run can be ended.
   * @param {any} message
   * @param {any} ctx
   */
  #modelAnswered(message, ctx) {
    const calls = toolCalls(message);
    for (const call of calls) this.#runs.forgetCall(ctx?.sessionKey, call.id); // some model servers restart their ids in each message
    const run = this.#runs.ofSession(ctx?.sessionKey);
    if (!run) return;
    run.provider = message.provider ?? run.provider;
    run.model = message.model ?? run.model;
    if (calls.length === 0) return;
    if (!run.stop && run.watch) this.#askAboutMessage(run, calls);
    if (!run.stop) return;
    for (const call of calls) run.cut.add(call.id);
    if (!endRunInPlace(message, run.stop)) this.#seams.seen("gracefulStop", "fails");
  }

  /**
   * @param {Run} run
   * @param {{ id: string, name: string, arguments: any }[]} calls
   */
  #askAboutMessage(run, calls) {
    const { id, agent, session, provider, model } = run;
    const wanted = calls.map((call) => ({ tool: call.name, params: bounded(call.arguments), call: call.id }));
    const answer = this.#engine.askNow({ type: "message", run: id, agent, session, provider, model, calls: wanted });
    if (answer?.stop) Object.assign(run, { stop: answer.stop, waiting: answer.waiting ?? [] });
  }

  /**
   * @param {any} event
   * @param {any} ctx
   */
  async beforeToolCall(event, ctx) {
    const id = event.toolCallId ?? ctx?.toolCallId;
    const run = this.#runs.get(event.runId ?? ctx?.runId ?? "", ctx?.sessionKey, ctx?.agentId);
    if (run.cut.has(id)) this.#seams.seen("gracefulStop", "fails");
    const fault = faultOf(event.params);
    if (fault) return this.#refuseUnjudged(run, event, ctx, fault.code, fault.reason, misshapen(fault));
    const params = copy(event.params);
    this.#runs.forgetCall(ctx?.sessionKey, id); // an id that is used again is another call
    const inFolder = COMMAND.has(event.toolName) || CHANGES_FILE.has(event.toolName);
    const cwd = inFolder ? this.#workspace(ctx?.agentId) : "";
    this.#runs.call(ctx?.sessionKey, id, { tool: event.toolName, params, cwd, run: run.id, agent: ctx?.agentId, judged: true });
    const answer = await this.#engine.ask({
      type: "judge", tool: event.toolName, run: run.id, agent: ctx?.agentId ?? "", session: ctx?.sessionKey ?? "", params,
      call: id, request: run.requests, cwd, native: this.#prompts.mayAsk(run, this.#config), ...whoAsked(ctx),
    });
    if (!answer) return this.#judgeAlone(run, event, ctx, params);
    if (isEngineError(answer))
      return this.#refuseUnjudged(run, event, ctx, "guard.unreadable", `the guard could not judge it: ${answer.error}`, UNJUDGED);
    this.#reports.answered();
    if (answer.outcome) this.#runs.call(ctx?.sessionKey, id, { outcome: answer.outcome });
    if (answer.decision === "allow") return this.#letThrough(answer, params, ctx, id);
    if (answer.prompt) return this.#prompts.ask(answer, inRoom(params, answer), run, ctx?.sessionKey, id);
    run.watch = true;
    if (answer.stop) this.#stopLater(run, answer.stop, answer.waiting);
    return { block: true, blockReason: answer.text || UNJUDGED };
  }

  /**
   * A call that could not be judged although the engine runs: it breaks a bound, or the engine answered with an error.
   * @param {Run} run
   * @param {any} event
   * @param {any} ctx
   * @param {string} code
   * @param {string} reason for the audit log
   * @param {string} text for the model
   */
  #refuseUnjudged(run, event, ctx, code, reason, text) {
    const id = event.toolCallId ?? ctx?.toolCallId;
    this.#runs.forgetCall(ctx?.sessionKey, id);
    this.#runs.call(ctx?.sessionKey, id, { tool: event.toolName, run: run.id, agent: ctx?.agentId, judged: true });
    const verdict = verdictOnUnjudged(this.#config, run.agent, this.#state, text);
    if (!verdict) return undefined;
    this.#report(run, event, code, reason);
    return this.#counted(run, verdict);
  }

  /**
   * @param {Run} run
   * @param {any} event
   * @param {string} code
   * @param {string} reason
   */
  #report(run, event, code, reason) {
    const name = String(event.toolName).slice(0, LONGEST_NAME);
    const { id, agent, session } = run;
    this.#reports.add({ tool: name, run: id, agent, session, code, reason: reason.slice(0, LONGEST_NAME), shown: glimpse(event.params) });
  }

  /**
   * Remembers what was judged, to compare it with what runs. An approved call must run exactly as approved, and one in a
   * room with the name of the room.
   * @param {any} answer
   * @param {any} params
   * @param {any} ctx
   * @param {string} id
   */
  #letThrough(answer, params, ctx, id) {
    const ran = inRoom(params, answer);
    this.#runs.call(ctx?.sessionKey, id, { ran, isInRoom: answer.room > 0 });
    if (answer.note) this.#addNote(ctx?.sessionKey, id, answer.note);
    return answer.pin || ran !== params ? { params: ran } : undefined;
  }

  /**
   * @param {Run} run
   * @param {string} stop
   * @param {string[]} [waiting] the nonces of the held calls that it ends for
   */
  #stopLater(run, stop, waiting = []) {
    if (!run.stop) run.stoppedAt = run.requests;
    Object.assign(run, { stop, waiting });
  }

  /**
   * The engine is silent: the verdict of the fail mode.
   * @param {Run} run
   * @param {any} event
   * @param {any} ctx
   * @param {any} params
   */
  #judgeAlone(run, event, ctx, params) {
    const verdict = this.#verdictAlone(run, event.toolName, params, ctx?.agentId);
    if (isOn(this.#config, run.agent)) this.#reports.unanswered(String(event.toolName), !verdict);
    if (!verdict) return this.#unnamed(params);
    if (verdict.blockReason === PROTECTED)
      this.#report(run, event, "guard.silent", "the guard was not answering, and the call names or may reach a protected place");
    return this.#counted(run, verdict);
  }

  /**
   * A call that runs without a verdict: no room, and none that a model names.
   * @param {any} params
   */
  #unnamed(params) {
    const unnamed = inRoom(params, {});
    return unnamed === params ? undefined : { params: unnamed };
  }

  /**
   * Counts refusals made here, so that they cannot become an endless loop.
   * @param {Run} run
   * @param {{ block: true, blockReason: string }} verdict
   */
  #counted(run, verdict) {
    run.unanswered += 1;
    if (run.unanswered < this.#most(run)) return verdict;
    Object.assign(run, { stop: limit(run.unanswered), waiting: [] });
    return { block: true, blockReason: run.stop };
  }

  /**
   * @param {Run} run
   * @param {string} tool
   * @param {any} params
   * @param {string} [agent]
   */
  #verdictAlone(run, tool, params, agent = run.agent) {
    const call = { tool, params, workspace: this.#workspace(agent) };
    return verdictWithoutEngine(this.#config, run.agent, call, this.#state, this.#places);
  }

  /** @param {Run} run */
  #most(run) {
    return setting(this.#config, run.agent, "maxFailuresPerTurn") ?? DEFAULT_MAX_FAILURES;
  }

  /**
   * @param {any} event
   * @param {any} ctx
   */
  afterToolCall(event, ctx) {
    const id = event.toolCallId ?? ctx?.toolCallId;
    const run = this.#runs.get(event.runId ?? ctx?.runId ?? "", ctx?.sessionKey, ctx?.agentId);
    const call = this.#runs.call(ctx?.sessionKey, id, {
      tool: event.toolName, params: withoutRoom(event.params), run: run.id, agent: ctx?.agentId,
    });
    this.#compare(call, event, run, id);
    if (call.isInRoom && !wasBlocked(event)) this.#seeShell();
    this.#reportOutcome(call, event, run, id);
    const text = isOn(this.#config, run.agent) ? outsideText(event) : "";
    if (text) this.#engine.note({ type: "heard", tool: event.toolName, params: shortParams(withoutRoom(event.params)), text, ...place(call) });
  }

  /**
   * Reports the outcome of a call. If a note or the end of the run may follow from it, this waits for the answer: it is the
   * last moment before the result is written.
   * @param {Call} call
   * @param {any} event
   * @param {Run} run
   * @param {string} id
   */
  #reportOutcome(call, event, run, id) {
    const vetoed = wasVetoed(event, id);
    if (vetoed) run.watch = true; // the model may answer with the same call
    else if (!call.outcome || wasBlocked(event)) return;
    const outcome = {
      type: "came", tool: event.toolName, params: bounded(withoutRoom(event.params)), ...outcomeOf(event),
      ...place(call), call: id, request: run.requests,
    };
    const mayBeKept = call.isInRoom && KEPT.test(outcome.text);
    if (!vetoed && call.outcome !== "ask" && !mayBeKept) return this.#engine.note(outcome);
    const answer = this.#engine.askNow(vetoed ? { ...outcome, vetoed } : outcome);
    if (answer?.note) this.#addNote(call.session, id, answer.note);
    if (!answer?.stop) return;
    run.watch = true;
    this.#stopLater(run, answer.stop);
  }

  /**
   * Appends a note to the result of a call. The model sees the result of a call inside Tool Search as that of the outer one.
   * @param {string | undefined} session
   * @param {string} id
   * @param {string} note
   */
  #addNote(session, id, note) {
    const shown = this.#runs.outerId(session, id);
    const known = this.#runs.knownCall(session, shown)?.note;
    this.#runs.call(session, shown, { note: known ? `${known}\n\n${note}` : note });
  }

  /** A command that should have entered its room has run: whether the gateway ran it with the shell that leads there. */
  #seeShell() {
    if (this.#seams.evidence.commandShell !== "works" && wasUsed() !== undefined)
      this.#seams.seen("commandShell", wasUsed() ? "works" : "fails");
  }

  /**
   * Checks that the call ran as it was judged. This waits for the answer: it is the last moment before the model's next
   * request.
   * @param {Call} call
   * @param {any} event
   * @param {Run} run
   * @param {string} id
   */
  #compare(call, event, run, id) {
    if (call.ran == null || wasBlocked(event)) return;
    const fault = faultOf(event.params);
    if (fault) return this.#ranUnjudged(run, event, fault.code, fault.reason);
    if (same(call.ran, event.params)) return;
    const answer = this.#engine.askNow({
      type: "ran", tool: event.toolName, params: event.params, cwd: call.cwd ?? "",
      ...place(call), call: id, others: this.#order.others,
    });
    run.watch = true;
    if (isEngineError(answer)) return this.#ranUnjudged(run, event, "guard.unreadable", String(answer?.error));
    if (answer?.stop) this.#stopLater(run, answer.stop);
    else if (!answer && this.#verdictAlone(run, event.toolName, event.params)) this.#stopLater(run, REWRITTEN_UNJUDGED);
  }

  /**
   * A call that differs from the judged one ran, and it cannot be judged: the run ends, in every fail mode.
   * @param {Run} run
   * @param {any} event
   * @param {string} code
   * @param {string} reason
   */
  #ranUnjudged(run, event, code, reason) {
    run.watch = true;
    if (!isOn(this.#config, run.agent)) return;
    this.#report(run, event, code, `it ran instead of what was judged: ${reason}`);
    this.#stopLater(run, REWRITTEN_UNJUDGED);
  }

  /**
   * A tool result on its way into the history: here secrets and the text of a refusal are replaced.
   * @param {any} event
   * @param {any} ctx
   */
  resultWritten(event, ctx) {
    const { message } = event;
    const id = event.toolCallId ?? message?.toolCallId ?? ctx?.toolCallId;
    this.#hideSecrets(message, id, ctx);
    const original = resultText(message);
    if (!id) return;
    const known = this.#runs.knownCall(ctx?.sessionKey, id);
    if (original === null) return addNoteBlock(message, known?.note);
    const corrected = isError(message) ? (known?.text ?? this.#correct(id, original, message.toolName, ctx, true)) : "";
    const text = withNote(corrected || original, known?.note);
    if (original !== text) replaceResultText(message, text);
  }

  /**
   * The history of a session was compacted, and the last request is repeated. A compaction without a repeated request was
   * reported by an event just before.
   * @param {any} ctx
   */
  compacted(ctx) {
    const run = this.#runs.ofSession(ctx?.sessionKey);
    if (run && !run.trimmed) this.#reportCompacted(run);
    if (run) run.trimmed = false;
  }

  /** @param {Run} run */
  #reportCompacted(run) {
    this.#engine.note({ type: "compacted", run: run.id, agent: run.agent, session: run.session });
  }

  /**
   * The gateway's event about a compaction within a run. It calls no hook if a request is repeated afterwards.
   * @param {any} event
   */
  #compactionEnded(event) {
    const run = this.#runs.known(event.runId);
    const { completed, willRetry } = event.data;
    if (!run || completed !== true || typeof willRetry !== "boolean") return;
    if (willRetry) this.#reportCompacted(run);
    run.trimmed = !willRetry;
  }

  /**
   * A refusal that is visible only as an event: on hosts that do not call our hooks.
   * @param {any} event
   */
  refusedUnseen(event) {
    const { toolCallId, name, result, parentToolCallId } = event.data;
    const original = resultText(result);
    if (!event.runId || parentToolCallId || original === null) return;
    if (this.#runs.knownCall(event.sessionKey, toolCallId)?.text !== undefined) return; // a hook was called after all
    this.#runs.get(event.runId, event.sessionKey, event.agentId);
    this.#runs.call(event.sessionKey, toolCallId, { tool: name, run: event.runId, agent: event.agentId });
    this.#correct(toolCallId, original, name, event, false);
  }

  /**
   * Asks for the text that the model sees instead of a refusal, and remembers it.
   * @param {string} id
   * @param {string} original
   * @param {string | undefined} toolName
   * @param {any} ctx
   * @param {boolean} inPlace
   * @returns {string} the text that replaces the original; empty if it stays
   */
  #correct(id, original, toolName, ctx, inPlace) {
    const run = this.#runs.known(this.#runs.knownCall(ctx?.sessionKey, id)?.run ?? "") ?? this.#runs.ofSession(ctx?.sessionKey);
    const call = this.#runs.call(ctx?.sessionKey, id, { run: run?.id, agent: ctx?.agentId });
    call.tool ||= toolName ?? "";
    const answer = this.#engine.askNow({
      type: "failed", tool: call.tool, params: bounded(call.params) ?? null, text: original, judged: call.judged,
      ...place(call), call: id, provider: run?.provider ?? "", model: run?.model ?? "",
      request: run?.requests ?? 0, missed: run?.unanswered ?? 0,
    });
    const refused = !call.judged || REFUSED_WHEN_RUN.test(original);
    const reply = (isEngineError(answer) ? null : answer) ?? (refused && run ? this.#correctAlone(run, call.tool, original) : {});
    if (!reply.text) return (call.text = ""); // asked only once
    const ends = run ? this.#endsHard(run, reply, inPlace) : false;
    // The run's id makes the text unique, so that no other run's request is held back.
    call.text = ends && run ? `${reply.text} (run ${run.id.slice(0, 8)})` : reply.text;
    this.#trace.replaced(original, withNote(call.text ?? "", call.note), call.run, inPlace, ends);
    return call.text ?? "";
  }

  /**
   * Records the engine's decision about the run. Returns whether its next request must not leave: the graceful end was due
   * before the last request and did not happen. That is the case for calls of unknown tools, whose message the gateway
   * shows to no hook, and if no hook is called at all.
   * @param {Run} run
   * @param {{ stop?: string, waiting?: string[] }} answer
   * @param {boolean} inPlace
   */
  #endsHard(run, { stop, waiting }, inPlace) {
    run.watch = true;
    if (!stop) return false;
    this.#stopLater(run, stop, waiting);
    return !inPlace || run.requests > run.stoppedAt;
  }

  /**
   * Without the engine: a plain correction, and the end of the run after as many failures as the settings allow.
   * @param {Run} run
   * @param {string} tool
   * @param {string} original
   */
  #correctAlone(run, tool, original) {
    if (!acts(this.#config, run.agent)) return {};
    run.unanswered += 1;
    if (run.unanswered < this.#most(run)) return { text: correction(tool, original), stop: "" };
    return { text: limit(run.unanswered), stop: limit(run.unanswered) };
  }

  /**
   * A message that would begin a run, in chat. Commands always pass: they need no model.
   * @param {any} event of `before_dispatch`
   * @param {any} ctx
   */
  async messageArriving(event, ctx) {
    if (String(event.content ?? event.body ?? "").trimStart().startsWith("/")) return undefined;
    const text = await this.#mayBegin(event.sessionKey ?? ctx?.sessionKey, "", "");
    return text ? { handled: true, text } : undefined;
  }

  /**
   * A run before its first request to the model, however it began. A heartbeat ends in silence. The gateway says which model it
   * will use (2026.9.6, its own runner), so that a limit on a model also covers the first run of a session. `before_agent_run`
   * could block it as well, but then HTTP answers "internal error".
   * @param {any} _event of `before_agent_reply`
   * @param {any} ctx
   */
  async runBeginning(_event, ctx) {
    const model = { provider: named(ctx?.modelProviderId), model: named(ctx?.modelId) };
    const text = await this.#mayBegin(ctx?.sessionKey, ctx?.agentId, ctx?.runId, model.model ? model : {});
    if (!text) return undefined;
    return ctx?.trigger === "heartbeat" ? { handled: true } : { handled: true, reply: { text } };
  }

  /**
   * Why no run may begin here; empty if one may, or if the engine does not answer: then its calls meet the fail mode.
   * @param {string | undefined} session
   * @param {string | undefined} agent
   * @param {string | undefined} run
   * @param {{ provider?: string, model?: string }} [model] that it will use
   */
  async #mayBegin(session, agent, run, model = {}) {
    const known = session ?? "";
    const answer = await this.#engine.ask({
      type: "message", run: run ?? "", agent: agent || agentOf(known), session: known, calls: [], ...model,
    });
    return typeof answer?.stop === "string" ? answer.stop : "";
  }

  /**
   * A reply on its way to the user. If the gateway shows an error notice instead of an answer, or the answer of a run that
   * waits does not name each held call, the text with which the run was stopped is added.
   * @param {any} event
   */
  replySending(event) {
    const { payload } = event;
    const { stop, waiting } = this.#runs.stopOf(event.sessionKey, event.runId);
    if (!stop || typeof payload?.text !== "string" || payload.text.includes(stop)) return undefined;
    if (payload.isError) return { payload: { ...payload, text: stop } };
    if (waiting.every((nonce) => payload.text.includes(nonce))) return undefined;
    return { payload: { ...payload, text: `${payload.text}\n\n${stop}` } };
  }

  /**
   * Events of runs, tools and compactions: they need no permission and arrive even if no hook is called.
   * @param {any} event
   */
  agentEvent(event) {
    const phase = event?.data?.phase;
    if (event?.stream === "lifecycle") {
      if (phase === "start") this.#runStarted(event);
      else if (phase === "end" || phase === "error") this.#runEnded(event.runId);
    } else if (event?.stream === "compaction" && phase === "end") {
      this.#compactionEnded(event);
    } else if (event?.stream === "tool" && phase === "start") {
      this.#runs.call(event.sessionKey, event.data.toolCallId, { tool: event.data.name, params: event.data.args, run: event.runId });
    } else if (event?.stream === "tool" && phase === "result") {
      // The message that holds this call was written before the call ran. If no hook saw it, none is called here.
      // A run that was under way before this core began (a reload) proves nothing.
      if (this.#seams.evidence.hooks === "unknown" && this.#runs.known(event.runId)?.begun) this.#seams.seen("hooks", "fails");
      if (event.data.isError && this.#seams.evidence.hooks === "fails") this.refusedUnseen(event);
    }
  }

  /** @param {any} event */
  #runStarted(event) {
    const run = this.#runs.get(event.runId, event.sessionKey, event.agentId);
    run.begun = true;
    this.#order.check();
    this.#engine.start();
    this.#announce(run);
  }

  /** @param {string} id */
  #runEnded(id) {
    const run = this.#runs.end(id);
    if (run && run.cut.size > 0) this.#seams.seen("gracefulStop", "works");
    this.#trace.ended(id);
    this.#engine.note({ type: "run-end", run: id, session: run?.session ?? "" });
  }
}

/** @param {unknown} value */
function named(value) {
  return typeof value === "string" ? value.slice(0, LONGEST_NAME) : "";
}

/**
 * Whether the gateway, another plugin or a user kept the call from running. A tool's own result may have the status
 * `blocked` as well, but only the gateway adds why it denied a call.
 * @param {any} event
 */
function wasBlocked(event) {
  const { status, deniedReason } = event.result?.details ?? {};
  return status === "blocked" && typeof deniedReason === "string";
}

/**
 * Whether the gateway's own loop detection blocked this call. If it blocks all calls of a message, it names the one that
 * caused it.
 * @param {any} event
 * @param {string} id
 */
function wasVetoed(event, id) {
  if (!wasBlocked(event) || event.result.details.deniedReason !== "tool-loop") return false;
  return (event.result.details.intervention?.toolCallId ?? id) === id;
}

/**
 * A tool result with the guard's note, which is added only once.
 * @param {string} text
 * @param {string | undefined} note
 */
function withNote(text, note) {
  return note && !text.endsWith(note) ? `${text}\n\n${note}` : text;
}

/**
 * Whether a request to the model belongs to a run without being one of its own: the summary at a compaction, for example,
 * has the id `<run>:compaction:...`. The run continues after it.
 * @param {Run | undefined} run the current one of its session
 * @param {string} id
 */
function isOnBehalfOf(run, id) {
  return run !== undefined && String(id).startsWith(`${run.id}:`);
}

/**
 * Who asked for a call, as far as the gateway reports it.
 * @param {any} ctx
 */
function whoAsked(ctx) {
  const { channel, senderId, senderIsOwner } = ctx?.requester ?? {};
  const id = String(senderId ?? "");
  const requester = senderIsOwner === true ? "owner" : id === "owner" ? "sender:owner" : id;
  return { channel: String(channel ?? ctx?.channelId ?? ""), requester };
}

/** @param {Call} call */
function place(call) {
  return { run: call.run, agent: call.agent ?? "", session: call.session ?? "" };
}

/** @param {any} message */
function isError(message) {
  return message.isError === true || message.details?.status === "error";
}
