// Creates elements. Data becomes text nodes; neither this module nor the rest of the page ever parses it as markup.

/** Attributes that may be set, with any `aria-...` and `data-...`. None of them runs or fetches anything. */
const SAFE = new Set(
  (
    "class id role type name value for label title scope colspan tabindex dir lang datetime min max maxlength placeholder " +
    "autocomplete hidden disabled checked open rows inert spellcheck"
  ).split(" "),
);
const ALSO = /^(?:aria|data)-[a-z0-9-]+$/;
const UNSAFE_TAGS = new Set(["script", "style", "iframe", "object", "embed", "link", "base", "meta", "template"]);

/** @typedef {Node | string | number | null | undefined | false} Child */
/**
 * `on`: listeners by event; `vars`: numbers for CSS variables; every other key is an attribute, left out if false or null.
 * @typedef {{ on?: Record<string, (event: any) => unknown>, vars?: Record<string, number>, [name: string]: unknown }} Props
 */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props, ...children) {
  if (UNSAFE_TAGS.has(tag)) throw new TypeError(`<${tag}> elements are not allowed`);
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  node.append(...kept(children));
  return node;
}

/**
 * @param {Child | Child[]} text
 * @param {() => unknown} click
 * @param {Props} [props]
 */
export const button = (text, click, props = {}) => el("button", { type: "button", ...props, on: { click } }, text);

/**
 * @param {HTMLElement} node
 * @param {string} name
 * @param {any} value
 */
export function set(node, name, value) {
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  } else if (name === "vars") {
    for (const [key, number] of Object.entries(value)) node.style.setProperty(`--${key}`, String(Number(number)));
  } else if (SAFE.has(name) || ALSO.test(name)) {
    if (value === false || value === null || value === undefined) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : String(value));
  } else {
    throw new TypeError(`the attribute ${name} is not allowed`);
  }
}

/**
 * Replaces the children of a node. If the focused element is replaced, the new one with the same `data-focus` gets the focus.
 * @param {Element} node
 * @param {...(Child | Child[])} children
 */
export function fill(node, ...children) {
  const active = document.activeElement;
  const focus = active instanceof HTMLElement && node.contains(active) ? active.dataset["focus"] : undefined;
  node.replaceChildren(...kept(children));
  if (focus === undefined) return;
  for (const one of node.querySelectorAll("[data-focus]"))
    if (one instanceof HTMLElement && one.dataset["focus"] === focus) return one.focus({ preventScroll: true });
}

/** @param {(Child | Child[])[]} children */
function kept(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/**
 * Signs that cannot be seen or hide others, as the engine's `visible_text` has them: calls come from there already written out.
 * Of marks only those that no letter of any script needs: that cover one, that enclose one, or that float on nothing.
 */
const UNSEEN =
  /(?![\n\t ])[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{16fe4}\u{1d159}\u{13441}\u{13442}]|[\u0334-\u0338\u20d0-\u20f0\p{Me}]|(?<![\p{L}\p{M}\u200c\u200d])\p{Mn}/gu;

const EMOJI = String.raw`\u2100-\u2bff\u3030\u303d\u3297\u3299\u00a9\u00ae\u203c\u2049\u{1f000}-\u{1faff}`;
const JOINING = String.raw`\u0600-\u109f\u1780-\u18af\u1b00-\u1bff\ua840-\ua8ff`;
/** The same signs where ordinary writing needs them: as in the engine's `model.odd_signs`. */
const NEEDED = new RegExp(
  [
    String.raw`(?<=[${EMOJI}])[\ufe0e\ufe0f]`,
    String.raw`(?<=[${EMOJI}\ufe0f])\u200d(?=[${EMOJI}])`,
    String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[0-9#*]\ufe0f)\u20e3`,
    String.raw`(?<=\u{1f3f4})[\u{e0030}-\u{e007a}]{1,8}\u{e007f}`,
    String.raw`(?<=[${JOINING}])[\u200c\u200d](?=[${JOINING}])`,
    String.raw`(?<=[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca])[\u200c\u200d]`,
    String.raw`(?<=[\u3400-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}])[\ufe00-\ufe02\u{e0100}-\u{e01ef}]`,
    String.raw`(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]`,
  ].join("|"),
  "gu",
);

/**
 * Untrusted text, made safe to show: what is invisible or changes the direction of text is written out as `<U+200B>`.
 * @param {string} text
 */
export function visible(text) {
  /** @type {Set<number>} */
  const kept = new Set();
  for (const { 0: signs, index } of text.matchAll(NEEDED)) for (let at = 0; at < signs.length; at += 1) kept.add(index + at);
  return text.replace(UNSEEN, (sign, /** @type {number} */ at) => (kept.has(at) ? sign : written(sign)));
}

/** @param {string} sign */
function written(sign) {
  return `<U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}

/**
 * Untrusted text in an element that isolates its direction.
 * @param {string} text
 * @param {string} [none] shown if the text is empty
 */
export function quoted(text, none = "–") {
  return text ? el("bdi", null, visible(text)) : el("span", { class: "quiet" }, none);
}

/** A sentence with commands in backticks. @param {string} text */
export function coded(text) {
  return visible(text)
    .split("`")
    .map((part, i) => (i % 2 ? el("code", { class: "command" }, part) : part));
}
