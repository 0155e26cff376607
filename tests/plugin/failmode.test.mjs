import assert from "node:assert/strict";
import { test } from "node:test";

import { acts, setting, verdictWithoutEngine } from "../../plugin/gateway/failmode.mjs";
import { ENGINE_AWAY } from "../../plugin/gateway/messages.mjs";

/** @type {[any, string | undefined, unknown][]} */
const settings = [
  [undefined, "main", undefined],
  [{ mode: "soft" }, "main", "soft"],
  [{ mode: "soft" }, undefined, "soft"],
  [{ mode: "soft", agents: { main: { mode: "shadow" } } }, "main", "shadow"],
  [{ mode: "soft", agents: { main: {} } }, "main", "soft"],
  [{ mode: "soft", agents: { other: { mode: "shadow" } } }, "main", "soft"],
];
for (const [config, agent, expected] of settings)
  test(`the mode of ${agent} in ${JSON.stringify(config)}`, () => assert.equal(setting(config, agent, "mode"), expected));

/** @type {[any, boolean][]} */
const acting = [
  [undefined, true],
  [{}, true],
  [{ mode: "enforce" }, true],
  [{ mode: "soft" }, true],
  [{ mode: "shadow" }, false],
  [{ mode: "disabled" }, false],
  [{ enabled: false }, false],
  [{ enabled: false, agents: { main: { mode: "enforce" } } }, false],
  [{ agents: { main: { mode: "disabled" } } }, false],
  [{ mode: "shadow", agents: { main: { mode: "soft" } } }, true],
];
for (const [config, expected] of acting)
  test(`whether the guard acts with ${JSON.stringify(config)}`, () => assert.equal(acts(config, "main"), expected));

const BLOCKED = { block: true, blockReason: ENGINE_AWAY };
/** @type {[any, string, typeof BLOCKED | undefined][]} */
const verdicts = [
  [undefined, "exec", BLOCKED],
  [{ failMode: "closed" }, "write", BLOCKED],
  [{ failMode: "closed" }, "read", undefined],
  [{ failMode: "closed" }, "tool_call", undefined],
  [{ failMode: "closed" }, "some_new_tool", BLOCKED],
  [{ failMode: "open" }, "exec", undefined],
  [{ mode: "shadow" }, "exec", undefined],
];
for (const [config, tool, expected] of verdicts)
  test(`${tool} while nobody answers, with ${JSON.stringify(config)}`, () =>
    assert.deepEqual(verdictWithoutEngine(config, "main", tool), expected));
