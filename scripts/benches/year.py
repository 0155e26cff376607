"""Measures what a year of use leaves behind: 3,650,000 calls in 20,000 sessions on a clock that runs ahead (half an hour).

The engine runs in this process, on the real stores in a temporary folder. Its clock begins a year ago and ends now. Twenty
sessions are under way at a time; one in ten belongs to an agent whose budget holds calls. Some runs never end, as after a
crash of the gateway, and some calls fail, are malformed, held or blocked. Memory and files are looked at ten times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from figures import Figure, milliseconds, options, report

from toolguard_engine.server import composition
from toolguard_engine.server.loop import Engine
from toolguard_engine.server.store_queue import AtOnce

CALLS, SESSIONS = 3_650_000, 20_000
YEAR = 365 * 86_400.0
AT_ONCE = 20
BATCH = 200
"""Calls that the engine reads at once."""

RUN = 12
"""Calls of a run."""

LOOKS = 10
STARTS = 5
SPENT = 20
"""Calls that the budget is for."""

PAYERS = 10
"""Sessions whose budget is spent in the last hour of the year."""

MOST_MB, MOST_FILES_MB, MOST_START_MS = 150, 100, 1_000
SETTINGS = {"agents": {"payer": {"budget": {"mode": "enforce"}}}}
MISSING = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
Line = dict[str, Any]


class YearClock:
    """Runs only when it is told to, and ends now."""

    def __init__(self) -> None:
        self._at = time.time() - YEAR

    def monotonic(self) -> float:
        return self._at

    def time(self) -> float:
        return self._at

    def worked(self) -> float:
        return 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._at, UTC)

    def pass_by(self, seconds: float) -> None:
        self._at += seconds


class FedPipe:
    """The gateway's end: what is to be read next, and the answers to the last question."""

    def __init__(self) -> None:
        self.data = b""
        self.has_ended = False
        self.answers: deque[bytes] = deque(maxlen=PAYERS)

    def ready(self, _: float, __: int = -1) -> bool:
        return bool(self.data) or self.has_ended

    def read(self) -> bytes:
        data, self.data = self.data, b""
        return data

    def write(self, data: bytes) -> None:
        self.answers.append(data)


class YearOfUse:
    """An engine, its gateway, and the state folder of both."""

    def __init__(self, state: Path) -> None:
        self.state, self.clock = state, YearClock()
        time.time = self.clock.time  # type: ignore[assignment]  # the stores ask the machine
        self._begin()

    def _begin(self) -> None:
        self.pipe = FedPipe()
        self.engine: Engine = composition.engine(self.pipe, self.clock, worker=AtOnce())
        self.send([hello(self.state)])

    def send(self, lines: list[Line]) -> None:
        self.pipe.data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        for _ in range(3):  # reads them, sends what waited for a store, does what is due
            self.engine.turn()

    def restart(self) -> None:
        self.pipe.has_ended = True
        self.engine.run()
        self._begin()

    def decision(self, line: Line) -> str:
        self.send([line])
        found = [msgspec.json.decode(answer) for answer in self.pipe.answers]
        return next((str(answer["code"]) for answer in reversed(found) if answer.get("id") == line["id"]), "")


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--calls", type=int, default=CALLS, help=f"calls of the year ({CALLS:,})")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help=f"sessions ({SESSIONS:,})")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        figures = year(Path(folder) / "state", chosen.calls, chosen.sessions)
    report(figures, chosen.json)
    return 0


