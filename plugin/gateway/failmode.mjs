// What happens while the engine cannot answer. The settings are read as the gateway holds them.

import { ENGINE_AWAY, READ_ONLY } from "./messages.mjs";

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
 * The verdict on a call that nobody judged.
 * @param {any} config
 * @param {string | undefined} agent
 * @param {string} tool
 * @returns {{ block: true, blockReason: string } | undefined}
 */
export function verdictWithoutEngine(config, agent, tool) {
  const passes = !acts(config, agent) || config?.failMode === "open" || READ_ONLY.has(tool);
  return passes ? undefined : { block: true, blockReason: ENGINE_AWAY };
}
