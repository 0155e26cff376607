import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";

const logger = { warn() {}, info() {}, error() {}, debug() {} };

/** A server that takes upgrades, as the gateway's. */
async function served() {
  const server = createServer((_request, response) => response.end("ok"));
  server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {}).on("end", () => socket.end()).resume();
    socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** @param {import("node:http").Server} server @param {string} request */
async function sent(server, request) {
  const socket = connect(/** @type {any} */ (server.address()).port, "127.0.0.1");
  socket.write(request);
  await once(socket, "data");
  return socket;
}

/** @param {import("node:net").Socket} socket @param {import("node:http").Server} server */
async function left(socket, server) {
  socket.end();
  server.closeIdleConnections();
  await new Promise((resolve) => server.close(resolve));
  const { all } = /** @type {any} */ (globalThis)[Symbol.for("toolguard.connections")];
  while (all.some((/** @type {any} */ each) => !each.closed)) await new Promise((resolve) => setImmediate(resolve));
}

const UPGRADE = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/** A program in the place of `toolguard_cli.person.peers` that says the same of every connection. @param {string} kind */
const saying = (kind) => ({
  python: process.execPath,
  args: ["-e", `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) =>
    console.log(JSON.stringify(JSON.parse(line).map(() => ({ kind: "${kind}", why: "by a test" })))))`],
  cwd: process.cwd(), env: process.env,
});

const early = await served();
const earlier = await sent(early, UPGRADE);
const asking = await sent(early, GET);
const { Peers } = await import("../../plugin/gateway/connections.mjs");

/** @param {string} kind */
async function senders(kind) {
  const peers = new Peers(/** @type {any} */ (saying(kind)), /** @type {any} */ (logger));
  try {
    return await peers.senders();
  } finally {
    peers.end();
  }
}

/** @param {{ kind: string }[]} found */
const kinds = (found) => found.map(({ kind }) => kind);

test("a connection from before the plugin was loaded counts like any other", async () => {
  assert.deepEqual(kinds((await senders("unknown")).peers), ["unknown"]);
  asking.end();
  await left(earlier, early);
});

test("nobody is connected", async () => {
  const { peers, carriers } = await senders("person");
  assert.deepEqual(carriers, []);
  assert.ok(peers.every(({ closed }) => closed > 0), "only the one that has left");
});

for (const [kind, doubtful, carried] of /** @type {[string, boolean, boolean][]} */ ([
  ["person", false, true], ["agent", true, false], ["unknown", true, false], ["gateway", false, false],
]))
  test(`a connection of ${kind}`, async () => {
    const server = await served();
    const socket = await sent(server, UPGRADE);
    const { peers, carriers } = await senders(kind);
    assert.equal(peers.some((each) => !each.closed), doubtful);
    assert.equal(carriers.some((each) => !each.closed), carried);
    await left(socket, server);
  });

test("what only reads carries no command", async () => {
  const server = await served();
  const socket = await sent(server, GET);
  const { peers, carriers } = await senders("person");
  assert.ok([...peers, ...carriers].every(({ closed }) => closed > 0));
  await left(socket, server);
});

test("another device may have sent a command, and no process is looked for", async () => {
  const socket = new EventEmitter();
  Object.assign(socket, { remoteAddress: "192.0.2.7", remotePort: 50_000, localAddress: "192.0.2.1", localPort: 18_789 });
  channel("net.server.socket").publish({ socket });
  const { peers, carriers } = await senders("agent");
  assert.deepEqual(kinds(carriers.filter(({ closed }) => !closed)), ["device"]);
  assert.ok(peers.every(({ closed }) => closed > 0));
  socket.emit("close");
});
