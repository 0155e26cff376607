"""Measures what calls that are expensive to judge cost other sessions: one every 0.3 s beside four that ask all the time.

Each of them comes from a session of its own, which begins with its whole allowance (`model/work_allowance`). Some are
sequences of calls, results, texts and files on disk, which are sent together. The four sessions hand in a result for each
call, a question for which the gateway stands still.

The engine is a process of its own. Spans with and without such calls alternate; what counts is how many calls of the four
sessions are answered in both. Seconds are processor time of the engine, as on a machine that judges an everyday command
for the first time in `QUIET` milliseconds: what it takes here is measured before each row, since other work slows all down.
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

from everyday import commands
from figures import Figure, options, quantile, report
from hostile_calls import KINDS, Message, exec_
from judged_sequences import unit

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "engine"))
from hostile_texts import BOMBS, SEQUENCES, bomb, texts

EVERY = 0.3
SESSIONS = 4
MOST_LOST = 10
MOST_MS, MOST_MB = 50, 100
QUIET = 0.77
ANSWERED = ("judge", "came", "failed", "message")
"""Types of messages to which there is an answer."""

DISK_FILE = "disk"
SYNCHRONOUS = 0.25
"""Seconds for which the gateway waits for a synchronous question (`SYNC_LIMIT_MS`)."""


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=0.6, help="length of a span (0.6)")
    parser.add_argument("--rounds", type=int, default=15, help="spans of each kind (15)")
    chosen = parser.parse_args()
    commands = {
        "a bomb of 628 characters": bomb(4, 20)[:628],
        **{f"{name}, {len(text)} characters": text for name, text in BOMBS.items()},
        "coproc, 64 kB": ("f() { coproc a*(a) {a..z}; }; f; " * 2_000)[:65_536],
        "many paths, 64 kB": texts(65_536)["many '../a{} '"],
    }
    hostile = {**{name: [exec_(text)] for name, text in commands.items()}, **sequences()}
    figures: list[Figure] = []
    for number, (name, sequence) in enumerate(hostile.items()):
        with engine() as talk:  # one that has heard of none of the others
            talk.bomber = f"bomb-{number}"
            figures += beside(talk, name, sequence, chosen.seconds, chosen.rounds)
    report(figures, chosen.json)
    return 0


def sequences() -> dict[str, list[Message]]:
    """What a search began with."""
    return {
        f"{', '.join(dict.fromkeys(kind for kind, _ in steps))}: {steps[0][1][:12]!r}, {sum(len(text) for _, text in steps)}"
        " characters": [message for kind, text in steps for message in KINDS[kind](text)]
        for steps in SEQUENCES
    }


def beside(talk: Talk, name: str, sequence: list[Message], seconds: float, rounds: int) -> Iterator[Figure]:
    """How much less is answered; what it takes by itself, at first, and how much memory; and the questions for whose answers
    the gateway would not have waited."""
    counts: list[list[int]] = [[], []]
    waits: list[list[float]] = [[], []]
    talk.span(seconds, [])  # what is only loaded or made once
    memory, talk.late, talk.decisions, talk.speed = talk.memory(), 0, {}, unit() / QUIET
    first = talk.alone(sequence)
    for _ in range(rounds):
        for with_bomb in (0, 1):
            times = talk.span(seconds, sequence if with_bomb else [])
            counts[with_bomb].append(len(times))
            waits[with_bomb] += times
    slow = " and ".join(f"{quantile(times, 0.99) * 1000:.1f} ms" for times in waits)
    alone = quantile([talk.alone(sequence) for _ in range(9)], 0.5)
    lost = max(0.0, 100 * (1 - sum(counts[1]) / sum(counts[0])))
    yield Figure(f"calls that four sessions lose by {name}", lost, "%", f"p99 without and with it {slow}", MOST_LOST)
    later = f"later {alone * 1000:.1f} ms, {100 * alone / EVERY:.1f} %; {' '.join(talk.decisions)}"
    yield Figure("... its processor time, the first one", first * 1000, "ms", later, None if talk.is_held else MOST_MS)
    yield Figure("... questions that got no answer in time", talk.late, "", promise=0)
    yield Figure("... memory of the engine grows by", max(0.0, talk.memory() - memory), "MB", promise=MOST_MB)


class Talk:
    """One engine and the questions that it is asked."""

    def __init__(self, process: subprocess.Popen[bytes], state: str) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._texts = itertools.cycle(commands(200, 400))
        self._rest = b""
        self._folder = Path(state, "work")
        self._folder.mkdir()
        self.late = 0
        """Questions of the four sessions for which the gateway would not have waited."""
        self.decisions: dict[str, None] = {}
        """What became of the expensive calls."""
        self.speed = 1.0
        """How much longer everything takes than on a quiet machine."""
        self.bomber = ""
        """The session that sends expensive calls."""
        self._send({"id": 0, "type": "hello", "v": 1, "stateDir": state, "config": {"mode": "enforce"}, "gateway": "bench"})
        while not any(answer.get("type") == "ready" for answer in self._answers(1)):
            pass

    @property
    def is_held(self) -> bool:
        """Whether none of the expensive calls may run."""
        return bool(self.decisions) and "allow" not in self.decisions

    def memory(self) -> float:
        """The most that the engine has had so far, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1000

    def span(self, seconds: float, bomb: list[Message]) -> list[float]:
        """The seconds of each answer to the four sessions. Each asks again as soon as its call has a result."""
        begun = self._worked()
        end, due = begun + seconds * self.speed, begun
        calls = [next(self._texts) for _ in range(SESSIONS)]
        asked = {
            self._ask(str(session), text): (session, text, time.monotonic(), self._worked())
            for session, text in enumerate(calls)
        }
        bombs: set[int] = set()
        times = []
        while asked or bombs:
            if bomb and due <= self._worked() < end:
                due += EVERY * self.speed
                bombs |= self._throw(bomb)
            for answer in self._answers(min(0.02, EVERY)):
                self._note(answer, bombs)
                if (found := asked.pop(answer.get("id", 0), None)) is None:
                    continue
                now = time.monotonic()
                session, text, since, worked = found
                self.late += self._worked() - worked > SYNCHRONOUS * self.speed
                if answer["type"] == "verdict":
                    times += [now - since] if self._worked() < end else []
                    asked[self._result(str(session), text, answer["id"])] = session, text, now, self._worked()
                elif self._worked() < end:
                    text = next(self._texts)
                    asked[self._ask(str(session), text)] = session, text, now, self._worked()
        return times

    def _note(self, answer: Message, bombs: set[int]) -> None:
        """An answer, which may be one about an expensive call."""
        if answer.get("id", 0) in bombs:
            bombs.discard(answer["id"])
            if answer["type"] == "verdict":
                self.decisions[answer["decision"]] = None

    def _throw(self, sequence: list[Message]) -> set[int]:
        """The numbers of those messages of a sequence to which there is an answer."""
        numbers = set[int]()
        for message in sequence:
            if message["type"] == DISK_FILE:
                (self._folder / message["path"]).parent.mkdir(exist_ok=True)
                (self._folder / message["path"]).write_text(message["text"], "utf-8")
                continue
            number = next(self._ids)
            place = {"agent": "a", "session": f"agent:a:{self.bomber}", "run": f"r{number}", "call": f"c{number}"}
            self._send({"id": number, **message, **place, "cwd": str(self._folder)})
            numbers |= {number} if message["type"] in ANSWERED else set()
        return numbers

    def waits(self, messages: list[dict[str, object]], sessions: int) -> float:
        """The seconds of the engine's time for which so many sessions wait whose questions come right behind these messages,
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

    def alone(self, sequence: list[Message]) -> float:
        """The seconds that a sequence takes the engine, with what it does behind its answers."""
        begun = self._worked()
        bombs = self._throw(sequence)
        while bombs:
            for answer in self._answers(1):
                self._note(answer, bombs)
        time.sleep(0.2)  # what is done behind an answer reports nothing; a longer span changes no processor time
        return (self._worked() - begun) / self.speed

    def _worked(self) -> float:
        """The engine's processor time: the clock of another process, see clock_getcpuclockid(3)."""
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def _ask(self, session: str, command: str) -> int:
        number = next(self._ids)
        place = {"agent": session, "session": f"agent:{session}:main", "cwd": "/home/u/work", "run": f"r{number}"}
        asked = {"id": number, "type": "judge", "tool": "exec", "params": {"command": command}, "call": f"c{number}"}
        self._send({**asked, **place})
        return number

    def _result(self, session: str, command: str, call: int) -> int:
        """The number of the question about the result of a call."""
        number = next(self._ids)
        place = {"agent": session, "session": f"agent:{session}:main", "run": f"r{call}", "call": f"c{call}"}
        self._send({"id": number, "type": "came", "tool": "exec", "params": {"command": command}, "text": "done", **place})
        return number

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _answers(self, seconds: float) -> list[Message]:
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
