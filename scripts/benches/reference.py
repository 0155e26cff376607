"""Measures this checkout beside a fixed one, commit 7a5b46a, in one run: what the engine and the command line cost.

That commit had no memory of files and read no code. It is taken from this repository's own history and unpacked once into
the cache folder. All costs are processor time, in turns; a ratio says how much more this checkout takes.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from answer import agent_commands, environment, worker
from everyday import CORPUS, FIRST, commands, renamed
from figures import Figure, options, report

from toolguard_cli.rig import downloads
from toolguard_cli.setup import engine_code

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GIT = shutil.which("git") or "git"
COMMIT = "7a5b46a2fc7b38f9c06ed0bb40c8b44151ddaa57"
PLACE = {"agent": "main", "session": "agent:main:main", "cwd": "/home/u/work"}
BLOCK = 20
"""Messages that one checkout handles before it is the other one's turn."""
RESULT = 8_000
Message = dict[str, Any]


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="labelled commands, one JSON object per line")
    parser.add_argument("--rounds", type=int, default=6, help="how often everything is measured (6)")
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    trees = (ROOT, checkout())
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        figures = [
            Figure("load of the machine when it began", load, f"on {os.cpu_count()} processors"),
            *answers(trees, Path(folder), chosen.corpus, chosen.rounds),
            *starts(trees, Path(folder), 2 * chosen.rounds),
            *command_line(trees, Path(folder), chosen.rounds),
        ]
    report(figures, chosen.json)
    return 0


def checkout() -> Path:
    """The folder of the fixed checkout. Both have their bytecode, as an installer and `toolguard install` leave it."""
    folder = downloads.cache_dir() / f"reference-{COMMIT[:7]}"
    if not folder.exists():
        known = subprocess.run([GIT, "-C", ROOT, "cat-file", "-e", COMMIT], check=False, capture_output=True)
        if known.returncode:
            raise SystemExit(
                f"commit {COMMIT[:7]} is not in this clone, which is shallow: run `git fetch --unshallow` (or clone the"
                " whole repository), then try again"
            )
        archive = subprocess.run([GIT, "-C", ROOT, "archive", COMMIT], check=True, capture_output=True).stdout
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
                packed.extractall(Path(made) / "tree", filter="data")
            (Path(made) / "tree").rename(folder)
    for tree in (ROOT, folder):
        folders = [str(tree / name) for name in ("plugin", "cli", "manifests")]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=True)
    assert engine_code.pack(), "the engine's code cannot be packed, as `toolguard install` does it"
    return folder


def questions(params: list[Message], session: str = PLACE["session"]) -> list[Message]:
    place = {**PLACE, "session": session}
    return [
        {"id": 1, "type": "judge", "tool": "exec", "params": each, "run": f"r{at // 20}", "call": f"c{at}", **place}
        for at, each in enumerate(params)
    ]


def results(text: str, count: int = 60) -> list[Message]:
    came = {"type": "came", "tool": "exec", **PLACE}
    return [
        {**came, "params": {"command": f"cat f{at}"}, "text": f"{text}{at}", "run": f"r{at // 20}"} for at in range(count)
    ]


def of(texts: Iterable[str], session: str = PLACE["session"]) -> list[Message]:
    return questions([{"command": text} for text in texts], session)


def _long(number: int, seed: int = FIRST) -> list[Message]:
    """Ten commands of 10 kB, for a session of their own: what one may cost comes back with time, and none passes here."""
    return of(commands(10_000, 10, seed), f"agent:main:round-{number}-{seed}")


def kinds(corpus: Path) -> Iterator[tuple[str, Callable[[int], list[Message]], float | None]]:
    """What is handled in each round, and how much more it may cost: the same commands again, and others like them."""
    agents = agent_commands(corpus)
    yield "agent commands", lambda _: of(agents), 0.9
    yield "agent commands, never seen before", lambda number: of(renamed(each, 100 + number) for each in agents), None
    yield "200 characters", lambda _: of(commands(200, 200)), 1.1
    yield "200 characters, never seen before", lambda number: of(commands(200, 200, 100 + number)), None
    yield "10 kB", _long, 1.3
    yield "10 kB, never seen before", lambda number: _long(number, 100 + number), None
    for command, most in (("pytest -q", 1.5), ("npm test", 1.5), ("make", None), ("cp a.json build/b.json", None)):
        yield command, partial(_spaced, command), most
        yield f"{command}, never seen before", partial(_spaced, command, more=True), None
    source = (HERE / "cost.py").read_text("utf-8")[:RESULT]
    yield "an 8 kB result, source code", lambda _: results(source), None
    lines = (f"2026-01-02 12:{at % 60:02}:01 INFO worker-{at} handled request {at * 7919} in {at} ms\n" for at in range(200))
    log = "".join(lines)[:RESULT]
    yield "an 8 kB result, log", lambda _: results(log), None


