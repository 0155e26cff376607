import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { description, outsideText, userMessage, shortParams } from "../../plugin/gateway/incoming.mjs";

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
    ["a failure that brought something", { toolName: "web_fetch", error: "no", result: result("x") }, "x"],
    ["a failure that says something", { toolName: "web_fetch", error: "404: read this", result: undefined }, "404: read this"],
    ["a failure on this machine", { toolName: "read", error: "Validation failed", result: result("x") }, ""],
    ["a failure as an object", { toolName: "web_fetch", error: new Error("404: read this") }, "404: read this"],
    ["a call that was blocked", { toolName: "web_fetch", result: { ...result("x"), details: { status: "blocked" } } }, ""],
    ["nothing", { toolName: "web_fetch" }, ""],
    ["something odd", { toolName: "web_fetch", result: { content: 7 } }, ""],
  ];
  for (const [name, event, text] of cases) test(name, () => assert.equal(outsideText(event), text));

  for (const [name, sign] of Object.entries({ plain: "a", wide: "語", escaped: "\n", halves: "\ud800" }))
    test(`a long one is cut: ${name}`, () => {
      const text = outsideText({ toolName: "web_fetch", result: result(sign.repeat(1_000_000)) });
      const bytes = Buffer.byteLength(JSON.stringify(text));
      assert.ok(bytes > 45_000 && bytes <= 57_000, String(bytes));
    });

  test("of a long one both ends are kept", () => {
    for (const sign of ["a", "語"]) {
      const text = outsideText({ toolName: "web_fetch", result: result(`first${sign.repeat(60_000)}last`) });
      assert.ok(text.startsWith("first") && text.endsWith("last"));
    }
    const blocks = [{ text: `first${"a".repeat(2_000_000)}` }, { text: "last" }];
    assert.match(outsideText({ toolName: "browser", result: { content: blocks } }), /^first.*\nlast$/s);
  });

  test("what a command in the background brings is told where the command names the network", () => {
    const start = (/** @type {string} */ command, /** @type {string} */ sessionId) =>
      outsideText({ toolName: "exec", params: { command }, result: { ...result("started"), details: { status: "running", sessionId } } });
    const poll = (/** @type {string} */ sessionId) =>
      outsideText({ toolName: "process", params: { action: "poll", sessionId }, result: result("page") });
    assert.equal(start("curl -s https://a.example", "net-1"), "started");
    assert.equal(start("npm test", "local-1"), "");
    assert.deepEqual([poll("net-1"), poll("local-1"), poll("other")], ["page", "", ""]);
  });
});

describe("what somebody wrote", () => {
  const OWNER = { senderIsOwner: true };
  /** @type {[string, any, any][]} */
  const cases = [
    ["the owner", { role: "user", content: "hello", __openclaw: OWNER }, { text: "hello", owner: true, person: true }],
    [
      "the owner, through a bridge",
      { role: "user", content: "hello", __openclaw: OWNER, provenance: { kind: "external_user" } },
      { text: "hello", owner: true, person: true },
    ],
    [
      "blocks",
      { role: "user", content: [{ type: "text", text: "hello" }], __openclaw: OWNER },
      { text: "hello", owner: true, person: true },
    ],
    ["nobody knows who", { role: "user", content: "hello", __openclaw: {} }, { text: "hello", owner: true, person: false }],
    ["a task of a subagent", { role: "user", content: "hello" }, { text: "hello", owner: true, person: false }],
    [
      "another session",
      { role: "user", content: "hello", __openclaw: OWNER, provenance: { kind: "inter_session" } },
      { text: "hello", owner: true, person: false },
    ],
    [
      "an automation",
      { role: "user", content: "[cron:1 c] hello", provenance: { kind: "internal_system", sourceTool: "cron" } },
      { text: "[cron:1 c] hello", owner: true, person: false },
    ],
    [
      "somebody else",
      { role: "user", content: "hello", __openclaw: { senderIsOwner: false } },
      { text: "hello", owner: false, person: false },
    ],
    ["the gateway itself", { role: "user", content: "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> x" }, null],
    [
      "somebody else who writes as the gateway",
      { role: "user", content: "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> x", __openclaw: { senderIsOwner: false } },
      { text: "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> x", owner: false, person: false },
    ],
    ["the model", { role: "assistant", content: "hello" }, null],
    ["nothing", { role: "user" }, null],
  ];
  for (const [name, message, said] of cases) test(name, () => assert.deepEqual(userMessage(message), said));
});

test("only short texts among the parameters are told", () => {
  const params = { url: "https://a.example", body: "x".repeat(301), count: 3, path: "a.md" };
  assert.deepEqual(shortParams(params), { url: "https://a.example", path: "a.md" });
  assert.deepEqual(shortParams(null), {});
});

describe("what Tool Search says of tools", () => {
  const details = { id: "mcp:x:book", name: "book", description: "Books", parameters: { type: "object" } };
  /** @param {any} changes */
  const described = (changes) => JSON.parse(description({ toolName: "tool_describe", result: { details: { ...details, ...changes } } }));

  test("is passed on, and nothing else of its result", () => {
    const { words, schema, ...rest } = described({ input: "?" });
    assert.deepEqual(rest, { id: "mcp:x:book", name: "book", about: "Books", parameters: { type: "object" } });
    assert.match(words + schema, /^[0-9a-f]{128}$/);
  });

  test("differs when the description, the parameters or the annotations do", () => {
    /** @param {any} changes */
    const identity = (changes) => [described(changes).words, described(changes).schema].join();
    const all = [{}, { description: "Books." }, { label: "b" }, { parameters: {} }, { annotations: { title: "b" } }].map(identity);
    assert.equal(new Set(all).size, all.length);
    assert.equal(identity({ description: "x".repeat(400) + "a" }) === identity({ description: "x".repeat(400) + "b" }), false);
  });

  test("whether it only reads is told where its server says so", () => {
    assert.deepEqual(
      [{ readOnlyHint: true }, { readOnlyHint: false }, { readOnlyHint: "yes" }, {}, undefined].map((annotations) => described({ annotations }).reads),
      [true, false, undefined, undefined, undefined],
    );
  });

  test("without its parameters where they are long", () => {
    const long = described({ parameters: { type: "object", title: "x".repeat(60_000) } });
    assert.equal(long.parameters, undefined);
    assert.equal(long.schema.length, 64);
  });

  test("is the same in a list of found tools, whatever that is in", () => {
    for (const found of [[details], { searches: [{ query: "q", candidates: [details] }] }]) {
      const { tools } = JSON.parse(description({ toolName: "tool_search", result: { details: found } }));
      const { schema, reads, parameters, ...rest } = described({});
      assert.deepEqual(tools, [rest]);
    }
  });

  test("of many tools the first ones", () => {
    const many = { toolName: "tool_search", result: { details: Array.from({ length: 300 }, () => details) } };
    assert.equal(JSON.parse(description(many)).tools.length, 50);
  });

  test("is nothing where nothing is said", () => {
    const result = { details };
    for (const other of [
      { toolName: "read", result }, { toolName: "tool_describe", result, error: "no" }, { toolName: "tool_describe" },
      { toolName: "tool_describe", result: { details: { name: 7 } } }, { toolName: "tool_search", result: { details: null } },
      { toolName: "tool_search", result: { details: [] } },
    ])
      assert.equal(description(other), "");
  });
});
