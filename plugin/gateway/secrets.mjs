// Replaces the secrets that the engine knows in what a model would see: tool results, and every other text of a request.
//
// The engine decides which texts are secrets and what is shown instead. They are replaced here and not by the engine, because
// a result must be written at once: an engine that is busy, restarting or gone must neither let a secret through nor cost a
// result. The last list stays in use until there is another one, also across a reload of the plugin.

/** A secret: its text, what is shown instead, and its name for the audit log. @typedef {[string, string, string]} Hidden */
/** @typedef {{ from: number, to: number, mark: string }} Span */

const SHARED = Symbol.for("toolguard.secrets");
/** Shortest text that is replaced; the filter looks at its first characters. */
const SHORTEST = 8;
const HEAD = 4;
const MASK = 0xffff;
/** Bounds on what is walked of a result beside its texts. */
const MAX_DEPTH = 64;
const MAX_NODES = 50_000;

/**
 * The secrets of this state directory, in this process.
 * @param {string} state
 * @returns {KnownSecrets}
 */
export function secretsOf(state) {
  const shared = /** @type {any} */ (globalThis);
  /** @type {Map<string, KnownSecrets>} */
  const known = (shared[SHARED] ??= new Map());
  const found = known.get(state) ?? new KnownSecrets();
  known.set(state, found);
  return found;
}

/**
 * The gateway's own token and password as its config has them, which are known before the first engine has answered.
 * @param {any} config
 * @returns {unknown[]}
 */
export function ownSecrets(config) {
  const { token, password } = config?.gateway?.auth ?? {};
  return [
    [token, "[redacted: gateway token]", "gateway.auth.token"],
    [password, "[redacted: gateway password]", "gateway.auth.password"],
  ];
}

export class KnownSecrets {
  /** @type {Map<number, Hidden[]>} by the hash of their first characters */
  #byHead = new Map();
  #heads = new Uint8Array(MASK + 1);
  #isFromEngine = false;

  /**
   * @param {unknown} hidden the secrets from now on
   * @param {{ fromEngine?: boolean }} [source] others count only until the engine has sent some
   */
  use(hidden, { fromEngine = true } = {}) {
    if (!fromEngine && this.#isFromEngine) return;
    this.#isFromEngine ||= fromEngine;
    this.#byHead = new Map();
    this.#heads = new Uint8Array(MASK + 1);
    for (const secret of Array.isArray(hidden) ? hidden : []) if (isHidden(secret)) this.#add(secret);
  }

  /** @param {Hidden} secret */
  #add(secret) {
    let head = 0;
    for (let at = 0; at < HEAD; at++) head = ((head << 4) ^ secret[0].charCodeAt(at)) & MASK;
    this.#heads[head] = 1;
    const known = this.#byHead.get(head) ?? [];
    if (known.length === 0) this.#byHead.set(head, known);
    known.push(secret);
  }

  get isEmpty() {
    return this.#byHead.size === 0;
  }

  /**
   * A text without secrets.
   * @param {string} text
   * @param {Set<string>} [names] gets the names of those that were in it
   */
  clean(text, names = new Set()) {
    const spans = this.#spansIn(text, names);
    return spans.length === 0 ? text : withMarks([text], spans).join("");
  }

  /**
   * Texts that follow each other, without secrets: also without one that begins in one text and ends in another.
   * @param {string[]} texts
   * @param {Set<string>} names
   */
  cleanAll(texts, names) {
    const spans = this.#spansIn(texts.length === 1 ? texts[0] ?? "" : texts.join(""), names);
    return spans.length === 0 ? texts : withMarks(texts, spans);
  }

  /**
   * Where secrets are, in order and not overlapping: what several cover together is one span. One pass over the text.
   * @param {string} text
   * @param {Set<string>} names
   * @returns {Span[]}
   */
  #spansIn(text, names) {
    /** @type {Span[]} */
    const spans = [];
    if (this.#byHead.size === 0 || text.length < SHORTEST) return spans;
    const heads = this.#heads;
    let head = 0;
    for (let at = 0; at < text.length; at++) {
      head = ((head << 4) ^ text.charCodeAt(at)) & MASK; // only the last four characters are in it
      if (heads[head] === 1) this.#addSpan(spans, text, at - HEAD + 1, this.#byHead.get(head) ?? [], names);
    }
    return spans;
  }

