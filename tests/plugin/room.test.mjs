// The variable that names a command's room, and the shell that leads there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";

import { bind, hasAllowlist, inRoom, ownShell, useShell, wasUsed, withoutRoom } from "../../plugin/gateway/room.mjs";

const before = process.env.SHELL;
const fine = () => {};
const ROOM = { room: 7, roomName: "main" };

describe("the room of a command", () => {
  const cases = [
    ["none named", { command: "ls" }, { command: "ls", env: { TOOLGUARD_ROOM: "main" } }],
    ["other variables stay", { command: "ls", env: { A: "b" } }, { command: "ls", env: { A: "b", TOOLGUARD_ROOM: "main" } }],
    ["the model's own is replaced", { env: { TOOLGUARD_ROOM: "1", A: "b" } }, { env: { A: "b", TOOLGUARD_ROOM: "main" } }],
    ["also with the spaces that the gateway trims", { env: { " TOOLGUARD_ROOM\n": "1" } }, { env: { TOOLGUARD_ROOM: "main" } }],
    ["variables that are none", { env: "x" }, { env: { TOOLGUARD_ROOM: "main" } }],
    ["no arguments", null, null],
  ];
  for (const [name, params, expected] of /** @type {[string, any, any][]} */ (cases))
    test(name, () => assert.deepEqual(inRoom(params, ROOM), expected));

  test("a command without a room is left as it is", () => {
    const params = { command: "ls", env: { A: "b" } };
    for (const room of [0, -1, undefined]) assert.equal(inRoom(params, { room, roomName: "main" }), params);
  });

  test("a command without a room names none either", () => {
    assert.deepEqual(inRoom({ command: "ls", env: { TOOLGUARD_ROOM: "1", TOOLGUARD_ROOMS: ",main=1," } }, {}), { command: "ls", env: {} });
  });

  test("the gateway's own variable says which process holds it", () => {
    inRoom({}, ROOM);
    inRoom({}, { room: 8, roomName: "main+tmux" });
    assert.equal(process.env.TOOLGUARD_ROOMS, ",main=7,main+tmux=8,");
    inRoom({}, { room: 9, roomName: "main" });
    assert.equal(process.env.TOOLGUARD_ROOMS, ",main+tmux=8,main=9,");
    assert.deepEqual(inRoom({ env: { "TOOLGUARD_ROOMS ": ",main=1,", A: "b" } }, ROOM), { env: { A: "b", TOOLGUARD_ROOM: "main" } });
  });

  test("a command that may run there only is refused by a gateway that would run it elsewhere", () => {
    const told = inRoom({ command: "ls" }, { ...ROOM, onlyThere: true });
    assert.deepEqual(told, { command: "ls", host: "gateway", env: { TOOLGUARD_ROOM: "main" } });
    assert.deepEqual(withoutRoom(told, true), { command: "ls" });
    assert.deepEqual(withoutRoom(told), { command: "ls", host: "gateway" });
  });

  test("what is reported of a command is what the model wrote", () => {
    for (const params of [{ command: "ls" }, { command: "ls", env: { A: "b" } }]) assert.deepEqual(withoutRoom(inRoom(params, ROOM)), params);
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

  const unprimed = () => {
    throw new Error("no such SDK");
  };

  test("stands in the command where the gateway cannot be asked for PATH first", () => {
    process.env.SHELL = "/bin/bash";
    assert.equal(useShell("/it's/toolguard/shell/bash", unprimed, true), "");
    assert.equal(process.env.SHELL, "/bin/bash");
    assert.deepEqual([bind({ command: "ls" }), bind({})], [true, false]);
    for (const command of ["ls", "echo 'it'\\''s' \n\"$HOME\"", "exec '/a/toolguard/shell/bash' -c 'x'", ""]) {
      const ran = inRoom({ command, env: { A: "b" } }, ROOM);
      assert.ok(ran.command.startsWith("exec '/it'\\''s/toolguard/shell/bash' -c '"));
      assert.deepEqual(withoutRoom(ran), { command, env: { A: "b" } });
      assert.equal(execFileSync("/bin/sh", ["-c", ran.command.replace(/^exec '(?:[^']|'\\'')*'/, "printf %s")]).toString(), `-c${command}`);
    }
    assert.deepEqual(inRoom({ command: "ls" }, {}), { command: "ls" });
    useShell("");
    assert.deepEqual(inRoom({ command: "ls" }, ROOM).command, "ls");
  });

  test("a command that a model has written like that stays as it is", () => {
    useShell("/a/toolguard/shell/bash", fine);
    const params = { command: "exec '/a/toolguard/shell/bash' -c 'x'", env: { A: "b" } };
    assert.deepEqual(withoutRoom(inRoom(params, ROOM)), params);
  });

  test("a gateway with a list of allowed commands is noticed", () => {
    const allowlist = { tools: { exec: { security: "allowlist" } } };
    for (const config of [allowlist, { agents: { entries: { a: allowlist } } }, { agents: { list: [allowlist] } }, { tools: { exec: { ask: "always" } } }, { tools: { exec: { mode: "auto" } } }])
      assert.equal(hasAllowlist(config), true);
    for (const config of [undefined, {}, { tools: { exec: { security: "full", ask: "off" } } }, { tools: { exec: { mode: "full" } } }]) assert.equal(hasAllowlist(config), false);
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

  test("is in use where a command may run because of its room only", () => {
    assert.equal(bind({}), false);
    useShell("/nowhere/shell/bash", fine);
    process.env.SHELL = "/bin/other";
    assert.equal(bind({}), false);
  });

  test("stays while such a command may still begin, unless it is gone", () => {
    const folder = mkdtempSync(join(tmpdir(), "toolguard-test-"));
    const program = join(folder, "bash");
    writeFileSync(program, "");
    process.env.SHELL = "/bin/zsh";
    useShell(program, fine);
    assert.equal(bind({}), true);
    useShell("");
    assert.deepEqual([process.env.SHELL, ownShell()], [program, "/bin/zsh"]);
    rmSync(program);
    useShell("");
    assert.equal(process.env.SHELL, "/bin/zsh");
  });
});
