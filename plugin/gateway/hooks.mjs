// The gateway's events, one function each: an event becomes a question to the engine, the answer what the gateway expects.
//
// Order within a tool call (see docs/architecture.md): the model's message, then for valid calls `beforeToolCall`, then
// `afterToolCall`, then `resultWritten`. A call that the gateway refuses skips `beforeToolCall`.

import { CHANGES_FILE, COMMAND } from "./catalogue.mjs";
import { Compactions } from "./compactions.mjs";
import { Corrections, stopLater } from "./corrections.mjs";
import { isError as isEngineError } from "./engine_lines.mjs";
import { isOn, verdictOnUnjudged, verdictWithoutEngine } from "./failmode.mjs";
import { endedSession, isError, isOnBehalfOf, LONGEST_NAME, mayBeKept, place, wasBlocked, wasVetoed, whoAsked, withNote } from "./event_facts.mjs";
import { description, outsideText, shortParams, userMessage } from "./incoming.mjs";
import { outcomeOf } from "./outcome.mjs";
import { misshapen, NO_ROOM, PROTECTED, REWRITTEN_UNJUDGED, UNJUDGED } from "./messages.mjs";
import { factsOf, Places } from "./places.mjs";
import { Prompts } from "./prompts.mjs";
import { Redactions } from "./redactions.mjs";
import { Reports } from "./reports.mjs";
import { bind, inRoom, wasUsed, withoutRoom } from "./room.mjs";
import { RunStarts } from "./run_starts.mjs";
import { copy, same } from "./same.mjs";
import { addNoteBlock, endRunInPlace, replaceResultText, resultText, toolCalls } from "./seams.mjs";
import { KnownSecrets } from "./secrets.mjs";
import { bounded, faultOf, glimpse } from "./shape.mjs";

