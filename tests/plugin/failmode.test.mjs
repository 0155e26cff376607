import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { acts, isKilled, setting, verdictWithoutEngine } from "../../plugin/gateway/failmode.mjs";
import { ENGINE_AWAY, KILL_SWITCH_ON } from "../../plugin/gateway/messages.mjs";
import { folder } from "./support.mjs";

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
    assert.deepEqual(verdictWithoutEngine(config, "main", tool, folder()), expected));

/** A state directory with a kill switch. @param {(path: string) => void} put */
function killed(put) {
  const state = folder();
  mkdirSync(join(state, "toolguard"));
  put(join(state, "toolguard", "kill-switch"));
  return state;
}

const write = (/** @type {string} */ path) => writeFileSync(path, "{}");
const STOPPED = { block: true, blockReason: KILL_SWITCH_ON };
/** @type {[any, typeof STOPPED | undefined][]} */
const whileKilled = [
  [undefined, STOPPED],
  [{ failMode: "open" }, STOPPED],
  [{ mode: "shadow" }, STOPPED],
  [{ mode: "disabled" }, STOPPED],
  [{ agents: { main: { mode: "disabled" } } }, STOPPED],
  [{ enabled: false }, undefined],
];
for (const [config, expected] of whileKilled)
  test(`the kill switch is on and nobody answers, with ${JSON.stringify(config)}`, () => {
    for (const tool of ["exec", "read"])
      assert.deepEqual(verdictWithoutEngine(config, "main", tool, killed(write)), expected);
  });

test("whatever stands in its place counts as on, and what cannot be looked at", () => {
  assert.equal(isKilled(killed(write)), true);
  assert.equal(isKilled(killed((path) => symlinkSync("nowhere", path))), true);
  assert.equal(isKilled(killed((path) => mkdirSync(path))), true);
  const state = folder();
  assert.equal(isKilled(state), false);
  assert.equal(isKilled(join(state, "nowhere")), false);
  writeFileSync(join(state, "toolguard"), "");
  assert.equal(isKilled(state), true);
});
