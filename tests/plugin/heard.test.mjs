import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { heardText, saidBy, shortParams } from "../../plugin/gateway/heard.mjs";

/** @param {string} text */
const result = (text) => ({ content: [{ type: "text", text }] });

describe("what a tool brought", () => {
  /** @type {[string, any, string][]} */
  const cases = [
    ["a page", { toolName: "web_fetch", params: {}, result: result("hello") }, "hello"],
    ["a tool that nobody knows", { toolName: "github__get_issue", params: {}, result: result("hello") }, "hello"],
    ["several blocks", { toolName: "browser", result: { content: [{ text: "a" }, { type: "image" }, { text: "b" }] } }, "a\nb"],
    ["a plain text", { toolName: "read", result: "hello" }, "hello"],
    ["a command that asks the network", { toolName: "exec", params: { command: "curl -s https://a.example" }, result: result("x") }, "x"],
    ["a command that does not", { toolName: "exec", params: { command: "ls" }, result: result("x") }, ""],
    ["what the agent wrote", { toolName: "write", result: result("x") }, ""],
    ["the envelope of another tool", { toolName: "tool_call", result: result("x") }, ""],
    ["a failure", { toolName: "web_fetch", error: "no", result: result("x") }, ""],
    ["a call that was blocked", { toolName: "web_fetch", result: { ...result("x"), details: { status: "blocked" } } }, ""],
    ["nothing", { toolName: "web_fetch" }, ""],
    ["something odd", { toolName: "web_fetch", result: { content: 7 } }, ""],
  ];
  for (const [name, event, text] of cases) test(name, () => assert.equal(heardText(event), text));

  for (const [name, sign] of Object.entries({ plain: "a", wide: "語", escaped: "\n", halves: "\ud800" }))
    test(`a long one is cut: ${name}`, () => {
      const text = heardText({ toolName: "web_fetch", result: result(sign.repeat(1_000_000)) });
      const bytes = Buffer.byteLength(JSON.stringify(text));
      assert.ok(bytes > 10_000 && bytes <= 75_000, String(bytes));
    });
});

describe("what somebody wrote", () => {
  /** @type {[string, any, any][]} */
  const cases = [
    ["a person", { role: "user", content: "hello" }, { text: "hello", owner: true }],
    ["blocks", { role: "user", content: [{ type: "text", text: "hello" }] }, { text: "hello", owner: true }],
    ["somebody else", { role: "user", content: "hello", __openclaw: { senderIsOwner: false } }, { text: "hello", owner: false }],
    ["the gateway itself", { role: "user", content: "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> x" }, null],
    ["the model", { role: "assistant", content: "hello" }, null],
    ["nothing", { role: "user" }, null],
  ];
  for (const [name, message, said] of cases) test(name, () => assert.deepEqual(saidBy(message), said));
});

test("only short texts among the parameters are told", () => {
  const params = { url: "https://a.example", body: "x".repeat(301), count: 3, path: "a.md" };
  assert.deepEqual(shortParams(params), { url: "https://a.example", path: "a.md" });
  assert.deepEqual(shortParams(null), {});
});