  /**
   * @param {Span[]} spans
   * @param {string} text
   * @param {number} from
   * @param {Hidden[]} candidates
   * @param {Set<string>} names
   */
  #addSpan(spans, text, from, candidates, names) {
    if (from < 0) return;
    /** @type {Hidden | undefined} */
    let longest;
    for (const secret of candidates) {
      if (!text.startsWith(secret[0], from)) continue;
      names.add(secret[2]);
      if (!longest || secret[0].length > longest[0].length) longest = secret;
    }
    if (!longest) return;
    const last = spans.at(-1);
    const to = from + longest[0].length;
    if (last && from < last.to) last.to = Math.max(last.to, to);
    else spans.push({ from, to, mark: longest[1] });
  }

  /**
   * Replaces the secrets in a tool result, in place: in all its texts and in its details.
   * @param {any} message
   * @param {boolean} [keep] only finds them
   * @returns {Set<string>} the names of those that were in it
   */
  cleanResult(message, keep = false) {
    /** @type {Set<string>} */
    const names = new Set();
    if (this.isEmpty || message === null || typeof message !== "object") return names;
    const { content } = message;
    const blocks = Array.isArray(content) ? content.filter(isText) : [];
    const cleaned = this.cleanAll(blocks.map((/** @type {any} */ block) => block.text), names);
    if (!keep) blocks.forEach((/** @type {any} */ block, /** @type {number} */ at) => put(block, "text", cleaned[at]));
    /** @type {[any, string | number][]} */
    const others = [[message, "details"]];
    if (!Array.isArray(content)) others.push([message, "content"]);
    else content.forEach((/** @type {any} */ part, /** @type {number} */ at) => isText(part) || others.push([content, at]));
    this.#cleanWithin(others, names, keep);
    return names;
  }

  /**
   * @param {[any, string | number][]} places members to clean, with all that is in them, up to a bound
   * @param {Set<string>} names
   * @param {boolean} keep
   */
  #cleanWithin(places, names, keep) {
    let level = places;
    let nodes = 0;
    for (let depth = 0; level.length > 0 && depth < MAX_DEPTH; depth++) {
      /** @type {[any, string | number][]} */
      const below = [];
      for (const [holder, name] of level) {
        if (++nodes > MAX_NODES) return;
        const value = holder[name];
        if (typeof value === "string") {
          const clean = this.clean(value, names);
          if (!keep && clean !== value) put(holder, name, clean);
        } else if (value !== null && typeof value === "object" && !isData(value)) {
          for (const inner of Object.keys(value)) below.push([value, inner]);
        }
      }
      level = below;
    }
  }
}

/**
 * @param {unknown} secret
 * @returns {secret is Hidden}
 */
function isHidden(secret) {
  const isTexts = Array.isArray(secret) && secret.length === 3 && secret.every((part) => typeof part === "string");
  return isTexts && String(secret[0]).length >= SHORTEST;
}

/** @param {any} part of a result */
function isText(part) {
  return part?.type === "text" && typeof part.text === "string";
}

/**
 * Whether a block holds an image or the like: its text is the encoding of something else.
 * @param {any} value
 */
function isData(value) {
  return typeof value.data === "string" && typeof value.mimeType === "string";
}

/**
 * Texts with the spans of their concatenation replaced. A mark stands where its span begins.
 * @param {string[]} texts
 * @param {Span[]} spans
 */
function withMarks(texts, spans) {
  let offset = 0;
  let next = 0;
  return texts.map((text) => {
    const end = offset + text.length;
    const parts = [];
    let at = offset;
    for (; next < spans.length && /** @type {Span} */ (spans[next]).from < end; next++) {
      const { from, to, mark } = /** @type {Span} */ (spans[next]);
      if (from >= offset) parts.push(text.slice(at - offset, from - offset), mark);
      at = Math.min(to, end);
      if (to > end) break; // it goes on in the next text
    }
    parts.push(text.slice(at - offset));
    offset = end;
    return parts.join("");
  });
}

/**
 * @param {any} holder
 * @param {string | number} name
 * @param {unknown} value
 */
function put(holder, name, value) {
  try {
    if (holder[name] !== value) holder[name] = value;
  } catch {
    // frozen: the text is replaced on its way to the model
  }
}
