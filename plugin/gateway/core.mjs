// One core per process: the engine and the state of the runs, shared by all instances of this plugin.
//
// The gateway loads the plugin's modules several times in one process: hooks reach one instance; agent events, text
// transforms and the service reach another; more instances come and go during a run (seen on 2026.9.6). They share this core.
// It lives until the gateway stops the service or the last instance that used it is disposed of.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import { configPath, engineCommand, environments, gatewayName, python, stateDir } from "./command.mjs";
import { Dashboard, dashboardCommand } from "./dashboard.mjs";
import { stampOf } from "./config_includes.mjs";
import { Engine, PROTOCOL } from "./engine.mjs";
import { Hooks } from "./hooks.mjs";
import { Peers, peersCommand } from "./connections.mjs";
import { Notifier, notifierCommand } from "./notifier.mjs";
import { OrderWatch } from "./order.mjs";
import { factsOf, Places } from "./places.mjs";
import { hasAllowlist, leaveShell, ownShell, useShell } from "./room.mjs";
import { waitingFor } from "./reports.mjs";
import { Runs } from "./runs.mjs";
import { Seams, Trace } from "./seams.mjs";
import { ownSecrets, secretsOf } from "./secrets.mjs";
import { StartWatch } from "./start_watch.mjs";
import { isMeasured, Usage } from "./usage.mjs";
import { Answerer } from "./answerer.mjs";
import { Waker } from "./waker.mjs";

/** @typedef {{ engine: Engine, hooks: Hooks, trace: Trace, waker: Waker, order: OrderWatch, dashboard: Dashboard, notifier: Notifier, usage: Usage | null, peers: Peers }} Core */
/** @typedef {import("./engine.mjs").Logger} Logger */

const NOT_GUARDED =
  "[toolguard] NOT FULLY GUARDED: this OpenClaw loads the plugin but does not call its hooks in this kind of run. " +
  "Malformed calls are corrected on their way to the model; nothing else can be judged. " +
  "Use a gateway run or a newer OpenClaw. Run `toolguard doctor` for details.";

const SHARED = Symbol.for("toolguard.cores");
const shared = /** @type {any} */ (globalThis);
/** @type {Map<string, { core: Core, holders: Set<symbol> }>} */
const cores = (shared[SHARED] ??= new Map());

export class Membership {
  #me = Symbol("toolguard instance");
  #left = false;
  #key;
  #make;

  /**
   * @param {any} api
   * @param {string} root
   * @param {string} version
   * @param {Logger} logger
   */
  constructor(api, root, version, logger) {
    this.#key = JSON.stringify([version, PROTOCOL, root, api.pluginConfig ?? {}]);
    this.#make = () => makeCore(api, root, version, logger);
  }

