import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { acts, isKilled, setting, verdictOnUnjudged, verdictWithoutEngine } from "../../plugin/gateway/failmode.mjs";
import { ENGINE_AWAY, KILL_SWITCH_ON, PROTECTED } from "../../plugin/gateway/messages.mjs";
import { factsOf, Places } from "../../plugin/gateway/places.mjs";
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

/**
 * @param {any} config
 * @param {string} tool
 * @param {any} params
 * @param {string} [state]
 */
function alone(config, tool, params, state = folder()) {
  const workspace = join(state, "workspace");
  mkdirSync(workspace, { recursive: true });
  const places = () => new Places(factsOf(state, join(state, "openclaw.json"), config));
  return verdictWithoutEngine(config, "main", { tool, params, workspace }, state, places);
}

const BLOCKED = { block: true, blockReason: ENGINE_AWAY };
const KEPT = { block: true, blockReason: PROTECTED };
const NOTES = { path: "notes.md" };
const KEY = { path: "../toolguard/key" };
/** @type {[any, string, any, typeof BLOCKED | undefined][]} */
const verdicts = [
  [undefined, "exec", { command: "ls" }, BLOCKED],
  [{ failMode: "closed" }, "write", NOTES, BLOCKED],
  [{ failMode: "closed" }, "read", NOTES, undefined],
  [{ failMode: "closed" }, "read", KEY, KEPT],
  [{ failMode: "closed" }, "tool_call", { id: "exec", args: { command: "ls" } }, undefined],
  [{ failMode: "closed" }, "some_new_tool", NOTES, BLOCKED],
  [{ failMode: "open" }, "exec", { command: "ls" }, undefined],
  [{ failMode: "open", containment: { whenUnavailable: "hold" } }, "exec", { command: "ls" }, BLOCKED],
  [{ failMode: "open", containment: { whenUnavailable: "hold" } }, "write", NOTES, undefined],
  [{ failMode: "open", containment: { whenUnavailable: "hold", profile: "off" } }, "exec", { command: "ls" }, undefined],
  [{ failMode: "open", agents: { main: { containment: { whenUnavailable: "hold" } } } }, "exec", { command: "ls" }, BLOCKED],
  [{ failMode: "open" }, "exec", { command: "cat ../toolguard/key" }, KEPT],
  [{ failMode: "open" }, "some_new_tool", KEY, KEPT],
  [{ failMode: "open" }, "read", { file: { names: [KEY] } }, KEPT],
  [{ mode: "shadow" }, "exec", { command: "ls" }, undefined],
];
for (const [config, tool, params, expected] of verdicts)
  test(`${tool} ${JSON.stringify(params)} while nobody answers, with ${JSON.stringify(config)}`, () =>
    assert.deepEqual(alone(config, tool, params), expected));

for (const failMode of ["open", "closed"])
  test(`arguments that break a bound never run while nobody answers, with ${failMode}`, () => {
    /** @type {any} */
    const ring = { path: "notes.md" };
    ring.x = ring;
    assert.match(alone({ failMode }, "read", ring)?.blockReason ?? "", /nested more than 64 levels/);
  });

test("places that cannot be had: nothing is let run", () => {
  const broken = () => { throw new Error("no"); };
  const verdict = verdictWithoutEngine({ failMode: "open" }, "main", { tool: "read", params: NOTES }, folder(), broken);
  assert.deepEqual(verdict, KEPT);
});

/** @type {[any, boolean][]} */
const unjudged = [
  [undefined, true],
  [{ failMode: "open" }, true],
  [{ mode: "soft" }, true],
  [{ mode: "shadow" }, true],
  [{ mode: "shadow", failMode: "open" }, true],
  [{ mode: "disabled" }, false],
  [{ agents: { main: { mode: "disabled" } } }, false],
  [{ enabled: false }, false],
];
for (const [config, blocks] of unjudged)
  test(`a call that could not be judged, with ${JSON.stringify(config)}`, () => {
    const expected = blocks ? { block: true, blockReason: "why" } : undefined;
    assert.deepEqual(verdictOnUnjudged(config, "main", folder(), "why"), expected);
    const stopped = config?.enabled === false ? undefined : STOPPED;
    assert.deepEqual(verdictOnUnjudged(config, "main", killed(write), "why"), stopped);
  });

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
      assert.deepEqual(alone(config, tool, { path: "notes.md" }, killed(write)), expected);
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
