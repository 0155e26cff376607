// What the guard can have done, as the page names and colours it. `tone` is the name of a colour; the word always stands beside it.

/** @typedef {{ label: string, tone: string }} Kind */

/** @type {Record<string, Kind>} */
const KINDS = {
  allow: { label: "Allowed", tone: "quiet" },
  malformed: { label: "Malformed", tone: "amber" },
  loop: { label: "Loop", tone: "violet" },
  hold: { label: "Held", tone: "blue" },
  "hold-again": { label: "Still held", tone: "blue" },
  approve: { label: "Approved", tone: "green" },
  consume: { label: "Ran once approved", tone: "green" },
  deny: { label: "Denied", tone: "red" },
  expire: { label: "Expired", tone: "quiet" },
  block: { label: "Blocked", tone: "red" },
  "would-refuse": { label: "Would be refused", tone: "amber" },
  note: { label: "Noted", tone: "amber" },
  stop: { label: "Stopped", tone: "violet" },
  budget: { label: "Budget", tone: "amber" },
  drift: { label: "Drift", tone: "amber" },
  security: { label: "Security", tone: "red" },
  forged: { label: "Forged", tone: "red" },
  error: { label: "Error", tone: "red" },
  checkpoint: { label: "Checkpoint", tone: "green" },
  "kill-switch": { label: "Kill switch", tone: "red" },
  grant: { label: "Grant", tone: "green" },
  "grant-used": { label: "Ran by a grant", tone: "green" },
  revoke: { label: "Revoked", tone: "amber" },
  weakened: { label: "Weaker settings", tone: "red" },
  restored: { label: "Settings restored", tone: "green" },
  accepted: { label: "Settings accepted", tone: "amber" },
  ended: { label: "Guard ended", tone: "amber" },
  external: { label: "Reported", tone: "quiet" },
};

/** The columns of the chart, from the bottom to the top; what is in none of them is `Other`. `allow` would dwarf them all. */
export const GROUPS = [
  { label: "Held", color: "blue", kinds: ["hold"] },
  { label: "Approved", color: "green", kinds: ["approve"] },
  { label: "Denied or expired", color: "grey", kinds: ["deny", "expire"] },
  { label: "Blocked", color: "red", kinds: ["block"] },
  { label: "Malformed", color: "amber", kinds: ["malformed", "loop"] },
];
/** The stops, which are counted apart: those that ended a loop, and all others (a kill switch, a call that waits). */
export const STOP = "stop";
export const UNCHARTED = new Set([
  ...["allow", "consume", "hold-again"],
  ...["kill-switch", "checkpoint", "grant", "grant-used", "revoke", "budget", "drift"], // no calls
  ...["weakened", "restored", "accepted", "ended"],
]);

/** Kinds that the feed can be narrowed to. @type {Record<string, string[]>} */
export const CHOICES = {
  Decisions: ["hold", "hold-again", "block", "would-refuse", "note", "stop"],
  Loops: ["malformed", "loop"],
  People: ["approve", "consume", "deny", "expire", "checkpoint", "kill-switch", "grant", "grant-used", "revoke", "accepted"],
  "Guard itself": ["weakened", "restored", "ended", "budget", "drift", "security", "forged", "error", "external"],
};

/** @type {Record<string, string>} */
const PLACES = { dashboard: "on the dashboard", cli: "in a terminal", chat: "in a chat" };

/** Where a person decided, in words. @param {string} place */
export const at = (place) => (Object.hasOwn(PLACES, place) ? PLACES[place] : place && `at ${place}`);

/** @param {string} kind @returns {Kind} */
export const named = (kind) =>
  (Object.hasOwn(KINDS, kind) ? KINDS[kind] : null) ?? { label: kind || "Other", tone: "quiet" };

export const MODES = /** @type {const} */ (["enforce", "soft", "shadow", "disabled"]);

/** @type {Record<string, string>} */
export const MODE_MEANS = {
  enforce: "Calls that need a person are held, calls that a rule forbids are blocked.",
  soft: "Only calls with high stakes are held or blocked; all others run.",
  shadow: "Nothing is held or blocked. The guard only writes down what it would have done.",
  disabled: "The guard does nothing at all: every call runs unseen.",
};