/** @typedef {Pick<import("./engine.mjs").Engine, "ask" | "askNow" | "note" | "start">} Engine */
/** @typedef {import("./runs.mjs").Runs} Runs */
/** @typedef {import("./runs.mjs").Run} Run */
/** @typedef {import("./runs.mjs").Call} Call */
/** @typedef {import("./seams.mjs").Seams} Seams */
/** @typedef {import("./seams.mjs").Trace} Trace */
/** @typedef {import("./order.mjs").OrderWatch} OrderWatch */

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
  #redactions;
  #corrections;
  #compactions;
  #starts;

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
   * @param {Pick<import("./answerer.mjs").Answerer, "answer" | "review">} [answerer] of the gateway's own prompts
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
    this.#corrections = new Corrections(engine, this.#config, runs, trace);
    this.#compactions = new Compactions(engine, runs);
    this.#starts = new RunStarts(engine);
    this.#redactions = new Redactions(engine, this.#config, runs, this.#reports, secrets ?? new KnownSecrets());
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
    void this.#redactions.ask();
  }

  /** @param {Run} run that is in progress: meanwhile an approval for it lasts */
  #announce({ id, agent, session }) {
    this.#engine.note({ type: "run-start", run: id, agent, session });
  }

  /** @param {string} text of a request to the model */
  textSent(text) {
    return this.#redactions.textSent(text);
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
    else if (message?.role === "custom") this.#redactions.clean(message, undefined, ctx); // results of Tool Search's inner calls
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
    if (answer.decision === "allow" && answer.onlyThere && !bind(params)) return { block: true, blockReason: NO_ROOM };
    if (answer.decision === "allow") return this.#letThrough(answer, params, ctx, id);
    if (answer.prompt) return this.#prompts.ask(answer, inRoom(params, answer), run, ctx?.sessionKey, id);
    run.watch = true;
    if (answer.stop) stopLater(run, answer.stop, answer.waiting);
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
    return this.#corrections.counted(run, verdict);
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
    const hostIsOurs = answer.onlyThere && params?.host === undefined;
    this.#runs.call(ctx?.sessionKey, id, { ran, isInRoom: answer.room > 0, hostIsOurs });
    if (answer.note) this.#addNote(ctx?.sessionKey, id, answer.note);
    if (answer.approved) this.#prompts.approved(ran, ctx?.sessionKey, id);
    return answer.pin || ran !== params ? { params: ran } : undefined;
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
    return this.#corrections.counted(run, verdict);
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
   * @param {Run} run
   * @param {string} tool
   * @param {any} params
   * @param {string} [agent]
   */
  #verdictAlone(run, tool, params, agent = run.agent) {
    const call = { tool, params, workspace: this.#workspace(agent) };
    return verdictWithoutEngine(this.#config, run.agent, call, this.#state, this.#places);
  }

  /**
   * @param {any} event
   * @param {any} ctx
   */
  afterToolCall(event, ctx) {
    const id = event.toolCallId ?? ctx?.toolCallId;
    const run = this.#runs.get(event.runId ?? ctx?.runId ?? "", ctx?.sessionKey, ctx?.agentId);
    const { hostIsOurs } = this.#runs.knownCall(ctx?.sessionKey, id) ?? {};
    const written = withoutRoom(event.params, hostIsOurs);
    const call = this.#runs.call(ctx?.sessionKey, id, { tool: event.toolName, params: written, run: run.id, agent: ctx?.agentId });
    call.ended?.();
    this.#compare(call, event, run, id);
    if (call.isInRoom && !wasBlocked(event)) this.#seeShell();
    this.#reportOutcome(call, event, run, id);
    const text = isOn(this.#config, run.agent) ? description(event) || outsideText(event) : "";
    if (text) this.#engine.note({ type: "heard", tool: event.toolName, params: shortParams(written), text, ...place(call) });
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
      type: "came", tool: event.toolName, params: bounded(withoutRoom(event.params, call.hostIsOurs)), ...outcomeOf(event),
      ...place(call), call: id, request: run.requests,
    };
    const isAsked = call.isInRoom && mayBeKept(outcome.text);
    if (!vetoed && call.outcome !== "ask" && !isAsked) return this.#engine.note(outcome);
    const answer = this.#engine.askNow(vetoed ? { ...outcome, vetoed } : outcome);
    if (answer?.note) this.#addNote(call.session, id, answer.note);
    if (!answer?.stop) return;
    run.watch = true;
    stopLater(run, answer.stop);
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
    if (answer?.stop) stopLater(run, answer.stop);
    else if (!answer && this.#verdictAlone(run, event.toolName, event.params)) stopLater(run, REWRITTEN_UNJUDGED);
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
    stopLater(run, REWRITTEN_UNJUDGED);
  }

  /**
   * A tool result on its way into the history: here secrets and the text of a refusal are replaced.
   * @param {any} event
   * @param {any} ctx
   */
  resultWritten(event, ctx) {
    const { message } = event;
    const id = event.toolCallId ?? message?.toolCallId ?? ctx?.toolCallId;
    this.#redactions.clean(message, id, ctx);
    const original = resultText(message);
    if (!id) return;
    const known = this.#runs.knownCall(ctx?.sessionKey, id);
    if (original === null) return addNoteBlock(message, known?.note);
    const corrected = isError(message) ? (known?.text ?? this.#corrections.of(id, original, message.toolName, ctx, true)) : "";
    const text = withNote(corrected || original, known?.note);
    if (original !== text) replaceResultText(message, text);
  }

  /** @param {any} ctx of the request that is repeated after a compaction */
  compacted(ctx) {
    this.#compactions.requestRepeated(ctx);
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
    this.#corrections.of(toolCallId, original, name, event, false);
  }

  /**
   * @param {any} event of `before_dispatch`
   * @param {any} ctx
   */
  messageArriving(event, ctx) {
    return this.#starts.messageArriving(event, ctx);
  }

  /**
   * @param {any} event of `before_agent_reply`
   * @param {any} ctx
   */
  runBeginning(event, ctx) {
    return this.#starts.runBeginning(event, ctx);
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
      this.#compactions.ended(event);
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

  /** What a person allowed for a session ends with it. @param {any} event @param {any} ctx */
  sessionEnded(event, ctx) {
    const session = endedSession(event, ctx);
    if (session) this.#engine.note({ type: "session-end", session });
  }

  /** @param {string} id */
  #runEnded(id) {
    const run = this.#runs.end(id);
    if (run && run.cut.size > 0) this.#seams.seen("gracefulStop", "works");
    this.#trace.ended(id);
    this.#engine.note({ type: "run-end", run: id, session: run?.session ?? "" });
  }
}
