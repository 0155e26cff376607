import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { addNoteBlock, bound, endRunInPlace, replaceResultText, resultText, Seams, toolCalls, Trace } from "../../plugin/gateway/seams.mjs";

/** @typedef {import("../../plugin/gateway/seams.mjs").Evidence} Evidence */

function traced() {
  /** @type {string[]} */
  const reported = [];
  const seams = new Seams((name, evidence) => reported.push(`${name} ${evidence}`));
  return { seams, reported, trace: new Trace(seams) };
}

/** What a request passes in one go. @param {Trace} trace @param {...string} texts */
const request = (trace, ...texts) => texts.map((text) => trace.outgoing(text));

/** The next request is a later event. */
const later = () => new Promise((go) => setImmediate(go));

describe("evidence", () => {
  /** @type {[string, Evidence[], Evidence, string[]][]} */
  const transitions = [
    ["nothing seen", [], "unknown", []],
    ["works", ["works"], "works", ["hooks works"]],
    ["fails", ["fails"], "fails", ["hooks fails"]],
    ["works again", ["works", "works"], "works", ["hooks works"]],
    ["works, then fails", ["works", "fails"], "fails", ["hooks works", "hooks fails"]],
    ["fails, then works", ["fails", "works"], "fails", ["hooks fails"]],
  ];
  for (const [what, seen, expected, news] of transitions)
    test(what, () => {
      const { seams, reported } = traced();
      for (const evidence of seen) seams.seen("hooks", evidence);
      assert.deepEqual(seams.evidence, {
        hooks: expected, inPlaceText: "unknown", textTransform: "unknown", gracefulStop: "unknown", commandShell: "unknown",
      });
      assert.deepEqual(reported, news);
    });
});

describe("texts on their way to the model", () => {
  test("a text that nobody replaced passes", () => {
    const { seams, trace } = traced();
    assert.deepEqual(request(trace, "a", "", "a"), ["a", "", "a"]);
    assert.equal(seams.evidence.textTransform, "unknown");
  });

  test("a text that arrives as it was put in place proves that seam", () => {
    const { seams, trace } = traced();
    trace.replaced("bad", "good", "r1", true, false);
    assert.deepEqual(request(trace, "good"), ["good"]);
    trace.requested("r1");
    assert.deepEqual(seams.evidence, {
      hooks: "unknown", inPlaceText: "works", textTransform: "unknown", gracefulStop: "unknown", commandShell: "unknown",
    });
  });

  test("where the text in place works, originals of before stay as the model saw them", () => {
    const { trace } = traced();
    trace.replaced("bad", "good", "r1", true, false);
    assert.deepEqual(request(trace, "good", "bad"), ["good", "bad"]);
  });

  test("a request without the text that was put in place disproves that seam", () => {
    const { seams, trace } = traced();
    trace.replaced("bad", "good", "r1", true, false);
    trace.requested("r2");
    assert.equal(seams.evidence.inPlaceText, "unknown");
    assert.deepEqual(request(trace, "bad"), ["good"]);
    trace.requested("r1");
    assert.equal(seams.evidence.inPlaceText, "fails");
    assert.equal(seams.evidence.textTransform, "works");
  });

  test("a run that is over proves nothing", () => {
    const { seams, trace } = traced();
    trace.replaced("bad", "good", "r1", true, false);
    trace.ended("r1");
    trace.requested("r1");
    assert.equal(seams.evidence.inPlaceText, "unknown");
  });

  test("the n-th occurrence gets the n-th replacement, the same in every pass", async () => {
    const { trace } = traced();
    trace.replaced("bad", "first", "r1", false, false);
    trace.replaced("bad", "second", "r1", false, false);
    trace.replaced("other", "else", "r1", false, false);
    for (const pass of [1, 2, 3]) {
      assert.deepEqual(request(trace, "bad", "other", "fine", "bad"), ["first", "else", "fine", "second"], `pass ${pass}`);
      await later();
    }
    trace.replaced("bad", "third", "r1", false, false);
    assert.deepEqual(request(trace, "bad", "bad", "bad"), ["first", "second", "third"]);
  });

  test("more occurrences than replacements: the last one serves for the rest", () => {
    const { trace } = traced();
    trace.replaced("bad", "first", "r1", false, false);
    trace.replaced("bad", "second", "r1", false, false);
    assert.deepEqual(request(trace, "bad", "bad", "bad", "bad"), ["first", "second", "second", "second"]);
  });
});

