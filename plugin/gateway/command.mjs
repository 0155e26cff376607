// Where the engine is: which Python runs it, and which state directory it keeps its files in.

import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

/** @typedef {{ python: string, args: string[], cwd: string, env: NodeJS.ProcessEnv }} Command */

/**
 * The state directory, as the gateway resolves it: its own word first, then the environment, then the home.
 * @param {any} api
 * @returns {string}
 */
export function stateDir(api) {
  const told = api.runtime?.state?.resolveStateDir?.();
  if (typeof told === "string" && told) return told;
  if (process.env.OPENCLAW_STATE_DIR) return process.env.OPENCLAW_STATE_DIR;
  const home = process.env.OPENCLAW_HOME || homedir();
  const places = [join(home, ".openclaw"), join(home, ".clawdbot")];
  return places.find((place) => existsSync(place)) ?? join(home, ".openclaw");
}

/**
 * The gateway's config file, as the gateway finds it.
 * @param {string} state
 */
export function configPath(state) {
  if (process.env.OPENCLAW_CONFIG_PATH) return process.env.OPENCLAW_CONFIG_PATH;
  const places = [join(state, "openclaw.json"), join(state, "clawdbot.json")];
  return places.find((place) => existsSync(place)) ?? join(state, "openclaw.json");
}

/**
 * The name of this gateway in logs: its profile, else the name of its state directory.
 * @param {string} state
 */
export function gatewayName(state) {
  return process.env.OPENCLAW_PROFILE || basename(state).replace(/^\./, "") || "openclaw";
}

/**
 * The interpreter that has toolguard: named in the config, recorded by `toolguard install`, or that of the checkout which
 * this file lies in. No variable of the environment names it: OpenClaw takes variables from a `.env` in its working
 * directory, and an agent can write one there.
 * @param {string} root the folder of the plugin
 * @param {string} state
 * @param {any} config
 * @returns {string}
 */
export function python(root, state, config) {
  const checkout = join(root, "..", "..", ".venv", "bin", "python");
  return (
    config?.python || recorded(state) || (existsSync(checkout) ? checkout : "python3")
  );
}

/** @param {string} state */
function recorded(state) {
  try {
    const { python: path } = JSON.parse(readFileSync(join(state, "toolguard", "install.json"), "utf8"));
    return typeof path === "string" ? path : "";
  } catch {
    return ""; // not installed by `toolguard install`, or not readable: the next place is asked
  }
}

/**
 * -P and -E keep the current folder and PYTHON* variables from deciding which code guards: an agent's workspace is
 * such a folder.
 * @param {string} root
 * @param {string} state
 * @param {any} config
 * @returns {Command}
 */
export function engineCommand(root, state, config) {
  return {
    python: python(root, state, config),
    args: ["-P", "-E", "-m", "toolguard_engine"],
    cwd: existsSync(state) ? state : root,
    env: process.env,
  };
}
