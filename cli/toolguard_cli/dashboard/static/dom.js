// Elements whose texts are texts: nothing here, and nothing else on this page, ever reads markup out of data.

/** Attributes that may be set; beside these any `aria-...` and `data-...`. None of them runs or fetches anything. */
const SAFE = new Set([
  "class",
  "id",
  "role",
  "type",
  "name",
  "value",
  "for",
  "label",
  "title",
  "scope",
  "colspan",
  "tabindex",
  "dir",
  "lang",
  "datetime",
  "min",
  "max",
  "maxlength",
  "placeholder",
  "autocomplete",
  "hidden",
  "disabled",
  "checked",
  "open",
  "rows",
  "inert",
  "spellcheck",
]);
const ALSO = /^(?:aria|data)-[a-z0-9-]+$/;
const UNSAFE_TAGS = new Set(["script", "style", "iframe", "object", "embed", "link", "base", "meta", "template"]);

/** @typedef {Node | string | number | null | undefined | false} Child */
/**
 * `on`: listeners by event; `vars`: numbers for CSS variables; every other key is an attribute, absent where false or null.
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
  if (UNSAFE_TAGS.has(tag)) throw new TypeError(`no <${tag}> is made from here`);
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  node.append(...kept(children));
  return node;
}

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
    throw new TypeError(`attribute ${name} is not one that is set from here`);
  }
}

/**
 * New children in place of the old ones. What had the focus has it again, where something with the same `data-focus` is there;
 * what was unfolded stays so (`data-keep`).
 * @param {Element} node
 * @param {...(Child | Child[])} children
 */
export function fill(node, ...children) {
  const active = document.activeElement;
  const focus = active instanceof HTMLElement && node.contains(active) ? active.dataset["focus"] : undefined;
  const open = [...node.querySelectorAll("details[open][data-keep]")].map((one) => one.getAttribute("data-keep"));
  node.replaceChildren(...kept(children));
  for (const one of node.querySelectorAll("details[data-keep]"))
    if (open.includes(one.getAttribute("data-keep"))) one.setAttribute("open", "");
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

/** Controls, halves of characters, spaces that are not the usual one, and all that Unicode lets a program leave undrawn. */
const UNSEEN = /(?![\n\t ])[\p{Cc}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/gu;

/**
 * A text that somebody else wrote, as it is: characters that cannot be seen, or that turn the direction of a text, are shown
 * by their numbers.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(
    UNSEEN,
    (char) => `⟦${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`,
  );
}

/**
 * Such a text as an element of its own, kept from turning what is around it.
 * @param {string} text
 * @param {string} [none] what stands there where it is empty
 */
export function quoted(text, none = "–") {
  return text ? el("bdi", null, visible(text)) : el("span", { class: "quiet" }, none);
}

/** A sentence in which commands stand between backticks. @param {string} text */
export function coded(text) {
  return visible(text)
    .split("`")
    .map((part, i) => (i % 2 ? el("code", { class: "command" }, part) : part));
}

/** @param {string} text */
export const hiddenText = (text) => el("span", { class: "sr-only" }, text);
