// Whether two values are the same as JSON: what the gateway hands to a tool may differ from what was judged in key order
// or in members that JSON does not know, and that is no difference.

import { isDeepStrictEqual } from "node:util";

/**
 * @param {any} one
 * @param {any} other
 */
export function same(one, other) {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(plain(one), plain(other));
}

/**
 * A copy that nobody else holds: on some hosts all hooks share one object, and a later one may change it in place.
 * @param {any} value
 */
export function copy(value) {
  try {
    return structuredClone(value);
  } catch {
    return plain(value); // functions and the like: what remains of it as JSON is what is judged
  }
}

/** @param {any} value */
function plain(value) {
  try {
    return JSON.parse(JSON.stringify(value ?? null));
  } catch {
    return value; // no JSON: equal only to itself
  }
}
