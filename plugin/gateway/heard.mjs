// What a run hears: texts that come from outside of it, cut, for the engine. Notes without an answer; nobody waits for them.

/** Tools whose results are the agent's own doing or the gateway's own words. */
const SILENT = new Set([
  "write", "edit", "apply_patch", "multiedit", "create", "ls", "find", "glob", "tool_call", "tool_search", "tool_describe",
  "gateway", "plugins", "automations", "cron", "sessions", "sessions_list", "sessions_spawn", "sessions_yield", "sessions_send",
  "session_status", "subagents", "agents_list", "agents_wait", "conversations_list", "tts", "image_generate", "music_generate",
  "video_generate", "progress_card", "update_plan", "get_goal", "create_goal", "update_goal", "heartbeat_respond", "theme",
  "dashboard", "show_widget", "secrets", "portal", "toolguard_approve",
]);
/** Tools that reach nothing outside of this machine: when they fail, only the gateway speaks. */
const LOCAL = new Set(["read", "grep", "memory_get", "memory_search"]);
const COMMANDS = new Set(["exec", "bash", "process"]);
const OFF_HOST = /https?:|\b(?:curl|wget|gh|glab|ssh|lynx|w3m|aws|gcloud|az|kubectl)\b/;
/** The kind of provenance that a person's message has, where it has one. */
const FROM_PERSON = "external_user";
const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";
/** Characters. A line of this many fits into an empty pipe, so that it never stands in the way of a question. */
const MAX_TEXT = 49_152;
const MAX_BYTES = 57_000;
const MAX_READ = 1_000_000;
const MAX_PARAM = 300;
const MAX_PARAMS = 20;
const MAX_COMMAND = 2_000;

/**
 * What a tool brought that may have come from outside; empty where it cannot have.
 * @param {any} event of `after_tool_call`
 * @returns {string}
 */
export function heardText(event) {
  if (SILENT.has(event.toolName) || event.result?.details?.status === "blocked") return "";
  if (event.error && LOCAL.has(event.toolName)) return "";
  if (COMMANDS.has(event.toolName) && !asksTheNetwork(event)) return "";
  const text = textOf(event.result?.content ?? event.result);
  return cut(event.error && !text ? textOf(event.error.message ?? event.error) : text);
}

/**
 * Whether a command names the network, or what is asked of a command in the background that does.
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

/** Sessions of commands that went on in the background and name the network. @type {Set<string>} */
const inBackground = new Set();
const MAX_BACKGROUND = 200;

/** @param {unknown} command */
function namesTheNetwork(command) {
  return typeof command === "string" && OFF_HOST.test(command.slice(0, MAX_COMMAND));
}

/**
 * What was written to the agent, and whether its owner may have written it; null where it is no such message.
 *
 * `person`: its owner surely did. A task for a subagent, words from another session and an automation's prompt come with no
 * such mark, or with a provenance.
 * @param {any} message
 */
export function saidBy(message) {
  if (message?.role !== "user") return null;
  const text = cut(textOf(message.content));
  const owner = message.__openclaw?.senderIsOwner !== false;
  if (!text || (owner && text.startsWith(INTERNAL))) return null; // a stranger may write that line as well
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
 * As much of a text as fits into a line, the half of it from its beginning and the half from its end.
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