  /**
   * The core, created if there is none. An instance that has left creates none, but may still use that of its successor.
   * @returns {Core | null}
   */
  get core() {
    let entry = cores.get(this.#key) ?? (this.#left ? [...cores.values()].at(-1) : undefined);
    if (this.#left) return entry?.core ?? null;
    if (!entry) cores.set(this.#key, (entry = { core: this.#make(), holders: new Set() }));
    entry.holders.add(this.#me);
    return entry.core;
  }

  /**
   * The gateway stops. If it replaces the plugin instead, the core may be gone already; none is created for this note.
   * @param {unknown} reason
   */
  leaving(reason) {
    cores.get(this.#key)?.core.engine.note({ type: "leaving", reason: String(reason ?? "").slice(0, 200) });
  }

  /** This instance was disposed of. */
  async leave() {
    this.#left = true;
    const entry = cores.get(this.#key);
    entry?.holders.delete(this.#me);
    if (entry?.holders.size === 0) await this.end();
  }

  /** The gateway stops or reloads the plugin: the core ends even if instances still hold it. */
  async end() {
    const entry = cores.get(this.#key);
    cores.delete(this.#key);
    entry?.core.dashboard.leave();
    entry?.core.notifier.leave();
    entry?.core.peers.end();
    leaveShell();
    await entry?.core.engine.stop();
  }
}

/**
 * @param {any} api
 * @param {string} root
 * @param {string} version
 * @param {Logger} logger
 * @returns {Core}
 */
function makeCore(api, root, version, logger) {
  const state = stateDir(api);
  const announce = () => {
    engine.note({ type: "seams", seams: seams.evidence });
    hooks.engineReady();
  };
  const ready = (/** @type {any} */ answer) => {
    const unused = useShell(answer.shell ?? "", undefined, !hasAllowlist(api.config));
    if (unused) seams.seen("commandShell", "fails");
    if (unused) logger.warn(`[toolguard] commands are not contained, because their shell cannot be prepared: ${unused}`);
    announce();
  };
  const received = (/** @type {any} */ message) => {
    if (message.type === "decided") hooks.decided(message);
    else if (message.type === "secrets") secrets.use(message.hidden);
    else void waker.wake(message);
  };
  const secrets = secretsOf(state);
  const { enabled, redactSecrets } = api.pluginConfig ?? {};
  secrets.use(enabled === false || redactSecrets === false ? [] : ownSecrets(api.config), { fromEngine: false });
  const engine = new Engine(engineCommand(root, state, api.pluginConfig), {
    stateDir: state, config: api.pluginConfig ?? {}, gateway: gatewayName(state), gatewayPid: process.pid,
    host: String(api.runtime?.version ?? ""), plugin: version, configPath: configPath(state), root,
    conversation: isGivenConversation(api), entry: process.argv[1] ?? "", shell: ownShell(), path: process.env.PATH ?? "",
  }, logger, ready, received, { configStamp: () => stampOf(configPath(state)), starts: new StartWatch(join(state, "toolguard", "engines", `${process.pid}.starting`)) });
  const seams = new Seams((name, evidence) => {
    logSeam(logger, name, evidence);
    announce();
  });
  const trace = new Trace(seams);
  const runs = new Runs();
  const waker = new Waker(logger, (session) => runs.ofSession(session) !== undefined,
    (outcome) => engine.note({ type: "woken", ...outcome }));
  const order = new OrderWatch((text) => {
    logger.error(`[toolguard] ${text}`);
    engine.note({ type: "warned", text });
  });
  const places = placesOf(root, state, api.pluginConfig);
  const peers = new Peers(peersCommand(root, state, configPath(state), api.pluginConfig), logger);
  const hooks = new Hooks(engine, api.pluginConfig, runs, seams, trace, order, workspaces(api), state, places, waitingFor(state),
    new Answerer(logger, () => api.runtime?.config?.current?.() ?? api.config), secrets);
  const dashboard = new Dashboard(dashboardCommand(root, state, configPath(state), api.pluginConfig), logger, version);
  const notifier = new Notifier(notifierCommand(root, state, configPath(state), api.pluginConfig), api.pluginConfig, logger, version);
  const usage = isMeasured(api.pluginConfig) ? new Usage(engine, runs) : null;
  return { engine, trace, hooks, waker, order, dashboard, notifier, usage, peers };
}

/**
 * The protected places for when the engine is silent, created on first use.
 * @param {string} root
 * @param {string} state
 * @param {any} config
 */
function placesOf(root, state, config) {
  /** @type {Places | undefined} */
  let made;
  return () => (made ??= new Places(factsOf(state, configPath(state), config, [root, environmentOf(root, state, config), ...environments()])));
}

/**
 * The virtual environment of the engine; empty if its interpreter is the system's.
 * @param {string} root
 * @param {string} state
 * @param {any} config
 */
function environmentOf(root, state, config) {
  const folder = dirname(dirname(python(root, state, config)));
  return existsSync(join(folder, "pyvenv.cfg")) ? folder : "";
}

/**
 * Whether the gateway passes conversations to the plugin's hooks; null if unknown. `api.config` is what the plugin was
 * registered with: right after a reload `api.runtime.config.current()` is still the old config.
 * @param {any} api
 */
export function isGivenConversation(api) {
  const entries = api.config?.plugins?.entries;
  return entries ? entries.toolguard?.hooks?.allowConversationAccess === true : null;
}

/**
 * The default working directory of an agent's commands. Resolved once per agent: the settings behind it need a restart.
 * @param {any} api
 */
function workspaces(api) {
  /** @type {Map<string, string>} */
  const known = new Map();
  return (/** @type {string} */ agent) => {
    let place = known.get(agent);
    if (place === undefined) known.set(agent, (place = workspace(api, agent)));
    return place;
  };
}

/**
 * @param {any} api
 * @param {string} agent
 */
function workspace(api, agent) {
  try {
    return String(api.runtime.agent.resolveAgentWorkspaceDir(api.runtime.config.current(), agent) ?? "");
  } catch {
    return ""; // an older host: approvals bind without it
  }
}

/**
 * @param {Logger} logger
 * @param {string} name
 * @param {string} evidence
 */
function logSeam(logger, name, evidence) {
  if (name === "hooks" && evidence === "fails") logger.error(NOT_GUARDED);
  else if (evidence === "fails") logger.warn(`[toolguard] integration point ${name} does not work with this OpenClaw; using the next one`);
  else logger.debug?.(`[toolguard] seam ${name} works`);
}
