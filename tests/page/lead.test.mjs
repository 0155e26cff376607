import assert from "node:assert/strict";
import test from "node:test";

import { described } from "../../cli/toolguard_cli/dashboard/static/bell.js";
import { span } from "../../cli/toolguard_cli/dashboard/static/format.js";
import { summary } from "../../cli/toolguard_cli/dashboard/static/lead.js";

/** @type {[string[], string, string][]} the states of the gateways, the statement, its colour */
const STATEMENTS = [
  [[], "No gateway", "amber"],
  [["guarded"], "Guarded", "green"],
  [["idle"], "Not running", "quiet"],
  [["idle", "guarded", "guarded"], "Guarded", "green"],
  [["guarded", "off"], "1 of 2 guarded", "red"],
  [["guarded", "observing", "idle"], "1 of 2 guarded", "amber"],
  [["off", "partly"], "Not guarded", "red"],
  [["stopped", "stopped"], "All calls blocked", "red"],
];

for (const [states, text, tone] of STATEMENTS)
  test(`gateways that are ${states.join(", ") || "none"}`, () => assert.deepEqual(summary(states), { text, tone }));

/** @type {[number, string][]} */
const SPANS = [
  [-5, "0 seconds"],
  [1_000, "1 second"],
  [90_000, "2 minutes"],
  [7_200_000, "2 hours"],
  [3 * 86_400_000, "3 days"],
];

for (const [ms, text] of SPANS) test(`${ms} ms in words`, () => assert.equal(span(ms), text));

test("a notification has the dangers of a call and no hidden characters", () => {
  const held = /** @type {any} */ ({
    ...{ tool: "ex\u202eec", nonce: "0000abcd", agent: "main", gateway: "home" },
    view: {
      title: "4 dangers",
      why: "",
      dangers: ["deletes ~/pho\u202etos", "drops prod", "pushes main", "sends a mail"].map((text) => ({ text })),
    },
  });
  const [title, text, tag] = described(held);
  assert.equal(title, "A call is waiting: ex<U+202E>ec (0000abcd)");
  assert.deepEqual(text.split("\n"), [
    ...["4 dangers", "• deletes ~/pho<U+202E>tos", "• drops prod", "• pushes main", "• sends a mail", "main on home"],
  ]);
  assert.equal(tag, "home 0000abcd");
});
