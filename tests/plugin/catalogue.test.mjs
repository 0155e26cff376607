import assert from "node:assert/strict";
import { test } from "node:test";

import { ALLOWED_UNJUDGED, COMMAND, COMMAND_LINE, LOCAL, OPENS_FILE } from "../../plugin/gateway/catalogue.mjs";
import { outsideText } from "../../plugin/gateway/incoming.mjs";
import { outcomeOf } from "../../plugin/gateway/outcome.mjs";

const CONTENT = [{ type: "text", text: "x" }];

test("a tool with a command line is one that runs commands", () => {
  assert.ok(COMMAND_LINE.has("exec"));
  assert.deepEqual([...COMMAND_LINE].filter((tool) => !COMMAND.has(tool)), []);
});

test("no tool that runs commands is let through unjudged", () => {
  assert.deepEqual([...COMMAND].filter((tool) => ALLOWED_UNJUDGED.has(tool) || LOCAL.has(tool)), []);
});

test("what opens a file is among what is let through unjudged", () => {
  assert.deepEqual([...OPENS_FILE].filter((tool) => !ALLOWED_UNJUDGED.has(tool)), []);
});

for (const toolName of COMMAND_LINE)
  test(`${toolName}: what a command prints is heard where it may come from elsewhere`, () => {
    const heard = (/** @type {string} */ command) => outsideText({ toolName, params: { command }, result: { content: CONTENT } });
    assert.deepEqual(["curl https://a.example", "ls"].map(heard), ["x", ""]);
  });

for (const toolName of COMMAND_LINE)
  test(`${toolName}: a command may go on in the background`, () => {
    const details = { status: "running", sessionId: "amber-harbor" };
    assert.equal(outcomeOf({ toolName, result: { content: CONTENT, details } }).process, "amber-harbor");
  });
