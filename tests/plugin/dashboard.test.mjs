import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Dashboard, dashboardCommand } from "../../plugin/gateway/dashboard.mjs";
import { alive, folder, GATEWAY, Log, until } from "./support.mjs";

/** @typedef {import("./support.mjs").TestContext} TestContext */

/** @typedef {import("../../plugin/gateway/dashboard.mjs").Patience} Patience */
/** @type {Patience} */
const SOON = { crashed: [5, 20], refused: [5, 20], answered: [5, 20] };
/** @type {Patience} */
const NEVER = { crashed: [1e9, 1e9], refused: [1e9, 1e9], answered: [1e9, 1e9] };
const SERVES = 'console.log("http://127.0.0.1:8080"); process.stdin.resume().on("end", () => process.exit(0));';

/**
 * A server of a few lines that notes its process id in a file at each start. It ends with the test.
 * @param {TestContext} t
 * @param {string} body
 * @param {Patience} [patience]
 */
function server(t, body, patience = SOON) {
  const log = new Log();
  const noted = join(folder(), "pids");
  writeFileSync(noted, "");
  const script = `require("node:fs").appendFileSync(${JSON.stringify(noted)}, process.pid + "\\n"); ${body}`;
  const command = { python: process.execPath, args: ["-e", script], cwd: folder(), env: process.env };
  const dashboard = new Dashboard(command, log, "1", patience);
  const all = [dashboard];
  const again = () => {
    const next = new Dashboard(command, log, "1", patience);
    all.push(next);
    return next;
  };
  const pids = () => readFileSync(noted, "utf8").trim().split("\n").filter(Boolean).map(Number);
  t.after(async () => {
    for (const each of all) await each.stop();
    assert.deepEqual(pids().filter(alive), []);
  });
  return { dashboard, log, pids, again };
}

describe("the command", () => {
  const ON = { dashboard: { enabled: true } };
  const NO = [
    undefined, null, {}, { metrics: {} }, { metrics: { enabled: true } }, { metrics: { dashboard: { enabled: false } } },
    ...[7, "", null, "x".repeat(5_000)].map((dbPath) => ({ metrics: { ...ON, dbPath } })),
    ...["8080", 0, 65_536, 1.5, null].map((port) => ({ metrics: { dashboard: { enabled: true, port } } })),
    ...[7, "", null].map((bind) => ({ metrics: { dashboard: { enabled: true, bind } } })),
    ...[7, "box", ["-x"], ["a b"], [1], Array(21).fill("box")].map((hosts) => ({ metrics: { dashboard: { enabled: true, hosts } } })),
  ];
  for (const config of NO)
    test(`is none with ${JSON.stringify(config)?.slice(0, 80)}`, () => {
      assert.equal(dashboardCommand(GATEWAY, "/state", "/config", config), null);
    });

  /** @type {[string, any, string[]][]} */
  const rows = [
    ["has the defaults", ON, ["--db=~/.openclaw/metrics.db", "--bind=127.0.0.1", "--port=8080"]],
    ["needs no recording", { enabled: false, ...ON }, ["--db=~/.openclaw/metrics.db", "--bind=127.0.0.1", "--port=8080"]],
    ["minds no other fault", { ...ON, retention: "long" }, ["--db=~/.openclaw/metrics.db", "--bind=127.0.0.1", "--port=8080"]],
    [
      "says what the settings say",
      { dbPath: "-m.db", dashboard: { enabled: true, bind: "::1", port: 9 } }, ["--db=-m.db", "--bind=::1", "--port=9"],
    ],
    [
      "passes public names on", { dashboard: { enabled: true, hosts: ["box.ts.net", "http://box:9"] } },
      ["--db=~/.openclaw/metrics.db", "--bind=127.0.0.1", "--port=8080", "--host=box.ts.net", "--host=http://box:9"],
    ],
  ];
  for (const [what, metrics, expected] of rows)
    test(what, () => {
      const found = dashboardCommand(GATEWAY, "/state", "/config.json", { python: "/my/python", metrics });
      assert.equal(found?.python, "/my/python");
      assert.deepEqual(found?.args.slice(0, 4), ["-P", "-E", "-m", "toolguard_cli.dashboard"]);
      const [db, ...others] = expected;
      assert.deepEqual(found?.args.slice(4), [db, "--state-dir=/state", "--config=/config.json", ...others, "--owned", "--vouched"]);
    });

  test("where there is none, nothing is started and nothing has to end", async () => {
    const log = new Log();
    const dashboard = new Dashboard(null, log);
    dashboard.start();
    await dashboard.stop();
    assert.deepEqual(log.lines, []);
  });
});

