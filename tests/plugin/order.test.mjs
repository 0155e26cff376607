import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { named, order, OrderWatch, split } from "../../plugin/gateway/order.mjs";

/** @typedef {import("../../plugin/gateway/order.mjs").Other} Other */

const STATE = Symbol.for("openclaw.plugins.hook-runner-global-state");
const LAST = Number.MIN_SAFE_INTEGER;

/** @param {string} pluginId @param {number} [priority] */
const hook = (pluginId, priority, hookName = "before_tool_call") => ({ pluginId, hookName, priority });
/** @param {any[]} typedHooks */
const state = (...typedHooks) => ({ registry: { typedHooks } });
/** @param {string} plugin @param {number} [priority] @returns {Other} */
const other = (plugin, priority = 0) => ({ plugin, priority });
const OWN = other("toolguard", LAST);

describe("the order of execution", () => {
  /** @type {[string, any, Other[] | null][]} */
  const orders = [
    ["no hooks", state(), []],
    ["only other hooks", state(hook("a", 1, "after_tool_call")), []],
    [
      "from the highest priority to the lowest",
      state(hook("a", -5), hook("b", 10), hook("c", 0)), [other("b", 10), other("c"), other("a", -5)],
    ],
    [
      "equal ones as they were registered",
      state(hook("a", 1), hook("b", 2), hook("c", 1), hook("d", 2), hook("e", 1)),
      [other("b", 2), other("d", 2), other("a", 1), other("c", 1), other("e", 1)],
    ],
    ["no priority is 0", state(hook("a"), hook("b", -1), hook("c", 1)), [other("c", 1), other("a"), other("b", -1)]],
    [
      "own last, wherever it was registered",
      state(hook("toolguard", LAST), hook("a"), hook("b", -1e9)), [other("a"), other("b", -1e9), OWN],
    ],
    [
      "later at the same lowest priority comes after",
      state(hook("toolguard", LAST), hook("late", LAST)), [OWN, other("late", LAST)],
    ],
    [
      "earlier at the same lowest priority comes before",
      state(hook("early", LAST), hook("toolguard", LAST)), [other("early", LAST), OWN],
    ],
    ["nobody's", state({ hookName: "before_tool_call" }), [other("?")]],
    ["holes in the list", state(null, undefined, 3, hook("a")), [other("a")]],
    ["no state", null, null],
    ["a state of another shape", { hooks: [] }, null],
    ["a registry of another shape", { registry: { typedHooks: { before_tool_call: [] } } }, null],
    ["no registry", { registry: null }, null],
  ];
  for (const [what, given, expected] of orders) test(what, () => assert.deepEqual(order(given), expected));

  test("the gateway's list stays as it is", () => {
    const given = state(hook("a", 1), hook("b", 2));
    order(given);
    assert.deepEqual(given, state(hook("a", 1), hook("b", 2)));
  });

  test("the gateway's own state is read where none is given", (t) => {
    const shared = /** @type {any} */ (globalThis);
    t.after(() => delete shared[STATE]);
    assert.equal(order(), null);
    shared[STATE] = state(hook("a", 7));
    assert.deepEqual(order(), [other("a", 7)]);
  });
});

describe("who runs after the guard", () => {
  /** @type {[string, Other[] | null, Other[], Other[]][]} what, hooks, others, after */
  const rows = [
    ["nothing is known", null, [], []],
    ["nobody", [OWN], [], []],
    ["all before", [other("a"), OWN], [other("a")], []],
    ["one after", [other("a"), OWN, other("b", LAST)], [other("a"), other("b", LAST)], [other("b", LAST)]],
    ["several instances of the guard: the last counts", [OWN, other("a", LAST), OWN], [other("a", LAST)], []],
    ["the guard is not there: no claim", [other("a"), other("b")], [other("a"), other("b")], []],
  ];
  for (const [what, hooks, others, after] of rows) test(what, () => assert.deepEqual(split(hooks), { others, after }));

  test("by name and priority", () => {
    assert.equal(named([other("a", 5), other("b", LAST)]), `a (priority 5), b (priority ${LAST})`);
    assert.equal(named([]), "");
  });
});

describe("the warning", () => {
  /** A watch whose view can be changed. */
  function watched() {
    /** @type {string[]} */
    const warned = [];
    /** @type {{ hooks: Other[] | null }} */
    const view = { hooks: null };
    return { warned, view, watch: new OrderWatch((text) => warned.push(text), () => view.hooks) };
  }

  test("once per constellation, by plugin and priority", () => {
    const { warned, view, watch } = watched();
    /** @type {[Other[] | null, string[]][]} what is there, who is named by a new warning */
    const steps = [
      [null, []],
      [[other("a"), OWN], []],
      [[OWN, other("late", LAST)], [`late (priority ${LAST})`]],
      [[OWN, other("late", LAST)], []],
      [[other("a"), OWN, other("late", LAST)], []],
      [[OWN, other("late", LAST), other("later", LAST)], [`late (priority ${LAST}), later (priority ${LAST})`]],
      [[OWN], []],
      [null, []],
      [[OWN, other("late", LAST)], [`late (priority ${LAST})`]],
    ];
    for (const [hooks, names] of steps) {
      view.hooks = hooks;
      watch.check();
      watch.check();
      const texts = warned.splice(0);
      assert.equal(texts.length, names.length, JSON.stringify(hooks));
      for (const [n, name] of names.entries())
        assert.ok(texts[n]?.startsWith(`SECURITY: ${name} runs after the guard`), texts[n]);
    }
  });

  test("everyone else is named, before and after; nobody where nothing is known", () => {
    const { view, watch } = watched();
    assert.equal(watch.others, "");
    view.hooks = [other("a", 1), OWN, other("b", LAST)];
    assert.equal(watch.others, `a (priority 1), b (priority ${LAST})`);
  });
});
