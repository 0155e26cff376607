import assert from "node:assert/strict";
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
  location: { protocol: "http:", host: "127.0.0.1:1" },
  sessionStorage: { getItem: (/** @type {string} */ key) => kept.get(key) ?? null },
  addEventListener: () => {},
});
mock.method(Math, "random", () => 0.5); // no jitter
const { Socket } = await import("../../cli/toolguard_cli/dashboard/static/socket.js");

/** @type {string[]} */ let states;
/** @type {any[]} */ let events;
let refused = 0;
const last = () => /** @type {FakeSocket} */ (FakeSocket.all.at(-1));

beforeEach(() => {
  mock.timers.reset(); // also what the one before had still to do
  mock.timers.enable({ apis: ["Date", "setInterval", "setTimeout"] });
  FakeSocket.all = [];
  [states, events, refused] = [[], [], 0];
  new Socket(
    (event) => events.push(event),
    (state) => states.push(state),
    () => (refused += 1),
  ).connect();
});

test("the token is the first word, and what comes is handed on", () => {
  kept.set("toolguard.token", "secret");
  last().onopen();
  kept.clear();
  last().onmessage({ data: '{"type":"hello","now":1}' });
  assert.deepEqual([last().url, last().sent], ["ws://127.0.0.1:1/ws", ['{"token":"secret"}']]);
  assert.deepEqual([states, events], [["live"], [{ type: "hello", now: 1 }]]);
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
