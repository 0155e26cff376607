"""A machine with two gateways that record and one that does not, and a real dashboard over it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_stage import dashboard_thread
from held_stage import hold

import metrics_seed
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.host import metrics_path
from toolguard_engine.stores.files.nonces import FileNonces

LIMIT = 120
"""Seconds until something counts as never coming."""
NAMES = metrics_seed.GATEWAYS
OWN = "gateway"
"""What the one that does not record is called."""


@dataclass(frozen=True)
class Machine:
    home: Path
    db: Path

    def places(self, name: str) -> Places:
        state = self.home / f"state-{name}"
        return Places(state, state / "openclaw.json")

    def book(self, name: str) -> FileNonces:
        places = self.places(name)
        return FileNonces(places.state_dir, None if name == OWN else places.state_dir / "pending.json")

    def hold(self, name: str = NAMES[0], **changes: Any) -> HeldCall:
        """A call that waits now."""
        return hold(self.places(name), book=self.book(name), **changes)

    def status(self, nonce: str, name: str = NAMES[0]) -> str:
        return next(entry.status for entry in self.book(name).entries() if entry.nonce == nonce)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Why it was refused."""
        return str(self.value["error"]["code"])


@dataclass
class Served:
    """A running server. `url`: as it says itself."""

    machine: Machine
    url: str
    port: int
    token: str

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, *, token: str | None = None, **headers: str
    ) -> Answer:
        """One request. Headers with `_` for `-`. An empty token means none."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            named["authorization"] = f"Bearer {token}"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)) as connection:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def get(self, path: str) -> Any:
        answer = self.ask(path)
        assert answer.status == 200, answer
        return answer.value

    def post(self, path: str, body: object, *, token: str | None = None, **headers: str) -> Answer:
        """With the token, where no other is given."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {"content_type": "application/json"} | headers
        return self.ask(path, "POST", data, token=self.token if token is None else token, **kind)


@dataclass
class Process(Served):
    """One in a process of its own."""

    process: subprocess.Popen[str]

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(LIMIT)


def machine(folder: Path, *, hostile: bool = False) -> Machine:
    """Two gateways that record, as `metrics_seed` makes them, and one that toolguard knows nothing of but its places."""
    db = folder / "metrics.db"
    metrics_seed.seed(db, time.time_ns() // 1_000_000, hostile=hostile)
    made = Machine(folder, db)
    for name in (*NAMES, OWN):
        (made.places(name).state_dir / "toolguard").mkdir(parents=True)
    return made


def arguments(made: Machine, *more: str, port: int = 0) -> list[str]:
    own = made.places(OWN)
    places = ["--db", str(made.db), "--state-dir", str(own.state_dir), "--config", str(own.config)]
    return [*places, "--port", str(port), *more]


@contextmanager
def served(made: Machine, *more: str) -> Iterator[Served]:
    """A server in a thread of this process."""
    with dashboard_thread(arguments(made, *more)) as about:
        token = metrics_path.token_path(made.db).read_text().strip()
        yield Served(made, about.url, int(about.url.rpartition(":")[2]), token)


def command(made: Machine, *more: str, port: int = 0) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "toolguard_cli.dashboard", *arguments(made, *more, port=port)]


def start(made: Machine, *more: str, port: int = 0) -> Process:
    process = subprocess.Popen(command(made, *more, port=port), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    said, _, url = process.stdout.readline().strip().partition(" ")
    assert said == "listening", said
    token = metrics_path.token_path(made.db).read_text().strip()
    return Process(made, url, int(url.rpartition(":")[2]), token, process)


@contextmanager
def process(made: Machine, *more: str, port: int = 0) -> Iterator[Process]:
    """A server in a process of its own, for what only a process can show."""
    running = start(made, *more, port=port)
    try:
        yield running
    finally:
        close(running)


def close(running: Process) -> None:
    running.process.kill()
    running.process.communicate()