describe("a server that serves", () => {
  test("is started once, and says where it listens", async (t) => {
    const { dashboard, log, pids } = server(t, SERVES);
    dashboard.start();
    dashboard.start();
    await until(() => log.lines.length > 0);
    assert.deepEqual(log.lines, [{ level: "info", text: "[toolguard] dashboard: http://127.0.0.1:8080" }]);
    assert.equal(pids().length, 1);
  });

  test("gets its challenges signed with the key that it names, or else an empty answer", async (t) => {
    const [path, wrong] = [join(folder(), "key"), join(folder(), "short")];
    writeFileSync(path, Buffer.alloc(32, 7));
    writeFileSync(wrong, "short");
    const challenge = "0a".repeat(32);
    const ask = [path, wrong, "/nowhere"].map((each) => `challenge ${challenge} ${each}`).join("\n");
    const { dashboard, log } = server(t, `${SERVES} console.log(${JSON.stringify(ask)});
      let all = ""; process.stdin.on("data", (data) => { all += data; if (all.split("\\n").length === 4) console.log(JSON.stringify(all)); });`);
    dashboard.start();
    await until(() => log.lines.length > 1);
    const signed = createHmac("sha256", Buffer.alloc(32, 7)).update(`toolguard dashboard ${challenge}`).digest("hex");
    assert.deepEqual(log.lines.map(({ text }) => text), [
      "[toolguard] dashboard: http://127.0.0.1:8080",
      `[toolguard] dashboard: ${JSON.stringify(`${signed}\n\n\n`)}`,
    ]);
  });

  test("ends when it is stopped, and is not started again", async (t) => {
    const { dashboard, log, pids } = server(t, SERVES);
    dashboard.start();
    await until(() => log.lines.length > 0);
    await dashboard.stop();
    assert.deepEqual(pids().filter(alive), []);
    dashboard.start();
    assert.equal(pids().length, 1);
    assert.deepEqual(log.warnings, []);
  });

  test("is ended where it does not heed that", async (t) => {
    const { dashboard, log, pids } = server(t, "setInterval(() => {}, 1e6); console.log('deaf');");
    dashboard.start();
    await until(() => log.lines.length > 0);
    await dashboard.stop();
    assert.deepEqual(pids().filter(alive), []);
  });

  test("is taken over by a successor with the same command", async (t) => {
    const { dashboard, log, pids, again } = server(t, SERVES);
    dashboard.start();
    await until(() => log.lines.length > 0);
    dashboard.leave();
    const next = again();
    next.start();
    assert.equal(pids().length, 1);
    process.kill(/** @type {number} */ (pids()[0]), "SIGKILL");
    await until(() => pids().length === 2);
    await next.stop();
    assert.deepEqual(pids().filter(alive), []);
  });

  test("that died while nobody held it is started anew", async (t) => {
    const { dashboard, log, pids, again } = server(t, SERVES);
    dashboard.start();
    await until(() => log.lines.length > 0);
    dashboard.leave();
    process.kill(/** @type {number} */ (pids()[0]), "SIGKILL");
    await until(() => !alive(/** @type {number} */ (pids()[0])));
    again().start();
    await until(() => pids().length === 2);
  });

  test("ends where no successor comes", async (t) => {
    const { dashboard, log, pids } = server(t, SERVES);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    dashboard.start();
    while (log.lines.length === 0) await new Promise(setImmediate);
    dashboard.leave();
    t.mock.timers.tick(5_000);
    t.mock.timers.reset();
    await until(() => pids().filter(alive).length === 0);
  });

  test("comes back when it was killed", async (t) => {
    const { dashboard, log, pids } = server(t, SERVES);
    dashboard.start();
    await until(() => log.lines.length > 0);
    process.kill(/** @type {number} */ (pids()[0]), "SIGKILL");
    await until(() => pids().length === 2);
    assert.match(log.warnings.join(), /^\[toolguard\] dashboard: it exited \(signal SIGKILL\); next start in 5 ms$/);
  });

  for (const signal of /** @type {NodeJS.Signals[]} */ (["SIGKILL", "SIGTERM"]))
    test(`goes with its gateway, and does not keep it alive (${signal})`, async (t) => {
      const noted = join(folder(), "pid");
      const script = `
        import { Dashboard } from ${JSON.stringify(pathToFileURL(join(GATEWAY, "dashboard.mjs")).href)};
        const body = ${JSON.stringify(`require("node:fs").writeFileSync(${JSON.stringify(noted)}, process.pid + ""); ${SERVES}`)};
        const command = { python: process.execPath, args: ["-e", body], cwd: "/", env: process.env };
        const say = (text) => console.log(text);
        new Dashboard(command, { info: say, warn: say, error: say }).start();
        if (process.argv.includes("stay")) setInterval(() => {}, 1e6);`;
      const gateway = spawn(process.execPath, ["--input-type=module", "-e", script, "stay"], { stdio: ["ignore", "pipe", "inherit"] });
      t.after(() => gateway.kill("SIGKILL"));
      await once(gateway.stdout, "data");
      const pid = Number(readFileSync(noted, "utf8"));
      assert.ok(alive(pid));
      gateway.kill(signal);
      await until(() => !alive(pid), "the end of the server");

      const brief = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
      t.after(() => brief.kill("SIGKILL"));
      assert.deepEqual(await once(brief, "exit"), [0, null]);
    });
});

