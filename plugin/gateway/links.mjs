// What paths lead to on this machine, with links resolved.

import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { MAX_PARTS } from "./place_table.mjs";

/**
 * The path with links resolved as far as it exists; the rest unchanged. Empty if not known.
 * @param {string} path
 * @param {Map<string, string>} [known] results of this call
 * @param {number} [depth]
 * @returns {string}
 */
export function leadsTo(path, known = new Map(), depth = 0) {
  const found = known.get(path) ?? realpath(path);
  if (found !== null) {
    known.set(path, found);
    return found;
  }
  const above = dirname(path);
  const folder = above === path || depth > MAX_PARTS ? "" : leadsTo(above, known, depth + 1);
  const end = folder && join(folder, basename(path));
  known.set(path, end);
  return end;
}

/**
 * @param {string} path
 * @returns {string | null} null if nothing is there, empty if not known
 */
function realpath(path) {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return realpathSync.native(path);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    return code === "ENOENT" || code === "ENOTDIR" ? null : "";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Whether something other than a folder or a file with a single link is there: another hard link may be a protected file.
 * @param {string} path
 */
export function isOdd(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isDirectory() && !(found.isFile() && found.nlink === 1);
}

/**
 * A path, and what it resolves to.
 * @param {string} path
 */
export function bothNames(path) {
  return path ? [...new Set([path, leadsTo(path) || path])] : [];
}
