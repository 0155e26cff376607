// Totals of the guard, as cards.

import { count, counted, compact, money } from "./format.js";
import { total } from "./parts.js";

const SOURCE = "from recorded runs without a guard";

/**
 * @param {import("./shapes.js").GuardTotals} guard
 * @param {number} [each] requests saved per loop ended
 * @param {import("./shapes.js").Savings} [savings]
 */
export function guardTotals(guard, each = guard.loops ? guard.requestsSaved / guard.loops : 0, savings) {
  const how = each ? `${count(each)} per loop ended, ${SOURCE}` : "from loops ended";
  return [
    card(
      "loops",
      "Loops ended",
      guard.loops,
      `${counted(guard.stopped, "run")} ended, ${counted(guard.malformed, "malformed call")}`,
    ),
    total({
      name: "saved",
      label: "Requests saved",
      value: guard.requestsSaved,
      text: `${guard.requestsSaved ? "≈ " : ""}${compact(guard.requestsSaved)}`,
      detail: `estimate: ${how}`,
      more: savings?.usd && savings.usdPerRequest ? `worth ${money(savings.usd)}, at a mean cost of ${money(savings.usdPerRequest)} each` : null,
    }),
    card("held", "Held", guard.held, `of ${counted(guard.judged, "judged call")} (malformed calls are not judged)`),
    card("approved", "Approved", guard.approved, `${count(guard.denied)} denied, ${count(guard.expired)} expired`),
    card(
      "blocked",
      "Blocked",
      guard.blocked,
      guard.security ? `${counted(guard.security, "security event")}` : `${count(guard.noted)} noted but not blocked`,
    ),
  ];
}

/** @param {string} name @param {string} label @param {number} value @param {string} detail */
const card = (name, label, value, detail) => total({ name, label, value, text: compact(value), detail });
