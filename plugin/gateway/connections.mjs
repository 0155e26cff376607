// The connections to the gateway, and which process is at the other end of those from this machine.
//
// Whoever has the gateway's token is its owner for the gateway, and a program that an agent started can read the token. So a
// decision in chat counts only if no such program could have sent it, and a person could. The gateway does not say which
// connection a command came on: all that were open while the call waited count. Whose a process is decides
// `toolguard_cli.person`.

import { spawn } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { networkInterfaces } from "node:os";

import { isInside } from "./bridges.mjs";
import { engineCommand } from "./command.mjs";

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {{ kind: string, why: string }} Peer */
/**
 * `address`, `port`: of the other end; `local`: the port here; `closed`: 0 while it is open; `requests`: what came on it so
 * far, `reads` for nothing but GET and HEAD, which no command can come with; `peer`: whose it is, null until that was asked.
 * @typedef {{ address: string, port: number, local: number, opened: number, closed: number, requests: "" | "reads" | "more", peer: Peer | null }} Connection
 * @typedef {{ opened: number, closed: number, kind: string, why: string }} Reported times in seconds since 1970
 */

const MOST = 500;
/** What a command can name at most: those that are open, then those that were closed last. */
const REPORTED = 20;
const LIMIT_MS = 20_000;
/** A request that is no upgrade shows itself within this time. */
const SETTLE_MS = 50;
/** How long the program stays that is asked, if nobody else connects. */
const IDLE_MS = 120_000;
const MAX_LINE = 100_000;
const MAX_ERROR = 300;
const READING = new Set(["GET", "HEAD"]);
const CERTAIN = new Set(["person", "gateway", "device"]);
/** The gateway is nobody: what it sends to itself was not sent by a person. */
const CARRYING = new Set(["person", "device"]);
const DEVICE = { kind: "device", why: "by another device" };
const INSIDE = { kind: "unknown", why: "by a container or a virtual machine on this machine" };
const FOREIGN = { kind: "unknown", why: "by a page that is not the gateway's own" };
const GONE = { kind: "unknown", why: "it was closed before its program could be identified" };

const SHARED = Symbol.for("toolguard.connections");
/** @typedef {{ all: Connection[], bySocket: WeakMap<object, Connection>, servers: WeakSet<object>, lost: number, news: () => void }} Shared */
const known = /** @type {any} */ (globalThis);
/** @type {Shared} one for all copies of these modules in the process: each connection is announced once */
const shared = known[SHARED] ?? watched();

/** @returns {Shared} */
function watched() {
  subscribe("net.server.socket", (message) => accepted(/** @type {any} */ (message).socket));
  subscribe("http.server.request.start", (message) => requested(/** @type {any} */ (message)));
  const made = { all: [], bySocket: new WeakMap(), servers: new WeakSet(), lost: 0, news: () => {} };
  queueMicrotask(earlier);
  return (known[SHARED] = made);
}

/** Connections from before the plugin was loaded, which nobody announces: a command may come on any of them. */
function earlier() {
  for (const handle of /** @type {any} */ (process)._getActiveHandles?.() ?? [])
    if (handle instanceof Socket && /** @type {any} */ (handle).server && !shared.bySocket.has(handle)) {
      accepted(handle);
      // What HTTP has asked by now was asked before there was a plugin to command; after an upgrade, anything may come.
      said(handle, /** @type {any} */ (handle).parser ? "reads" : "more");
    }
}

/** @param {import("node:net").Socket & { server?: import("node:http").Server }} socket */
function accepted(socket) {
  const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
  const peer = isHere(remoteAddress, localAddress) ? null : isInside(remoteAddress) ? INSIDE : DEVICE;
  /** @type {Connection} */
  const connection = { address: remoteAddress, port: remotePort, local: localPort, opened: Date.now(), closed: 0, requests: "", peer };
  shared.all.push(connection);
  if (shared.all.length > MOST) forget();
  shared.bySocket.set(socket, connection);
  socket.once("close", () => void (connection.closed = Date.now()));
  if (socket.server) watchUpgrades(socket.server);
  if (!peer) setTimeout(() => shared.news(), SETTLE_MS).unref();
}

/** Makes room. An open connection is never forgotten, and a doubtful one leaves the time when it was closed. */
function forget() {
  const isHarmless = (/** @type {Connection} */ each) => each.requests === "reads" || CERTAIN.has(each.peer?.kind ?? "");
  const closed = shared.all.filter((each) => each.closed);
  const victim = closed.find(isHarmless) ?? closed[0];
  if (!victim) return;
  if (!isHarmless(victim)) shared.lost = Math.max(shared.lost, victim.closed);
  shared.all.splice(shared.all.indexOf(victim), 1);
}

/**
 * Node announces no request that asks for an upgrade. A listener where there is none would change what the server does.
 * @param {import("node:http").Server} server
 */
function watchUpgrades(server) {
  if (shared.servers.has(server) || server.listenerCount("upgrade") === 0) return;
  shared.servers.add(server);
  server.prependListener("upgrade", (request, socket) => {
    said(socket, "more");
    const connection = shared.bySocket.get(socket);
    if (connection && isForeign(request.headers)) connection.peer = FOREIGN;
  });
}

/**
 * Whether a browser says that a page of another address opens the connection. An agent can serve such a page, and have the
 * person's browser open it.
 * @param {import("node:http").IncomingHttpHeaders} headers
 */
function isForeign({ origin, host }) {
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host);
}

