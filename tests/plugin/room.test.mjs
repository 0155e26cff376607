// The variable that names a command's room, and the shell that leads there.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";

import { inRoom, ownShell, useShell, wasUsed, withoutRoom } from "../../plugin/gateway/room.mjs";

const before = process.env.SHELL;
const fine = () => {};

describe("the room of a command", () => {
  const cases = [
    ["none named", { command: "ls" }, { command: "ls", env: { TOOLGUARD_ROOM: "7" } }],
    ["other variables stay", { command: "ls", env: { A: "b" } }, { command: "ls", env: { A: "b", TOOLGUARD_ROOM: "7" } }],
    ["the model's own is replaced", { env: { TOOLGUARD_ROOM: "1", A: "b" } }, { env: { A: "b", TOOLGUARD_ROOM: "7" } }],
    ["also with the spaces that the gateway trims", { env: { " TOOLGUARD_ROOM\n": "1" } }, { env: { TOOLGUARD_ROOM: "7" } }],
    ["variables that are none", { env: "x" }, { env: { TOOLGUARD_ROOM: "7" } }],
    ["no arguments", null, null],
  ];
  for (const [name, params, expected] of /** @type {[string, any, any][]} */ (cases))
    test(name, () => assert.deepEqual(inRoom(params, 7), expected));

  test("a command without a room is left as it is", () => {
    const params = { command: "ls", env: { A: "b" } };
    for (const room of [0, -1, undefined]) assert.equal(inRoom(params, room), params);
  });

  test("a command without a room names none either", () => {
    assert.deepEqual(inRoom({ command: "ls", env: { TOOLGUARD_ROOM: "1" } }, 0), { command: "ls", env: {} });
  });

  test("what is reported of a command is what the model wrote", () => {
    for (const params of [{ command: "ls" }, { command: "ls", env: { A: "b" } }]) assert.deepEqual(withoutRoom(inRoom(params, 7)), params);
  });
});

describe("the shell of commands", () => {
  afterEach(() => {
    useShell("");
    if (before === undefined) delete process.env.SHELL;
    else process.env.SHELL = before;
  });

  test("is the engine's program while there are rooms, and the person's before and after", () => {
    process.env.SHELL = "/bin/zsh";
    assert.equal(useShell("/state/shell/zsh", fine), "");
    assert.deepEqual([process.env.SHELL, ownShell()], ["/state/shell/zsh", "/bin/zsh"]);
    assert.equal(useShell("/state/shell/zsh", fine), ""); // the engine was started again
    assert.equal(ownShell(), "/bin/zsh");
    useShell("");
    assert.deepEqual([process.env.SHELL, ownShell()], ["/bin/zsh", "/bin/zsh"]);
  });

  test("is unset again where it was", () => {
    delete process.env.SHELL;
    useShell("/state/shell/sh", fine);
    assert.equal(ownShell(), "");
    useShell("");
    assert.equal(process.env.SHELL, undefined);
  });

  test("is not changed where the gateway cannot be asked for PATH first", () => {
    process.env.SHELL = "/bin/bash";
    const why = useShell("/state/shell/bash", () => {
      throw new Error("no such SDK");
    });
    assert.deepEqual([why, process.env.SHELL], ["no such SDK", "/bin/bash"]);
  });

  test("is left alone if somebody else has changed it meanwhile", () => {
    useShell("/state/shell/bash", fine);
    process.env.SHELL = "/bin/other";
    useShell("");
    assert.equal(process.env.SHELL, "/bin/other");
  });

  test("leaves a mark when it was used", () => {
    assert.equal(wasUsed(), undefined);
    const folder = mkdtempSync(join(tmpdir(), "toolguard-test-"));
    useShell(join(folder, "bash"), fine);
    assert.equal(wasUsed(), false);
    writeFileSync(join(folder, "used"), "");
    assert.equal(wasUsed(), true);
  });
});
