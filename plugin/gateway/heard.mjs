// What a run hears: texts that come from outside of it, cut, for the engine. Notes without an answer; nobody waits for them.

/** Tools whose results are the agent's own doing or the gateway's own words. */
const SILENT = new Set([
  "write", "edit", "apply_patch", "multiedit", "create", "ls", "find", "glob", "tool_call", "tool_search", "tool_describe",
  "gateway", "plugins", "automations", "cron", "sessions", "sessions_list", "sessions_spawn", "sessions_yield", "sessions_send",
  "session_status", "subagents", "agents_list", "agents_wait", "conversations_list", "tts", "image_generate", "music_generate",
  "video_generate", "progress_card", "update_plan", "get_goal", "create_goal", "update_goal", "heartbeat_respond", "theme",
  "dashboard", "show_widget", "secrets", "portal", "toolguard_approve",
]);
const COMMANDS = new Set(["exec", "bash", "process"]);
const OFF_HOST = /https?:|\b(?:curl|wget|gh|glab|ssh|lynx|w3m|aws|gcloud|az|kubectl)\b/;
const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";
/** Characters. A line of this many fits into an empty pipe, so that it never stands in the way of a question. */
const MAX_TEXT = 49_152;
const MAX_BYTES = 57_000;
const MAX_PARAM = 300;
const MAX_PARAMS = 20;
const MAX_COMMAND = 2_000;

/**
 * What a tool brought that may have come from outside; empty where it cannot have.
 * @param {any} event of `after_tool_call`
 * @returns {string}
 */
export function heardText(event) {
  if (event.error || SILENT.has(event.toolName) || event.result?.details?.status === "blocked") return "";
  if (COMMANDS.has(event.toolName) && !namesTheNetwork(event.params?.command)) return "";
  return cut(textOf(event.result?.content ?? event.result));
}

/** @param {unknown} command */
function namesTheNetwork(command) {
  return typeof command === "string" && OFF_HOST.test(command.slice(0, MAX_COMMAND));
}

/**
 * What a person wrote to the agent, and whether it was its owner; null where it is no such message.
 * @param {any} message
 */
export function saidBy(message) {
  if (message?.role !== "user") return null;
  const text = cut(textOf(message.content));
  if (!text || text.startsWith(INTERNAL)) return null;
  return { text, owner: message.__openclaw?.senderIsOwner !== false };
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
    if (text.length > MAX_TEXT) break;
  }
  return text;
}

/** @param {string} text */
function cut(text) {
  const short = text.slice(0, MAX_TEXT);
  return Buffer.byteLength(JSON.stringify(short)) <= MAX_BYTES ? short : short.slice(0, MAX_TEXT / 4);
}
