"""The engine as a process that records: one that ends, one that is killed, one that finds the file in somebody's hands."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine_talk import ENGINE, WORKING, Talk
from toolguard_engine.config.settings import MetricsConfig
from toolguard_engine.metrics import recorder
from toolguard_engine.metrics.queries.decision_totals import SAVED_PER_LOOP, guard
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.writer import AFTER_TROUBLE, EVERY
from toolguard_engine.stores.files import audit_log_file as audit_log

PATIENCE = 120
"""Seconds until a test fails that waits in vain."""

REMOVAL = {"command": "rm -rf /srv/data"}


class Engine:
    """One engine of one gateway; all of them write into one file."""

    def __init__(self, home: Path, name: str = "gw", **metrics: Any) -> None:
        self.home, self.name, self.state = home, name, home / f"state-{name}"
        self.metrics = {"enabled": True, "dbPath": str(home / "metrics.db"), **metrics}
        self.process = subprocess.Popen(
            ENGINE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "HOME": str(home), "PYTHONDEVMODE": "0"},
        )
        assert self.process.stdin
        assert self.process.stdout
        self.into, self.out = self.process.stdin, self.process.stdout
        self.said: list[str] = []
        self.count = 0

    def begin(self, **config: Any) -> Engine:
        hello = {"v": 1, "stateDir": str(self.state), "gateway": self.name, "gatewayPid": os.getpid(), "host": "2026.9.6"}
        self.ask(type="hello", config={"metrics": self.metrics, **config}, **hello)
        return self

    def tell(self, **message: Any) -> None:
        self.into.write(json.dumps(message).encode() + b"\n")
        self.into.flush()

    def ask(self, **message: Any) -> dict[str, Any]:
        self.count += 1
        self.tell(id=self.count, **message)
        while True:
            line = self.out.readline()
            assert line, "the engine ended"
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self.count:
                return answer
            if answer["type"] != "working":
                self.said.append(answer.get("text", ""))

    def held(self, run: str) -> dict[str, Any]:
        """A call that is held: a line of the audit log."""
        return self.ask(type="judge", tool="exec", params={"command": f"rm -rf /srv/{run}"}, run=run, agent="a", session="s")

    def model_call(self, number: int, *, answer: bool = True) -> None:
        """What the gateway tells of one model call of this many tokens."""
        place = {"agent": "a", "session": "agent:a:s", "run": f"r{number}", "provider": "p", "model": "m"}
        self.tell(type="model-ended", durationMs=5, outcome="completed", **place)
        if answer:
            self.tell(type="answered", usage={"input": number, "totalTokens": number, "cost": 0.5}, stop="stop", **place)

    def end(self) -> None:
        self.into.close()
        for line in self.out:
            if line.strip() != WORKING.strip():
                self.said.append(json.loads(line).get("text", ""))
        assert self.process.wait(PATIENCE) == 0

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Any]:
    made: list[Engine] = []

    def make(name: str = "gw", **metrics: Any) -> Engine:
        made.append(Engine(tmp_path, name, **metrics))
        return made[-1]

    yield make
    for engine in made:
        engine.process.kill()
        engine.process.wait(PATIENCE)
        with suppress(BrokenPipeError):
            engine.into.close()
        engine.out.close()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "metrics.db"


def rows(db: Path, what: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        return connection.execute(what).fetchall()


def wait_for(db: Path, what: str, wanted: int) -> None:
    """Until the file says so."""
    until = time.monotonic() + PATIENCE
    while True:
        with suppress(sqlite3.OperationalError):
            if rows(db, what) == [(wanted,)]:
                return
        assert time.monotonic() < until, f"{what} is never {wanted}"
        time.sleep(0.02)


def events(engine: Engine) -> list[str]:
    return [event["event"] for event in audit_log.AuditLog(engine.state).events()]


def test_where_it_is_not_wanted_nothing_is_made(engines: Any, db: Path) -> None:
    engine = engines(enabled=False).begin()
    assert engine.held("one")["decision"] == "hold"
    engine.end()
    assert not db.exists()


def test_what_was_held_is_in_the_file(engines: Any, db: Path) -> None:
    engine = engines().begin()
    engine.held("one")
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'", 1)
    engine.end()
    assert engine.said == []
    columns = "gateway, agent, session, tool, decision, kind, shown"
    assert rows(db, f"SELECT {columns} FROM toolguard_verdicts WHERE kind = 'hold'") == [  # noqa: S608
        ("gw", "a", "s", "exec", "hold", "hold", 'exec({ command: "rm -rf /srv/one" })')
    ]
    assert rows(db, "SELECT id, state_dir, host, mode FROM toolguard_gateways") == [
        ("gw", str(engine.state), "2026.9.6", "enforce")
    ]


@pytest.mark.thorough
def test_engines_of_two_gateways_lose_no_row(engines: Any, db: Path) -> None:
    """Three engines at once, two of them of one gateway: every call is refused, and so a line of the audit log."""
    trio = [engines(name).begin() for name in ("one", "two", "two")]
    for engine in trio:
        assert engine.ask(type="decide", action="kill-switch", nonce="on", by="ann", where="chat")["ok"]
    for number in range(100):
        for which, engine in enumerate(trio):
            engine.tell(id=number, type="judge", tool="exec", params={"command": f"{which}-{number}"}, run=str(number))
    for engine in trio:
        engine.end()
        assert [text for text in engine.said if "kill switch" not in text] == []
    for sums in ("toolguard_verdicts", "toolguard_verdict_hours", "toolguard_verdict_days"):
        counted = "count(*)" if sums == "toolguard_verdicts" else "sum(verdicts)"
        what = f"SELECT gateway, {counted} FROM {sums} WHERE kind = 'block' GROUP BY 1"  # noqa: S608
        assert rows(db, what) == [("one", 100), ("two", 200)]


@pytest.mark.thorough
def test_model_calls_of_two_gateways_are_all_there(engines: Any, db: Path) -> None:
    pair = [engines(name).begin() for name in ("one", "two")]
    for number in range(1, 1_001):
        for engine in pair:
            engine.model_call(number)
    for engine in pair:
        engine.end()
    for what in (
        "count(*), sum(total), sum(cost_usd), min(gateway) FROM toolguard_calls",
        "sum(calls), sum(total), sum(cost_usd), min(gateway) FROM toolguard_days",
    ):
        assert rows(db, f"SELECT {what} GROUP BY gateway") == [
            (1_000, 500_500, 500.0, "one"),
            (1_000, 500_500, 500.0, "two"),
        ]


def test_what_was_in_the_file_outlives_a_kill(engines: Any, db: Path) -> None:
    engine = engines().begin()
    for number in range(1, 51):
        engine.model_call(number)
        assert engine.ask(type="judge", tool="read", params={"path": "a"}, run=str(number))["decision"] == "allow"
    wait_for(db, "SELECT count(*) FROM toolguard_calls", 50)
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'allow'", 50)
    engine.kill()
    assert rows(db, "SELECT sum(calls), sum(total) FROM toolguard_sessions") == [(50, 1_275)]
    assert rows(db, "SELECT sum(verdicts) FROM toolguard_verdict_hours WHERE kind = 'allow'") == [(50,)]


def test_a_loop_that_was_broken_is_counted_once(engines: Any, db: Path) -> None:
    """As the gateway plays it: a refusal is corrected, and each message behind it is asked about before its calls run."""
    engine = engines().begin()
    place = {"run": "r", "agent": "a", "session": "s"}
    text = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
    stopped = [False]
    for request in range(1, 6):
        engine.ask(type="failed", tool="read", params={}, text=text, request=request, **place)
        asked = engine.ask(type="message", calls=[{"tool": "read", "params": {}, "call": "c"}], **place)
        stopped.append(bool(asked.get("stop")))
    engine.end()
    assert stopped == [False, False, True, True, True, True]
    with closing(sqlite3.connect(db)) as connection:
        totals = guard(connection, "24h", round(time.time() * 1000)).totals
    assert (totals.loops, totals.stopped, totals.requests_saved) == (1, 1, SAVED_PER_LOOP)


@pytest.mark.thorough
def test_half_of_what_there_is_to_say_is_written_in_the_end(engines: Any, db: Path) -> None:
    engine = engines().begin()
    engine.model_call(7, answer=False)
    engine.end()
    assert rows(db, "SELECT duration_ms, total, outcome FROM toolguard_calls") == [(5, 0, "completed")]


@pytest.mark.thorough
def test_and_when_nothing_more_is_said(engines: Any, db: Path) -> None:
    engine = engines().begin()
    engine.model_call(7, answer=False)
    wait_for(db, "SELECT count(*) FROM toolguard_calls", 1)
    engine.end()


def test_a_killed_engine_loses_no_verdict(engines: Any, db: Path) -> None:
    """What was in the file stays, and what was in the log only, the next engine takes: each once."""
    first = engines().begin()
    first.held("before")
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'", 1)
    for number in range(20):
        first.held(str(number))
    first.ask(type="ping")  # the lines of a call are written after its answer, and before the next is read
    first.kill()
    second = engines().begin()
    second.held("after")
    second.end()
    assert events(second).count("hold") == 22
    assert rows(db, "SELECT count(*), count(DISTINCT nonce) FROM toolguard_verdicts WHERE kind = 'hold'") == [(22, 22)]
    assert rows(db, "SELECT sum(verdicts) FROM toolguard_verdict_days WHERE kind = 'hold'") == [(22,)]


def test_when_the_gateway_is_killed_the_engine_writes_what_it_was_told(engines: Any, db: Path) -> None:
    """How many of the questions behind the first it still reads depends on when it sees the end of its pipes."""
    engine = engines().begin()
    engine.held("before")
    for number in range(10):
        engine.tell(id=number, type="judge", tool="exec", params={"command": f"rm -rf /srv/{number}"}, run="r")
    engine.into.close()
    engine.out.close()
    engine.process.wait(PATIENCE)
    counted = rows(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'")
    assert counted == [(events(engine).count("hold"),)]
    assert counted > [(0,)]


@pytest.mark.thorough
def test_what_others_decide_comes_too(engines: Any, db: Path) -> None:
    engine = engines().begin()
    engine.held("one")
    line = audit_log.AuditEvent("by-hand", audit_log.when(time.time()), "kill-switch", by="ann", where="cli", why="enough")
    audit_log.AuditLog(engine.state).append([line])
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'kill-switch'", 1)
    assert rows(db, "SELECT gateway, person, place, reason FROM toolguard_verdicts WHERE kind = 'kill-switch'") == [
        ("gw", "ann", "cli", "enough")
    ]
    engine.end()


@pytest.mark.thorough
def test_no_verdict_waits_for_the_file(engines: Any, db: Path) -> None:
    """Another process holds it for longer than the whole conversation: it is let go only when all answers are there."""
    engine = engines().begin()
    wait_for(db, "SELECT count(*) FROM toolguard_gateways", 1)
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(30):
            assert engine.held(str(number))["decision"] == "hold"
        other.execute("ROLLBACK")
    engine.end()
    assert rows(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'") == [(30,)]
    assert engine.said == []


def test_an_engine_ends_although_the_file_is_held(engines: Any, db: Path) -> None:
    engine = engines().begin()
    wait_for(db, "SELECT count(*) FROM toolguard_gateways", 1)
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        engine.held("one")
        engine.end()
    again = engines().begin()
    again.end()
    assert rows(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'") == [(1,)]


@pytest.mark.thorough
def test_what_could_not_be_written_in_the_end_is_told(engines: Any, db: Path) -> None:
    engine = engines().begin()
    wait_for(db, "SELECT count(*) FROM toolguard_gateways", 1)
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(3):
            engine.model_call(number)
        engine.end()
    assert engine.said == ["metrics: the engine ended before the last 3 rows could be written"]


def noise(db: Path) -> None:
    db.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)


def foreign(db: Path) -> None:
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("CREATE TABLE moz_places (url TEXT)")


def folder(db: Path) -> None:
    db.mkdir()


def newer(db: Path) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE toolguard_schema (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
        connection.execute("INSERT INTO toolguard_schema VALUES (99, 0)")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (noise, "is not a SQLite database; move it away"),
        pytest.param(foreign, "holds the tables of another program", marks=pytest.mark.thorough),
        pytest.param(folder, "is not a file; name another one in metrics.dbPath", marks=pytest.mark.thorough),
        (newer, "was written by a newer toolguard"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_once(engines: Any, db: Path, make: Any, reason: str) -> None:
    make(db)
    engine = engines().begin()
    until = time.monotonic() + PATIENCE
    while not engine.said:  # each answer brings what was said before it
        assert engine.ask(type="ping")["type"] == "pong"
        assert time.monotonic() < until
        time.sleep(0.02)
    for number in range(20):
        assert engine.held(str(number))["decision"] == "hold"
    engine.end()
    assert len(engine.said) == 1
    assert engine.said[0].startswith(f"metrics: '{db}' ")
    assert reason in engine.said[0]


def test_a_file_that_is_taken_away_is_made_again(engines: Any, db: Path) -> None:
    engine = engines().begin()
    engine.held("one")
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'", 1)
    for file in (db, Path(f"{db}-wal"), Path(f"{db}-shm")):
        file.unlink(missing_ok=True)
    engine.held("two")
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'", 2)
    engine.end()
    assert engine.said == []


def test_a_second_hello_takes_the_new_settings(engines: Any, db: Path) -> None:
    engine = engines().begin()
    engine.held("one")
    engine.metrics["enabled"] = False
    engine.begin()
    engine.held("two")
    engine.end()
    assert rows(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'") == [(1,)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of a running process")
def test_a_full_disk_costs_no_row(engines: Any, db: Path) -> None:
    """What could not be written is written when there is room again."""
    engine = engines().begin()
    engine.held("one")
    wait_for(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'", 1)
    before = resource.prlimit(engine.process.pid, resource.RLIMIT_FSIZE)
    full = Path(f"{db}-wal").stat().st_size
    resource.prlimit(engine.process.pid, resource.RLIMIT_FSIZE, (full, before[1]))
    until = time.monotonic() + PATIENCE
    asked = 1
    while not engine.said:
        assert engine.ask(type="ping")["type"] == "pong"
        assert time.monotonic() < until
        if asked < 10:
            assert engine.held(str(asked))["decision"] == "hold"
            asked += 1
    resource.prlimit(engine.process.pid, resource.RLIMIT_FSIZE, before)
    engine.end()
    assert len(engine.said) == 1
    assert engine.said[0].startswith(f"metrics: '{db}' cannot")
    assert rows(db, "SELECT count(*) FROM toolguard_verdicts WHERE kind = 'hold'") == [(asked,)]


def test_between_two_pieces_a_verdict_gets_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float | None] = []
    rounds = iter([0, 0, EVERY])

    class Ending(Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout)
            return False

        def is_set(self) -> bool:
            return len(pauses) > 3

    monkeypatch.setattr(recorder, "Event", Ending)
    monkeypatch.setattr(recorder.Writer, "round", lambda *_: next(rounds, AFTER_TROUBLE))
    before = sys.getswitchinterval()
    try:
        made = recorder.Recorder(tmp_path / "m.db", GatewayFacts(*[""] * 7, 1), MetricsConfig(), lambda call: call)
        made.close(PATIENCE)
        assert sys.getswitchinterval() == pytest.approx(recorder.TURN)
    finally:
        sys.setswitchinterval(before)
    assert pauses == [recorder.BREATH, recorder.BREATH, recorder.BREATH, EVERY]


@pytest.mark.parametrize("broken", ["Recorder.__init__", "Recorder.add", "Writer.round"])
def test_a_fault_of_ours_is_told_and_keeps_nothing_else(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("secret")

    place = "recorder" if broken.startswith("Recorder") else "writer"
    monkeypatch.setattr(f"toolguard_engine.metrics.{place}.{broken}", fail)
    talk.hello(tmp_path, {"metrics": {"enabled": True, "dbPath": str(tmp_path / "metrics.db")}})
    talk.send(type="judge", id=2, tool="read", params={"path": "a"}, run="r")
    talk.send(type="ping", id=3)
    answers = talk.said() + talk.end()
    assert talk.engine.session.outbox.take_verdicts() == []  # what nobody takes is not kept
    assert [answer["type"] for answer in answers if answer["type"] != "log"] == ["verdict", "pong"]
    reported = [answer["text"] for answer in answers if answer["type"] == "log"]
    lost = ["metrics: the engine ended before the last 1 rows could be written"] if broken == "Writer.round" else []
    assert reported[1:] == lost
    assert "ZeroDivisionError in test_recorder.py" in reported[0]
    assert "secret" not in reported[0]
