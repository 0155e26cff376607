"""Measures what calls that are expensive to judge cost other sessions: one every 0.3 s beside four that ask all the time.

Each of them comes from a session of its own, which begins with its whole allowance (`model/work_allowance`).

The engine is a process of its own. Spans with and without such calls alternate; what counts is how many calls of the four
sessions are answered in both. Seconds are processor time of the engine, so that other work on the machine changes nothing.
"""

from __future__ import annotations

import itertools
import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from everyday import commands
from figures import Figure, options, quantile, report

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "engine"))
from hostile_texts import BOMBS, SEQUENCES, bomb, texts

EVERY = 0.3
SESSIONS = 4
MOST_LOST = 10
SYNCHRONOUS = 0.25
"""Seconds for which the gateway waits for a synchronous question (`SYNC_LIMIT_MS`)."""


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=0.6, help="length of a span (0.6)")
    parser.add_argument("--rounds", type=int, default=15, help="spans of each kind (15)")
    chosen = parser.parse_args()
    hostile = {
        "a bomb of 628 characters": bomb(4, 20)[:628],
        **{f"{name}, {len(text)} characters": text for name, text in BOMBS.items()},
        "coproc, 64 kB": ("f() { coproc a*(a) {a..z}; }; f; " * 2_000)[:65_536],
        "many paths, 64 kB": texts(65_536)["many '../a{} '"],
        **{f"{name}, {len(text)} characters": text for name, text in found().items()},
    }
    figures = []
    with engine() as talk:
        for name, text in hostile.items():
            talk.bomber = f"bomb-{len(figures)}"
            lost, waits = beside(talk, text, chosen.seconds, chosen.rounds)
            figures.append(Figure(f"calls that four sessions lose by {name}", lost, "%", waits, MOST_LOST))
    report(figures, chosen.json)
    return 0


def found() -> dict[str, str]:
    """What a search began with, as commands."""
    kinds = {"exec": "{}", "node -e": "node -e {}", "awk": "awk {}"}
    named = {f"{kind} {text[:12]!r}": (kind, text) for [(kind, text), *_] in SEQUENCES if kind in kinds}
    return {name: text if kind == "exec" else kinds[kind].format(quote(text)) for name, (kind, text) in named.items()}


def beside(talk: Talk, text: str, seconds: float, rounds: int) -> tuple[float, str]:
    """How much less is answered, in per cent; the slowest answers without and with it, and what one takes by itself."""
    counts: list[list[int]] = [[], []]
    talk.late = 0
    waits: list[list[float]] = [[], []]
    first = talk.alone(text)
    for _ in range(rounds):
        for with_bomb in (0, 1):
            times = talk.span(seconds, text if with_bomb else "")
            counts[with_bomb].append(len(times))
            waits[with_bomb] += times
    slow = " and ".join(f"{quantile(times, 0.99) * 1000:.1f} ms" for times in waits)
    alone = quantile([talk.alone(text) for _ in range(9)], 0.5)
    beside = f"p99 {slow}; alone {first * 1000:.1f} ms at first, then {alone * 1000:.1f} ms, {100 * alone / EVERY:.1f} %"
    beside += f"; {talk.late} questions without an answer within {SYNCHRONOUS * 1000:.0f} ms of the engine's time"
    return max(0.0, 100 * (1 - sum(counts[1]) / sum(counts[0]))), beside


class Talk:
    """One engine and the questions that it is asked."""

    def __init__(self, process: subprocess.Popen[bytes], state: str) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._texts = itertools.cycle(commands(200, 400))
        self._rest = b""
        self.late = 0
        """Questions of the four sessions for which the gateway would not have waited."""
        self.bomber = ""
        """The session that sends expensive calls."""
        self._send({"id": 0, "type": "hello", "v": 1, "stateDir": state, "config": {"mode": "enforce"}, "gateway": "bench"})
        while not any(answer.get("type") == "ready" for answer in self._answers(1)):
            pass

    def span(self, seconds: float, bomb: str) -> list[float]:
        """The seconds of each answer to the four sessions. Each asks again as soon as it was answered."""
        begun = self._worked()
        end, due = begun + seconds, begun
        asked = {
            self._ask(str(session), next(self._texts)): (session, time.monotonic(), self._worked())
            for session in range(SESSIONS)
        }
        bombs: set[int] = set()
        times = []
        while asked or bombs:
            if bomb and due <= self._worked() < end:
                due += EVERY
                bombs.add(self._ask(self.bomber, bomb))
            for answer in self._answers(min(0.02, EVERY)):
                bombs.discard(answer.get("id"))
                if (found := asked.pop(answer.get("id"), None)) is None:
                    continue
                now = time.monotonic()
                session, since, worked = found
                self.late += self._worked() - worked > SYNCHRONOUS
                if self._worked() < end:
                    times.append(now - since)
                    asked[self._ask(str(session), next(self._texts))] = session, now, self._worked()
        return times

    def waits(self, messages: list[dict[str, object]], sessions: int) -> float:
        """For how many seconds of the engine's time so many sessions wait whose questions come right behind these messages,
        which are without place and number."""
        begun, unanswered = self._worked(), set[int]()
        for message in messages:
            number = next(self._ids)
            place = {"agent": "a", "session": f"agent:a:{self.bomber}", "run": self.bomber, "call": f"c{number}"}
            self._send({"id": number, **message, **place, "cwd": "/home/u/work"})
        for session in range(sessions):
            unanswered.add(self._ask(str(session), next(self._texts)))
        while unanswered:
            unanswered -= {answer.get("id", 0) for answer in self._answers(1)}
        return self._worked() - begun

    def alone(self, command: str) -> float:
        """The seconds that one call takes the engine, with what it does behind the answer."""
        begun = self._worked()
        number = self._ask(self.bomber, command)
        while all(answer.get("id") != number for answer in self._answers(1)):
            pass
        time.sleep(0.2)  # what is done behind an answer reports nothing; a longer span changes no processor time
        return self._worked() - begun

    def _worked(self) -> float:
        """The engine's processor time: the clock of another process, see clock_getcpuclockid(3)."""
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def _ask(self, session: str, command: str) -> int:
        number = next(self._ids)
        place = {"agent": session, "session": f"agent:{session}:main", "cwd": "/home/u/work", "run": f"r{number}"}
        asked = {"id": number, "type": "judge", "tool": "exec", "params": {"command": command}, "call": f"c{number}"}
        self._send({**asked, **place})
        return number

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _answers(self, seconds: float) -> list[dict[str, int]]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return []
        data = self._process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
        if not data:
            raise SystemExit("the engine has ended")
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


@contextmanager
def engine() -> Iterator[Talk]:
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as state:
        command = [sys.executable, "-P", "-m", "toolguard_engine"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=state)
        with process:
            yield Talk(process, state)
            assert process.stdin is not None
            process.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
