// The notifier: a child process that the gateway starts if there are notification targets. It follows the files that the
// engine writes, and sends; only messages on the gateway's own channels are sent here.

import { OwnedProcess } from "./child.mjs";
import { engineCommand, gatewayName } from "./command.mjs";

/** Longer than any message with all its characters escaped. */
const MAX_LINE = 256_000;
/** How long it may still send what is due after the plugin has left. */
const STOP_MS = 12_000;
const MAX_ERROR = 300;
const ASKED = "send ";
const MAX_FIRST = 1_000_000;

/** @typedef {import("./command.mjs").Command} Command */
/** @typedef {import("./engine.mjs").Child} Child */
/** @typedef {{ key: string, channel: string, to: string, account: string, text: string }} ChannelMessage */

/**
 * The command that runs the notifier; null without targets. It runs in every mode, to report that the mode became weaker.
 * The settings go over its standard input, because other users can see arguments.
 * @param {string} root the folder of the plugin
 * @param {string} state
 * @param {string} configPath
 * @param {any} config the plugin's settings
 * @returns {Command | null}
 */
export function notifierCommand(root, state, configPath, config) {
  const targets = config?.notify?.targets;
  if (!targets || typeof targets !== "object" || Object.keys(targets).length === 0) return null;
  if (settingsLine(config).length > MAX_FIRST) return null;
  const options = { "state-dir": state, config: configPath, gateway: gatewayName(state) };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  return engineCommand(root, state, config, "toolguard_cli.notify", args);
}

/** @param {any} config */
function settingsLine(config) {
  return JSON.stringify({ notify: config?.notify, storePath: config?.storePath });
}

export class Notifier extends OwnedProcess {
  /** @type {(message: ChannelMessage) => Promise<void>} */
  #send = async () => {
    throw new Error("the gateway has not started its channels yet");
  };

  /**
   * @param {Command | null} command
   * @param {any} config the plugin's settings
   * @param {import("./engine.mjs").Logger} logger
   * @param {string} [version]
   */
  constructor(command, config, logger, version = "") {
    super(command, logger, {
      name: "notifier",
      version,
      first: settingsLine(config),
      maxLine: MAX_LINE,
      stopMs: STOP_MS,
      takes: (child, line) => this.#takes(child, line),
    });
  }

  /**
   * Sends through this instance of the plugin from now on.
   * @param {any} api
   */
  through(api) {
    this.#send = (message) => sendOnChannel(api, message);
  }

  /**
   * @param {Child} child
   * @param {string} line
   */
  #takes(child, line) {
    if (!line.startsWith(ASKED)) return false;
    const message = parsed(line.slice(ASKED.length));
    if (message) void this.#answer(child, message);
    return true;
  }

  /**
   * @param {Child} child
   * @param {ChannelMessage} message
   */
  async #answer(child, message) {
    let error = "";
    try {
      await this.#send(message);
    } catch (problem) {
      error = String(problem instanceof Error ? problem.message : problem).slice(0, MAX_ERROR) || "it failed";
    }
    child.stdin.write(`sent ${JSON.stringify({ key: message.key, error })}\n`);
  }
}

/**
 * @param {any} api
 * @param {ChannelMessage} message
 */
async function sendOnChannel(api, { channel, to, account, text }) {
  const load = api.runtime?.channel?.outbound?.loadAdapter;
  if (typeof load !== "function") throw new Error("this OpenClaw does not let plugins send on its channels");
  const adapter = await load(channel);
  if (typeof adapter?.sendText !== "function") throw new Error(`the gateway has no channel ${channel}`);
  const cfg = api.runtime.config.current();
  await adapter.sendText({ cfg, to, text, ...(account ? { accountId: account } : {}) });
}

/**
 * @param {string} text
 * @returns {ChannelMessage | null}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