describe("a server that cannot run", () => {
  /** @type {[string, string, string[], string[]][]} */
  const rows = [
    ["ours answers there already", 'console.log("another one has it"); process.exit(10)', ["another one has it"], []],
    ["the port is taken", 'console.error("port 8080 is taken; 8081 is free"); process.exit(1)', [], ["port 8080 is taken; 8081 is free"]],
    ["it takes no such option", 'console.error("usage"); process.exit(2)', [], ["usage"]],
    [
      "a module is missing", 'console.error("No module named uvicorn"); process.exit(1)', [],
      ["No module named uvicorn - this Python lacks part of toolguard; reinstall toolguard"],
    ],
  ];
  for (const [what, body, info, warn] of rows)
    test(`is tried again, and told once: ${what}`, async (t) => {
      const { dashboard, log, pids } = server(t, body);
      dashboard.start();
      await until(() => pids().length >= 4);
      const said = (/** @type {string} */ level) =>
        log.lines.filter((line) => line.level === level).map(({ text }) => text.replace("[toolguard] dashboard: ", ""));
      await until(() => said("info").length === info.length && said("warn").length === warn.length);
      assert.deepEqual([said("info"), said("warn")], [info, warn]);
    });

  for (const [kind, body] of [["refused", "process.exit(1)"], ["answered", "process.exit(10)"], ["crashed", "process.exit(3)"]])
    test(`is waited for as long as its end asks for: ${kind}`, async (t) => {
      const waiting = server(t, body ?? "", { ...SOON, [kind ?? ""]: [1e9, 1e9] });
      const others = server(t, body ?? "", { ...NEVER, [kind ?? ""]: [5, 5] });
      waiting.dashboard.start();
      await until(() => waiting.pids().length === 1 && !waiting.pids().some(alive));
      others.dashboard.start();
      await until(() => others.pids().length === 4);
      assert.equal(waiting.pids().length, 1);
    });

  test("takes over when the other one has gone", async (t) => {
    const gone = join(folder(), "gone");
    const { dashboard, log, pids } = server(t, `if (!require("node:fs").existsSync(${JSON.stringify(gone)})) process.exit(10); ${SERVES}`);
    dashboard.start();
    await until(() => pids().length >= 3);
    appendFileSync(gone, "");
    await until(() => log.lines.length > 0);
    assert.equal(pids().filter(alive).length, 1);
  });

  test("is no flood in the log, whatever it prints", async (t) => {
    const body = 'for (let n = 0; n < 1000; n++) console.error("x".repeat(n)); console.error("y".repeat(1e6)); process.exit(1)';
    const { dashboard, log, pids } = server(t, body, { ...NEVER, refused: [5, 5] });
    dashboard.start();
    await until(() => pids().length >= 3);
    assert.ok(log.lines.length <= 40);
    assert.ok(log.lines.every(({ text }) => text.length < 2_100));
  });

  test("is told where there is no such program", async (t) => {
    const log = new Log();
    const dashboard = new Dashboard({ python: "/nowhere/python", args: [], cwd: "/", env: {} }, log, "1", SOON);
    t.after(() => dashboard.stop());
    dashboard.start();
    await until(() => log.warnings.length > 0);
    assert.match(log.warnings[0] ?? "", /ENOENT/);
  });
});
