// The ways into the gateway, and the evidence for each of them.
//
// None of them is promised by the gateway in the form that is needed here, so each is proved while it works: what was
// put in place is looked for where the gateway uses it. The first way that works is used.
//
//   hooks          the gateway calls our hooks at all
//   inPlaceText    a tool result changed in place reaches the model: the next request contains the new text
//   textTransform  the net: the request is rewritten while it is made (also where hooks are not called)
//   gracefulStop   a replaced message of the model runs none of its calls

/** @typedef {"works" | "fails" | "unknown"} Evidence */
/** @typedef {"hooks" | "inPlaceText" | "textTransform" | "gracefulStop"} SeamName */

const MAX_TRACED = 500;
const UNKNOWN_TOOL = /^\[TOOL ERROR\] (?:There is no tool '|'[^'\n]*' cannot be called directly|[^\n]* was refused: Tool )/;

export class Seams {
  /** @type {Record<SeamName, Evidence>} */
  evidence = { hooks: "unknown", inPlaceText: "unknown", textTransform: "unknown", gracefulStop: "unknown" };
  /** @type {(name: SeamName, evidence: Evidence) => void} */
  #tell;

  /** @param {(name: SeamName, evidence: Evidence) => void} tell called once per change */
  constructor(tell) {
    this.#tell = tell;
  }

  /**
   * @param {SeamName} name
   * @param {Evidence} evidence
   */
  seen(name, evidence) {
    if (this.evidence[name] === evidence) return;
    // A seam that worked once and fails now is news; one that failed stays failed until the next start.
    if (this.evidence[name] === "fails") return;
    this.evidence[name] = evidence;
    this.#tell(name, evidence);
  }
}

/**
 * What the requests to the model must show: every replaced text, with the gateway's original.
 *
 * A request's texts pass `outgoing` one after another in one go, oldest first. The same refusal can stand in it several
 * times with different replacements, so the n-th occurrence gets the n-th replacement: the same answer every time, as
 * the gateway demands of a transform.
 */
export class Trace {
  #seams;
  /** @type {Map<string, { text: string, ends: string }[]>} */
  #byOriginal = new Map();
  /** @type {Map<string, string>} replacement to the run whose next request must show it */
  #expected = new Map();
  /** @type {Map<string, number> | null} occurrences in the request that passes now */
  #pass = null;
  /** @type {Set<string>} runs that are over for the guard but were not stopped */
  #unstopped = new Set();

  /** @param {Seams} seams */
  constructor(seams) {
    this.#seams = seams;
  }

  /**
   * @param {string} original
   * @param {string} text
   * @param {string} run
   * @param {boolean} inPlace whether it was put in place, so that the request must show it
   * @param {boolean} ends whether the next request that shows this text must not leave: the run has to end, and no
   *   gentler way is open
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
   * One text on its way to the model; the answer takes its place.
   * @param {string} text
   * @throws {Error} where the run has to end and no gentler way was open
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
   * The model was asked on behalf of this run. What should have been in that request and was not, was not put in place.
   * @param {string} run
   */
  requested(run) {
    for (const [text, owner] of this.#expected) {
      if (owner !== run) continue;
      this.#expected.delete(text);
      // The host takes calls with impossible names out of the history, so a missing answer to one proves nothing.
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
 * Forgets the oldest entries.
 * @param {Map<any, any>} map
 */
export function bound(map, limit = MAX_TRACED) {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}

/**
 * The text of a tool result, or null where it has none that could be replaced.
 * @param {any} message
 * @returns {string | null}
 */
export function resultText(message) {
  const first = Array.isArray(message?.content) ? message.content[0] : null;
  return first?.type === "text" && typeof first.text === "string" ? first.text : null;
}

/**
 * Puts a text in the place of a tool result's own.
 * @param {any} message
 * @param {string} text
 * @returns {boolean} whether that was possible
 */
export function replaceResultText(message, text) {
  try {
    message.content[0].text = text;
    return message.content[0].text === text;
  } catch {
    return false; // frozen: the net has to do it
  }
}

/**
 * Puts a note behind a tool result that does not begin with a text, in a block of its own; once, however often it is written.
 * @param {any} message
 * @param {string | undefined} note
 */
export function addNoteBlock(message, note) {
  if (!note || !Array.isArray(message?.content) || message.content.at(-1)?.text === note) return;
  try {
    message.content.push({ type: "text", text: note });
  } catch {
    // frozen: a note that is not seen is no reason to fail
  }
}

/**
 * Turns a message of the model that wants to call tools into one that ends the run.
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
