// What happens while the engine cannot answer. The settings are read as the gateway holds them.

import { lstatSync } from "node:fs";
import { join } from "node:path";

import { ENGINE_AWAY, KILL_SWITCH_ON, READ_ONLY } from "./messages.mjs";

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

/**
 * The verdict on a call that nobody judged. The kill switch counts in every mode.
 * @param {any} config
 * @param {string | undefined} agent
 * @param {string} tool
 * @param {string} state the gateway's state directory
 * @returns {{ block: true, blockReason: string } | undefined}
 */
export function verdictWithoutEngine(config, agent, tool, state) {
  if (config?.enabled !== false && isKilled(state)) return { block: true, blockReason: KILL_SWITCH_ON };
  const passes = !acts(config, agent) || config?.failMode === "open" || READ_ONLY.has(tool);
  return passes ? undefined : { block: true, blockReason: ENGINE_AWAY };
}