def year(state: Path, calls: int, sessions: int) -> list[Figure]:
    began, use = time.perf_counter(), YearOfUse(state)
    memory = [_memory()]
    for part in range(LOOKS):
        for batch in _batches(calls * part // LOOKS, calls * (part + 1) // LOOKS, calls // sessions):
            use.clock.pass_by(YEAR * BATCH / calls)
            use.send(batch)
        memory.append(_memory())
        print(f"{part + 1}/{LOOKS}: {memory[-1]:.0f} MB, {_files(state)}", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - began
    kept = _budgets_kept(use)
    fresh, used = _start(state.with_name("fresh")), _start(state)
    half = memory[LOOKS // 2]
    return [
        Figure("calls judged a second, results included", calls / seconds, "calls"),
        Figure("memory after the year", memory[-1], "MB", f"{half:.0f} MB after half of it", MOST_MB),
        Figure("... beside half of the year", memory[-1] / half, "x", promise=1.1),
        Figure("files after the year", sum(_sizes(state).values()) / 1e6, "MB", _files(state), MOST_FILES_MB),
        Figure("start after the year, median", used, "ms", f"{used / fresh:.1f} x a fresh one", MOST_START_MS),
        Figure("spent budgets that a restart kept", kept, f"of {PAYERS}", promise=PAYERS, least=True),
    ]


def hello(state: Path) -> Line:
    place = {"stateDir": str(state), "gateway": "gw", "gatewayPid": os.getpid(), "host": "2026.9.6"}
    return {"id": 0, "type": "hello", "v": 1, "config": SETTINGS, **place}


def _batches(first: int, last: int, length: int) -> Iterator[list[Line]]:
    """The calls of these numbers; a session has so many."""
    for start in range(first, last, BATCH):
        yield [line for number in range(start, min(last, start + BATCH)) for line in _lines(number, max(1, length))]


def _lines(number: int, length: int) -> Iterator[Line]:
    """All that the gateway tells of one call."""
    block, at = divmod(number, AT_ONCE * length)
    step, seat = divmod(at, AT_ONCE)
    session = block * AT_ONCE + seat
    agent = f"agent-{session % 9}" if session % 10 else "payer"
    run, request = f"run-{session}-{step // RUN}", step % RUN + 1
    place = {"agent": agent, "session": f"agent:{agent}:{session}", "run": run, "request": request, "call": f"c{number}"}
    if request == 1:
        yield {"type": "said", "text": f"do part {number}", "person": True, **place}
    tool, params, kind = _call(number)
    if kind == "malformed":
        yield {"id": number, "type": "failed", "tool": tool, "params": params, "text": MISSING, **place}
    else:
        yield {"id": number, "type": "judge", "tool": tool, "params": params, "cwd": "/srv/work", **place}
    if kind in ("ran", "failed", "process"):
        text = f"what came of {number}"
        more = {"status": "running", "process": f"p-{number}"} if kind == "process" else {"failed": kind == "failed"}
        yield {"type": "came", "tool": tool, "params": params, "text": text, "size": len(text), **more, **place}
        yield {"type": "heard", "tool": tool, "params": params, "text": text * 20, **place}
    if request == RUN and number % 30:
        yield {"type": "run-end", "run": run}


def _call(number: int) -> tuple[str, Line, str]:
    """One of a thousand calls: some held, blocked, malformed, failing or in the background, most ordinary."""
    match number % 1_000:
        case 17:
            return "exec", {"command": f"rm -rf /srv/data-{number}"}, "held"
        case 18:
            return "exec", {"command": "rm -rf ~/.openclaw"}, "blocked"
        case 19 | 20 | 21:
            return "read", {}, "malformed"
        case 22 | 23:
            return "exec", {"command": f"make watch-{number}", "background": True}, "process"
        case 24 | 25:
            return "exec", {"command": f"cat missing-{number}"}, "failed"
        case 26:
            return "process", {"action": "write", "sessionId": f"p-{number - 4}", "data": "ls\n"}, "ran"
        case other if other % 4 == 0:
            return "exec", {"command": f"git log -n {number % 90} --stat src/part-{number % 7_000}"}, "ran"
        case other if other % 9 == 0:
            return "write", {"path": f"notes-{number}.md", "content": "noted " * 20}, "ran"
    return "read", {"path": f"src/part-{number % 40_000}.py"}, "ran"


def _budgets_kept(use: YearOfUse) -> int:
    """Spends budgets, restarts the engine, and counts those that hold a call while that of another session is free."""
    paid = {
        "id": 1,
        "type": "judge",
        "tool": "exec",
        "params": {"command": "npm test"},
        "cwd": "/srv/work",
        "agent": "payer",
    }
    for number in range(PAYERS * SPENT):
        session = number % PAYERS
        assert use.decision({**paid, "session": f"agent:payer:last-{session}", "run": f"last-{session}"}) == "allow"
    use.restart()
    sessions = [f"agent:payer:{name}" for name in (*(f"last-{number}" for number in range(PAYERS)), "another")]
    *held, free = (use.decision({**paid, "session": session, "run": session}) for session in sessions)
    return held.count("approval.pending") if free == "allow" else 0


def _start(state: Path) -> float:
    """Milliseconds until an engine process says that it is ready: the median."""
    line = json.dumps(hello(state)).encode() + b"\n"

    def run() -> None:
        command = [sys.executable, "-m", "toolguard_engine"]
        done = subprocess.run(command, input=line, stdout=subprocess.PIPE, check=True)
        assert b'"ready"' in done.stdout, done.stdout

    return sorted(milliseconds(run) for _ in range(STARTS))[STARTS // 2]


def _memory() -> float:
    """This process's memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _sizes(state: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in state.parent.rglob("*") if path.is_file() and state in path.parents}


def _files(state: Path) -> str:
    """The largest, in words."""
    sizes = sorted(_sizes(state).items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes[:4])


if __name__ == "__main__":
    sys.exit(main())
