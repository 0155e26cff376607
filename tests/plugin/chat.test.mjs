import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { approveTool, chatCommand } from "../../plugin/gateway/chat.mjs";

/** Only a person is connected. */
const nobodyElse = () => ({ senders: async () => ({ peers: [], carriers: [] }) });

/** @typedef {Record<string, any>} Message */

const AWAY = /^The guard is not answering\. Run `toolguard doctor`/;
const ANSWER = { ok: true, text: "approved 0a1b2c3d" };

/** An engine that remembers what it is asked. @param {Message | null} [answer] */
function engineFor(answer = ANSWER) {
  /** @type {Message[]} */
  const asked = [];
  const engine = {
    ask: async (/** @type {Message} */ message) => {
      asked.push(message);
      return answer;
    },
  };
  return { asked, engine: () => engine };
}

/** @param {any} args @param {Message} [more] */
const owner = (args, more = {}) => ({ senderIsOwner: true, channel: "telegram", senderId: "42", args, ...more });

test("the command is for those who are known, and demands the scope that makes the gateway say who the owner is", () => {
  const { handler, description, ...command } = chatCommand(() => undefined, nobodyElse);
  assert.deepEqual(command, {
    name: "toolguard", acceptsArgs: true, requireAuth: true, requiredScopes: ["operator.approvals"],
  });
  assert.equal(typeof handler, "function");
  assert.ok(description.length > 0);
});

describe("only the owner is heard", () => {
  const others = [
    undefined, null, {}, { senderIsOwner: undefined }, { senderIsOwner: false }, { senderIsOwner: null }, { senderIsOwner: 1 },
    { senderIsOwner: "true" }, { senderIsOwner: {} }, { senderIsOwner: [true] }, { isAuthorizedSender: true, senderId: "owner" },
  ];
  for (const ctx of others)
    for (const args of ["approve 0a1b2c3d", "deny 0a1b2c3d", "checkpoint", "kill-switch off", "kill-switch on", "pending", ""])
      test(`${JSON.stringify(ctx)} may not say "${args}"`, async () => {
        const { asked, engine } = engineFor();
        const answer = await chatCommand(engine, nobodyElse).handler(ctx && { args, ...ctx });
        assert.deepEqual(answer, { text: "Only the owner of this gateway may use this command.", isError: true });
        assert.deepEqual(asked, []);
      });
});

for (const [words, lasts, why] of [
  ["approve 0a1b for 1d", "1d", ""], ["approve 0a1b FOR a week", "a", "week"], ["approve 0a1b --for 8H release day", "8h", "release day"],
  ["approve 0a1b \u2014for 7d", "7d", ""], ["approve 0a1b --for=1h it is fine", "1h", "it is fine"], ["approve 0a1b release day --for 1d", "1d", "release day"],
  ["approve 0a1b --session", "session", ""], ["approve 0a1b k7mq \u2014Session it is fine", "session", "k7mq it is fine"],
])
  test(`"${words}" also asks to allow the call for a while`, async () => {
    const { asked, engine } = engineFor();
    await chatCommand(engine, nobodyElse).handler(owner(words));
    assert.deepEqual(asked.map((each) => [each.action, each.nonce, each.lasts, each.why]), [["approve", "0a1b", lasts, why]]);
  });

for (const words of ["approve 0a1b --for", "approve 0a1b --session --for 1d", "approve 0a1b for", "approve 0a1b --for= x"])
  test(`"${words}" approves nothing: it does not say how long`, async () => {
    const { asked, engine } = engineFor();
    const answer = await chatCommand(engine, nobodyElse).handler(owner(words));
    assert.match(answer.text, /^Usage: /);
    assert.equal(answer.isError, true);
    assert.deepEqual(asked, []);
  });

