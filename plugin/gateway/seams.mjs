// The seams: ways to change what the gateway does, with evidence of whether each works.
//
// The gateway guarantees none of them in the form needed here, so each is tested in use: a change is expected to show up where
// the gateway uses it. The first seam that works is used.
//
//   hooks          the gateway calls our hooks
//   inPlaceText    a tool result changed in place reaches the model: the next request contains the new text
//   textTransform  the fallback: the request is rewritten while it is built (also if hooks are not called)
//   gracefulStop   none of the calls in a replaced message of the model run
//   commandShell   commands run with the shell that `SHELL` names, so they enter their room (room.mjs)

/** @typedef {"works" | "fails" | "unknown"} Evidence */
/** @typedef {"hooks" | "inPlaceText" | "textTransform" | "gracefulStop" | "commandShell"} SeamName */

const MAX_TRACED = 500;
const UNKNOWN_TOOL = /^\[TOOL ERROR\] (?:There is no tool '|'[^'\n]*' cannot be called directly|[^\n]* was refused: Tool )/;

export class Seams {
  /** @type {Record<SeamName, Evidence>} */
  evidence = { hooks: "unknown", inPlaceText: "unknown", textTransform: "unknown", gracefulStop: "unknown", commandShell: "unknown" };
  /** @type {(name: SeamName, evidence: Evidence) => void} */
  #onChange;

  /** @param {(name: SeamName, evidence: Evidence) => void} onChange called once per change */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  /**
   * @param {SeamName} name
   * @param {Evidence} evidence
   */
  seen(name, evidence) {
    if (this.evidence[name] === evidence) return;
    // A seam that worked may fail later; one that failed stays failed until the next start.
    if (this.evidence[name] === "fails") return;
    this.evidence[name] = evidence;
    this.#onChange(name, evidence);
  }
}

/**
 * The replaced texts that requests to the model must contain, with the gateway's originals.
 *
 * The texts of a request pass `outgoing` one after another, oldest first. The same refusal can occur several times with
 * different replacements, so the n-th occurrence gets the n-th replacement: the result is stable, as the gateway requires of
 * a transform.
 */
export class Trace {
  #seams;
  /** @type {Map<string, { text: string, ends: string }[]>} */
  #byOriginal = new Map();
  /** @type {Map<string, string>} replacement to the run whose next request must contain it */
  #expected = new Map();
  /** @type {Map<string, number> | null} occurrences in the current request */
  #pass = null;
  /** @type {Set<string>} runs that the guard has ended but that were not stopped */
  #unstopped = new Set();

  /** @param {Seams} seams */
  constructor(seams) {
    this.#seams = seams;
  }

  /**
   * @param {string} original
   * @param {string} text
   * @param {string} run
   * @param {boolean} inPlace whether it was replaced in place, so that the request must contain it
   * @param {boolean} ends whether the next request with this text must not leave: the run has to end, and it could not be
   *   stopped gracefully
   */
  replaced(original, text, run, inPlace, ends) {
    const list = this.#byOriginal.get(original) ?? [];
    list.push({ text, ends: ends ? run : "" });
    this.#byOriginal.set(original, list.slice(-50));
    bound(this.#byOriginal);
    if (inPlace) this.#expected.set(text, run);
    bound(this.#expected);
    if (ends) this.#unstopped.add(run);
  }

  /**
   * One text on its way to the model; returns the text to send.
   * @param {string} text
   * @throws {Error} if the run has to end and could not be stopped gracefully
   */
  outgoing(text) {
    const owner = this.#expected.get(text);
    if (owner !== undefined) {
      this.#expected.delete(text);
      this.#seams.seen("inPlaceText", "works");
      if (this.#unstopped.has(owner)) throw new Error(text);
    }
    if (this.#seams.evidence.inPlaceText === "works") return text;
    const known = this.#byOriginal.get(text);
    if (!known) return text;
    const { text: replacement, ends } = known[Math.min(this.#occurrence(text), known.length - 1)] ?? { text, ends: "" };
    this.#seams.seen("textTransform", "works");
    if (this.#unstopped.has(ends)) throw new Error(replacement);
    return replacement;
  }

  /**
   * A request of this run was sent. Texts that it should have contained and did not were not replaced in place.
   * @param {string} run
   */
  requested(run) {
    for (const [text, owner] of this.#expected) {
      if (owner !== run) continue;
      this.#expected.delete(text);
      // The host removes calls of unknown tools from the history, so a missing result of one proves nothing.
      if (!UNKNOWN_TOOL.test(text)) this.#seams.seen("inPlaceText", "fails");
    }
  }

  /** @param {string} run */
  ended(run) {
    this.#unstopped.delete(run);
    for (const [text, owner] of this.#expected) if (owner === run) this.#expected.delete(text);
  }

  /** @param {string} text */
  #occurrence(text) {
    if (!this.#pass) {
      this.#pass = new Map();
      queueMicrotask(() => (this.#pass = null));
    }
    const index = this.#pass.get(text) ?? 0;
    this.#pass.set(text, index + 1);
    return index;
  }
}

/**
 * Removes the oldest entries.
 * @param {Map<any, any>} map
 */
export function bound(map, limit = MAX_TRACED) {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}

/**
 * The text of a tool result, or null if it has none that could be replaced.
 * @param {any} message
 * @returns {string | null}
 */
export function resultText(message) {
  const first = Array.isArray(message?.content) ? message.content[0] : null;
  return first?.type === "text" && typeof first.text === "string" ? first.text : null;
}

/**
 * Replaces the text of a tool result.
 * @param {any} message
 * @param {string} text
 * @returns {boolean} whether that was possible
 */
export function replaceResultText(message, text) {
  try {
    message.content[0].text = text;
    return message.content[0].text === text;
  } catch {
    return false; // frozen: the text transform has to do it
  }
}

/**
 * Appends a note, in a block of its own, to a tool result that does not begin with a text. Added only once.
 * @param {any} message
 * @param {string | undefined} note
 */
export function addNoteBlock(message, note) {
  if (!note || !Array.isArray(message?.content) || message.content.at(-1)?.text === note) return;
  try {
    message.content.push({ type: "text", text: note });
  } catch {
    // frozen: a lost note is not worth failing for
  }
}

/**
 * Turns a message of the model with tool calls into one that ends the run.
 * @param {any} message
 * @param {string} text
 * @returns {boolean} whether that was possible
 */
export function endRunInPlace(message, text) {
  try {
    message.content.splice(0, message.content.length, { type: "text", text });
    message.stopReason = "stop";
    return message.content.length === 1 && message.stopReason === "stop";
  } catch {
    return false; // frozen: the calls are blocked one by one instead
  }
}

/**
 * The calls in a message of the model.
 * @param {any} message
 * @returns {{ id: string, name: string, arguments: any }[]}
 */
export function toolCalls(message) {
  return Array.isArray(message?.content) ? message.content.filter((/** @type {any} */ part) => part?.type === "toolCall") : [];
}
