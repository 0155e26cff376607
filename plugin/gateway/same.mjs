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

/** @param {any} value */
function plain(value) {
  try {
    return JSON.parse(JSON.stringify(value ?? null));
  } catch {
    return value; // no JSON: equal only to itself
  }
}
