// Every text and name that the gateway part needs when the engine cannot answer. All other texts are the engine's.

export const TOOL_ERROR = "[TOOL ERROR]";
export const LIMIT = "[TOOL ERROR LIMIT]";

/** Beginnings of the texts that take part in the self-test of the seams: the gateway's refusals and our own. */
export const TRACED =
  /^(?:Validation failed for tool "|Tool \S{1,200} not found|\{\s*"status":\s*"error"|\[TOOL ERROR|\[LOOP DETECTED\])[\s\S]*$/;

/**
 * Tools that only look, which fail mode `closed` lets through. The envelope of Tool Search is among them because the
 * call inside it is judged by itself.
 */
export const READ_ONLY = new Set([
  "agents_list", "image", "ls", "memory_get", "memory_search", "read", "session_status", "sessions_history",
  "sessions_list", "sessions_yield", "tool_call", "tool_describe", "tool_search",
]);

const MAX_SHOWN = 300;

/**
 * The correction of a refused call while the engine is away: the gateway's own words, in our form.
 * @param {string} tool
 * @param {string} refusal
 */
export function correction(tool, refusal) {
  const words = oneLine(refusal.split("\n\nReceived arguments:")[0] ?? "");
  return `${TOOL_ERROR} ${oneLine(tool)}() was refused: ${words}. Fix your call and retry; do not repeat it as it is.`;
}

/**
 * The end of a run while the engine is away.
 * @param {number} failures
 */
export function limit(failures) {
  return (
    `${LIMIT} ${failures} tool failures in this turn.\nStopping tool execution. Review your approach before continuing: ` +
    "say what could not be done and why, and what you need to continue."
  );
}

/** Why a call does not run while the engine is silent and the fail mode is `closed`. */
export const ENGINE_AWAY =
  "TOOLGUARD_BLOCK|The guard is not answering, so only tools that read may run. " +
  "Do not repeat this call; tell the user to run `toolguard doctor`.";

/** Why a call does not run while the engine is silent, whatever the fail mode. */
export const PROTECTED =
  "TOOLGUARD_BLOCK|The guard is not answering, and this call names, or may reach, files of the guard or credentials. " +
  "Do not repeat this call; tell the user to run `toolguard doctor`.";

/** Why a call does not run that the engine could not judge. */
export const UNJUDGED =
  "TOOLGUARD_BLOCK|The guard could not judge this call, so it does not run. " +
  "Do not repeat it as it is; a simpler call may do. Tell the user to run `toolguard audit show`.";

/**
 * Why a call does not run whose arguments break a bound.
 * @param {{ reason: string }} fault
 */
export function misshapen({ reason }) {
  return (
    `TOOLGUARD_BLOCK|This call cannot be judged: ${reason}. It did not run. ` +
    "Do not repeat it as it is: make the arguments flatter or shorter, or split the work into several calls."
  );
}

/** Why no call runs while the kill switch is on and the engine is away. */
export const KILL_SWITCH_ON =
  "TOOLGUARD_BLOCK|The kill switch is on.\n" +
  "No tool call of any agent runs until a person switches it off (toolguard kill-switch off). Tell the user so, and stop.";

/** Something else ran than what was judged, and nobody can say whether it should have. */
export const REWRITTEN_UNJUDGED =
  "TOOLGUARD_BLOCK|Another plugin changed a call after it had been judged, and the guard is not answering.\n" +
  "This turn ends here. Tell the user to look into the gateway's log and to run `toolguard doctor`.";

/** Refusals that come only after `before_tool_call`: an empty parameter, and what Tool Search refuses. */
export const REFUSED_WHEN_RUN =
  /^\{\s*"status":\s*"error"[\s\S]{0,400}"error":\s*"(?:Missing required parameter|Invalid arguments for tool|Unknown tool id)/;

/**
 * One bounded line of text that somebody else wrote.
 * @param {string} text
 */
export function oneLine(text) {
  const line = text.replace(/[\s\p{C}]+/gu, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN).replace(/\p{Cs}$/u, "")}...` : line;
}
