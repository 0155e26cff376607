"""Measures what safe calls of other sessions take while the store of held calls is stuck.

For each fault two engines are asked in turns, one whose store is stuck and one whose store is not. Both get the same calls,
and one after another that must be held, for as long as the fault lasts.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from everyday import commands
from figures import Figure, options, quantile, report

from toolguard_engine.stores.files.nonces import FileNonces

SLOW_DISK = Path(__file__).with_name("slow_disk.py")
HOLDER = "import fcntl, sys; lock = open(sys.argv[1], 'a'); fcntl.flock(lock, fcntl.LOCK_EX); print(flush=True); input()"
BLOCK = 10
"""Calls that one engine answers before it is the other one's turn."""
WARM_UP = 80
"""Blocks that are not measured."""
MANY = 200
"""Different commands."""
SAFE_MS, SAFE_RATIO, HELD_SECONDS = 0.5, 1.5, 1.6


@dataclass
class Driven:
    """An engine process at its pipe, on a disk of its own. `waits`: when its held call was asked; `code`: of its
    verdict."""

    home: Path
    config: dict[str, Any] = field(default_factory=lambda: {"metrics": {"enabled": False}})
    safe: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    ran: int = 0
    waits: float = 0.0
    code: str = ""
    asked: int = 0

    def __enter__(self) -> Self:
        self.disk = self.home / "seconds"
        self.disk.write_text("0")
        command = [sys.executable, str(SLOW_DISK), str(self.disk), sys.executable, "-m", "toolguard_engine"]
        environment = {**os.environ, "HOME": str(self.home)}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._into, self._out = self.process.stdin, self.process.stdout.fileno()
        self._rest = b""
        self._send(id=0, type="hello", v=1, stateDir=str(self.home), gateway="bench", config=self.config)
        while self._read()["type"] != "ready":
            pass
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def _send(self, **message: Any) -> None:
        self._into.write(json.dumps(message).encode() + b"\n")

    def _read(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            if not (data := os.read(self._out, 1 << 16)):
                raise SystemExit("an engine ended")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _judge(self, command: str, session: str) -> int:
        self.asked += 1
        run = f"r{self.asked // 20}" if session == "mine" else f"held-{self.asked}"
        place = {"agent": "main", "session": session, "run": run, "call": f"c{self.asked}"}
        self._send(id=self.asked, type="judge", tool="exec", params={"command": command}, cwd="/home/u/work", **place)
        return self.asked

    def hold(self, number: int) -> None:
        self.waits = time.perf_counter()
        self._judge(f"rm -rf /home/u/precious-{number}", "other")

    def ask(self, command: str, *, measured: bool) -> str:
        """The decision."""
        begun = time.perf_counter()
        question = self._judge(command, "mine")
        while (message := self._read()).get("id") != question:
            self._take(message)
        if measured:
            self.safe.append((time.perf_counter() - begun) * 1000)
        return str(message["decision"])

    def look(self) -> None:
        """Takes what was said meanwhile."""
        while self._rest or select.select([self._out], [], [], 0)[0]:
            self._take(self._read())

    def wait(self) -> None:
        """Wait until the held call is answered."""
        while self.waits:
            self._take(self._read())

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "verdict":
            self.held.append(time.perf_counter() - self.waits)
            self.code = message["code"]
            self.ran += message["decision"] == "allow"
            self.waits = 0.0


@contextmanager
def stopped_holder(engine: Driven) -> Iterator[None]:
    place = f"{FileNonces(engine.home).path}.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        yield
        holder.kill()


def disk_of(seconds: str) -> Callable[[Driven], Any]:
    @contextmanager
    def slow(engine: Driven) -> Iterator[None]:
        engine.disk.write_text(seconds)
        yield
        engine.disk.write_text("0")

    return slow


FAULTS: dict[str, Callable[[Driven], Any]] = {
    "a stopped process holds the lock": stopped_holder,
    "each fsync takes 300 ms": disk_of("0.3"),
    "the disk hangs": disk_of("inf"),
}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="how long each fault lasts (10)")
    chosen = parser.parse_args()
    report([figure for fault in FAULTS for figure in measure(fault, chosen.seconds)], chosen.json)
    return 0


def measure(fault: str, seconds: float) -> list[Figure]:
    texts = commands(60, MANY)
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="toolguard-bench-")) for _ in range(2)]
        engines = [stack.enter_context(Driven(Path(folder))) for folder in folders]
        stuck, healthy = engines
        for number in range(WARM_UP):
            in_turns(engines, texts, number, measured=False)
        with FAULTS[fault](stuck):
            until, number, holds = time.perf_counter() + seconds, 0, 0
            while time.perf_counter() < until:
                if not any(engine.waits for engine in engines):
                    holds += 1
                    for engine in engines:
                        engine.hold(holds)
                in_turns(engines, texts, number := number + 1, measured=True)
        slow, quick = (quantile(engine.safe, 0.99) for engine in engines)
        half = quantile(stuck.safe, 0.5) / quantile(healthy.safe, 0.5)
        return [
            Figure(f"{fault}: safe call, p99", slow, "ms", f"{quick:.2f} ms without the fault", SAFE_MS),
            Figure("... in times of a run without the fault, p99", slow / quick, "x", f"p50: {half:.2f} x", SAFE_RATIO),
            Figure(
                "... longest until a held call was answered", max(stuck.held), "s", f"{len(stuck.held)} calls", HELD_SECONDS
            ),
            Figure("... held calls that ran", stuck.ran, "", promise=0),
        ]


def in_turns(engines: list[Driven], texts: list[str], number: int, *, measured: bool) -> None:
    for engine in engines if number % 2 else reversed(engines):
        engine.look()
        for at in range(BLOCK):
            engine.ask(texts[(number * BLOCK + at) % len(texts)], measured=measured)


if __name__ == "__main__":
    sys.exit(main())
