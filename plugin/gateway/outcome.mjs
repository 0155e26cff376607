// What came of a call, as much of it as the engine needs to see whether it brought anything new.

/** Characters that are told of each end of a long text. */
const END = 4_096;
const MAX_STATUS = 100;

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
 * @param {any} event
 * @returns {string}
 */
function textOf(event) {
  const content = event.result?.content;
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? content.map((block) => block?.text).filter((text) => typeof text === "string") : [];
  return texts.length > 0 ? texts.join("\n") : String(event.error?.message ?? event.error ?? "");
}
