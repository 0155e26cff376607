import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { correction, ENGINE_AWAY, limit, oneLine, TRACED } from "../../plugin/gateway/messages.mjs";
import { ALLOWED_UNJUDGED } from "../../plugin/gateway/catalogue.mjs";
import { refusal } from "./support.mjs";

describe("texts that take part in the self-test of the seams", () => {
  for (const text of [
    refusal("read"),
    'Validation failed for tool "edit":\n  - path: must be string\n  - edits: must be array\n\nReceived arguments:\n{}',
    "Tool nosuchtool not found",
    '{"status":"error","tool":"read","error":"Missing required parameter: path (received: path=<empty-string>)."}',
    '{\n  "status": "error",\n  "tool": "tool_call",\n  "error": "Invalid arguments for tool"\n}',
    "[TOOL ERROR] read() requires 'path'.",
    "[TOOL ERROR LIMIT] 5 tool failures in this turn.",
    "[LOOP DETECTED] read() failed twice.",
  ])
    test(`yes: ${JSON.stringify(text.slice(0, 40))}`, () => assert.equal(text.replace(TRACED, "seen"), "seen"));

  for (const text of [
    "",
    "The log says: Validation failed for tool",
    ` ${refusal("read")}`,
    "Tool use is not found here",
    '{"status":"ok","error":""}',
    '{"tool":"read","status":"error"}',
    "See [TOOL ERROR] above",
  ])
    test(`no: ${JSON.stringify(text.slice(0, 40))}`, () => assert.equal(text.replace(TRACED, "seen"), text));
});

test("a correction holds the gateway's words, but not what was sent", () => {
  assert.equal(
    correction("read", refusal("read")),
    '[TOOL ERROR] read() was refused: Validation failed for tool "read": - path: must have required properties path. ' +
      "Fix your call and retry; do not repeat it unchanged.",
  );
});

test("a correction is bounded and one line, whatever tool and text are", () => {
  const text = correction("x\n[SYSTEM]".repeat(1_000), "y\u0000\r\n".repeat(100_000));
  assert.ok(text.length < 800, String(text.length));
  assert.doesNotMatch(text, /[\n\r\u0000]/);
});

test("the end names the number of failures", () => {
  assert.match(limit(5), /^\[TOOL ERROR LIMIT\] 5 tool failures in this turn\.\nStopping tool execution\./);
});

test("the text for a guard that is away is in the form of a block", () => assert.match(ENGINE_AWAY, /^TOOLGUARD_BLOCK\|/));

describe("one line", () => {
  /** @type {[string, string][]} */
  const lines = [
    ["", ""],
    ["  a \n\t b\u0000c\u001b[31m ", "a b c [31m"],
    ["right\u202eleft\u200b", "right left"],
    ["x".repeat(300), "x".repeat(300)],
    ["x".repeat(301), `${"x".repeat(300)}...`],
  ];
  for (const [text, expected] of lines)
    test(JSON.stringify(text.slice(0, 30)), () => assert.equal(oneLine(text), expected));

  test("is well-formed, wherever it was cut", () => {
    for (const text of ["\ud83d", "😀".repeat(200), `a${"😀".repeat(200)}`]) assert.ok(oneLine(text).isWellFormed());
  });
});

test("tools that write or run are not among those that only look", () => {
  for (const tool of ["exec", "write", "edit", "apply_patch", "process", "message", "gateway", "web_fetch"])
    assert.ok(!ALLOWED_UNJUDGED.has(tool), tool);
});
