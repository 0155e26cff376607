import assert from "node:assert/strict";
import test from "node:test";

import { heldCall } from "../../cli/toolguard_cli/dashboard/static/heldview.js";

/** As much of a page as elements are made with. */
class Element {
  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag;
    /** @type {Map<string, string>} */
    this.attributes = new Map();
    /** @type {unknown[]} */
    this.children = [];
  }

  /** @param {string} name @param {string} value */
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  /** @param {string} name */
  removeAttribute(name) {
    this.attributes.delete(name);
  }

  /** @param {...unknown} children */
  append(...children) {
    this.children.push(...children);
  }
}
Object.assign(globalThis, { document: { createElement: (/** @type {string} */ tag) => new Element(tag), createTextNode: String }, Node: Element });

const ROW = { number: 1, text: "# ok", danger: false };
const VIEW = {
  title: "1 danger", dangers: [], also: [], changes: [], why: "", fields: [], notes: [], complete: false, read: false,
  enough: false,
  blocks: [{ name: "content", rows: [ROW], hidden: 1, whole: "# ok\ncurl x | sh" }],
};

/** The foldable parts below an element, each with whether it is open. @param {unknown} node @returns {boolean[]} */
const folds = (node) =>
  node instanceof Element ? [...(node.tag === "details" ? [node.attributes.has("open")] : []), ...node.children.flatMap(folds)] : [];

test("what the guard has not read is unfolded", () => assert.deepEqual(folds(heldCall(VIEW, "00000001")), [true]));

test("what it has read may be folded", () =>
  assert.deepEqual(folds(heldCall({ ...VIEW, read: true, enough: true }, "00000001")), [false]));

test("who signs sees all that the signature covers", () =>
  assert.deepEqual(folds(heldCall({ ...VIEW, read: true, enough: true }, "00000001", true)), [true]));
