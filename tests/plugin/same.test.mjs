import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { copy, same } from "../../plugin/gateway/same.mjs";

const DEEP = { command: "ls", env: { A: "1", B: ["x", { y: null }] } };
/** @type {any} */
const RING = { command: "ls" };
RING.self = RING;

describe("the same as JSON", () => {
  /** @type {[string, any, any][]} */
  const equal = [
    ["themselves", DEEP, DEEP],
    ["a copy", DEEP, structuredClone(DEEP)],
    ["another order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }],
    ["another order of nested keys", { a: [{ b: 1, c: { d: 2, e: 3 } }] }, { a: [{ c: { e: 3, d: 2 }, b: 1 }] }],
    ["a member that JSON does not know", { a: 1 }, { a: 1, b: undefined, c: () => 1, [Symbol("d")]: 2 }],
    ["another prototype", { a: 1 }, Object.assign(Object.create(null), { a: 1 })],
    ["a date and its text", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["no number and nothing", { a: NaN }, { a: null }],
    ["nothing at all", undefined, null],
    ["a ring and itself", RING, RING],
    ["a number that JSON does not know and itself", { a: 1n }, { a: 1n }],
  ];
  for (const [what, one, other] of equal)
    test(`equal: ${what}`, () => {
      assert.equal(same(one, other), true);
      assert.equal(same(other, one), true);
    });

  /** @type {[string, any, any][]} */
  const different = [
    ["a value", { command: "ls" }, { command: "ls " }],
    ["a nested value", DEEP, { command: "ls", env: { A: "1", B: ["x", { y: 0 }] } }],
    ["a member more", { a: 1 }, { a: 1, b: null }],
    ["a nested member less", { a: { b: 1, c: 2 } }, { a: { b: 1 } }],
    ["the order of a list", { a: [1, 2] }, { a: [2, 1] }],
    ["the length of a list", { a: [1] }, { a: [1, undefined] }],
    ["number and text", { a: 1 }, { a: "1" }],
    ["0 and false", { a: 0 }, { a: false }],
    ["list and object", { a: [] }, { a: {} }],
    ["empty and nothing", {}, null],
    ["unicode that looks alike", { a: "\u00e9" }, { a: "e\u0301" }],
    ["a key by its case", { Path: 1 }, { path: 1 }],
    ["an own __proto__", JSON.parse('{"a": 1, "__proto__": {"b": 1}}'), { a: 1 }],
    ["a ring and none", RING, { command: "ls" }],
    ["a symbol and what runs", Symbol("x"), {}],
    ["a symbol and nothing", Symbol("x"), undefined],
    ["two symbols of one name", Symbol("x"), Symbol("x")],
    ["a number that JSON does not know and another", { a: 1n }, { a: 2n }],
  ];
  for (const [what, one, other] of different)
    test(`different: ${what}`, () => {
      assert.equal(same(one, other), false);
      assert.equal(same(other, one), false);
    });
});

describe("a copy", () => {
  test("is equal, and shares nothing", () => {
    const taken = copy(DEEP);
    assert.deepEqual(taken, DEEP);
    assert.notEqual(taken.env, DEEP.env);
    assert.notEqual(taken.env.B[1], DEEP.env.B[1]);
  });

  /** @type {[string, any, any][]} */
  const odd = [
    ["nothing", undefined, undefined],
    ["a text", "x", "x"],
    ["a member that cannot be copied", { a: [1], f: () => 1 }, { a: [1] }],
    ["a member that throws", { a: 1, get b() { throw new Error("no"); } }, undefined],
  ];
  for (const [what, value, expected] of odd)
    test(`of ${what}`, () => {
      if (what.endsWith("throws")) assert.equal(copy(value), value);
      else assert.deepEqual(copy(value), expected);
    });

  test("of a ring is a ring", () => {
    const taken = copy(RING);
    assert.notEqual(taken, RING);
    assert.equal(taken.self, taken);
  });
});
