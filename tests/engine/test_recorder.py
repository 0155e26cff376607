"""The engine as a process that records: what comes out of one that ends, is killed, or finds the file in somebody's hands."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.stores import audit

PATIENCE = 30
"""Seconds until a test fails that waits in vain."""

REMOVAL = {"command": "rm -rf /srv/data"}


class Engine:
    """One engine of one gateway; all of them write into one file."""

    def __init__(self, home: Path, name: str = "gw", **metrics: Any) -> None:
        self.home, self.name, self.state = home, name, home / f"state-{name}"
        self.metrics = {"enabled": True, "dbPath": str(home / "metrics.db"), **metrics}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "toolguard_engine"],
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
            self.said.append(answer.get("text", ""))

    def held(self, run: str) -> dict[str, Any]:
        """A call that is held: a line of the audit log."""
        return self.ask(type="judge", tool="exec", params={"command": f"rm -rf /srv/{run}"}, run=run, agent="a", session="s")

    def end(self) -> None:
        self.into.close()
        for line in self.out:
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
    return [event["event"] for event in audit.AuditLog(engine.state).events()]


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
