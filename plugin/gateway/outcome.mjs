// What came of a call, as much of it as the engine needs to see whether it brought anything new.

import { createHash } from "node:crypto";

/** Characters that are told of each end of a long text. */
const END = 4_096;
const MAX_STATUS = 100;
/** Tools whose commands may go on in the background. */
const RUNS_COMMANDS = new Set(["exec", "bash"]);
/** What the gateway's own loop detection puts behind a result, as a block of its own. */
const HOST_NOTE = /^\[System note: Tool-loop warning [^\]]{0,300}\]$/;
const MAX_NOTES = 3;

/**
 * @param {any} event of `after_tool_call`
 */
export function outcomeOf(event) {
  const { details } = event.result ?? {};
  const text = textOf(event);
  return {
    text: text.length <= 2 * END ? text : `${text.slice(0, END)}\n${text.slice(-END)}`,
    size: text.length,
    rest: restOf(event, text),
    failed: Boolean(event.error),
    status: typeof details?.status === "string" ? details.status.slice(0, MAX_STATUS) : "",
    ...startedBy(event),
    exitCode: Number.isInteger(details?.exitCode) ? details.exitCode : null,
  };
}

/**
 * The process that a command goes on as in the background.
 * @param {any} event
 * @returns {{ process?: string }}
 */
function startedBy(event) {
  const { status, sessionId } = event.result?.details ?? {};
  const started = RUNS_COMMANDS.has(event.toolName) && status === "running" && typeof sessionId === "string";
  return started ? { process: sessionId.slice(0, MAX_STATUS) } : {};
}

/**
 * A digest of what came and is not told: the middle of a long text, and images by their length and both ends.
 * @param {any} event
 * @param {string} text all of it
 * @returns {string} empty where all is told
 */
function restOf(event, text) {
  const content = event.result?.content;
  const data = Array.isArray(content) ? content.map((block) => block?.data).filter((part) => typeof part === "string") : [];
  if (data.length === 0 && text.length <= 2 * END) return "";
  const hash = createHash("sha256").update(text.slice(END, -END));
  for (const part of data) hash.update(`\0${part.length} ${part.slice(0, END)} ${part.slice(-END)}`);
  return hash.digest("hex").slice(0, 32);
}

/**
 * Without what the gateway said about the call, which is no part of what came of it.
 * @param {any[]} content
 */
function withoutNotes(content) {
  let end = content.length;
  while (end > 0 && content.length - end < MAX_NOTES && HOST_NOTE.test(content[end - 1]?.text)) end -= 1;
  return content.slice(0, end);
}

/**
 * @param {any} event
 * @returns {string}
 */
function textOf(event) {
  const content = event.result?.content;
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? withoutNotes(content).map((block) => block?.text).filter((text) => typeof text === "string") : [];
  return texts.length > 0 ? texts.join("\n") : String(event.error?.message ?? event.error ?? "");
}
