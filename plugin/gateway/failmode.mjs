// Verdicts without the engine: the fail mode. The settings are read from the gateway's config.

import { lstatSync } from "node:fs";
import { join } from "node:path";

import { ALLOWED_UNJUDGED, COMMAND, OPENS_FILE } from "./catalogue.mjs";
import { ENGINE_AWAY, KILL_SWITCH_ON, misshapen, PROTECTED } from "./messages.mjs";
import { Places } from "./places.mjs";
import { faultOf } from "./shape.mjs";

/**
 * A setting as it applies to this agent.
 * @param {any} config
 * @param {string | undefined} agent
 * @param {string} name
 */
export function setting(config, agent, name) {
  return config?.agents?.[agent ?? ""]?.[name] ?? config?.[name];
}

/**
 * Whether the guard blocks calls of this agent.
 * @param {any} config
 * @param {string | undefined} agent
 */
export function acts(config, agent) {
  const mode = setting(config, agent, "mode");
  return config?.enabled !== false && mode !== "disabled" && mode !== "shadow";
}

/**
 * Whether the guard judges calls of this agent.
 * @param {any} config
 * @param {string | undefined} agent
 */
export function isOn(config, agent) {
  return config?.enabled !== false && setting(config, agent, "mode") !== "disabled";
}

/**
 * Whether the kill switch is on. A file that cannot be read counts as on.
 * @param {string} state the gateway's state directory
 */
export function isKilled(state) {
  try {
    lstatSync(join(state, "toolguard", "kill-switch"));
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT";
  }
}

/**
 * Whether commands of this agent wait for a person where they cannot be contained, as while the engine is silent.
 * @param {any} config
 * @param {string | undefined} agent
 */
function isHeldUncontained(config, agent) {
  const { profile, whenUnavailable } = { ...config?.containment, ...config?.agents?.[agent ?? ""]?.containment };
  return whenUnavailable === "hold" && profile !== "off";
}

/** Parameters that hold commands or code, in any tool. */
const RUN_PARAMS = ["args", "argv", "cmd", "code", "command", "commands", "script"];

/**
 * The verdict of the fail mode, on a call for which the engine gave no answer. In every fail mode, calls that name a
 * protected place are blocked; the kill switch counts in every mode.
 * @param {any} config
 * @param {string | undefined} agent
 * @param {{ tool: string, params: any, workspace?: string }} call
 * @param {string} state the gateway's state directory
 * @param {() => Places} places
 * @returns {{ block: true, blockReason: string } | undefined}
 */
export function verdictWithoutEngine(config, agent, call, state, places) {
  if (config?.enabled !== false && isKilled(state)) return { block: true, blockReason: KILL_SWITCH_ON };
  if (!acts(config, agent)) return undefined;
  const fault = faultOf(call.params);
  if (fault) return { block: true, blockReason: misshapen(fault) };
  if (config?.failMode !== "open" && !ALLOWED_UNJUDGED.has(call.tool)) return { block: true, blockReason: ENGINE_AWAY };
  if (COMMAND.has(call.tool) && isHeldUncontained(config, agent)) return { block: true, blockReason: ENGINE_AWAY };
  return namesProtected(call, places) ? { block: true, blockReason: PROTECTED } : undefined;
}

/**
 * The verdict on a call that could not be judged although the engine runs: it answered with an error, or the call breaks a
 * bound. That is not silence, so neither a fail mode nor shadow mode lets the call run.
 * @param {any} config
 * @param {string | undefined} agent
 * @param {string} state
 * @param {string} reason
 * @returns {{ block: true, blockReason: string } | undefined}
 */
export function verdictOnUnjudged(config, agent, state, reason) {
  if (config?.enabled !== false && isKilled(state)) return { block: true, blockReason: KILL_SWITCH_ON };
  return isOn(config, agent) ? { block: true, blockReason: reason } : undefined;
}

/**
 * @param {{ tool: string, params: any, workspace?: string }} call
 * @param {() => Places} places
 */
function namesProtected({ tool, params, workspace = "" }, places) {
  try {
    const runs = COMMAND.has(tool) || RUN_PARAMS.some((name) => params?.[name] !== undefined);
    return places().namedBy(tool, params, { workspace, runs, opens: OPENS_FILE.has(tool), shallow: ALLOWED_UNJUDGED.has(tool) });
  } catch {
    return true; // in doubt, protected
  }
}
