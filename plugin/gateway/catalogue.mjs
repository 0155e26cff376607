// The roles of the gateway's tools, and of some programs: `catalogue.json`, generated from the engine's catalogue
// (`toolguard_manifests/programs.toml`, which explains each role).

import { readFileSync } from "node:fs";

/** @type {{ programs: Record<string, string[]>, tools: Record<string, string[]> }} */
const { programs, tools } = JSON.parse(readFileSync(new URL("./catalogue.json", import.meta.url), "utf8"));

/**
 * @param {Record<string, string[]>} roles
 * @param {string} role
 */
function namesOf(roles, role) {
  const names = roles[role];
  if (!names) throw new Error(`catalogue.json lacks the role ${role}`);
  return names;
}

/**
 * @param {string} role
 * @returns {ReadonlySet<string>}
 */
const toolsOf = (role) => new Set(namesOf(tools, role));

export const ALLOWED_UNJUDGED = toolsOf("allowed_unjudged");
export const COMMAND = toolsOf("command");
export const CHANGES_FILE = new Set([...toolsOf("writes_file"), ...toolsOf("patches")]);
export const COMMAND_LINE = toolsOf("command_line");
export const LOCAL = toolsOf("local");
export const OPENS_FILE = toolsOf("opens_file");
export const OWN_RESULT = toolsOf("own_result");

export const NEAR_LISTERS = namesOf(programs, "near_lister");
export const OFF_HOST = namesOf(programs, "off_host");
