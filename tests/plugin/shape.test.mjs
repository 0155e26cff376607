import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runInNewContext } from "node:vm";

import { bounded, faultOf, glimpse, MAX_DEPTH, MAX_NODES, MAX_TEXT } from "../../plugin/gateway/shape.mjs";

/**
 * Lists in lists, or objects in objects.
 * @param {number} depth
 * @param {(inner: any) => any} [around]
 */
function nested(depth, around = (inner) => [inner]) {
  let value = around(0);
  for (let at = 1; at < depth; at++) value = around(value);
  return value;
}

/** @type {any} */
const RING = {};
RING.self = RING;
class Named {
  path = "a";
}

describe("the shape of arguments", () => {
  /** @type {[string, any][]} */
  const fine = [
    ["nothing", undefined],
    ["null", null],
    ["a text", "x"],
    ["ordinary ones", { path: "a.md", edits: [{ oldText: "a", newText: "b" }], limit: 5, all: true, none: null }],
    ["a member without a value", { path: "a", offset: undefined }],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["one of another realm", runInNewContext('({ path: "a", list: [1, { b: 2 }] })')],
    ["no number", { a: NaN }],
    ["just deep enough", { x: nested(MAX_DEPTH - 1) }],
    ["just many enough", { x: Array(MAX_NODES - 3).fill(0) }],
    ["just long enough", { x: "y".repeat(MAX_TEXT - 1) }],
    ["a list with holes", { x: Array(1_000_000) }],
  ];
  for (const [what, params] of fine)
    test(`is fine: ${what}`, () => {
      assert.equal(faultOf(params), null);
      assert.equal(bounded(params), params);
    });

  /** @type {[string, any, string][]} */
  const faulty = [
    ["too deep", { x: nested(MAX_DEPTH) }, "call.too-deep"],
    ["too deep in objects", nested(MAX_DEPTH + 1, (inner) => ({ inner })), "call.too-deep"],
    ["no end", RING, "call.too-deep"],
    ["too many", { x: Array(MAX_NODES).fill(0) }, "call.too-large"],
    ["too many, by their doubling", nested(40, (inner) => [inner, inner]), "call.too-large"],
    ["too long", { x: "y".repeat(MAX_TEXT) }, "call.too-large"],
    ["too long all together", { x: Array(1_000).fill("y".repeat(1_001)) }, "call.too-large"],
    ["too long a name", { ["y".repeat(MAX_TEXT + 1)]: 1 }, "call.too-large"],
    ["a number that JSON does not know", { a: 1n }, "call.no-json"],
    ["a symbol", { a: Symbol("b") }, "call.no-json"],
    ["computed when it is looked at", { get path() { return "a"; } }, "call.no-json"],
    ["another value for JSON", { path: { toJSON: () => "a" } }, "call.no-json"],
    ["a date", { at: new Date(0) }, "call.no-json"],
    ["a map", { at: new Map([["path", "key"]]) }, "call.no-json"],
    ["bytes", { at: Buffer.from("a") }, "call.no-json"],
    ["a class", new Named(), "call.no-json"],
    ["a proxy that refuses", new Proxy({}, { ownKeys: () => { throw new Error("no"); } }), "call.no-json"],
  ];
  for (const [what, params, code] of faulty)
    test(`is not fine: ${what}`, () => {
      assert.equal(faultOf(params)?.code, code);
      assert.equal(bounded(params), null);
      assert.equal(typeof glimpse(params), "string");
    });

  for (const depth of [64, 900, 990, 2_000, 100_000])
    test(`${depth} levels are told apart without a deep stack`, () => {
      assert.equal(faultOf({ path: "a", x: nested(depth) })?.code, "call.too-deep");
    });
});

test("what is shown of a call is short, whatever it is", () => {
  assert.equal(glimpse({ path: "a.md", n: 1, content: "b" }), "path: a.md, content: b");
  assert.equal(glimpse({ x: nested(2_000), path: "key" }), "path: key");
  assert.equal(glimpse(null), "");
  assert.equal(glimpse("text"), "");
  const long = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${"k".repeat(500)}${at}`, "v".repeat(500)]));
  assert.ok(glimpse(long).length < 1_000);
});
