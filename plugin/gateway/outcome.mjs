// What came of a call, as much of it as the engine needs to see whether it brought anything new.

/** Characters that are told of each end of a long text. */
const END = 4_096;
const MAX_STATUS = 100;
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
    failed: Boolean(event.error),
    status: typeof details?.status === "string" ? details.status.slice(0, MAX_STATUS) : "",
    exitCode: Number.isInteger(details?.exitCode) ? details.exitCode : null,
  };
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