/** @param {{ request: import("node:http").IncomingMessage, socket: object }} message */
function requested({ request, socket }) {
  said(socket, READING.has(request.method ?? "") ? "reads" : "more");
}

/**
 * @param {object} socket
 * @param {"reads" | "more"} what
 */
function said(socket, what) {
  const connection = shared.bySocket.get(socket);
  if (connection && connection.requests !== "more") connection.requests = what;
}

/**
 * Whether the other end is on this machine. An empty address: it was closed already, and may have been.
 * @param {string} remote
 * @param {string} local
 */
function isHere(remote, local) {
  const plain = remote.replace(/^::ffff:/, "");
  if (plain === "" || plain === "::1" || plain.startsWith("127.") || remote === local) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some((each) => each.address === plain));
}

/**
 * @param {string} root the folder of the plugin
 * @param {string} state
 * @param {string} configPath
 * @param {any} config the plugin's settings
 * @returns {Command}
 */
export function peersCommand(root, state, configPath, config) {
  return engineCommand(root, state, config, "toolguard_cli.person.peers", [`--state-dir=${state}`, `--config=${configPath}`]);
}

export class Peers {
  #command;
  #logger;
  /** @type {Promise<void>} */
  #asking = Promise.resolve();
  /** @type {import("node:child_process").ChildProcessWithoutNullStreams | null} */
  #child = null;
  #answered = (/** @type {string} */ _line) => {};
  /** @type {NodeJS.Timeout | undefined} */
  #idle;

  /**
   * @param {Command} command runs `toolguard_cli.person.peers`
   * @param {import("./engine.mjs").Logger} logger
   */
  constructor(command, logger) {
    this.#command = command;
    this.#logger = logger;
    shared.news = () => void this.identify();
  }

  /** The plugin leaves. */
  end() {
    this.#child?.stdin.end();
  }

  /** Finds out whose the open connections are. Never rejects. */
  identify() {
    this.#asking = this.#asking.then(() => this.#identify());
    return this.#asking;
  }

  async #identify() {
    const open = shared.all.filter((each) => !each.closed && !each.peer && each.requests !== "reads");
    if (open.length === 0) return;
    const found = await this.#asked(open.map(({ address, port, local }) => ({ address, port, local })));
    open.forEach((each, at) => void (each.peer = each.peer ?? found[at] ?? null));
  }

  /**
   * @param {object[]} connections
   * @returns {Promise<Peer[]>} empty if there was no answer in time
   */
  #asked(connections) {
    const child = (this.#child ??= this.#started());
    clearTimeout(this.#idle);
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
      this.#answered = (line) => {
        clearTimeout(timer);
        this.#answered = () => {};
        this.#idle = setTimeout(() => child.stdin.end(), IDLE_MS).unref();
        resolve(peersIn(line));
      };
      child.stdin.write(`${JSON.stringify(connections)}\n`);
    });
  }

  /** It is started when it is needed, and ends when nobody has connected for a while, or with the gateway. */
  #started() {
    const { python, args, cwd, env } = this.#command;
    const child = spawn(python, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more) => {
      text += more;
      const end = text.indexOf("\n");
      if (end >= 0) this.#answered(text.slice(0, end));
      text = end >= 0 ? text.slice(end + 1) : text.slice(0, MAX_LINE);
    });
    child.stderr.setEncoding("utf8").on("data", (line) => this.#logger.warn(`[toolguard] ${line.trim().slice(0, MAX_ERROR)}`));
    child.stdin.on("error", () => {});
    child.on("error", (error) => this.#logger.warn(`[toolguard] cannot tell whose connections are: ${error.message}`));
    child.on("close", () => {
      if (this.#child === child) this.#child = null;
      this.#answered("");
    });
    for (const each of [child, child.stdin, child.stdout, child.stderr]) /** @type {any} */ (each).unref?.();
    return child;
  }

  /**
   * Who may have sent a command: `peers` are those connections of which it is not certain that a person holds them,
   * `carriers` those on which a person may have sent it.
   * @returns {Promise<{ peers: Reported[], carriers: Reported[] }>}
   */
  async senders() {
    await this.identify();
    const sending = shared.all.filter((each) => each.requests !== "reads");
    const forgotten = shared.lost ? [{ opened: 0, closed: shared.lost, peer: GONE }] : [];
    return {
      peers: reported([...sending.filter((each) => !CERTAIN.has(each.peer?.kind ?? "")), ...forgotten]),
      carriers: reported(sending.filter((each) => CARRYING.has(each.peer?.kind ?? ""))),
    };
  }
}

/**
 * Those that are open first, then those that were closed last.
 * @param {{ opened: number, closed: number, peer: Peer | null }[]} connections
 * @returns {Reported[]}
 */
function reported(connections) {
  const until = (/** @type {{ closed: number }} */ { closed }) => closed || Infinity;
  return connections
    .sort((one, other) => (until(one) === until(other) ? 0 : until(other) - until(one)))
    .slice(0, REPORTED)
    .map(({ opened, closed, peer }) => ({ opened: opened / 1000, closed: closed / 1000, ...(peer ?? GONE) }));
}

/**
 * @param {string} text
 * @returns {Peer[]}
 */
function peersIn(text) {
  try {
    const found = JSON.parse(text);
    if (!Array.isArray(found)) return [];
    return found.map((each) => ({ kind: String(each?.kind ?? "unknown"), why: String(each?.why ?? "").slice(0, 300) }));
  } catch {
    return []; // the program failed: all of them stay unknown
  }
}
