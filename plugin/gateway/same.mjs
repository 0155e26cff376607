// Whether two values are equal as JSON. The arguments that a tool gets may differ from the judged ones in key order or in
// members that JSON cannot represent; that is not a difference.

import { isDeepStrictEqual } from "node:util";

/**
 * @param {any} one
 * @param {any} other
 */
export function same(one, other) {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(plain(one), plain(other));
}

/**
 * A private copy: on some hosts all hooks share one object, and a later hook may change it in place.
 * @param {any} value
 */
export function copy(value) {
  try {
    return structuredClone(value);
  } catch {
    return plain(value); // it holds functions, for example: its JSON is what is judged
  }
}

/** @param {any} value */
function plain(value) {
  try {
    return JSON.parse(JSON.stringify(value ?? null));
  } catch {
    return value; // not JSON: equal only to itself
  }
}
