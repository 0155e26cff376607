// Bounds on the arguments of a call, looked at before anything else touches them: the engine must be able to read, to walk
// and to write what it judges, and nothing may be in there that JSON does not carry to it.
//
// The walk keeps a list of its own instead of calling itself, so that no depth ends it, and gives up at the first bound.

/** The engine reads about 980 levels and can walk fewer; honest arguments have less than 20. */
export const MAX_DEPTH = 64;
/** Members and list entries all together: an engine that has to look at so many still answers in time. */
export const MAX_NODES = 50_000;
/** Characters of all texts and names together: below the longest line even where each of them takes several bytes. */
export const MAX_TEXT = 1_000_000;

/** Beginnings of texts that are kept for the audit log, and how much of each. */
const MAX_SHOWN = 4;
const MAX_LOOKED = 50;
const MAX_SHOWN_TEXT = 120;

/**
 * Which bound was broken. `code` is stable and stands in the audit log.
 * @typedef {{ code: "call.too-deep" | "call.too-large" | "call.no-json", reason: string }} Fault
 */

/** @type {Fault} */
const TOO_DEEP = { code: "call.too-deep", reason: `its arguments are nested more than ${MAX_DEPTH} levels deep` };
/** @type {Fault} */
const TOO_MANY = { code: "call.too-large", reason: `its arguments have more than ${MAX_NODES} parts` };
/** @type {Fault} */
const TOO_LONG = { code: "call.too-large", reason: `its arguments have more than ${MAX_TEXT} characters` };
/** @type {Fault} */
const NO_JSON = { code: "call.no-json", reason: "its arguments hold something that JSON cannot carry" };

/**
 * What is wrong with the shape of these arguments; null where nothing is.
 * @param {any} params
 * @returns {Fault | null}
 */
export function faultOf(params) {
  try {
    return walked(params);
  } catch {
    return NO_JSON; // a proxy or the like, which answers as it pleases
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
          if (!member || !("value" in member)) return NO_JSON; // computed when it is looked at: never twice the same
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
 * What is the same behind JSON as before it. Members without a value are no more than not there; so are functions, where
 * the gateway or another plugin has put one: the model cannot, and no tool takes one.
 * @param {any} value
 */
function isPlain(value) {
  if (typeof value === "bigint" || typeof value === "symbol") return false;
  if (typeof value !== "object" || value === null) return true;
  if (typeof value.toJSON === "function") return false; // JSON would carry what that says
  if (Array.isArray(value)) return true;
  const maker = Object.getPrototypeOf(value);
  return maker === null || Object.getPrototypeOf(maker) === null; // also the plain objects of another realm
}

/**
 * These arguments where their shape can be looked at, else nothing: for what is reported and not judged.
 * @param {any} params
 */
export function bounded(params) {
  return faultOf(params) ? null : params;
}

/**
 * The beginnings of the outermost short texts, for the audit log: what such a call was about. Never fails.
 * @param {any} params
 * @returns {string}
 */
export function glimpse(params) {
  /** @type {string[]} */
  const shown = [];
  try {
    if (params === null || typeof params !== "object") return "";
    let looked = 0;
    for (const name in params) {
      if (shown.length >= MAX_SHOWN || ++looked > MAX_LOOKED) break;
      const member = Object.getOwnPropertyDescriptor(params, name);
      if (typeof member?.value === "string") shown.push(`${name.slice(0, MAX_SHOWN_TEXT)}: ${member.value.slice(0, MAX_SHOWN_TEXT)}`);
    }
  } catch {
    // what cannot be looked at is not shown
  }
  return shown.join(", ");
}
