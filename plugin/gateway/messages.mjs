// The texts for when the engine cannot answer. All other texts are the engine's.

export const TOOL_ERROR = "[TOOL ERROR]";
export const LIMIT = "[TOOL ERROR LIMIT]";

/** Texts that take part in the self-test of the seams: the gateway's refusals and our own. */
export const TRACED =
  /^(?:Validation failed for tool "|Tool \S{1,200} not found|\{\s*"status":\s*"error"|\[TOOL ERROR|\[LOOP DETECTED\])[\s\S]*$/;

/** Every text as a whole: where secrets are looked for. */
export const ANY_TEXT = /^[\s\S]+$/;

const MAX_SHOWN = 300;

/**
 * The correction of a refused call without the engine: the gateway's message in our form.
 * @param {string} tool
 * @param {string} refusal
 */
export function correction(tool, refusal) {
  const words = oneLine(refusal.split("\n\nReceived arguments:")[0] ?? "");
  return `${TOOL_ERROR} ${oneLine(tool)}() was refused: ${words}. Fix your call and retry; do not repeat it unchanged.`;
}

/**
 * The text that ends a run without the engine.
 * @param {number} failures
 */
export function limit(failures) {
  return (
    `${LIMIT} ${failures} tool failures in this turn.\nStopping tool execution. Review your approach before continuing: ` +
    "say what could not be done and why, and what you need to continue."
  );
}

/** Blocks a call while the engine is silent and the fail mode is `closed`. */
export const ENGINE_AWAY =
  "TOOLGUARD_BLOCK|The guard is not answering, so only read-only tools may run. " +
  "Do not repeat this call; tell the user to run `toolguard doctor`.";

/** Blocks a call while the engine is silent, in every fail mode. */
export const PROTECTED =
  "TOOLGUARD_BLOCK|The guard is not answering, and this call names or may reach credentials or files of the guard. " +
  "Do not repeat this call; tell the user to run `toolguard doctor`.";

/** A call that runs in its room only, while the gateway has another shell. */
export const NO_ROOM =
  "TOOLGUARD_BLOCK|This command did not run: the gateway would run it where the guard's files are not kept from it.\nIf it is still needed, repeat it once.";

/** Blocks a call that the engine could not judge. */
export const UNJUDGED =
  "TOOLGUARD_BLOCK|The guard could not judge this call, so it does not run. " +
  "Do not repeat it unchanged; a simpler call may work. Tell the user to run `toolguard audit show`.";

/**
 * Blocks a call whose arguments break a bound.
 * @param {{ reason: string }} fault
 */
export function misshapen({ reason }) {
  return (
    `TOOLGUARD_BLOCK|This call cannot be judged: ${reason}. It did not run. ` +
    "Do not repeat it unchanged: make the arguments flatter or shorter, or split the work into several calls."
  );
}

/** Blocks every call while the kill switch is on and the engine is silent. */
export const KILL_SWITCH_ON =
  "TOOLGUARD_BLOCK|The kill switch is on.\n" +
  "No tool call of any agent runs until a person switches it off (toolguard kill-switch off). Tell the user this, and stop.";

/** Ends a run in which a call differed from the one that was judged, while the engine is silent. */
export const REWRITTEN_UNJUDGED =
  "TOOLGUARD_BLOCK|Another plugin changed a call after it was judged, and the guard is not answering.\n" +
  "This turn ends here. Tell the user to check the gateway's log and to run `toolguard doctor`.";

/** Refusals after `before_tool_call`: an empty parameter, and what Tool Search refuses. */
export const REFUSED_WHEN_RUN =
  /^\{\s*"status":\s*"error"[\s\S]{0,400}"error":\s*"(?:Missing required parameter|Invalid arguments for tool|Unknown tool id)/;

/**
 * Untrusted text as one bounded line.
 * @param {string} text
 */
export function oneLine(text) {
  const line = text.replace(/[\s\p{C}]+/gu, " ").trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN).replace(/\p{Cs}$/u, "")}...` : line;
}
