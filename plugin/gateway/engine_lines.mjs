// Lines of the engine: answers, and what it says on its error output or when it cannot be started.

import { VERSION } from "./version.mjs";

/** @typedef {Record<string, any>} Message */

/** The id in the line of an answer; the engine writes type and id first. */
const ANSWERED = /^\s*\{(?:\s*"type"\s*:\s*"[\w-]{1,40}"\s*,)?\s*"id"\s*:\s*(\d{1,16})\b/;

/**
 * Whether the engine answered that it could not take the question. That is not silence.
 * @param {Message | null | undefined} answer
 */
export function isError(answer) {
  return answer?.type === "error";
}

/**
 * The id of the question that a line answers which cannot be read as a whole; 0 if it is not known.
 * @param {string} line
 */
export function answeredBy(line) {
  return Number(ANSWERED.exec(line.slice(0, 200))?.[1] ?? 0);
}

/**
 * @param {number} id
 * @param {string} why
 * @returns {Message}
 */
export function refused(id, why) {
  return { type: "error", id, error: `the engine cannot serve this gateway: ${why}` };
}

/** @param {number} id */
export function unsent(id) {
  return { type: "error", id, error: "the question cannot be sent" };
}

/**
 * @param {string} line
 * @returns {any} null if it is not a message
 */
export function parsed(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** @param {string} text a line of the engine's own error output */
export function explained(text) {
  if (/No module named '?(toolguard_engine|toolguard_manifests|msgspec)/.test(text))
    return `${text} - this Python does not have toolguard. ${UNJUDGED}`;
  return BROKEN.test(text) ? `${text} - toolguard's Python was removed or replaced while it was in use. ${UNJUDGED}` : text;
}

const PACKAGE = `openclaw-toolguard==${VERSION}`;
const UNJUDGED =
  `No call is judged, and failMode decides. Install the Python part (\`uv tool install --force ${PACKAGE}\`, or without uv: ` +
  `\`python3 -m venv ~/.toolguard && ~/.toolguard/bin/pip install ${PACKAGE}\`), then run \`toolguard doctor\`, ` +
  "which names the next command";

/** What an environment says whose Python was upgraded or removed, as Homebrew does. */
const BROKEN = /^dyld\[\d+\]: Library not loaded|No module named '?encodings|error while loading shared libraries/;

/** @param {string} reason why a process could not be started */
export function isMissing(reason) {
  return /^spawn .* (ENOENT|EACCES|ENOTDIR)$/.test(reason);
}

/** @param {string} reason */
export function gone(reason) {
  return `toolguard's Python was removed, or is not a program (${reason}). ${UNJUDGED}`;
}
