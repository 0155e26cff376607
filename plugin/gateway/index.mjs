// Registration: connects the gateway's events to the core (`core.mjs`), and the core's lifetime to the gateway's.

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

import { approveTool, chatCommand } from "./chat.mjs";
import { configPath, stateDir } from "./command.mjs";
import { isGivenConversation, Membership } from "./core.mjs";
import { verdictWithoutEngine } from "./failmode.mjs";
import { ANY_TEXT, TRACED } from "./messages.mjs";
import { factsOf, Places } from "./places.mjs";
import { isLimited, isMeasured } from "./usage.mjs";
import { VERSION } from "./version.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));

/** The lowest priority that the gateway accepts: the hook that runs last has the final decision on a call. */
const LAST = -Number.MAX_SAFE_INTEGER;

/** @param {any} api */
function register(api) {
  if (api.registrationMode === "cli-metadata") return;
  const logger = leveled(api.logger, api.pluginConfig?.logLevel);
  // The gateway runs a private copy of these files; `rootDir` is where they are installed or linked.
  const membership = new Membership(api, api.rootDir ?? HERE, VERSION, logger);
  connectHooks(api, membership);
  connectLife(api, membership);
  const engine = () => membership.core?.engine;
  const wakes = api.pluginConfig?.approval?.wake !== false;
  api.registerCommand?.(chatCommand(engine, () => membership.core?.peers, () => (wakes ? membership.core?.waker : undefined)));
  if (api.pluginConfig?.approval?.agentTool === true) api.registerTool?.(approveTool(engine));
}

/**
 * @param {any} api
 * @param {Membership} membership
 */
function connectHooks(api, membership) {
  /** @param {string} name @param {(event: any, ctx: any) => any} handler @param {object} [options] */
  const on = (name, handler, options) => api.on(name, handler, options);
  on("model_call_started", (event, ctx) => membership.core?.hooks.modelCallStarted(event, ctx));
  on("before_message_write", (event, ctx) => {
    membership.core?.usage?.messageWritten(event.message, ctx);
    return membership.core?.hooks.messageWritten(event, ctx);
  });
  on("after_tool_call", (event, ctx) => membership.core?.hooks.afterToolCall(event, ctx));
  on("tool_result_persist", (event, ctx) => membership.core?.hooks.resultWritten(event, ctx));
  on("before_tool_call", (event, ctx) => {
    const core = membership.core;
    if (core) return core.hooks.beforeToolCall(event, ctx);
    const state = stateDir(api);
    const call = { tool: event.toolName, params: event.params };
    const places = () => new Places(factsOf(state, configPath(state), api.pluginConfig, [api.rootDir ?? HERE]));
    return verdictWithoutEngine(api.pluginConfig, ctx?.agentId, call, state, places);
  }, { priority: LAST });
  on("after_compaction", (_event, ctx) => membership.core?.hooks.compacted(ctx));
  on("session_end", (event, ctx) => membership.core?.hooks.sessionEnded(event, ctx));
  on("reply_payload_sending", (event) => membership.core?.hooks.replySending(event));
  on("gateway_start", () => membership.core?.order.check());
  on("gateway_stop", (event) => membership.leaving(event?.reason));
  if (isMeasured(api.pluginConfig)) {
    on("model_call_ended", (event, ctx) => membership.core?.usage?.callEnded(event, ctx));
    on("message_received", (event, ctx) => membership.core?.usage?.messageReceived(event, ctx));
  }
  if (isLimited(api.pluginConfig)) {
    on("before_dispatch", (event, ctx) => membership.core?.hooks.messageArriving(event, ctx));
    // The gateway refuses this hook, and says so in its log, to a plugin that is not given conversations.
    if (isGivenConversation(api)) on("before_agent_reply", (event, ctx) => membership.core?.hooks.runBeginning(event, ctx));
  }
  const hide = (/** @type {string} */ text) => membership.core?.hooks.textSent(text) ?? text;
  const to = (/** @type {string} */ text) => membership.core?.trace.outgoing(text) ?? text;
  api.registerTextTransforms?.({ input: [{ from: ANY_TEXT, to: hide }, { from: TRACED, to }] });
}

/**
 * @param {any} api
 * @param {Membership} membership
 */
function connectLife(api, membership) {
  const subscribe = api.agent?.events?.registerAgentEventSubscription ?? api.registerAgentEventSubscription;
  const handle = (/** @type {any} */ event) => {
    membership.core?.usage?.agentEvent(event);
    membership.core?.hooks.agentEvent(event);
  };
  const streams = ["lifecycle", "tool", "compaction", ...(isMeasured(api.pluginConfig) ? ["usage"] : [])];
  subscribe?.({ id: "toolguard", streams, handle });
  const start = () => {
    membership.core?.waker.through(api);
    membership.core?.engine.start();
    membership.core?.dashboard.start();
    membership.core?.notifier.through(api);
    membership.core?.notifier.start();
  };
  api.registerService?.({ id: "toolguard", start, stop: () => membership.end() });
  api.lifecycle?.onDispose?.(() => membership.leave());
}

const LEVELS = ["debug", "info", "warn", "error"];

/**
 * @param {any} logger
 * @param {string} [least]
 * @returns {import("./engine.mjs").Logger}
 */
function leveled(logger, least = "info") {
  /** @param {string} level */
  const at = (level) =>
    LEVELS.indexOf(level) < LEVELS.indexOf(least) ? () => {} : (/** @type {string} */ text) => logger?.[level]?.(text);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

export default {
  id: "toolguard",
  name: "Toolguard",
  description: "Corrects malformed tool calls, ends their loops, and holds risky calls until a person approves them",
  register,
};