def _spaced(command: str, number: int, *, more: bool = False) -> list[Message]:
    """The same command with other blanks behind it."""
    first = 40 * (number + 1) if more else 0
    return of(f"{command}{' ' * (first + at)}" for at in range(40))


def answers(trees: tuple[Path, Path], folder: Path, corpus: Path, rounds: int) -> Iterator[Figure]:
    """Whole answers, and results of tools: in one process for each checkout, in turns."""
    with ExitStack() as stack:
        states = [str(folder / f"state-{at}") for at in range(len(trees))]
        begun = (worker(tree, "reference_worker.py", state) for tree, state in zip(trees, states, strict=True))
        workers = [stack.enter_context(each) for each in begun]
        judged = 0.0
        for kind, of_round, most in kinds(corpus):
            ours, theirs, refused = _in_turns(workers, of_round, rounds)
            messages = of_round(0)
            judged = ours if kind == "200 characters" else judged
            note = f"{ours:.0f} and {theirs:.0f} us; not allowed: {refused[0]} and {refused[1]} of {len(messages)}"
            yield Figure(f"{kind}, beside {COMMIT[:7]}", ours / theirs, "x", note, most)
            if messages[0]["type"] == "came":
                yield Figure(f"{kind}, beside judging 200 characters", ours / judged, "x", promise=2.0)


def _in_turns(
    workers: list[subprocess.Popen[str]], of_round: Callable[[int], list[Message]], rounds: int
) -> tuple[float, float, tuple[int, int]]:
    """The medians of two checkouts in microseconds, and how many calls of a round each did not allow."""
    costs: tuple[list[float], list[float]] = ([], [])
    refused = [0, 0]
    for number in range(-1, rounds):
        refused, messages = [0, 0], of_round(number)
        for start in range(0, len(messages), BLOCK):
            for at, process in enumerate(workers):
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(messages[start : start + BLOCK]) + "\n")
                found, held = json.loads(process.stdout.readline())
                refused[at] += held
                costs[at].extend(found if number >= 0 else [])
    return median(costs[0]), median(costs[1]), (refused[0], refused[1])


def starts(trees: tuple[Path, Path], folder: Path, rounds: int) -> Iterator[Figure]:
    """The time until the engine has answered its introduction, and the memory that it has then."""
    found = [[_start(tree, folder / f"start-{at}") for at, tree in enumerate(trees)] for _ in range(rounds)]
    ours, theirs = (median(pair[at][0] for pair in found) for at in range(2))
    yield Figure(f"engine ready, beside {COMMIT[:7]}", ours / theirs, "x", f"{ours:.0f} and {theirs:.0f} ms", 1.1)
    ours, theirs = (median(pair[at][1] for pair in found) for at in range(2))
    yield Figure("memory of an engine that is ready", ours, "MB", f"{theirs:.0f} MB")


def _start(tree: Path, state: Path) -> tuple[float, float]:
    """Milliseconds of processor time, and megabytes."""
    state.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "toolguard_engine"],
        env=environment(tree), cwd=state, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(state), "config": {}, "gateway": "bench"}
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        process.stdin.flush()
        assert any(b'"ready"' in line for line in process.stdout), "the engine ended"
        spent = int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e6
        memory = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
        process.stdin.close()
    return spent, memory


def command_line(trees: tuple[Path, Path], folder: Path, rounds: int) -> Iterator[Figure]:
    """Commands in a home without a gateway."""
    calls = ({"tool": "exec", "params": {"command": command}} for command in commands(60, 2_000))
    lines = "".join(f"{json.dumps(call)}\n" for call in calls).encode()
    rows: list[tuple[str, list[str], bytes]] = [
        ("check --stdin, 2,000 commands", ["check", "--stdin", "--json"], lines),
        ("check --stdin, one command", ["check", "--stdin", "--json"], lines.partition(b"\n")[0] + b"\n"),
        ("pending", ["pending"], b""),
        ("status", ["status"], b""),
        ("doctor", ["doctor"], b""),
    ]
    for name, arguments, given in rows:
        found = [
            [_command(tree, folder / f"home-{at}", arguments, given) for at, tree in enumerate(trees)] for _ in range(rounds)
        ]
        ours, theirs = (median(pair[at] for pair in found) for at in range(2))
        yield Figure(f"{name}, beside {COMMIT[:7]}", ours / theirs, "x", f"{ours:.0f} and {theirs:.0f} ms", 1.0)


def _command(tree: Path, home: Path, arguments: list[str], given: bytes) -> float:
    """Milliseconds of processor time, with all that it starts."""
    home.mkdir(exist_ok=True)
    paths = os.pathsep.join([environment(tree)["PYTHONPATH"], str(tree / "cli")])
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": paths}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "toolguard_cli", *arguments]
    done = subprocess.run(command, check=False, env=env, cwd=home, input=given, capture_output=True)
    assert b"check.bad-input" not in done.stdout, "the lines are no calls"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


if __name__ == "__main__":
    sys.exit(main())