describe("what the owner says", () => {
  /** @type {[string, Message][]} */
  const understood = [
    ["pending", { action: "pending", nonce: "", why: "" }],
    ["  pending\n", { action: "pending", nonce: "", why: "" }],
    ["approve 0a1b2c3d", { action: "approve", nonce: "0a1b2c3d", why: "" }],
    ["approve\t 0a1b  ", { action: "approve", nonce: "0a1b", why: "" }],
    ["approve 0a1b it is\n fine", { action: "approve", nonce: "0a1b", why: "it is fine" }],
    ["deny 0a1b2c3d", { action: "deny", nonce: "0a1b2c3d", why: "" }],
    ["deny 0a1b2c3d not on  my machine", { action: "deny", nonce: "0a1b2c3d", why: "not on my machine" }],
    ["approve 0a1b2c3d --yes", { action: "approve", nonce: "0a1b2c3d", why: "--yes" }],
    ["checkpoint", { action: "checkpoint", nonce: "", why: "" }],
    ["checkpoint all", { action: "checkpoint", nonce: "all", why: "" }],
    ["accept", { action: "accept", nonce: "", why: "" }],
    ["accept 0123456789abcdef", { action: "accept", nonce: "0123456789abcdef", why: "" }],
    ["kill-switch on", { action: "kill-switch", nonce: "on", why: "" }],
    ["kill-switch off it is  fine", { action: "kill-switch", nonce: "off", why: "it is fine" }],
    // Hostile: it is the engine's to refuse, and it stays in its own member.
    ['approve ","action":"pending', { action: "approve", nonce: '","action":"pending', why: "" }],
    ["approve ../../etc/passwd", { action: "approve", nonce: "../../etc/passwd", why: "" }],
    ["approve $(id) `id`", { action: "approve", nonce: "$(id)", why: "`id`" }],
    ["approve \u001b[2J\u202e", { action: "approve", nonce: "\u001b[2J\u202e", why: "" }],
    ["approve __proto__", { action: "approve", nonce: "__proto__", why: "" }],
  ];
  for (const [args, expected] of understood)
    test(JSON.stringify(args), async () => {
      const { asked, engine } = engineFor();
      assert.deepEqual(await chatCommand(engine, nobodyElse).handler(owner(args)), { text: ANSWER.text, isError: false });
      const [{ chat, ...sent } = {}] = asked;
      assert.deepEqual([asked.length, sent], [1, { type: "decide", by: "telegram:42", where: "chat", ...expected }]);
      assert.equal(/^[0-9a-f]{64}$/.test(chat ?? ""), ["approve", "pending"].includes(expected["action"]));
    });

  for (const args of [
    undefined, null, "", "   ", "help", "approve", "deny", "approve   ", "Approve 0a1b2c3d", "approveall", "approve,0a1b2c3d",
    "0a1b2c3d", "kill-switch", "kill-switch ON", "kill-switch maybe", "kill-switch status", "ACCEPT", "accepted", "checkpoint ALL", "checkpoint 0a1b2c3d", "grant exec", "constructor x", "__proto__ x", {}, [], ["approve"], 7, true, "x".repeat(1_000_000),
  ])
    test(`the usage, and nobody is asked: ${String(JSON.stringify(args)).slice(0, 30)}`, async () => {
      const { asked, engine } = engineFor();
      const answer = await chatCommand(engine, nobodyElse).handler(owner(args));
      assert.match(answer.text, /^Usage: \/toolguard pending .+\n\/toolguard approve <nonce> \[code\] \[--for 1h\|8h\|1d\|7d \| --session\] .+\n\/toolguard deny <nonce> \[reason\]/);
      assert.deepEqual(asked, []);
    });

  test("a checkpoint is for the session of the chat, where the gateway names it", async () => {
    const { asked, engine } = engineFor();
    const { handler } = chatCommand(engine, nobodyElse);
    for (const sessionKey of ["agent:main:main", undefined, 7, "s".repeat(5_000)])
      await handler(owner("checkpoint", { sessionKey }));
    await handler(owner("approve 0a1b2c3d", { sessionKey: "agent:main:main" }));
    assert.deepEqual(asked.map(({ session }) => session), ["agent:main:main", undefined, undefined, "s".repeat(1_000), undefined]);
  });

  test("which chat it was, for what was shown there", async () => {
    const { asked, engine } = engineFor();
    const { handler } = chatCommand(engine, nobodyElse);
    const here = { channel: "telegram", accountId: "a", sessionKey: "agent:main:main", from: "telegram:1", to: "bot", messageThreadId: 7 };
    const others = [
      { channel: "signal" }, { accountId: "b" }, { sessionKey: "agent:main:other" }, { from: "telegram:2" }, { to: "bot2" },
      { messageThreadId: 8 }, { messageThreadId: undefined }, { from: "telegram:1bot", to: "" }, { sessionKey: "s".repeat(5_000) },
    ];
    for (const more of [{}, { senderId: "43" }, ...others]) await handler(owner("pending", { ...here, ...more }));
    const [first, second, ...rest] = asked.map(({ chat }) => chat);
    assert.equal(first, second);
    assert.equal(new Set([first, ...rest]).size, 1 + others.length);
  });

  test("who else could have sent it, in the gateway's own chat, where something is shown or loosened", async () => {
    const { asked, engine } = engineFor();
    const program = { opened: 1, closed: 0, kind: "agent", why: "by sh" };
    const { handler } = chatCommand(engine, () => ({ senders: async () => ({ peers: [program], carriers: [] }) }));
    for (const words of ["pending", "approve 0a1b2c3d", "deny 0a1b2c3d"]) await handler(owner(words, { channel: "webchat" }));
    await handler(owner("pending"));
    assert.deepEqual(asked.map(({ peers }) => peers), [[program], [program], undefined, undefined]);
  });

  /** @type {[Message, string][]} */
  const senders = [
    [{}, "telegram:42"],
    [{ senderId: undefined }, "telegram"],
    [{ channel: "" }, "42"],
    [{ channel: undefined, senderId: null }, "owner"],
  ];
  for (const [more, by] of senders)
    test(`who it was: ${by}`, async () => {
      const { asked, engine } = engineFor();
      await chatCommand(engine, nobodyElse).handler(owner("pending", more));
      assert.equal(asked[0]?.by, by);
    });
});

