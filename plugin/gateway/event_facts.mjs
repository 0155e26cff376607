// What the gateway's events say about calls, runs and people, in the words of the engine.

/** @typedef {import("./runs.mjs").Run} Run */
/** @typedef {import("./runs.mjs").Call} Call */

export const LONGEST_NAME = 1_000;
/** What a program prints that did not get at a file, or lacks rights. The engine has the same (`hidden_paths`). */
const KEPT =
  /no such file or directory|read-only file system|permission denied|device or resource busy|\b(?:ENOENT|EROFS|EACCES|EBUSY)\b|effective uid is not 0|must be owned by uid 0|is owned by uid 65534/i;

/** @param {unknown} value */
export function named(value) {
  return typeof value === "string" ? value.slice(0, LONGEST_NAME) : "";
}

const GOES_ON = new Set(["compaction", "shutdown", "restart"]);

/**
 * The session that is over; empty for one that goes on: it was compacted, or the gateway stops.
 * @param {any} event
 * @param {any} ctx
 */
export function endedSession(event, ctx) {
  return GOES_ON.has(event?.reason) ? "" : named(event?.sessionKey ?? ctx?.sessionKey);
}

/**
 * Whether the gateway, another plugin or a user kept the call from running. A tool's own result may have the status
 * `blocked` as well, but only the gateway adds why it denied a call.
 * @param {any} event
 */
export function wasBlocked(event) {
  const { status, deniedReason } = event.result?.details ?? {};
  return status === "blocked" && typeof deniedReason === "string";
}

/**
 * Whether the gateway's own loop detection blocked this call. If it blocks all calls of a message, it names the one that
 * caused it.
 * @param {any} event
 * @param {string} id
 */
export function wasVetoed(event, id) {
  if (!wasBlocked(event) || event.result.details.deniedReason !== "tool-loop") return false;
  return (event.result.details.intervention?.toolCallId ?? id) === id;
}

/**
 * A tool result with the guard's note, which is added only once.
 * @param {string} text
 * @param {string | undefined} note
 */
export function withNote(text, note) {
  return note && !text.endsWith(note) ? `${text}\n\n${note}` : text;
}

/**
 * Whether a request to the model belongs to a run without being one of its own: the summary at a compaction, for example,
 * has the id `<run>:compaction:...`. The run continues after it.
 * @param {Run | undefined} run the current one of its session
 * @param {string} id
 */
export function isOnBehalfOf(run, id) {
  return run !== undefined && String(id).startsWith(`${run.id}:`);
}

/**
 * Who asked for a call, as far as the gateway reports it.
 * @param {any} ctx
 */
export function whoAsked(ctx) {
  const { channel, senderId, senderIsOwner } = ctx?.requester ?? {};
  const id = String(senderId ?? "");
  const requester = senderIsOwner === true ? "owner" : id === "owner" ? "sender:owner" : id;
  return { channel: String(channel ?? ctx?.channelId ?? ""), requester };
}

/** @param {Call} call */
export function place(call) {
  return { run: call.run, agent: call.agent ?? "", session: call.session ?? "" };
}

/** @param {any} message */
export function isError(message) {
  return message.isError === true || message.details?.status === "error";
}

/**
 * Whether a program may not have got at a file because the room hides it.
 * @param {string} output
 */
export function mayBeKept(output) {
  return KEPT.test(output);
}
