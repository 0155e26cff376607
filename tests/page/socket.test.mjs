import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { beforeEach, mock, test } from "node:test";

/** A connection that the test speaks for. */
class FakeSocket {
  /** @type {FakeSocket[]} */ static all = [];
  /** @type {string[]} */ sent = [];
  closed = false;
  onopen = () => {};
  onmessage = (/** @type {{ data: string }} */ _) => {};
  onclose = (/** @type {{ code: number }} */ _) => {};
  constructor(/** @type {string} */ url) {
    this.url = url;
    FakeSocket.all.push(this);
  }
  send(/** @type {string} */ text) {
    this.sent.push(text);
  }
  close() {
    this.closed = true;
  }
}
const kept = new Map();
Object.assign(globalThis, {
  WebSocket: FakeSocket,
  location: { protocol: "http:", host: "127.0.0.1:1", hostname: "127.0.0.1", port: "1" },
  sessionStorage: { getItem: (/** @type {string} */ key) => kept.get(key) ?? null },
  matchMedia: () => ({ matches: false }),
  fetch: async (/** @type {string} */ url) => answer(url),
  addEventListener: () => {},
});
mock.method(Math, "random", () => 0.5); // no jitter
const { Socket } = await import("../../cli/toolguard_cli/dashboard/static/socket.js");

const TOKEN = "a1".repeat(32);
const GONE = () => Promise.reject(new TypeError("failed"));
/** What the server says to `/api/hello`. @type {(url: string) => any} */
let answer = GONE;

/** As the dashboard answers that knows this token. @param {string} token @param {number} port @param {number} [named] */
const hello = (token, port, named = port) => (/** @type {string} */ url) => {
  const text = `toolguard dashboard ${port} ${/nonce=([0-9a-f]{32})$/.exec(url)?.[1]}`;
  return Response.json({ proof: createHmac("sha256", token).update(text).digest("hex"), port: named });
};

/** Until what was begun is through, however many steps it has. */
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

/** @type {string[]} */ let states;
/** @type {any[]} */ let events;
let refused = 0;
const last = () => /** @type {FakeSocket} */ (FakeSocket.all.at(-1));

/** @type {import("../../cli/toolguard_cli/dashboard/static/socket.js").Socket} */ let socket;

beforeEach(() => {
  mock.timers.reset(); // also what the one before had still to do
  mock.timers.enable({ apis: ["Date", "setInterval", "setTimeout"] });
  kept.clear();
  FakeSocket.all = [];
  [states, events, refused] = [[], [], 0];
  socket = new Socket(
    (event) => events.push(event),
    (state) => states.push(state),
    () => (refused += 1),
  );
  void socket.connect();
});

test("without a token the first word is empty, and what comes is handed on", () => {
  last().onopen();
  last().onmessage({ data: '{"type":"hello","now":1}' });
  assert.deepEqual([last().url, last().sent], ["ws://127.0.0.1:1/ws", ['{"token":""}']]);
  assert.deepEqual([states, events], [["live"], [{ type: "hello", now: 1 }]]);
});

/** Connects with the token; answers what was sent. @param {(url: string) => any} said */
async function withToken(said) {
  kept.set("toolguard.token", TOKEN);
  answer = said;
  FakeSocket.all = [];
  const running = socket.connect();
  for (let i = 0; i < 20; i += 1) await settled();
  await running;
  for (const one of FakeSocket.all) one.onopen();
  return FakeSocket.all.flatMap(({ sent }) => sent);
}

test("who does not know a token that never held is no stranger: the token is wrong", async () => {
  assert.deepEqual([await withToken(hello("b2".repeat(32), 1)), refused, socket.foreign], [[], 1, true]);
});

test("a server that has proven itself is sent the token, no other is, also not after it", async () => {
  assert.deepEqual(await withToken(hello(TOKEN, 8080)), [`{"token":"${TOKEN}"}`], "its port may be another, by a tunnel");
  const others = {
    gone: GONE,
    silent: () => new Response("hello"),
    empty: () => Response.json({ proof: "" }),
    list: () => Response.json([]),
    nothing: () => Response.json(null),
    "another token": hello("b2".repeat(32), 8080),
    "another port, passed on": hello(TOKEN, 9090),
    "another port under the name of the first": hello(TOKEN, 9090, 8080),
    "an old proof": () => Response.json({ proof: createHmac("sha256", TOKEN).update("8080").digest("hex"), port: 8080 }),
  };
  for (const [name, said] of Object.entries(others)) {
    assert.deepEqual([await withToken(said), refused, socket.foreign], [[], 0, name !== "gone"], name);
  }
  assert.deepEqual([await withToken(hello(TOKEN, 8080)), socket.foreign], [[`{"token":"${TOKEN}"}`], false], "it is back");
});

test("who answers too late is not heard", async () => {
  let reply = (/** @type {unknown} */ _) => {};
  const first = withToken(() => new Promise((resolve) => (reply = resolve)));
  const second = withToken(hello(TOKEN, 8080));
  reply(null);
  await Promise.all([first, second]);
  assert.deepEqual([FakeSocket.all.length, socket.foreign], [1, false]);
});

test("what is no event is passed over", () => {
  for (const data of ["", "{", "null", "3", '{"type":3}']) last().onmessage({ data });
  assert.deepEqual([states, events], [[], []]);
});

test("silence is a lost connection, and then what is shown is stale; a word makes it live again", () => {
  last().onmessage({ data: '{"type":"tick","now":1}' });
  mock.timers.tick(13_000);
  assert.deepEqual([states, FakeSocket.all.length], [["live", "reconnecting"], 2]);
  mock.timers.tick(10_000);
  assert.deepEqual(states.at(-1), "stale");
  last().onmessage({ data: '{"type":"tick","now":1}' });
  assert.deepEqual(states.at(-1), "live");
});

test("a lost connection is tried again, ever more seldom", () => {
  const tried = [500, 1000, 2000, 4000, 8000, 15_000, 15_000].map((wait) => {
    last().onclose({ code: 1006 });
    mock.timers.tick(wait - 1);
    const early = FakeSocket.all.length;
    mock.timers.tick(1);
    return FakeSocket.all.length - early;
  });
  assert.deepEqual(tried, [1, 1, 1, 1, 1, 1, 1]);
});

test("a wrong token is told, and not tried again", () => {
  last().onclose({ code: 4401 });
  mock.timers.tick(60_000);
  assert.deepEqual([refused, FakeSocket.all.length], [1, 1]);
});

test("what an old connection still says is not heard", () => {
  const old = last();
  last().onmessage({ data: '{"type":"tick","now":1}' });
  mock.timers.tick(13_000);
  old.onmessage({ data: '{"type":"late"}' });
  old.onclose({ code: 4401 });
  assert.deepEqual([old.closed, events.length, refused], [true, 1, 0]);
});
