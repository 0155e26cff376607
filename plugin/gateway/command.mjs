// The command that runs the engine: its Python, its state directory, its environment.

import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

/** @typedef {{ python: string, args: string[], cwd: string, env: NodeJS.ProcessEnv }} Command */

/**
 * The state directory, as the gateway resolves it: its own API, then the environment, then the home.
 * @param {any} api
 * @returns {string}
 */
export function stateDir(api) {
  const resolved = api.runtime?.state?.resolveStateDir?.();
  if (typeof resolved === "string" && resolved) return resolved;
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

/** Where toolguard's environment is, below the home. `host/file_names.py` has the same list. */
const ENVIRONMENTS = [
  ".toolguard",
  ".local/share/uv/tools/openclaw-toolguard",
  ".local/share/pipx/venvs/openclaw-toolguard",
  ".local/pipx/venvs/openclaw-toolguard",
];
/** The folders of `ENVIRONMENTS`. */
export const environments = () => ENVIRONMENTS.map((place) => join(homedir(), place));

/** If toolguard is found nowhere else. */
const ANY = "python3";

/**
 * The interpreter that has toolguard: named in the config, recorded by `toolguard install`, that of the checkout that
 * contains this file, or that of one of `ENVIRONMENTS`. Environment variables are not used: OpenClaw reads a `.env` in its working directory, which an agent
 * can write.
 * @param {string} root the folder of the plugin
 * @param {string} state
 * @param {any} config
 * @returns {string}
 */
export function python(root, state, config) {
  if (config?.python) return config.python;
  const own = environments().map((place) => join(place, "bin", "python"));
  const usual = [join(root, "..", "..", ".venv", "bin", "python"), ...own];
  return recorded(state) || usual.find((place) => existsSync(place)) || ANY;
}

/** @param {string} state */
function recorded(state) {
  try {
    const { python: path } = JSON.parse(readFileSync(join(state, "toolguard", "install.json"), "utf8"));
    return typeof path === "string" ? path : "";
  } catch {
    return ""; // not installed by `toolguard install`, or not readable: the next candidate is tried
  }
}

/**
 * Runs a module of toolguard, the engine if none is named.
 *
 * -P and -E keep the current folder (perhaps an agent's workspace) and PYTHON* variables from replacing the engine's code.
 * As long as toolguard is not found, it is looked for again at each start, so an engine that is installed later needs no restart of
 * the gateway.
 * @param {string} root
 * @param {string} state
 * @param {any} config
 * @param {string} [module]
 * @param {string[]} [options] what follows the module
 * @returns {Command} not to be copied: that would look for toolguard once and for all
 */
export function engineCommand(root, state, config, module = "toolguard_engine", options = []) {
  let found = python(root, state, config);
  return {
    get python() {
      if (found === ANY) found = python(root, state, config);
      return found;
    },
    args: ["-P", "-E", "-m", module, ...options],
    cwd: existsSync(state) ? state : root,
    env: process.env,
  };
}
