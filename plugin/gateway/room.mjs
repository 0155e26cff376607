// How a command gets into its room (docs/containment.md): the gateway runs commands with the shell that `SHELL` names, read again
// at each call, so it names the engine's program; and that program enters the room that a variable of the call names.

import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Names the room of a command. It is the same after a restart: OpenClaw binds standing approvals to the variables. */
const ROOM = "TOOLGUARD_ROOM";
/** The gateway's own: `,NAME=PID,NAME=PID,`, which process holds which room. */
const ROOMS = "TOOLGUARD_ROOMS";
const MAX_ROOMS = 200;
const SDK = "openclaw/plugin-sdk/node-host";
/** After the plugin has left: commands that were judged still run in their rooms. */
const LEFT_MS = 30_000;
/** What stands for `'` in a quoted text. */
const QUOTE = "'\\''";

const SHARED = Symbol.for("toolguard.shell");
/**
 * The person's own shell, ours while it is in use, the one that commands are rewritten to run with instead, and the rooms that
 * commands were told. `isBound`: see `bind`.
 * @type {{ own: string | undefined, used: string, inside: string, over?: NodeJS.Timeout, rooms: Map<string, number>, isBound?: boolean }}
 */
const shell = (/** @type {any} */ (globalThis)[SHARED] ??= { own: process.env.SHELL, used: "", inside: "", rooms: new Map() });

/** The shell of the person who started the gateway; empty if none is named. */
export const ownShell = () => (shell.used ? shell.own : process.env.SHELL) ?? "";

/**
 * Uses the engine's program from the next command on. `program`: empty if there are no rooms. Where `SHELL` cannot be changed,
 * commands are rewritten to run with the program, unless the gateway has a list of commands that it allows: it would not find
 * them there.
 * @param {string} program
 * @param {(program: string) => void} [prime]
 * @param {boolean} [mayRewrite]
 * @returns {string} why it is not used; empty if it is, or if there is none
 */
export function useShell(program, prime = primed, mayRewrite = false) {
  clearTimeout(shell.over);
  if (!program) return restore();
  try {
    prime(program);
  } catch (error) {
    restore();
    if (mayRewrite) shell.inside = program;
    return mayRewrite ? "" : error instanceof Error ? error.message : String(error);
  }
  shell.inside = "";
  if (!shell.used) shell.own = process.env.SHELL;
  process.env.SHELL = shell.used = program;
  return "";
}

/** The plugin has left: unless it comes back, the gateway gets its shell back. */
export function leaveShell() {
  clearTimeout(shell.over);
  shell.over = setTimeout(restore, LEFT_MS);
  shell.over.unref();
}

/**
 * From now on, until the gateway ends, it keeps the shell that leads to rooms: a call runs only because of its room, perhaps
 * long after its verdict.
 * @param {any} params of the call
 * @returns {boolean} whether that shell is in use, or the call is rewritten to run with it; if not, the call must not run
 */
export function bind(params) {
  if (shell.inside) return typeof params?.command === "string";
  const isInUse = shell.used !== "" && process.env.SHELL === shell.used;
  shell.isBound ||= isInUse;
  return isInUse;
}

/** @returns {""} */
function restore() {
  if (shell.isBound && existsSync(shell.used)) {
    shell.over = setTimeout(restore, LEFT_MS); // without the name of a room, it is the person's shell at once
    shell.over.unref();
    return "";
  }
  if (shell.used && process.env.SHELL === shell.used) {
    if (shell.own === undefined) delete process.env.SHELL;
    else process.env.SHELL = shell.own;
  }
  shell.used = shell.inside = "";
  shell.rooms.clear();
  delete process.env[ROOMS];
  return "";
}

/**
 * @param {string} name
 * @param {number} room
 */
function announce(name, room) {
  if (shell.rooms.get(name) === room) return;
  shell.rooms.delete(name);
  shell.rooms.set(name, room);
  for (const [oldest] of shell.rooms) if (shell.rooms.size > MAX_ROOMS) shell.rooms.delete(oldest);
  process.env[ROOMS] = `,${[...shell.rooms].map(([known, pid]) => `${known}=${pid}`).join(",")},`;
}

/**
 * The gateway takes PATH from the person's login shell when it first runs a command, and remembers it. It would ask `/bin/sh`
 * instead of ours, which is not in /etc/shells, so it is asked before (2026.8 and later).
 */
function primed() {
  if (shell.used) return;
  const sdk = createRequire(realpathSync(process.argv[1] ?? ""))(SDK);
  sdk.resolveNodeHostExecutable("sh", { strategy: "user-shell", env: process.env });
}

/**
 * The arguments of a command with the room that it runs in. What a model says about that itself is dropped.
 * @param {any} params
 * @param {{ room?: number, roomName?: string, onlyThere?: boolean }} answer of the engine; `room`: the process that holds it, none
 *   if not above 0; `onlyThere`: the gateway refuses the call if it would run it anywhere but beside itself
 */
export function inRoom(params, { room = 0, roomName = "", onlyThere = false }) {
  const others = otherVariables(params);
  if (room > 0 && isObject(params)) {
    announce(roomName, room);
    const kept = others ?? (isObject(params.env) ? params.env : {});
    const command = shell.inside && typeof params.command === "string" ? { command: `${opening()}${quoted(params.command)}` } : {};
    return { ...params, ...command, ...(onlyThere && { host: "gateway" }), env: { ...kept, [ROOM]: roomName } };
  }
  return others ? { ...params, env: others } : params; // a hook cannot take an argument away
}

/**
 * The arguments of a command that has run, as the model wrote them.
 * @param {any} params
 * @param {boolean} [hostIsOurs] whether its host was put there by `inRoom`
 */
export function withoutRoom(params, hostIsOurs = false) {
  const others = otherVariables(params);
  if (!others) return params;
  const { env, host, ...rest } = params;
  const named = host === undefined || hostIsOurs ? rest : { ...rest, host };
  if (shell.inside && typeof named.command === "string" && named.command.startsWith(opening()))
    named.command = named.command.slice(opening().length + 1, -1).replaceAll(QUOTE, "'");
  return Object.keys(others).length > 0 ? { ...named, env: others } : named;
}

/** What a command begins with that is rewritten. */
const opening = () => `exec ${quoted(shell.inside)} -c `;

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", QUOTE)}'`;

/**
 * The variables of a command but for those that lead to a room; undefined if these are not among them.
 * @param {any} params
 */
function otherVariables(params) {
  if (!isObject(params?.env)) return undefined;
  const all = Object.entries(params.env);
  const others = all.filter(([name]) => ![ROOM, ROOMS].includes(name.trim())); // as the gateway trims it
  return others.length < all.length ? Object.fromEntries(others) : undefined;
}

/** @param {any} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether a command was run with the engine's program: undefined while that is not in use. */
export const wasUsed = () => {
  const program = shell.used || shell.inside;
  return program ? existsSync(join(dirname(program), "used")) : undefined;
};

/**
 * Whether the gateway compares commands with a list of those that it allows, for any agent.
 * @param {any} config
 */
export function hasAllowlist(config) {
  const agents = [config?.agents?.defaults, ...Object.values(config?.agents?.entries ?? {}), ...(config?.agents?.list ?? [])];
  return [config, ...agents].map((each) => each?.tools?.exec).some((exec) =>
    ["allowlist", "deny"].includes(exec?.security) || ["always", "on-miss"].includes(exec?.ask)
    || ["deny", "allowlist", "ask", "auto"].includes(exec?.mode));
}
