import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { configPath, engineCommand, environments, gatewayName, python, stateDir } from "../../plugin/gateway/command.mjs";
import { peersCommand } from "../../plugin/gateway/connections.mjs";
import { dashboardCommand } from "../../plugin/gateway/dashboard.mjs";
import { notifierCommand } from "../../plugin/gateway/notifier.mjs";
import { environment, folder, GATEWAY } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

/** A home of its own, and none of the variables that decide. @param {TestContext} t */
function home(t) {
  const path = folder();
  environment(t, {
    HOME: path, OPENCLAW_HOME: undefined, OPENCLAW_STATE_DIR: undefined, OPENCLAW_PROFILE: undefined,
    OPENCLAW_CONFIG_PATH: undefined,
    TOOLGUARD_PYTHON: undefined,
  });
  return path;
}

/** @param {string} path @param {string} [text] */
function file(path, text = "") {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

describe("the state directory", () => {
  test("the gateway's own word comes first", (t) => {
    home(t);
    environment(t, { OPENCLAW_STATE_DIR: "/from/environment" });
    assert.equal(stateDir({ runtime: { state: { resolveStateDir: () => "/told" } } }), "/told");
  });

  for (const api of [{}, { runtime: {} }, { runtime: { state: {} } }, { runtime: { state: { resolveStateDir: () => "" } } }])
    test(`a gateway that does not say: the environment (${JSON.stringify(api)})`, (t) => {
      home(t);
      environment(t, { OPENCLAW_STATE_DIR: "/from/environment", OPENCLAW_HOME: "/other/home" });
      assert.equal(stateDir(api), "/from/environment");
    });

  test("the first that exists in the home", (t) => {
    const path = home(t);
    assert.equal(stateDir({}), join(path, ".openclaw"));
    mkdirSync(join(path, ".clawdbot"));
    assert.equal(stateDir({}), join(path, ".clawdbot"));
    mkdirSync(join(path, ".openclaw"));
    assert.equal(stateDir({}), join(path, ".openclaw"));
  });

  test("OPENCLAW_HOME moves the home", (t) => {
    home(t);
    const other = folder();
    environment(t, { OPENCLAW_HOME: other });
    assert.equal(stateDir({}), join(other, ".openclaw"));
  });
});

describe("the config file", () => {
  test("the first that exists in the state directory, else where it would be", (t) => {
    home(t);
    const state = folder();
    assert.equal(configPath(state), join(state, "openclaw.json"));
    file(join(state, "clawdbot.json"));
    assert.equal(configPath(state), join(state, "clawdbot.json"));
    file(join(state, "openclaw.json"));
    assert.equal(configPath(state), join(state, "openclaw.json"));
  });

  /** @type {[string, string][]} the variable, what it brings */
  const variables = [["/elsewhere/my.json", "/elsewhere/my.json"], ["", "openclaw.json"]];
  for (const [value, expected] of variables)
    test(`OPENCLAW_CONFIG_PATH is "${value}"`, (t) => {
      home(t);
      environment(t, { OPENCLAW_CONFIG_PATH: value });
      const state = folder();
      file(join(state, "openclaw.json"));
      assert.equal(configPath(state), value ? expected : join(state, expected));
    });
});

/** The command of each process that the plugin starts, by the function that makes it. @param {string} state */
const commands = (state) => ({
  engineCommand: engineCommand(folder(), state, {}),
  notifierCommand: notifierCommand(folder(), state, "c", { notify: { targets: { a: { webhook: "https://a.example" } } } }),
  dashboardCommand: dashboardCommand(folder(), state, "c", { metrics: { dashboard: { enabled: true } } }),
  peersCommand: peersCommand(folder(), state, "c", {}),
});

test("the list of commands is complete", async () => {
  const modules = readdirSync(GATEWAY).filter((name) => name.endsWith(".mjs"));
  const exported = await Promise.all(modules.map((name) => import(join(GATEWAY, name))));
  // A command in chat is no process.
  const makers = exported.flatMap(Object.keys).filter((name) => name.endsWith("Command") && name !== "chatCommand");
  assert.deepEqual(Object.keys(commands(folder())).sort(), makers.sort());
});

describe("the interpreter of an environment at a usual place", () => {
  const tools = [".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs"];
  for (const place of [".toolguard", ...tools.map((tool) => `${tool}/openclaw-toolguard`)])
    test(place, (t) => {
      const [own, state] = [home(t), folder()];
      assert.ok(environments().includes(join(own, place)));
      assert.equal(python(folder(), state, {}), "python3");
      const made = Object.entries(commands(state));
      const interpreters = () => Object.fromEntries(made.map(([name, command]) => [name, command?.python]));
      /** @param {string} path */
      const all = (path) => Object.fromEntries(made.map(([name]) => [name, path]));
      assert.deepEqual(interpreters(), all("python3"));
      const found = file(join(own, place, "bin", "python"));
      assert.equal(python(folder(), state, {}), found);
      assert.deepEqual(interpreters(), all(found), "found by the next start");
      file(join(state, "toolguard", "install.json"), '{"python": "/recorded"}');
      assert.equal(python(folder(), state, {}), "/recorded");
      assert.equal(python(folder(), state, { python: "/named" }), "/named");
    });
});

describe("the gateway's name", () => {
  /** @type {[string, string | undefined, string][]} */
  const names = [
    ["/home/a/.openclaw", undefined, "openclaw"],
    ["/home/a/.openclaw-work", undefined, "openclaw-work"],
    ["/srv/gateway", undefined, "gateway"],
    ["/home/a/.openclaw", "work", "work"],
    ["/", undefined, "openclaw"],
  ];
  for (const [state, profile, expected] of names)
    test(`of ${state} with profile ${profile}`, (t) => {
      environment(t, { OPENCLAW_PROFILE: profile });
      assert.equal(gatewayName(state), expected);
    });
});

describe("the interpreter", () => {
  /** All places name one. @param {TestContext} t */
  function everywhere(t) {
    home(t);
    const state = folder();
    const checkout = folder();
    environment(t, { TOOLGUARD_PYTHON: "/from/environment" });
    file(join(state, "toolguard", "install.json"), JSON.stringify({ python: "/recorded" }));
    const own = file(join(checkout, ".venv", "bin", "python"));
    return { state, root: join(checkout, "plugin", "gateway"), own };
  }

  test("the config, then the record, then the checkout's own, then python3", (t) => {
    const { state, root, own } = everywhere(t);
    assert.equal(python(root, state, { python: "/configured" }), "/configured");
    assert.equal(python(root, state, {}), "/recorded", "a variable, which an agent can put into a .env, names nothing");
    assert.equal(python(root, state, undefined), "/recorded");
    const empty = folder();
    assert.equal(python(root, empty, undefined), own);
    assert.equal(python(join(empty, "plugin", "gateway"), empty, undefined), "python3");
  });

  for (const record of ["", "{", "null", "[]", "{}", '{"python": 3}', '{"python": ""}', '"text"'])
    test(`a record that says nothing is passed over: ${record}`, (t) => {
      const { state, root, own } = everywhere(t);
      environment(t, { TOOLGUARD_PYTHON: undefined });
      file(join(state, "toolguard", "install.json"), record);
      assert.equal(python(root, state, {}), own);
    });
});

describe("the command", () => {
  test("runs in the state directory, deaf to the folder and to PYTHON* variables", () => {
    const state = folder();
    assert.deepEqual(engineCommand("/place/of/plugin", state, { python: "/configured" }), {
      python: "/configured", args: ["-P", "-E", "-m", "toolguard_engine"], cwd: state, env: process.env,
    });
  });

  test("runs in the plugin's folder while there is no state directory", () => {
    const root = folder();
    assert.equal(engineCommand(root, join(root, "missing"), { python: "/configured" }).cwd, root);
  });
});
