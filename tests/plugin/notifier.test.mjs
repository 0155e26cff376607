import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { Notifier, notifierCommand } from "../../plugin/gateway/notifier.mjs";
import { folder, GATEWAY, Log, until } from "./support.mjs";

const TARGETS = { notify: { targets: { hook: { webhook: "https://host/t0ken" } } }, storePath: "/n.json" };

describe("the command", () => {
  for (const config of [undefined, {}, { notify: {} }, { notify: { targets: {} } }]) {
    test(`none for ${JSON.stringify(config)}`, () => assert.equal(notifierCommand(GATEWAY, "/state", "/config", config), null));
  }
  test("with targets; what they contain is not among the arguments", () => {
    const found = notifierCommand(GATEWAY, "/state", "/config.json", TARGETS);
    assert.deepEqual(found?.args.slice(0, 6), [
      "-P", "-E", "-m", "toolguard_cli.notify", "--state-dir=/state", "--config=/config.json",
    ]);
    assert.ok(!JSON.stringify(found?.args).includes("t0ken"));
  });
});

/**
 * What a notifier of a few lines gets to read after it has asked for this message.
 * @param {import("./support.mjs").TestContext} t
 * @param {any} api
 */
async function answered(t, api) {
  const read = join(folder(), "read");
  const asked = JSON.stringify({ key: "k1", channel: "telegram", to: "1", account: "", text: "held" });
  const script = `console.log("send " + ${JSON.stringify(asked)}); console.log("send nothing");
    process.stdin.on("data", (data) => require("node:fs").appendFileSync(${JSON.stringify(read)}, data));`;
  const command = { python: process.execPath, args: ["-e", script], cwd: folder(), env: process.env };
  const notifier = new Notifier(command, TARGETS, new Log());
  t.after(() => notifier.stop());
  if (api) notifier.through(api);
  notifier.start();
  const lines = () => {
    try {
      return readFileSync(read, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  };
  await until(() => lines().length === 2);
  assert.deepEqual(JSON.parse(lines()[0] ?? ""), TARGETS);
  const [word, rest] = [(lines()[1] ?? "").slice(0, 5), JSON.parse((lines()[1] ?? "").slice(5))];
  assert.deepEqual([word, rest.key], ["sent ", "k1"]);
  return rest.error;
}

describe("messages on the gateway's channels", () => {
  /** @param {any} adapter */
  const host = (adapter) => ({ runtime: { config: { current: () => "cfg" }, channel: { outbound: { loadAdapter: async () => adapter } } } });
  const refuses = async () => Promise.reject(new Error("chat not found"));
  for (const [name, api, error] of /** @type {[string, any, string][]} */ ([
    ["not started yet", null, "the gateway has not started its channels yet"],
    ["an older host", { runtime: {} }, "this OpenClaw does not let plugins send on its channels"],
    ["no such channel", host(undefined), "the gateway has no channel telegram"],
    ["refused", host({ sendText: refuses }), "chat not found"],
  ])) {
    test(name, async (t) => assert.equal(await answered(t, api), error));
  }
  test("sent", async (t) => {
    /** @type {any[]} */
    const sent = [];
    assert.equal(await answered(t, host({ sendText: async (/** @type {any} */ message) => void sent.push(message) })), "");
    assert.deepEqual(sent, [{ cfg: "cfg", to: "1", text: "held" }]);
  });
});