describe("a request that must not leave", () => {
  test("throws the text, until the run has ended", async () => {
    const { trace } = traced();
    trace.replaced("bad", "first", "r1", false, false);
    trace.replaced("bad", "the end", "r1", false, true);
    assert.equal(trace.outgoing("bad"), "first");
    assert.throws(() => trace.outgoing("bad"), { message: "the end" });
    await later();
    assert.throws(() => request(trace, "bad", "bad"), { message: "the end" });
    trace.ended("r1");
    await later();
    assert.deepEqual(request(trace, "bad", "bad"), ["first", "the end"]);
  });

  test("throws also where the text stands in place", () => {
    const { trace } = traced();
    trace.replaced("bad", "the end (run r1)", "r1", true, true);
    assert.equal(trace.outgoing("something else"), "something else");
    assert.throws(() => trace.outgoing("the end (run r1)"), { message: "the end (run r1)" });
    trace.ended("r1");
    assert.equal(trace.outgoing("the end (run r1)"), "the end (run r1)");
  });

  test("a run that goes on holds nothing back", () => {
    const { trace } = traced();
    trace.replaced("bad", "good", "r1", true, false);
    trace.replaced("bad", "good", "r2", false, false);
    assert.deepEqual(request(trace, "good", "bad"), ["good", "bad"]);
  });

  test("the end of another run changes nothing", () => {
    const { trace } = traced();
    trace.replaced("bad", "the end", "r1", false, true);
    trace.ended("r2");
    assert.throws(() => trace.outgoing("bad"), { message: "the end" });
  });
});

describe("bounds", () => {
  test("only so many originals are remembered: the oldest go", () => {
    const { trace } = traced();
    for (let n = 0; n <= 500; n++) trace.replaced(`bad ${n}`, `good ${n}`, "r1", false, false);
    assert.deepEqual(request(trace, "bad 0", "bad 1", "bad 500"), ["bad 0", "good 1", "good 500"]);
  });

  test("only so many replacements of one original are remembered", () => {
    const { trace } = traced();
    for (let n = 0; n < 60; n++) trace.replaced("bad", `good ${n}`, "r1", false, false);
    assert.deepEqual(request(trace, ...Array(51).fill("bad")).slice(-2), ["good 59", "good 59"]);
  });

  test("bound forgets the oldest entries and no more", () => {
    const map = new Map([1, 2, 3, 4].map((n) => [n, n]));
    bound(map, 5);
    assert.deepEqual([...map.keys()], [1, 2, 3, 4]);
    bound(map, 2);
    assert.deepEqual([...map.keys()], [3, 4]);
    bound(map, 0);
    assert.equal(map.size, 0);
  });
});

describe("messages", () => {
  /** @type {[any, string | null][]} */
  const texts = [
    [{ content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }, "a"],
    [{ content: [{ type: "text", text: "" }] }, ""],
    [{ content: [{ type: "image" }, { type: "text", text: "b" }] }, null],
    [{ content: [{ type: "text" }] }, null],
    [{ content: [] }, null],
    [{ content: [null] }, null],
    [{ content: "a" }, null],
    [{}, null],
    [undefined, null],
  ];
  for (const [message, expected] of texts)
    test(`the text of ${JSON.stringify(message)}`, () => assert.equal(resultText(message), expected));

  test("a text is replaced in place, and whether that was possible is known", () => {
    const message = { content: [{ type: "text", text: "a" }] };
    assert.equal(replaceResultText(message, "b"), true);
    assert.deepEqual(message, { content: [{ type: "text", text: "b" }] });
    const fixed = { content: [Object.freeze({ type: "text", text: "a" })] };
    assert.equal(replaceResultText(fixed, "b"), false);
    const deaf = { content: [{ get text() { return "a"; }, set text(_) {} }] };
    assert.equal(replaceResultText(deaf, "b"), false);
  });

  test("a message of the model is turned into the end, and whether that was possible is known", () => {
    const message = { content: [{ type: "toolCall", id: "c1" }], stopReason: "toolUse" };
    assert.equal(endRunInPlace(message, "end"), true);
    assert.deepEqual(message, { content: [{ type: "text", text: "end" }], stopReason: "stop" });
    assert.equal(endRunInPlace({ content: Object.freeze([{ type: "toolCall" }]) }, "end"), false);
    assert.equal(endRunInPlace({ content: "text" }, "end"), false);
  });

  test("the calls in a message", () => {
    const call = { type: "toolCall", id: "c1", name: "read", arguments: {} };
    assert.deepEqual(toolCalls({ content: [{ type: "text", text: "a" }, null, call] }), [call]);
    for (const message of [undefined, {}, { content: "a" }, { content: [] }]) assert.deepEqual(toolCalls(message), []);
  });
});

test("a note that cannot be put behind a frozen result is left out", () => {
  const content = Object.freeze([{ type: "image" }]);
  addNoteBlock({ content }, "NOTE");
  addNoteBlock({ content: "text" }, "NOTE");
  addNoteBlock(undefined, "NOTE");
  assert.deepEqual(content, [{ type: "image" }]);
});
