// What happens while the engine cannot answer. The settings are read as the gateway holds them.

import { lstatSync } from "node:fs";
import { join } from "node:path";

import { ENGINE_AWAY, KILL_SWITCH_ON, misshapen, PROTECTED, READ_ONLY } from "./messages.mjs";
import { Places } from "./places.mjs";
import { faultOf } from "./shape.mjs";

/**
 * A setting, as the agent has it.
 * @param {any} config
 * @param {string | undefined} agent
 * @param {string} name
 */
export function setting(config, agent, name) {
  return config?.agents?.[agent ?? ""]?.[name] ?? config?.[name];
}

/**
 * Whether the guard acts at all for this agent.
 * @param {any} config
 * @param {string | undefined} agent
 */
export function acts(config, agent) {
  const mode = setting(config, agent, "mode");
  return config?.enabled !== false && mode !== "disabled" && mode !== "shadow";
}

/**
 * Whether the guard looks at this agent at all.
 * @param {any} config
 * @param {string | undefined} agent
 */
export function isOn(config, agent) {
  return config?.enabled !== false && setting(config, agent, "mode") !== "disabled";
}

/**
 * Whether a person has stopped everything (`stores/killswitch.py`). What cannot be looked at counts as on.
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

/** Tools of those that only look whose texts name files. */
const OPENS = new Set(["image", "ls", "memory_get", "read"]);
const RUNS = new Set(["bash", "exec", "process"]);
/** Parameters whose texts are commands or code, whatever the tool. */
const RUN_PARAMS = ["args", "argv", "cmd", "code", "command", "commands", "script"];

/**
 * The verdict of the fail mode: on a call that nobody judged, because the engine is silent. Whatever the fail mode, what
 * names a protected place does not run. The kill switch counts in every mode.
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
  if (config?.failMode !== "open" && !READ_ONLY.has(call.tool)) return { block: true, blockReason: ENGINE_AWAY };
  return namesProtected(call, places) ? { block: true, blockReason: PROTECTED } : undefined;
}

/**
 * The verdict on a call that could not be judged although the engine is there: it answered with an error, or the call breaks a
 * bound. That is no silence, so no fail mode lets it run, and shadow mode neither.
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
    const runs = RUNS.has(tool) || RUN_PARAMS.some((name) => params?.[name] !== undefined);
    return places().namedBy(tool, params, { workspace, runs, opens: OPENS.has(tool), looks: READ_ONLY.has(tool) });
  } catch {
    return true; // in doubt it does
  }
}
