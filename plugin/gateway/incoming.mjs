// The context of a run: texts that enter it from outside, shortened, as notes to the engine. Nothing waits for an answer.

import { createHash } from "node:crypto";

import { COMMAND, LOCAL, OFF_HOST, OWN_RESULT } from "./catalogue.mjs";

const NETWORK = new RegExp(`https?:|\\b(?:${OFF_HOST.join("|")})\\b`);
/** The provenance of a user's message, if it has one. */
const FROM_PERSON = "external_user";
const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";
/** Characters. A line of this length fits into an empty pipe, so that it never delays a question. */
const MAX_TEXT = 49_152;
const MAX_BYTES = 57_000;
const DESCRIBES = "tool_describe";
const LISTS = "tool_search";
const MAX_LISTED = 50;
const MAX_NESTED = 5;
const MAX_READ = 1_000_000;
const MAX_PARAM = 300;
const MAX_PARAMS = 20;
const MAX_COMMAND = 2_000;

/**
 * The text of a tool result that may come from outside; empty if it cannot.
 * @param {any} event of `after_tool_call`
 * @returns {string}
 */
export function outsideText(event) {
  if (OWN_RESULT.has(event.toolName) || event.result?.details?.status === "blocked") return "";
  if (event.error && LOCAL.has(event.toolName)) return "";
  if (COMMAND.has(event.toolName) && !asksTheNetwork(event)) return "";
  const text = textOf(event.result?.content ?? event.result);
  return cut(event.error && !text ? textOf(event.error.message ?? event.error) : text);
}

/**
 * What Tool Search says of a tool, or of several; empty for any other result.
 * @param {any} event of `after_tool_call`
 * @returns {string}
 */
export function description(event) {
  if (event.error) return "";
  const details = event.result?.details;
  if (event.toolName === LISTS) {
    const tools = entriesOf(details, [], MAX_NESTED).map(shownTool);
    return tools.length ? fitting({ tools }) : "";
  }
  if (event.toolName !== DESCRIBES || typeof details?.name !== "string") return "";
  const { parameters, annotations } = details;
  const reads = typeof annotations?.readOnlyHint === "boolean" ? annotations.readOnlyHint : undefined;
  const tool = { ...shownTool(details), schema: digest(JSON.stringify([parameters, annotations])), reads };
  return fitting({ ...tool, parameters }) || fitting(tool);
}

/**
 * The tools among the details of a search, which holds one list or several.
 * @param {any} details
 * @param {any[]} found
 * @param {number} depth
 */
function entriesOf(details, found, depth) {
  if (details === null || typeof details !== "object" || found.length >= MAX_LISTED || depth === 0) return found;
  if (typeof details.name === "string" && typeof details.description === "string") found.push(details);
  else for (const each of Object.values(details).slice(0, MAX_LISTED)) entriesOf(each, found, depth - 1);
  return found;
}

/**
 * What identifies a tool as it describes itself, and how that begins.
 * @param {any} tool
 */
function shownTool({ id, name, label, description: words }) {
  const about = typeof words === "string" ? words : "";
  return { id, name, words: digest(JSON.stringify([label, about])), about: about.slice(0, MAX_PARAM) };
}

/** @param {string | undefined} text */
const digest = (text) => createHash("sha256").update(text ?? "").digest("hex");

/** @param {any} value */
function fitting(value) {
  const text = JSON.stringify(value);
  return text.length <= MAX_TEXT && bytesOf(text) <= MAX_BYTES ? text : "";
}

/**
 * Whether a command names the network, or polls a background command that does.
 * @param {any} event
 */
function asksTheNetwork({ toolName, params, result }) {
  if (toolName === "process") return inBackground.has(params?.sessionId) || namesTheNetwork(params?.data ?? params?.text);
  if (!namesTheNetwork(params?.command)) return false;
  const id = result?.details?.sessionId;
  if (typeof id !== "string" || id.length > MAX_PARAM) return true;
  inBackground.add(id);
  if (inBackground.size > MAX_BACKGROUND) inBackground.delete(/** @type {string} */ (inBackground.values().next().value));
  return true;
}

/** Sessions of background commands that name the network. @type {Set<string>} */
const inBackground = new Set();
const MAX_BACKGROUND = 200;

/** @param {unknown} command */
function namesTheNetwork(command) {
  return typeof command === "string" && NETWORK.test(command.slice(0, MAX_COMMAND));
}

/**
 * The text of a message to the agent, and who wrote it; null for other messages.
 *
 * `owner`: the owner may have written it; `person`: the owner certainly did. Tasks of subagents, messages from other sessions
 * and prompts of automations lack that mark or have another provenance.
 * @param {any} message
 */
export function userMessage(message) {
  if (message?.role !== "user") return null;
  const text = cut(textOf(message.content));
  const owner = message.__openclaw?.senderIsOwner !== false;
  if (!text || (owner && text.startsWith(INTERNAL))) return null; // a stranger can write that line too
  const person = message.__openclaw?.senderIsOwner === true && (message.provenance?.kind ?? FROM_PERSON) === FROM_PERSON;
  return { text, owner, person };
}

/**
 * The short texts among the parameters: names, paths, addresses.
 * @param {any} params
 */
export function shortParams(params) {
  if (params === null || typeof params !== "object") return {};
  const entries = Object.entries(params).slice(0, MAX_PARAMS);
  return Object.fromEntries(entries.filter(([, value]) => typeof value === "string" && value.length <= MAX_PARAM));
}

/**
 * @param {any} content
 * @returns {string}
 */
function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  let text = "";
  for (const block of content) {
    if (typeof block?.text === "string") text += text ? `\n${block.text}` : block.text;
    if (text.length > MAX_READ) text = bothEnds(text, MAX_READ / 2);
  }
  return text;
}

/**
 * As much of a text as fits into a line: half from its beginning, half from its end.
 * @param {string} text
 */
function cut(text) {
  let short = bothEnds(text, MAX_TEXT);
  for (let bytes = bytesOf(short); bytes > MAX_BYTES; bytes = bytesOf(short))
    short = bothEnds(short, Math.floor((short.length * MAX_BYTES * 0.97) / bytes));
  return short;
}

/** @param {string} text */
function bytesOf(text) {
  return Buffer.byteLength(JSON.stringify(text));
}

/**
 * @param {string} text
 * @param {number} most characters
 */
function bothEnds(text, most) {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half)}\n${text.slice(text.length - half)}`;
}
