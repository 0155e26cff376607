"""Repetition under the default settings: honest repetitions are never touched, dead loops are noted and ended.

A run is a function from the number of a call to the call and what came of it. It is played against a session on a clock
that stands still but for `SECONDS` a call, and what a call takes itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from effort import ALL
from tables import each_row
from toolguard_engine.effects.calls.outcomes import outcome
from toolguard_engine.effects.calls.read_only import is_read_only
from toolguard_engine.layers.repetition import certain_loops
from toolguard_engine.model.call import Call
from toolguard_engine.server import tool_hints
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.wire import messages

OWNERS = Path(__file__).parents[1] / "owner_sessions"
SAMPLE = 1 if ALL else 6
"""Each how many of their sessions is played."""

SECONDS = 4.0
"""Between two calls: what the model takes."""
CALLS = 65
RUNNING = "Command still running (session calm-reef, pid 4711)."


@dataclass(frozen=True)
class Step:
    """A call and what came of it. `before`: what happened first; `took`: seconds; `message`: which one of the model, if not
    one of its own."""

    tool: str
    params: dict[str, Any]
    text: str
    failed: bool = False
    status: str = ""
    took: float = 0.0
    before: str = ""
    run: str = "r"
    message: int = 0


Calls = Callable[[int], Step]


def command(text: str, output: str = "", **more: Any) -> Step:
    return Step("exec", {"command": text}, output, **more)


def read(path: str, text: str = "text", **more: Any) -> Step:
    return Step("read", {"path": path}, text, **more)


def same(one: Step) -> Calls:
    return lambda _: one


def turns(*several: Step | Calls) -> Calls:
    """These calls in turn."""

    def nth(n: int) -> Step:
        one = several[n % len(several)]
        return one if isinstance(one, Step) else one(n)

    return nth


def after(first: Step, then: Calls) -> Calls:
    return lambda n: first if n == 0 else then(n)


STATUS = command("git status --short", " M src/app.py")
STATE = command("cat job.state", "queued")
FETCH = Step("web_fetch", {"url": "https://ci.example/run/7"}, '{"status": 200, "text": "queued", "cached": true}')


class Player:
    """Plays calls in runs of one session. `noted`: the numbers of the calls that got a note, from 1; `ended`: of the one
    that ended the run."""

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        self._now = datetime(2026, 11, 23, tzinfo=UTC)
        self.session = Session(Setup(tool_hints.load(), lambda: self._now, 42))
        self.session.answer(messages.Hello(0, messages.VERSION, "/state", settings, gateway="gw"))
        self.noted: list[int] = []
        self.ended = 0

    def play(self, calls: Calls, most: int = CALLS) -> Player:
        for number in range(most):
            if not self.ended:
                self._one(calls(number), number + 1)
        return self

    def _one(self, came: Step, number: int) -> None:
        place = {"agent": "main", "session": "s", "run": came.run, "request": came.message or number}
        self._now += timedelta(seconds=SECONDS)
        if came.before == "person":
            self.session.answer(messages.UserMessage("and now?", agent="main", session="s"))
        elif came.before == "compaction":
            self.session.answer(messages.Compacted(agent="main", session="s", run=came.run))
        verdict = self.session.answer(messages.Judge(1, came.tool, came.params, **place))
        assert isinstance(verdict, messages.VerdictAnswer)
        assert verdict.decision == "allow", (number, verdict.code)
        self._now += timedelta(seconds=came.took)
        question = 2 if verdict.outcome == "ask" else None
        answer = self.session.answer(
            messages.ToolResult(
                came.tool, came.params, came.text, len(came.text), came.failed, came.status, id=question, **place
            )
        )
        if isinstance(answer, messages.Noted) and answer.stop:
            self.ended = number
        elif isinstance(answer, messages.Noted) and answer.note:
            self.noted.append(number)


HONEST: dict[str, Calls] = {
    # polls and watches
    "a state that changes every ninth time": lambda n: command("cat job.state", f"step {n // 9}"),
    "a clock in the result": lambda n: command("date -Is; cat job.state", f"2026-11-23T10:00:{n:02}+00:00\nqueued"),
    "a log that grows": lambda n: command("tail -n 1 build.log", f"12:00:{n:02} waiting for the worker"),
    "a sleep before each look": same(command("sleep 5 && cat job.state", "queued")),
    "a sleep behind each look": same(command("cat job.state; sleep 5", "queued")),
    "a sleep of its own between looks": turns(STATE, command("sleep 10")),
    "a waiting tool between looks": turns(STATE, Step("wait", {"seconds": 10}, "ok")),
    "half a minute between looks": same(command("cat job.state", "queued", took=30)),
    "a fetch that the server answers late": same(Step(FETCH.tool, FETCH.params, FETCH.text, took=40)),
    "process poll": same(Step("process", {"action": "poll", "sessionId": "calm-reef"}, "(no new output)")),
    "process log": same(Step("process", {"action": "log", "sessionId": "calm-reef"}, "compiling")),
    "subagents list": same(Step("subagents", {"action": "list"}, "1 running")),
    "sessions_history of another agent": same(Step("sessions_history", {"sessionKey": "agent:b:main"}, "[]")),
    "the log of a command in the background": after(
        command("make all", RUNNING, status="running"), same(command("tail -n 5 build.log", "compiling"))
    ),
    "the log of a job that the shell started": after(
        command("make all > build.log 2>&1 &"), same(command("tail -n 5 build.log", "compiling"))
    ),
    "the notes of an agent that was asked": after(
        Step("sessions_spawn", {"task": "research"}, "accepted"), same(read("research.md", "to do"))
    ),
    "curl until the server answers": same(command("curl -sf localhost:8080/health", "curl: (7) refused", failed=True)),
    "curl of an answer that stays": same(command("curl -s localhost:8080/health", "starting")),
    "gh run view": same(command("gh run view 7 --json status", '{"status":"queued"}')),
    "a heartbeat, each a run of its own": lambda n: read("HEARTBEAT.md", run=f"heartbeat-{n}"),
    "a heartbeat where runs have no names": lambda _: read("HEARTBEAT.md", run="", took=1800),
    "a person asks again and again": lambda n: read("status.md", before="person" if n % 8 == 0 else ""),
    # retries
    "a fetch that times out": same(Step(FETCH.tool, FETCH.params, "fetch failed: ETIMEDOUT", failed=True)),
    "a search between failing fetches": turns(
        Step(FETCH.tool, FETCH.params, "fetch failed: ETIMEDOUT", failed=True),
        Step("web_search", {"query": "ci.example status"}, "no incidents"),
    ),
    "a flaky test run over and over": same(command("pytest -q tests/test_flaky.py", "1 passed in 0.12s")),
    "the next item of a queue": same(command("./next-item.sh", "done")),
    "the same key again and again": same(Step("process", {"action": "send-keys", "sessionId": "p", "keys": ["Down"]}, "ok")),
    "scrolling": same(Step("browser", {"action": "act", "request": {"kind": "press", "key": "PageDown"}}, "ok")),
    "a counter that grows unseen": same(command("echo tick >> ticks.txt")),
    "switching a lamp": lambda n: Step("write", {"path": "/srv/lamp/state", "content": str(n % 2)}, "ok"),
    "a button of a device": same(Step("write", {"path": "/sys/class/gpio/gpio4/value", "content": "1"}, "ok")),
    # work
    "git status between edits": turns(
        lambda n: Step("edit", {"path": "src/app.py", "edits": [{"oldText": f"v{n}", "newText": f"v{n + 1}"}]}, "ok"), STATUS
    ),
    "git status between commits of one message": turns(STATUS, command("git commit -qam wip")),
    "edit, test, look at the same log": turns(
        lambda n: Step("edit", {"path": "a.py", "edits": [{"oldText": f"{n}", "newText": f"{n}."}]}, "ok"),
        command("pytest -q", "1 failed", failed=True),
        read("report.txt", "1 failed"),
    ),
    "pages of a file": lambda n: Step("read", {"path": "big.csv", "offset": 1 + 100 * n, "limit": 100}, "the same rows"),
    "pages of a file by sed": lambda n: command(f"sed -n {n * 100},{n * 100 + 99}p big.csv", "the same rows"),
    "many files with the same text": lambda n: read(f"shard-{n}.status", "ok"),
    "many folders that are empty": lambda n: command(f"ls -la part-{n}", "total 0"),
    "thirty files, read twice": lambda n: read(f"chapter-{n % 30}.md", f"chapter {n % 30}") if n < 60 else read(f"last-{n}"),
    "a file read between others": turns(read("spec.md"), lambda n: read(f"part-{n}.md", f"part {n}")),
    "one file searched for many words": lambda n: command(f"grep -n word{n} big.txt", ""),
    "searches with one answer": lambda n: Step("web_search", {"query": f"topic {n}"}, "no results"),
    "notes that are told while reading": turns(read("a.md"), Step("message", {"action": "send", "message": "wait"}, "ok")),
    "a few looks before each of many steps": lambda n: STATUS if n % 9 else command(f"make step-{n}", "ok"),
    "twelve known files in each message": lambda n: (
        read(f"{n % 12}.md", f"{n % 12}", message=1 + n // 12) if n < 24 else read(f"new-{n}.md")
    ),
    "files read again after compactions": lambda n: read("a.md", f"{n // 2}", before="" if n % 2 else "compaction"),
}

DEAD: dict[str, tuple[Calls, int, int]] = {
    # the note, the end
    "read": (same(read("notes.md")), 10, 30),
    "read of an empty file": (same(read("notes.md", "")), 10, 30),
    "cat": (same(STATE), 10, 30),
    "git status": (same(STATUS), 10, 30),
    "ls through a pipe": (same(command("ls -la src | head -n 40", "app.py")), 10, 30),
    "echo": (same(command("echo done", "done")), 10, 30),
    "web_fetch": (same(FETCH), 10, 30),
    "web_search": (same(Step("web_search", {"query": "toolguard"}, "1. toolguard")), 10, 30),
    "the same file written again": (same(Step("write", {"path": "a.md", "content": "x"}, "ok")), 10, 30),
    "written and read": (turns(Step("write", {"path": "a.md", "content": "x"}, "ok"), read("a.md", "x")), 10, 30),
    "two files in turn": (turns(read("a.md", "a"), read("b.md", "b")), 10, 30),
    "two tools in turn": (turns(read("a.md", "a"), command("cat a.md", "a")), 10, 30),
    "three calls in turn": (turns(read("a.md"), STATUS, command("ls", "a.md")), 10, 30),
    "five calls in turn": (turns(*[read(f"{n}.md", f"{n}") for n in range(5)]), 15, 35),
    "ten calls in turn": (turns(*[read(f"{n}.md", f"{n}") for n in range(10)]), 30, 50),
    "another comment each time": (lambda n: command(f"cat job.state # attempt number {n}", "queued"), 10, 30),
    "other spaces each time": (lambda n: command(f"cat {' ' * n}job.state", "queued"), 10, 30),
    "more that does nothing each time": (lambda n: command("true; " * n + "cat job.state", "queued"), 10, 30),
    "more that does nothing behind it": (lambda n: command("cat job.state" + " || true" * n, "queued"), 10, 30),
    "another spelling each time": (lambda n: command("cat " + "./" * n + "''" * n + "job.state", "queued"), 10, 30),
    "another spelling of a path each time": (lambda n: read("src/" + "./" * n + "app.py"), 10, 30),
    "another explanation each time": (
        lambda n: Step("exec", {"command": "cat job.state", "description": f"look {n}"}, "queued"), 10, 30
    ),
    "another time limit each time": (lambda n: Step("exec", {"command": "ls", "timeout": 10 + n}, "a.md"), 10, 30),
    "a counted attempt each time": (lambda n: Step("read", {"path": "a.md", "attempt": n}, "text"), 10, 30),
    "after work": (lambda n: command(f"make step-{n}", "ok") if n < 20 else STATUS, 30, 50),
    "after a wait": (lambda n: command("sleep 60") if n == 0 else STATE, 11, 31),
    "two in each message": (lambda n: read("ab"[n % 2], "ab"[n % 2], message=1 + n // 2), 10, 30),
}  # fmt: skip


@each_row("name", HONEST)
def test_an_honest_repetition_is_never_touched(name: str) -> None:
    played = Player().play(HONEST[name])
    assert (played.noted, played.ended) == ([], 0)


@each_row("name", DEAD)
def test_a_dead_loop_is_noted_and_ended(name: str) -> None:
    calls, note, end = DEAD[name]
    played = Player().play(calls)
    assert (played.noted, played.ended) == ([note], end)


def test_it_can_be_switched_off_and_moved() -> None:
    off = Player({"loopDetection": {"enabled": False}}).play(same(STATE))
    assert (off.noted, off.ended) == ([], 0)
    thresholds = {"warningThreshold": 4, "criticalThreshold": 5, "globalCircuitBreakerThreshold": 6}
    moved = Player({"loopDetection": thresholds}).play(same(STATE))
    assert (moved.noted, moved.ended) == ([4], 6)
    exempt = Player({"neverBlock": ["exec"]}).play(same(STATE))
    assert (exempt.noted, exempt.ended) == ([], 0)


def test_an_exempt_call_may_change_something() -> None:
    deploy = Step("deploy", {}, "ok")
    assert Player({"neverBlock": ["deploy"]}).play(turns(STATE, deploy)).ended == 0
    assert Player({"neverBlock": ["memory_search"]}).play(turns(STATE, Step("memory_search", {"query": "x"}, "1"))).ended


def test_what_a_note_tells() -> None:
    played = Player()
    played.play(same(STATE), 9)
    place = {"agent": "main", "session": "s", "run": "r", "request": 10}
    verdict = played.session.answer(messages.Judge(1, "exec", STATE.params, **place))
    assert isinstance(verdict, messages.VerdictAnswer)
    answer = played.session.answer(messages.ToolResult("exec", STATE.params, "queued", 6, id=2, **place))
    assert isinstance(answer, messages.Noted)
    assert answer.note == (
        '[TOOLGUARD NOTE] 10 calls in a row, the newest exec({ command: "cat job.state" }), changed nothing and returned '
        "the same results. After 30 such calls this turn ends. If something has to happen first, wait between the "
        "calls. Use what you already know, try another way, or tell the user what is missing."
    )


LONG = 700
"""Calls: more than twice as many as end a sequence."""


def steps(many: int, result: Callable[[int], str] = lambda _: "ok") -> Calls:
    """So many commands in turn, of which nothing is known."""
    return lambda n: command(f"make step-{n % many}", f"{n % many} {result(n)}")


def looks(many: int, result: Callable[[int], str] = lambda _: "") -> Calls:
    """So many files in turn."""
    return lambda n: command(f"cat {n % many}.md", f"{n % many}{result(n)}")


MISSING = command("test -d nowhere", "", failed=True)
UNSURE = {"loopDetection": {"enabled": True}}
DEAD_SEQUENCES: dict[str, tuple[Calls, int, int, dict[str, Any]]] = {
    # the note, the end, and the settings; certain loops are found earlier, but not in as many different calls
    "forty files": (looks(40), 40 + 200, 40 + 400, {}),
    "ninety files": (looks(90), 90 + 450, 90 + 900, {}),
    "files and a failure in turn": (turns(read("a.md"), MISSING), 152, 302, {}),
    "what tells how long it took": (
        looks(30, lambda n: f" in {n / 100:.2f}s"), 180, 330, {}
    ),
    "beside a server that was started": (
        after(command("npm run dev &"), lambda n: looks(40)(n - 1)), 1 + 40 + 200, 1 + 40 + 400, {}
    ),
    "with a failure that lasts": (turns(*(looks(29)(n) for n in range(29)), MISSING), 180, 330, {}),
    "commands that may do something": (steps(40), 40 + 200, 40 + 400, UNSURE),
}  # fmt: skip


def key(name: str) -> Step:
    return Step("browser", {"action": "act", "request": {"kind": "press", "key": name}}, '{"ok": true}')


HONEST_SEQUENCES: dict[str, Calls] = {
    "a queue and its report": turns(command("./next-item.sh", "done"), command("./report.sh", "ok")),
    "a queue that is looked at": turns(command("./next-item.sh", "done"), read("notes.md")),
    "a queue whose items may be refused": turns(command("./next-item.sh", "done"), MISSING),
    "commits of what a script does": turns(command("./transform-next.sh"), command("git commit -qam wip")),
    "keys in a browser": turns(key("ArrowDown"), key("Enter")),
    "a test from a clean tree": turns(command("git checkout -q ."), command("pytest -q", "1 passed in 0.12s")),
    "many commands that may do something": steps(30),
    "one command": same(command("./next-item.sh", "done")),
    "one test": same(command("pytest -q tests/test_flaky.py", "1 passed in 0.12s")),
    "a build that is polled": turns(command("gh run view 7", "queued"), command("sleep 5")),
    "polls with half a minute between": turns(
        command("gh run view 7", "queued"), command("gh run view 8", "queued", took=30)
    ),
    "polls of two processes": turns(*(Step("process", {"action": "poll", "sessionId": each}, "") for each in ("a", "b"))),
    "a server that does not answer yet": turns(
        command("curl -sf localhost:8080", "curl: (7) Failed to connect: Connection refused", failed=True), STATE
    ),
    "logs of a command in the background": after(
        command("make all", RUNNING, status="running"),
        turns(command("tail -n 5 build.log", "compiling"), command("curl -s localhost:8080", "starting")),
    ),
    "retries with new results": turns(command("make check", "ok"), lambda n: command("cat job.state", f"step {n // 100}")),
    "steps of a queue": turns(lambda n: command(f"./convert.sh {n}", "done"), command("./report.sh", "ok")),
    "an edit in each round": turns(
        lambda n: Step("edit", {"path": "a.py", "edits": [{"oldText": f"{n}", "newText": f"{n}."}]}, "ok"),
        *(steps(9)(n) for n in range(9)),
    ),
    "a person asks for it": lambda n: command(f"make step-{n % 3}", "ok", before="" if n % 99 else "person"),
    "more calls than are remembered": steps(150),
}


@each_row(("calls", "note", "end", "settings"), list(DEAD_SEQUENCES.values()), ids=list(DEAD_SEQUENCES))
def test_a_sequence_that_brings_nothing_new_ends(calls: Calls, note: int, end: int, settings: dict[str, Any]) -> None:
    player = Player(settings).play(calls, 1_200)
    assert (player.noted[-1:], player.ended) == ([note], end)


@each_row("calls", list(HONEST_SEQUENCES.values()), ids=list(HONEST_SEQUENCES))
def test_honest_work_in_rounds_is_never_touched(calls: Calls) -> None:
    player = Player().play(calls, LONG)
    assert (player.noted, player.ended) == ([], 0)


def is_allowed(one: Step) -> bool:
    verdict = Player().session.answer(messages.Judge(1, one.tool, one.params, agent="main", session="s", run="r"))
    return isinstance(verdict, messages.VerdictAnswer) and verdict.decision == "allow"


def acts() -> list[list[Step]]:
    """What honest owners had done that may change something, from each session."""
    sessions: dict[str, list[Step]] = {}
    for row in map(json.loads, (OWNERS / "read.jsonl").read_text(encoding="utf-8").splitlines()):
        one = Step(row["tool"], row["params"], row.get("result", ""))
        if row["label"] == "run" and not is_read_only(one.tool, one.params) and is_allowed(one):
            sessions.setdefault(row["session"], []).append(one)
    return [steps for steps in sessions.values() if len(steps) > 1]


def test_what_honest_owners_have_done_may_be_done_in_rounds() -> None:
    """The first two acts of each session in turn, as for each item of a queue."""
    players = {f"{pair}": Player().play(turns(*pair), 320) for pair in (each[:2] for each in acts()[::SAMPLE])}
    assert len(players) > 5
    assert [pair for pair, player in players.items() if player.noted or player.ended] == []


@each_row(
    ("settings", "end"),
    [({"sequenceThreshold": 0}, 0), ({"sequenceThreshold": 500}, 540), ({"enabled": False}, 0)],
)
def test_how_long_a_sequence_may_go_on_can_be_set(settings: dict[str, Any], end: int) -> None:
    assert Player({"loopDetection": settings}).play(looks(40), LONG).ended == end


def test_what_one_message_does_twice_counts_once() -> None:
    """Each message has fifteen calls, each twice: those of the first are new, and twenty others have 300."""

    def nth(n: int) -> Step:
        at = n % 15
        return command(f"cat {at}.md", f"{at} in {n / 100:.2f}s", message=1 + n // 30)

    assert Player().play(nth, 1_200).ended == 20 * 30 + 15


@each_row(
    ("tool", "command", "goes_on"),
    [
        ("exec", "npm start &", True),
        ("exec", "npm start", False),
        ("exec", "a && b", False),
        ("note", "npm start &", False),
        ("read", "npm start &", False),
    ],
)
def test_only_a_command_goes_on_in_the_background(tool: str, command: str, *, goes_on: bool) -> None:
    params = {"command": command}
    ended = outcome(tool, params, "done", 0, "", None, failed=False)
    assert certain_loops.goes_on(Call(tool, params), ended) is goes_on
