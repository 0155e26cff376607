// The dashboard's server: a child process that the gateway starts, and restarts when it ends.
//
// One server shows all gateways of the machine. If the server of another gateway has the port, this one waits until it is gone.
// The server ends when its standard input closes, so it never outlives this process. If the plugin is only reloaded (because a
// setting was changed on the page, for example), its successor takes over the running server.

import { createHmac } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";

import { OwnedProcess } from "./child.mjs";
import { engineCommand } from "./command.mjs";

/** What the server asks to have signed. An agent can start a server too, but does not have the key. */
const CHALLENGE = /^challenge ([0-9a-f]{64}) (\/.{1,1900})$/;
const PURPOSE = "toolguard dashboard ";
const KEY_BYTES = 32;

const MAX_HOSTS = 20;
/** As the schema of the settings has it. */
const HOST = /^(https?:\/\/)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?$/;
const DEFAULTS = { dbPath: "~/.openclaw/metrics.db", bind: "127.0.0.1", port: 8080, hosts: [] };

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {import("./engine.mjs").Logger} Logger */
/** @typedef {import("./engine.mjs").Child} Child */
/** @typedef {import("./child.mjs").Patience} Patience */

/**
 * The command that runs the server; null if the settings do not enable it or are invalid. The engine reports invalid
 * settings; it could not protect files that it does not know (`config.metrics_of`). Metrics need not be enabled: held calls
 * are shown without them.
 * @param {string} root the folder of the plugin
 * @param {string} state
 * @param {string} configPath
 * @param {any} config the plugin's settings
 * @returns {Command | null}
 */
export function dashboardCommand(root, state, configPath, config) {
  const metrics = config?.metrics;
  if (metrics?.dashboard?.enabled !== true) return null;
  const { dbPath, dashboard } = { ...DEFAULTS, ...metrics };
  const { bind, port, hosts } = { ...DEFAULTS, ...dashboard };
  if (!isText(dbPath, 4_096) || !isText(bind, 255) || !isPort(port) || !areHosts(hosts)) return null;
  const options = { db: dbPath, "state-dir": state, config: configPath, bind, port };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const all = [...args, ...hosts.map((host) => `--host=${host}`), "--owned", "--vouched"];
  return engineCommand(root, state, config, "toolguard_cli.dashboard", all);
}

/**
 * @param {unknown} value
 * @param {number} most
 */
function isText(value, most) {
  return typeof value === "string" && value.length > 0 && value.length <= most;
}

/**
 * @param {unknown} value
 * @returns {value is string[]}
 */
function areHosts(value) {
  return Array.isArray(value) && value.length <= MAX_HOSTS && value.every((host) => typeof host === "string" && HOST.test(host));
}

/** @param {unknown} value */
function isPort(value) {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

export class Dashboard extends OwnedProcess {
  /**
   * @param {Command | null} command null: no server is run
   * @param {Logger} logger
   * @param {string} [version] of the plugin; another version does not take over the server
   * @param {Patience} [patience]
   */
  constructor(command, logger, version = "", patience = undefined) {
    super(command, logger, { name: "dashboard", version, patience, takes: vouch });
  }
}

/**
 * Proves to the server that this is the gateway, with the key that the server names.
 * @param {Child} child
 * @param {string} line
 */
function vouch(child, line) {
  const [, challenge, path] = CHALLENGE.exec(line) ?? [];
  if (!challenge || !path) return false;
  child.stdin.write(`${signed(path, challenge)}\n`);
  return true;
}

/**
 * The signature; empty without a key, on which the server reports who may start it.
 * @param {string} path of the key
 * @param {string} challenge
 */
function signed(path, challenge) {
  try {
    const found = lstatSync(path);
    if (!found.isFile() || found.size !== KEY_BYTES) return "";
    return createHmac("sha256", readFileSync(path)).update(PURPOSE + challenge).digest("hex");
  } catch {
    return "";
  }
}
