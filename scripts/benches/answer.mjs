// From a gateway's event to the verdict, for one or two checkouts in turns, beside a bare Node-to-Python pipe and a bare HTTP
// service in the same run: back to back, and after a pause of 20 ms. Prints one JSON object, times in microseconds.
//   node scripts/benches/answer.mjs PYTHON STATE_DIR ROUNDS CHECKOUT [OTHER]

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const [python, stateDir, given, ...trees] = process.argv.slice(2);
const ROUNDS = Number(given);
const BLOCK = 50;
const IDLE_MS = 20;
const COMMANDS = [
  "ls -la src docs", "git status --short | head -20", "cat package.json", "grep -rn 'def main' src/ --include=*.py | sort -k2",
  "npm test -- --watch=false", "sed -n '1,80p' src/index.js", "git diff HEAD~1 --stat && git log --oneline -5",
  "find . -name '*.ts' -not -path './node_modules/*' | head", "python3 -m pytest -q tests/unit 2>&1 | tail -20", "mkdir -p build && cp a.json build/",
];
const ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n";
const SERVICE = `
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("content-length", str(len(data))); self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()
`;

const median = (times) => Number([...times].sort((a, b) => a - b)[Math.floor(times.length / 2)]?.toFixed(1) ?? 0);
const timed = async (once) => {
  const start = performance.now();
  await once();
  return (performance.now() - start) * 1000;
};

function bareEcho() {
  const child = spawn(python, ["-c", ECHO], { stdio: ["pipe", "pipe", "inherit"] });
  let answered = () => {};
  child.stdout.setEncoding("utf8").on("data", () => answered());
  const line = `${JSON.stringify({ id: 1, type: "judge", tool: "exec", params: { command: "x".repeat(100) } })}\n`;
  const ask = () => new Promise((resolve) => {
    answered = resolve;
    child.stdin.write(line);
  });
  return { ask, end: () => child.stdin.end() };
}

async function httpService() {
  const child = spawn(python, ["-c", SERVICE], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(Number(data))));
  const agent = new Agent({ keepAlive: true });
  const ask = () => new Promise((resolve, reject) => {
    const asked = request({ port, method: "POST", agent, headers: { "content-type": "application/json" } }, (got) => {
      got.on("data", () => {}).on("end", resolve);
    });
    asked.on("error", reject).end(JSON.stringify({ tool: "exec", params: { command: "x".repeat(100) } }));
  });
  return { ask, end: () => (agent.destroy(), child.kill()) };
}

/** The gateway part and the engine of a checkout. */
async function open(tree, number) {
  const part = (name) => import(`${tree}/plugin/gateway/${name}.mjs`);
  const [{ Engine }, { Hooks }, { Runs }, { Seams, Trace }] = await Promise.all(["engine", "hooks", "runs", "seams"].map(part));
  const state = `${stateDir}/state-of-checkout-${number}`; // no part of a command: a folder of the guard is looked for in each
  const hello = { stateDir: state, configPath: `${state}/openclaw.json`, config: {} };
  mkdirSync(state);
  writeFileSync(hello.configPath, "{}\n");
  let pid = 0;
  const logger = { info() {}, warn() {}, error: console.error, debug: (text) => (pid = Number(/\(pid (\d+)\)/.exec(text)?.[1] ?? pid)) };
  const env = { ...process.env, HOME: state, PYTHONPATH: `${tree}/plugin:${tree}/manifests` };
  const start = () => {
    const engine = new Engine({ python, args: ["-P", "-m", "toolguard_engine"], cwd: state, env }, hello, logger);
    const seams = new Seams(() => {});
    const hooks = new Hooks(engine, {}, new Runs(), seams, new Trace(seams), undefined, () => "/home/u/work", state);
    let round = 0;
    /** One question; whether it was answered before the event loop turned, and after how long. */
    const ask = async (toolName, params) => {
      const event = { toolName, params, runId: `run${Math.floor(++round / 30)}`, toolCallId: `c${round}` };
      const begun = performance.now();
      let taken = 0;
      hooks.beforeToolCall(event, { agentId: "main", sessionKey: "agent:main:main" }).then(() => (taken = (performance.now() - begun) * 1000));
      for (let turn = 0; turn < 100 && !taken; turn++) await null;
      const missed = !taken;
      while (!taken) await new Promise(setImmediate);
      return { taken, missed };
    };
    return { engine, ask };
  };
  return { start, memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024 };
}

const params = { exec: (n) => ({ command: COMMANDS[n % COMMANDS.length] }), read: (n) => ({ path: `src/part${n}.ts` }) };
const echo = bareEcho();
const http = await httpService();
const opened = await Promise.all(trees.map(open));
const found = opened.map(() => ({ ready: [], first: [], exec: { hot: [], idle: [], late: [] }, read: { hot: [], idle: [], late: [] }, memory: 0 }));
for (let round = 0; round < 10; round++) {
  for (const [at, tree] of opened.entries()) {
    const { engine, ask } = tree.start();
    found[at].ready.push((await timed(() => engine.ask({ type: "ping" }))) / 1000);
    await pause(300); // a gateway's first call comes long after its start
    found[at].first.push((await ask("exec", params.exec(0))).taken);
    await engine.stop();
  }
}
const running = opened.map((tree) => tree.start());
/** Whoever is asked behind something else finds colder caches, so they change places. */
const turns = (round) => (round % 2 ? [...running.entries()].reverse() : [...running.entries()]);
const bare = { hot: [], idle: [] };
const service = [];
for (const { engine } of running) await engine.ask({ type: "ping" });
for (let n = 0; n < 200; n++) await echo.ask();
let n = 0;
for (let round = -2; round < ROUNDS * 2; round++) {
  for (const tool of ["exec", "read"]) {
    for (const [at, { ask }] of turns(round)) {
      for (let each = 0; each < BLOCK; each++) {
        const { taken, missed } = await ask(tool, params[tool](++n));
        if (round >= 0) (found[at][tool].hot.push(taken), missed && found[at][tool].late.push(taken));
      }
      await pause(5);
    }
  }
  for (let each = 0; each < BLOCK; each++) bare.hot.push(await timed(echo.ask));
  for (let each = 0; each < BLOCK; each++) service.push(await timed(http.ask));
}
for (let round = 0; round < ROUNDS * 12; round++) {
  for (const tool of ["exec", "read"]) {
    for (const [at, { ask }] of turns(round)) {
      await pause(IDLE_MS);
      found[at][tool].idle.push((await ask(tool, params[tool](++n))).taken);
    }
  }
  await pause(IDLE_MS);
  bare.idle.push(await timed(echo.ask));
}
for (const [at, { engine }] of running.entries()) {
  found[at].memory = Number(opened[at].memory().toFixed(1));
  await engine.stop();
}
echo.end();
http.end();
const row = ({ hot, idle, late }) => ({ hot: median(hot), idle: median(idle), late: median(late), missed: late.length / hot.length });
console.log(JSON.stringify({
  echo: { hot: median(bare.hot), idle: median(bare.idle) },
  http: median(service),
  trees: found.map((each) => ({ ...each, ready: median(each.ready), first: median(each.first), exec: row(each.exec), read: row(each.read) })),
}));
