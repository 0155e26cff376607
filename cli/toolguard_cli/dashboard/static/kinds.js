// Labels and colours of the kinds of decisions. `tone` names a colour; the label is always shown with it.

/** @typedef {{ label: string, tone: string }} Kind */

/** @type {Record<string, Kind>} */
const KINDS = {
  allow: { label: "Allowed", tone: "quiet" },
  malformed: { label: "Malformed", tone: "amber" },
  loop: { label: "Loop", tone: "violet" },
  hold: { label: "Held", tone: "blue" },
  "hold-again": { label: "Still held", tone: "blue" },
  approve: { label: "Approved", tone: "green" },
  consume: { label: "Ran after approval", tone: "green" },
  deny: { label: "Denied", tone: "red" },
  expire: { label: "Expired", tone: "quiet" },
  lapsed: { label: "Approval lapsed", tone: "amber" },
  block: { label: "Blocked", tone: "red" },
  "would-refuse": { label: "Would be held or blocked", tone: "amber" },
  note: { label: "Noted", tone: "amber" },
  kept: { label: "Kept for undo", tone: "green" },
  stop: { label: "Stopped", tone: "violet" },
  budget: { label: "Budget", tone: "amber" },
  drift: { label: "Drift", tone: "amber" },
  security: { label: "Security", tone: "red" },
  forged: { label: "Forged", tone: "red" },
  error: { label: "Error", tone: "red" },
  checkpoint: { label: "Checkpoint", tone: "green" },
  "kill-switch": { label: "Kill switch", tone: "red" },
  grant: { label: "Grant", tone: "green" },
  "grant-used": { label: "Ran under a grant", tone: "green" },
  revoke: { label: "Revoked", tone: "amber" },
  undo: { label: "Undone", tone: "amber" },
  state: { label: "State", tone: "amber" },
  weakened: { label: "Weaker settings", tone: "red" },
  restored: { label: "Settings restored", tone: "green" },
  accepted: { label: "Settings accepted", tone: "amber" },
  ended: { label: "Guard stopped", tone: "amber" },
  external: { label: "Reported", tone: "quiet" },
};

/** The layers of the chart, from bottom to top; all other kinds are `Other`. `allow` is left out: it would dwarf the rest. */
export const GROUPS = [
  { label: "Held", color: "blue", kinds: ["hold"] },
  { label: "Approved", color: "green", kinds: ["approve"] },
  { label: "Denied or expired", color: "grey", kinds: ["deny", "expire", "lapsed"] },
  { label: "Blocked", color: "red", kinds: ["block"] },
  { label: "Malformed", color: "amber", kinds: ["malformed", "loop"] },
];
/** Stops are charted in two layers: those that ended a loop, and all others (kill switch, held call). */
export const STOP = "stop";
export const UNCHARTED = new Set([
  ...["allow", "consume", "hold-again", "kept"],
  ...["kill-switch", "checkpoint", "grant", "grant-used", "revoke", "undo", "state", "budget", "drift"], // not calls
  ...["weakened", "restored", "accepted", "ended"],
]);

/** Kinds that the feed can be filtered by. @type {Record<string, string[]>} */
export const CHOICES = {
  Decisions: ["hold", "hold-again", "block", "would-refuse", "note", "kept", "stop"],
  Loops: ["malformed", "loop"],
  People: ["approve", "consume", "deny", "expire", "lapsed", "checkpoint", "kill-switch", "grant", "grant-used", "revoke", "undo", "state", "accepted"],
  "Guard itself": ["weakened", "restored", "ended", "budget", "drift", "security", "forged", "error", "external"],
};

/** @type {Record<string, string>} */
const PLACES = {
  dashboard: "on the dashboard",
  cli: "in a terminal",
  chat: "in a chat",
  link: "through an answer link",
  native: "in the gateway's own prompt",
  tool: "through the gateway's agent tool",
};

/** Where a decision was made, in words. @param {string} place */
export const at = (place) => (Object.hasOwn(PLACES, place) ? PLACES[place] : place && `at ${place}`);

/** @param {string} kind @returns {Kind} */
export const named = (kind) =>
  (Object.hasOwn(KINDS, kind) ? KINDS[kind] : null) ?? { label: kind || "Other", tone: "quiet" };

/** The id of the list of held calls that are over. */
export const SETTLED = "settled";

export const MODES = /** @type {const} */ (["enforce", "soft", "shadow", "disabled"]);

/** @type {Record<string, string>} */
export const MODE_MEANS = {
  enforce: "Calls that need approval are held; calls that a rule forbids are blocked.",
  soft: "Like enforce, but calls are held for their score only if their stakes are 8 or more.",
  shadow: "Nothing is held or blocked. The guard only records what it would have done.",
  disabled: "The guard is off: every call runs without being checked.",
};
