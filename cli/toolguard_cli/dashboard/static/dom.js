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

/** Control characters, lone surrogates, unusual spaces, and characters that Unicode allows to be invisible. */
const UNSEEN = /(?![\n\t ])[\p{Cc}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/gu;

/**
 * Untrusted text, made safe to show: characters that are invisible or change the direction of text become their code points.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(
    UNSEEN,
    (char) => `⟦${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`,
  );
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
