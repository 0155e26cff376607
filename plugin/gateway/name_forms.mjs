// The names that a text of a call may stand for: as a shell, a URL or code reads it, and as the file tools repair it.

import { posix } from "node:path";

import { ANY, TABLE } from "./place_table.mjs";

const MAX_TEXTS = 60_000;
const VARIABLE = /\$(?:(\w{1,60})|\{(\w{1,60})[^{}]{0,200}\})/g;
const WINDOWS_VARIABLE = /%(\w{1,60})%/g;
const SUBSTITUTION = /\$\([^()]{0,200}\)|`[^`]{0,200}`/g;
const BRACES = /\{[^{}\s]{0,200}\}/g;
const ESCAPE = /\\(?:x([0-9a-f]{1,2})|u\{?([0-9a-f]{2,6})\}?|([0-7]{2,3}))/g;
const PERCENT = /%([0-9a-f]{2})/g;
/** The end of a string literal and the beginning of the next, which code would concatenate. */
const JOINT = /(["'])\s{0,20}\+?\s{0,20}\1/g;
const QUOTED = /"([^"\n]{1,4096})"|'([^'\n]{1,4096})'/g;

/** What the gateway's tools cut from a path before they open the file. @type {{ cut: RegExp, put: string }[]} */
const REPAIRS = TABLE.repairs.map((/** @type {any} */ { pattern, at, put, ignoreCase }) => ({
  cut: new RegExp(`${at === "start" ? "^" : ""}(?:${pattern})${at === "end" ? "$" : ""}`, `${ignoreCase ? "i" : ""}${at === "anywhere" ? "g" : ""}`),
  put,
}));
/** Repairs of one name, and names that one text may stand for; a text that needs more counts as protected. */
const MAX_REPEATS = 8;
const MAX_FORMS = 64;
/** Names that no repair changes. */
export const PLAIN = /^(?!.*odex$)(?:~(?=\/|$))?[\w./+=,-]*$/i;
/** Names that this module reads as something else than a file tool, which joins them to the workspace as they are. */
const MISREAD = /^(?:[\s@%]|~(?!\/|$)|[a-z][\w+.-]*:|\/\/)[^\r\n]*$/i;

/**
 * The names that a file tool may make of a text, without the text itself; null if there are too many.
 * @param {string} text
 * @param {string} workspace
 */
export function formsOf(text, workspace) {
  const forms = new Set([text, text.trim()]);
  if (/^\W{0,9}file:/i.test(text)) forms.add(text.trim().replace(/[\t\r\n]/g, "").replace(/[?#][^]*$/, ""));
  for (const form of forms) {
    if (forms.size > MAX_FORMS) return null;
    for (const { cut, put } of REPAIRS) {
      let short = form;
      for (let left = MAX_REPEATS, before = ""; before !== short && left > 0; left -= 1) {
        before = short;
        short = short.replace(cut, put).trim();
        forms.add(short);
      }
    }
  }
  for (const form of [...forms]) if (MISREAD.test(form)) forms.add(posix.normalize(`${workspace}/${form}`));
  forms.delete(text);
  return [...forms];
}

/**
 * Quoted texts with a space, which may be one name.
 * @param {string} text
 */
export function quotedIn(text) {
  return [...text.matchAll(QUOTED)].map((match) => match[1] ?? match[2] ?? "").filter((name) => name.includes(" "));
}

/** @param {string} text */
export function lower(text) {
  return text.normalize("NFKC").toLowerCase();
}

/**
 * All texts in these arguments, names included; null if there are too many.
 * @param {any} params within the bounds of `shape.mjs`
 */
export function textsOf(params) {
  /** @type {string[]} */
  const texts = [];
  const todo = [params];
  while (todo.length > 0) {
    const value = todo.pop();
    if (texts.length + todo.length > MAX_TEXTS) return null;
    if (typeof value === "string") texts.push(value);
    else if (value && typeof value === "object") {
      if (!Array.isArray(value)) texts.push(...Object.keys(value));
      todo.push(...Object.values(value));
    }
  }
  return texts;
}

/**
 * A text as a shell, a URL or code would read it.
 * @param {string} text
 * @param {(name: string) => string | undefined} known variables
 */
export function* variantsOf(text, known) {
  const small = lower(text);
  /** @type {Set<string>} */
  const seen = new Set();
  for (const each of [small, decoded(small, PERCENT), decoded(decoded(small, PERCENT), PERCENT), decoded(small, ESCAPE)]) {
    if (seen.has(each)) continue;
    seen.add(each);
    const whole = expanded(each, known);
    yield whole;
    yield whole.replaceAll("\\", "/");
    yield whole.replace(JOINT, "").replace(/["'\\]/g, "");
    if (whole.includes("{")) yield whole.replace(BRACES, ANY).replace(BRACES, ANY).replace(/["'\\]/g, "");
  }
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function decoded(text, pattern) {
  return text.replace(pattern, (all, one, two, three) => {
    const code = one ?? two ? Number.parseInt(one ?? two, 16) : Number.parseInt(three, 8);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toLowerCase() : all;
  });
}

/**
 * @param {string} text
 * @param {(name: string) => string | undefined} known
 */
export function expanded(text, known) {
  return text
    .replace(VARIABLE, (_, one, two) => known((one ?? two).toLowerCase()) ?? ANY)
    .replace(WINDOWS_VARIABLE, (all, name) => known(name.toLowerCase()) ?? all)
    .replace(SUBSTITUTION, (all) => `${ANY} ${all.slice(1)} `);
}
