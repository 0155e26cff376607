// The files that the gateway's config includes, which hold settings and secrets as well.

import { readFileSync, statSync } from "node:fs";
import { dirname, posix } from "node:path";

import { TABLE } from "./place_table.mjs";

/** Limits of the config with its includes; the same as the engine's. */
const { files: MAX_INCLUDES, bytes: MAX_CONFIG } = TABLE.includes;
const MAX_LIST = 20_000;
const LIST = /^["']?\s{0,20}:\s{0,20}\[/;
/** The value of an `$include`. */
const INCLUDED = /^["']?\s{0,20}:\s{0,20}(\[[^\]]{0,20000}\]|"[^"\n]{1,4096}"|'[^'\n]{1,4096}')/;
const QUOTED = /"([^"\n]{1,4096})"|'([^'\n]{1,4096})'/g;

/**
 * Changes when a file changes; empty if the file cannot be read.
 * @param {string} path
 */
export function stampOf(path) {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch {
    return "";
  }
}

/**
 * The files that a config includes with `$include`, and whether the list is complete.
 * @param {string} config
 */
export function includedBy(config) {
  /** @type {Set<string>} */
  const found = new Set();
  const todo = [config];
  for (let left = MAX_CONFIG, path = todo.pop(); path; path = todo.pop()) {
    const text = contentOf(path, left);
    if (text === null) return { files: [...found], isAll: false };
    left -= Buffer.byteLength(text);
    const names = namesIn(text);
    if (names === null) return { files: [...found], isAll: false };
    for (const name of names.map((each) => posix.resolve(dirname(path ?? ""), each))) {
      if (found.has(name)) continue;
      if (found.size === MAX_INCLUDES) return { files: [...found], isAll: false };
      found.add(name);
      todo.push(name);
    }
  }
  return { files: [...found], isAll: true };
}

/**
 * The content of a file; null if it is larger than `limit`, empty if it cannot be read.
 * @param {string} path
 * @param {number} limit
 */
function contentOf(path, limit) {
  try {
    const found = statSync(path);
    if (!found.isFile()) return "";
    return found.size > limit ? null : readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * The values of each `$include`; null if a list is too long.
 * @param {string} text
 */
function namesIn(text) {
  /** @type {string[]} */
  const names = [];
  for (const value of text.split("$include").slice(1)) {
    const list = INCLUDED.exec(value)?.[1];
    if (list === undefined && value.length > MAX_LIST && LIST.test(value)) return null;
    for (const match of (list ?? "").matchAll(QUOTED)) names.push(match[1] ?? match[2] ?? "");
  }
  return names;
}
