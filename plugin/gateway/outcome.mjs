// The outcome of a call, as far as the engine needs it to see whether the call made progress.

import { createHash } from "node:crypto";

import { COMMAND_LINE } from "./catalogue.mjs";

/** Characters reported of each end of a long text. */
const END = 4_096;
const MAX_STATUS = 100;
/** The block that the gateway's own loop detection appends to a result. */
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
 * The background process of a command that is still running.
 * @param {any} event
 * @returns {{ process?: string }}
 */
function startedBy(event) {
  const { status, sessionId } = event.result?.details ?? {};
  const started = COMMAND_LINE.has(event.toolName) && status === "running" && typeof sessionId === "string";
  return started ? { process: sessionId.slice(0, MAX_STATUS) } : {};
}

/**
 * A digest of what is not reported: the middle of a long text, and images by their length and both ends.
 * @param {any} event
 * @param {string} text the whole text
 * @returns {string} empty if everything is reported
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
 * Without the gateway's notes about the call, which are not part of its outcome.
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
