import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Runs } from "../../plugin/gateway/runs.mjs";

test("a run is made once, and later facts fill what was empty", () => {
  const runs = new Runs();
  const run = runs.get("r1");
  assert.equal(runs.get("r1", "s1", "main"), run);
  assert.equal(runs.get("r1", "s2", "other"), run);
  assert.equal(runs.known("r1"), run);
  assert.deepEqual([run.id, run.session, run.agent, run.watch, run.stop], ["r1", "s1", "main", false, ""]);
});

test("a run that nobody named is not known", () => {
  const runs = new Runs();
  assert.equal(runs.known("r1"), undefined);
  assert.equal(runs.ofSession("s1"), undefined);
  assert.equal(runs.ofSession(undefined), undefined);
  assert.equal(runs.end("r1"), undefined);
});

test("a session is in its newest run", () => {
  const runs = new Runs();
  runs.get("r1", "s1");
  runs.get("r2", "s1");
  runs.get("r3", "s2");
  assert.equal(runs.ofSession("s1")?.id, "r2");
  assert.equal(runs.ofSession("s2")?.id, "r3");
});

test("the end of an older run leaves the session in its newer one", () => {
  const runs = new Runs();
  runs.get("r1", "s1");
  runs.get("r2", "s1");
  assert.equal(runs.end("r1")?.id, "r1");
  assert.equal(runs.ofSession("s1")?.id, "r2");
  runs.end("r2");
  assert.equal(runs.ofSession("s1"), undefined);
});

test("what is known of a call grows; undefined takes nothing away", () => {
  const runs = new Runs();
  runs.call("s", "c1", { tool: "read", run: "r1" });
  runs.call("s", "c1", { tool: undefined, params: { path: "a" }, judged: true });
  assert.deepEqual(runs.knownCall("s", "c1"), {
    tool: "read", params: { path: "a" }, run: "r1", agent: "", session: "s", judged: true,
  });
  assert.equal(runs.knownCall("another session", "c1"), undefined, "ids belong to a session");
  runs.forgetCall("s", "c1");
  assert.equal(runs.knownCall("s", "c1"), undefined);
});

test("a run takes its calls along, and no others", () => {
  const runs = new Runs();
  runs.get("r1", "s1");
  runs.call("s", "c1", { run: "r1" });
  runs.call("s", "c2", { run: "r2" });
  runs.end("r1");
  assert.equal(runs.known("r1"), undefined);
  assert.equal(runs.knownCall("s", "c1"), undefined);
  assert.equal(runs.knownCall("s", "c2")?.run, "r2");
});

test("only so many runs, sessions and calls are remembered: the oldest go", () => {
  const runs = new Runs();
  for (let n = 0; n <= 1_000; n++) runs.get(`r${n}`, `s${n}`);
  assert.equal(runs.known("r0"), undefined);
  assert.equal(runs.ofSession("s0"), undefined);
  assert.equal(runs.ofSession("s1")?.id, "r1");
  assert.equal(runs.ofSession("s1000")?.id, "r1000");
  for (let n = 0; n <= 5_000; n++) runs.call("s", `c${n}`, { run: "r1" });
  assert.equal(runs.knownCall("s", "c0"), undefined);
  assert.equal(runs.knownCall("s", "c1")?.run, "r1");
});

describe("how a run was stopped", () => {
  /** Runs of session s, by id, with the words that stopped them. @param {Record<string, string>} stops */
  function stopped(stops) {
    const runs = new Runs();
    for (const [id, stop] of Object.entries(stops)) runs.get(id, "s").stop = stop;
    return runs;
  }

  /** @type {[string, Record<string, string>, string[], [string | undefined, string | undefined, string][]][]} */
  const rows = [
    [
      "a run under way",
      { r1: "one" }, [], [["s", "r1", "one"], ["s", undefined, "one"], ["t", undefined, ""], ["t", "r1", "one"]],
    ],
    ["a run that was not stopped", { r1: "" }, [], [["s", "r1", ""], ["s", undefined, ""]]],
    ["nobody", {}, [], [["s", "r1", ""], ["s", undefined, ""], [undefined, undefined, ""]]],
    [
      "after its end",
      { r1: "one" }, ["r1"], [["s", "r1", "one"], ["s", undefined, "one"], ["s", "r9", ""], ["t", "r1", ""], [undefined, undefined, ""]],
    ],
    [
      "while the next one is under way",
      { r1: "one", r2: "" }, ["r1"], [["s", "r1", "one"], ["s", "r2", ""], ["s", undefined, ""]],
    ],
    [
      "while the next one is stopped, too",
      { r1: "one", r2: "two" }, ["r1"], [["s", "r1", "one"], ["s", "r2", "two"], ["s", undefined, "two"]],
    ],
    [
      "after the end of the next one",
      { r1: "one", r2: "" }, ["r1", "r2"], [["s", "r1", ""], ["s", "r2", ""], ["s", undefined, ""]],
    ],
    [
      "after the end of both",
      { r1: "one", r2: "two" }, ["r1", "r2"], [["s", "r1", ""], ["s", "r2", "two"], ["s", undefined, "two"]],
    ],
  ];
  for (const [what, stops, ended, expected] of rows)
    test(what, () => {
      const runs = stopped(stops);
      for (const id of ended) runs.end(id);
      for (const [session, id, text] of expected) assert.equal(runs.stopOf(session, id).stop, text, `${session} ${id}`);
    });

  test("only so many are remembered: the oldest go", () => {
    const runs = new Runs();
    for (let n = 0; n <= 1_000; n++) {
      Object.assign(runs.get(`r${n}`, `s${n}`), { stop: "x", waiting: ["0a1b2c3d"] });
      runs.end(`r${n}`);
    }
    const found = [runs.stopOf("s0", "r0"), runs.stopOf("s1", "r1"), runs.stopOf("s1000", undefined)];
    assert.deepEqual(found.map(({ stop }) => stop), ["", "x", "x"]);
    assert.deepEqual(found.map(({ waiting }) => waiting), [[], ["0a1b2c3d"], ["0a1b2c3d"]]);
  });
});

test("the ids of a session's calls that fit", () => {
  const runs = new Runs();
  for (const [session, id] of [["s", "a|1"], ["s", "a|2"], ["s", '"b"'], ["t", "a|3"], [undefined, "a|4"]])
    runs.call(session, id ?? "", {});
  assert.deepEqual(runs.callIds("s", () => true), ["a|1", "a|2", '"b"']);
  assert.deepEqual(runs.callIds("s", (id) => id.endsWith("2")), ["a|2"]);
  assert.deepEqual(runs.callIds(undefined, () => true), ["a|4"]);
  assert.deepEqual(runs.callIds("u", () => true), []);
});