describe("the answer", () => {
  /** @type {[string, Message | null, RegExp, boolean][]} */
  const answers = [
    ["a yes", ANSWER, /^approved 0a1b2c3d$/, false],
    ["a no", { ok: false, text: "no call has that nonce" }, /^no call has that nonce/, true],
    ["one that does not say whether", { text: "?" }, /^\?$/, true],
    ["none", null, AWAY, true],
  ];
  for (const [what, answer, text, isError] of answers)
    test(what, async () => {
      const reply = await chatCommand(engineFor(answer).engine, nobodyElse).handler(owner("approve 0a1b2c3d"));
      assert.match(reply.text, text);
      assert.equal(reply.isError, isError);
    });

  test("no engine at all", async () => {
    const reply = await chatCommand(() => undefined, nobodyElse).handler(owner("pending"));
    assert.match(reply.text, AWAY);
    assert.equal(reply.isError, true);
  });
});

describe("the agent's own tool", () => {
  test("has one required parameter and takes no others", () => {
    const { name, parameters } = approveTool(() => undefined);
    assert.equal(name, "toolguard_approve");
    assert.deepEqual(parameters.required, ["nonce"]);
    assert.equal(parameters.additionalProperties, false);
    assert.deepEqual(Object.keys(parameters.properties), ["nonce", "reason"]);
  });

  /** @type {[any, string, string][]} params, nonce, why */
  const calls = [
    [{ nonce: "0a1b2c3d", reason: "the user said yes" }, "0a1b2c3d", "the user said yes"],
    [{ nonce: "0a1b" }, "0a1b", ""],
    [{ nonce: "0a1b", by: "user", where: "chat", action: "deny", type: "resolved" }, "0a1b", ""],
    [{ nonce: 12345678, reason: null }, "12345678", ""],
    [{ nonce: ["0a1b"] }, "0a1b", ""],
    [{}, "", ""],
    [null, "", ""],
    [undefined, "", ""],
  ];
  for (const [params, nonce, why] of calls)
    test(`says that it was the agent: ${JSON.stringify(params)}`, async () => {
      const { asked, engine } = engineFor();
      assert.deepEqual(await approveTool(engine).execute("c1", params), { content: [{ type: "text", text: ANSWER.text }] });
      assert.deepEqual(asked, [{ type: "decide", action: "approve", nonce, why, by: "agent", where: "tool" }]);
    });

  /** @type {[string, () => any][]} */
  const away = [["no engine", () => undefined], ["no answer", engineFor(null).engine]];
  for (const [what, engine] of away)
    test(`${what}: said, not thrown`, async () => {
      assert.match((await approveTool(engine).execute("c1", { nonce: "0a1b" })).content[0]?.text ?? "", AWAY);
    });
});

describe("an approval says whether it reaches the agent", () => {
  const waking = { woken: "It is resumed.", busy: "It is at work.", later: "It was not woken ({why})." };
  const approved = { ok: true, text: "approved 0a1b2c3d: agent main may run exec once", nonce: "0a1b2c3d", waking };
  /** @type {[string, any, any, string][]} */
  const rows = [
    ["woken", approved, { outcome: "woken" }, "\nIt is resumed."],
    ["busy", approved, { outcome: "busy" }, "\nIt is at work."],
    ["not known", approved, null, ""],
    ["an outcome without a text", approved, { outcome: "new" }, ""],
    ["an engine of an earlier version", { ok: true, text: approved.text }, { outcome: "woken" }, ""],
    ["another answer", { ok: true, text: "no call is waiting", nonce: "" }, { outcome: "woken" }, ""],
    ["a refusal", { ...approved, ok: false }, { outcome: "woken" }, ""],
    ["not to be woken", approved, { outcome: "later", why: "no $& here" }, "\nIt was not woken (no $& here)."],
  ];
  for (const [what, answer, outcome, more] of rows)
    test(what, async () => {
      const { engine } = engineFor(answer);
      const waker = { outcome: async (/** @type {string} */ nonce) => (assert.equal(nonce, "0a1b2c3d"), outcome) };
      const { text } = await chatCommand(engine, nobodyElse, () => waker).handler(owner("approve 0a1b2c3d"));
      assert.equal(text, `${answer.text}${more}`);
    });
});
