"""Measures what a call costs after 100,000 others, beside what it costs at first (about five minutes).

The engine runs in this process, on the real stores in a temporary folder. The calls are those of agents that write, copy,
move and delete files, run tests and look around, in ten sessions, each with its folder; what is written stays known. A run
ends after 20 calls, as the gateway part reports it. Costs are processor time, with the two engines taking turns.
"""

# ruff: noqa: E402 - the engine's libraries are loaded as it loads them

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from toolguard_engine import spared_imports

spared_imports.load()

from figures import Figure, options, report
from year import YearOfUse, hello

from toolguard_engine.model.file_record import FileRecord

CALLS = 100_000
SESSIONS = 10
OF_RUN = 20
"""Calls."""

BATCH = 100
ROUNDS = 40
"""Of a batch on each engine."""

FILES = 10_000
"""In a folder that is moved or deleted."""

DEEDS = 25
MOST, MOST_MB, MOST_START, MOST_DEED = 1.2, 60, 1.3, 2.0
Line = dict[str, Any]


def main() -> int:
    parser = options(__doc__)
    parser.add_argument(
        "--calls", type=int, default=CALLS, help=f"calls before the aged engine is measured, in hundreds ({CALLS:,})"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        calls = -(-max(chosen.calls, 0) // BATCH) * BATCH  # some calls are about the files of those just before them
        report(list(figures(Path(folder), calls)), chosen.json)
    return 0


def figures(folder: Path, calls: int) -> Iterator[Figure]:
    """`calls`: a multiple of `BATCH`."""
    aged = Engine(folder / "aged")
    first = min(BATCH * ROUNDS, calls)
    middle = max(first, calls // 2 // BATCH * BATCH)
    aged.runs(range(first))
    young = _memory()
    aged.runs(range(first, middle))
    half, known_then = _memory(), aged.known()
    aged.runs(range(middle, calls))
    old, known = _memory(), aged.known()
    fresh = Engine(folder / "fresh")
    batches = [range(calls + at * BATCH, calls + (at + 1) * BATCH) for at in range(ROUNDS)]
    costs = [(fresh.runs(batch), aged.runs(batch)) for batch in batches]
    beside = f"{known:,} files remembered"
    yield Figure("processor time of a call, beside that of a fresh engine", _ratio(costs), "x", beside, MOST)
    yield Figure("memory of the process", old, "MB", f"{young:.0f} MB after {first:,} calls", MOST_MB)
    yield Figure("... after half of the calls", half, "MB", f"{known_then:,} files remembered", MOST_MB)
    yield Figure("written to disk for a call", aged.written / (calls or 1), "bytes")
    aged.ends()
    Engine(folder / "empty").ends()
    starts = [(_start(folder / "empty" / "state"), _start(folder / "aged" / "state")) for _ in range(9)]
    yield Figure("processor time of a start, beside an empty memory", _ratio(starts), "x", promise=MOST_START)
    for name, command in {"rm -rf": "rm -rf build", "mv": "mv build old", "mv of all in it": "mv build/* old/"}.items():
        deeds = [(fresh.does(command, 0), fresh.does(command, FILES)) for _ in range(DEEDS)]
        yield Figure(f"{name}, {FILES:,} files in the folder beside none", _ratio(deeds), "x", promise=MOST_DEED)


class Engine:
    """`written`: bytes that saving the memory of files has written."""

    def __init__(self, folder: Path) -> None:
        self.work, self.state = folder / "work", folder / "state"
        self.work.mkdir(parents=True)
        self.use = YearOfUse(self.state)
        self._deeds = 0
        self.written = 0

    @property
    def files(self) -> Any:
        return self.use.engine.session.guard.files

    def known(self) -> int:
        """The number of remembered files. No list of them is made, whose memory would not all be given back."""
        return sum(1 for _ in self.files._records())  # noqa: SLF001 - nobody else counts them

    def runs(self, numbers: range) -> float:
        """The processor time of so many calls, in all."""
        spent = 0.0
        for first in range(numbers.start, numbers.stop, BATCH):
            batch = range(first, min(first + BATCH, numbers.stop))
            lines = [line for at in batch for line in _lines(at, self.work)]
            for at in batch:
                _really(at, self.work)
            self.use.clock.pass_by(BATCH / 10)
            before = _saved(self.state)
            spent += _spent(lambda lines=lines: self.use.send(lines))  # type: ignore[misc]
            self.written += sum(size - before.get(file, 0) for file, size in _saved(self.state).items())
        return spent

    def does(self, command: str, files: int) -> float:
        """The processor time of a command whose folder has so many remembered files."""
        self.files.removed({str(self.work / "build"), str(self.work / "old")})
        record = FileRecord("agent", "write", "s", created=True)
        self.files.restore(self.files.records | {f"{self.work}/build/{at % 100}/{at}": record for at in range(files)})
        self.files.wrote(str(self.work / "other"), record)
        self.use.clock.pass_by(10)
        self.use.send([{"type": "run-end", "run": "none"}])  # all is saved
        self._deeds += 1
        lines = list(_call(f"deed-{self._deeds}", "exec", {"command": command}, self.work, 0))
        self.use.clock.pass_by(10)
        return _spent(lambda: self.use.send(lines))

    def ends(self) -> None:
        self.use.pipe.has_ended = True
        self.use.engine.run()


def _place(number: int, work: Path) -> tuple[int, int, str, str]:
    """The session of a call, its number there, its folder, and where it works in that."""
    session, part = number % SESSIONS, number // SESSIONS
    return session, part, f"{work}/project-{session}", f"src/part-{part // 400}/unit-{part // 20 % 20}"


def _really(number: int, work: Path) -> None:
    """Does to the disk what the call does. Without `Path`, which keeps each name that it has seen."""
    _, part, folder, source = _place(number, work)
    here = f"{folder}/{source}"
    os.makedirs(here, exist_ok=True)  # noqa: PTH103
    match part % 20:
        case 1:
            _touch(f"{here}/copy_file_{part}.py")
        case 6:
            os.rename(f"{here}/file_{part - 6}.py", f"{here}/moved_{part}.py")  # noqa: PTH104
        case 8:
            os.unlink(f"{here}/copy_file_{part - 7}.py")  # noqa: PTH108
        case 15 if not part % 3:
            os.rename(here, f"{here}-{part}")  # noqa: PTH104
        case _ if _writes(part):
            _touch(f"{here}/file_{part}.py")


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def _writes(part: int) -> bool:
    return part % 20 in (0, 2, 4, 10, 12, 14, 16, 18)


def _lines(number: int, work: Path) -> Iterator[Line]:
    session, part, folder, source = _place(number, work)
    name = f"file_{part}.py"
    commands = {
        1: f"cp {source}/{name} {source}/copy_{name}",
        3: f"sed -n 1,80p {source}/{name}",
        5: f"git add {source}/{name} && git commit -qm 'Change {part}'",
        6: f"mv {source}/file_{part - 6}.py {source}/moved_{part}.py",
        8: f"rm -f {source}/copy_file_{part - 7}.py",
        9: f"grep -rn 'def run_{part}' src tests | head -20",
        11: f"mkdir -p out && python -m compileall -q src > out/log-{part}.txt; rm -r out",
        13: f"ls -la {source}" if part % 3 else "python -m pytest -q tests",
        15: f"wc -l {source}/*.py" if part % 3 else f"mv {source} {source}-{part}",
        17: f"rm -f {source}/*.pyc; find {source} -name '*.orig' -delete",
    }  # fmt: skip
    if command := commands.get(part % 20):
        yield from _call(f"c{number}", "exec", {"command": command}, Path(folder), session)
    elif _writes(part):
        params = {"path": f"{folder}/{source}/{name}", "content": f"def run_{part}():\n    return {part}\n" * 8}
        yield from _call(f"c{number}", "write", params, Path(folder), session)
    else:
        yield from _call(f"c{number}", "read", {"path": f"{folder}/{source}/{name}"}, Path(folder), session)
    if part % OF_RUN == OF_RUN - 1:
        yield {"type": "run-end", "run": _run(f"c{number}", session)}


def _call(name: str, tool: str, params: Line, folder: Path, session: int) -> Iterator[Line]:
    """A call and its result."""
    place = {"agent": "main", "session": f"agent:main:{session}", "run": _run(name, session), "call": name}
    yield {"id": abs(hash(name)) % 2**31, "type": "judge", "tool": tool, "params": params, "cwd": str(folder), **place}
    text = f"what came of {name}"
    yield {"type": "came", "tool": tool, "params": params, "text": text, "size": len(text), "failed": False, **place}


def _run(call: str, session: int) -> str:
    number = call.removeprefix("c")
    return f"r-{session}-{int(number) // SESSIONS // OF_RUN if number.isdigit() else call}"


def _spent(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _ratio(pairs: list[tuple[float, float]]) -> float:
    """The median ratio of the second to the first; both ran on the same machine in turns."""
    return median(second / first for first, second in pairs)


def _start(state: Path) -> float:
    """The processor time of an engine process that starts and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "toolguard_engine"]
    done = subprocess.run(command, input=json.dumps(hello(state)).encode() + b"\n", stdout=subprocess.PIPE, check=True)
    assert b'"ready"' in done.stdout, done.stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _saved(state: Path) -> dict[int, int]:
    """The sizes of the files of the memory, by their inodes: a file that is replaced has another one."""
    found = [path.stat() for path in (state / "toolguard").glob("made-files.*")]
    return {each.st_ino: each.st_size for each in found}


def _memory() -> float:
    """This process's memory in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
