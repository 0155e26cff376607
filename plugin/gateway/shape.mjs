// Bounds on the arguments of a call, checked before anything else reads them: the engine must be able to parse, walk and
// serialize what it judges, and JSON must carry all of it.
//
// The walk is iterative, so that no depth overflows the stack, and stops at the first bound that is broken.

/** The engine parses about 980 levels and can walk fewer; ordinary arguments have less than 20. */
export const MAX_DEPTH = 64;
/** Members and list entries in total; the engine still answers in time for this many. */
export const MAX_NODES = 50_000;
/** Characters of all texts and names in total; below the longest line even if each takes several bytes. */
export const MAX_TEXT = 1_000_000;

/** Texts kept for the audit log, and the length of each. */
const MAX_SHOWN = 4;
const MAX_MEMBERS = 50;
const MAX_SHOWN_TEXT = 120;

/**
 * The bound that was broken. `code` is stable and recorded in the audit log.
 * @typedef {{ code: "call.too-deep" | "call.too-large" | "call.no-json", reason: string }} Fault
 */

/** @type {Fault} */
const TOO_DEEP = { code: "call.too-deep", reason: `its arguments are nested more than ${MAX_DEPTH} levels deep` };
/** @type {Fault} */
const TOO_MANY = { code: "call.too-large", reason: `its arguments have more than ${MAX_NODES} parts` };
/** @type {Fault} */
const TOO_LONG = { code: "call.too-large", reason: `its arguments have more than ${MAX_TEXT} characters` };
/** @type {Fault} */
const NO_JSON = { code: "call.no-json", reason: "its arguments contain a value that JSON cannot represent" };

/**
 * The fault in the shape of these arguments; null if there is none.
 * @param {any} params
 * @returns {Fault | null}
 */
export function faultOf(params) {
  try {
    return walked(params);
  } catch {
    return NO_JSON; // a proxy, for example
  }
}

/**
 * @param {any} params
 * @returns {Fault | null}
 */
function walked(params) {
  let level = [params];
  let nodes = 1;
  let text = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return TOO_DEEP;
    /** @type {any[]} */
    const below = [];
    for (const value of level) {
      if (typeof value === "string") text += value.length;
      else if (!isPlain(value)) return NO_JSON;
      else if (typeof value === "object" && value !== null) {
        const names = Object.keys(value);
        nodes += names.length;
        if (nodes > MAX_NODES) return TOO_MANY;
        for (const name of names) {
          const member = Object.getOwnPropertyDescriptor(value, name);
          if (!member || !("value" in member)) return NO_JSON; // a getter may return something else each time
          text += Array.isArray(value) ? 0 : name.length;
          below.push(member.value);
        }
      }
    }
    if (text > MAX_TEXT) return TOO_LONG;
    level = below;
  }
  return null;
}

/**
 * Whether a value survives JSON unchanged. Members without a value, and functions (which the gateway or another plugin may
 * add), count as absent: the model cannot send them, and no tool takes them.
 * @param {any} value
 */
function isPlain(value) {
  if (typeof value === "bigint" || typeof value === "symbol") return false;
  if (typeof value !== "object" || value === null) return true;
  if (typeof value.toJSON === "function") return false; // JSON would carry its result instead
  if (Array.isArray(value)) return true;
  const maker = Object.getPrototypeOf(value);
  return maker === null || Object.getPrototypeOf(maker) === null; // also the plain objects of another realm
}

/**
 * These arguments if they keep the bounds, else null: for reports, not for verdicts.
 * @param {any} params
 */
export function bounded(params) {
  return faultOf(params) ? null : params;
}

/**
 * The first outermost texts, shortened, for the audit log. Never throws.
 * @param {any} params
 * @returns {string}
 */
export function glimpse(params) {
  /** @type {string[]} */
  const shown = [];
  try {
    if (params === null || typeof params !== "object") return "";
    let members = 0;
    for (const name in params) {
      if (shown.length >= MAX_SHOWN || ++members > MAX_MEMBERS) break;
      const member = Object.getOwnPropertyDescriptor(params, name);
      if (typeof member?.value === "string") shown.push(`${name.slice(0, MAX_SHOWN_TEXT)}: ${member.value.slice(0, MAX_SHOWN_TEXT)}`);
    }
  } catch {
    // what cannot be read is not shown
  }
  return shown.join(", ");
}
