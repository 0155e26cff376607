// What the guard did, as cards.

import { count, compact } from "./format.js";
import { total } from "./parts.js";

/**
 * @param {import("./shapes.js").GuardTotals} guard
 * @param {number} [each] requests that a broken loop saves
 */
export function guardTotals(guard, each = guard.loops ? guard.requestsSaved / guard.loops : 0) {
  const how = each ? `${count(each)} for each loop that was broken` : "an estimate, by broken loops";
  return [
    card(
      "loops",
      "Loops broken",
      guard.loops,
      `${count(guard.stopped)} runs ended, ${count(guard.malformed)} malformed calls`,
    ),
    total({
      name: "saved",
      label: "Requests saved",
      value: guard.requestsSaved,
      text: `${guard.requestsSaved ? "≈ " : ""}${compact(guard.requestsSaved)}`,
      detail: `an estimate: ${how}`.replace("estimate: an estimate", "estimate"),
    }),
    card("held", "Held", guard.held, `of ${count(guard.judged)} judged calls`),
    card("approved", "Approved", guard.approved, `${count(guard.denied)} denied, ${count(guard.expired)} expired`),
    card(
      "blocked",
      "Blocked",
      guard.blocked,
      guard.security ? `${count(guard.security)} security events` : `${count(guard.noted)} noted`,
    ),
  ];
}

/** @param {string} name @param {string} label @param {number} value @param {string} detail */
const card = (name, label, value, detail) => total({ name, label, value, text: compact(value), detail });
