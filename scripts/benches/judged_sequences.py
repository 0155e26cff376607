"""An engine in this process that is asked sequences of calls, in the folder of a project: what `cost` measures with.

The folder has files as projects have them. The engine may remember files that agents made, as one does after weeks of use.
Times are processor time of the whole process, up to the moment at which the engine would wait again: with what it does
behind its answer.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import everyday
import msgspec
from hostile_calls import OWN_RULES, Message
from year import FedPipe

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.kept_readings import KEPT as KEPT_READINGS
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.terminal_input.running_programs import Processes
from toolguard_engine.guard import Guard
from toolguard_engine.layers.provenance.context import RunContexts
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.living_programs import LivingPrograms
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.rules import packs
from toolguard_engine.rules.rule_form import rule_from
from toolguard_engine.server import composition, work_ticks
from toolguard_engine.server.clock import SystemClock
from toolguard_engine.server.store_queue import AtOnce

ROOT = Path(__file__).resolve().parents[2]
FRESH_AFTER = 400
"""Sequences after which another engine begins, so that the ledger of held calls is small."""

SETTINGS = {"mode": "enforce", "budget": {"mode": "disabled"}}


@dataclass(frozen=True)
class StepCost:
    ms: float
    decisions: tuple[str, ...]


def unit() -> float:
    """Milliseconds of judging an everyday command of 200 characters for the first time, without files, state or answer.

    The mean of many calls, because Linux counts processor time in ticks while a timer of processor time runs.
    """
    guard = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load())
    calls = [Call("exec", {"command": text}, session="s", cwd="/home/u/work") for text in everyday.commands(200, 200)]
    times = []
    for _ in range(3):
        forget_readings()
        begun = time.process_time()
        for call in calls:
            guard.weigh(call)
        times.append((time.process_time() - begun) * 1_000 / len(calls))
    return statistics.median(times)


def forget_readings() -> None:
    """So that what is measured twice is read twice."""
    KEPT_READINGS.clear()
    kept_code.clear()


class Engine:
    """`records`: how many files it remembers that agents made, in the folder of the project."""

    def __init__(self, folder: Path, *, own_rules: bool = True) -> None:
        self.folder = folder
        self._own = own_rules
        self._timer = WorkTimer()
        self._count = 0
        self._is_changed = True
        self._memories: dict[int, FileMemory] = {}
        work_ticks.start(self._timer)
        self._begin()

    def _begin(self) -> None:
        state = self.folder / "state"
        shutil.rmtree(state, ignore_errors=True)
        self._pipe = FedPipe()
        self._engine = composition.engine(self._pipe, SystemClock(), worker=AtOnce(), timer=self._timer)
        place = {"stateDir": str(state), "gateway": "gw", "gatewayPid": 4242, "host": "2026.9.6"}
        self._send({"id": 0, "type": "hello", "v": 1, "config": SETTINGS, **place})
        for _ in range(40):  # it warms up
            self._engine.turn()
        if self._own:
            rules = ({"id": f"constraint.r{number}", "reason": "own", **rule} for number, rule in enumerate(OWN_RULES))
            self._engine.session.use_rules(tuple(rule_from(each, "constraint") for each in rules))

    def _send(self, line: Message) -> None:
        self._pipe.data = msgspec.json.encode(line) + b"\n"
        for _ in range(3):  # reads it, sends what waited for a store, does what is due
            self._engine.turn()

    def played(self, steps: list[list[Message]], records: int) -> list[StepCost]:
        """What each step of a sequence costs, in a session of its own."""
        self._prepare(records)
        return [self._step(step, number) for number, step in enumerate(steps)]

    def memory(self, steps: list[list[Message]], records: int) -> float:
        """The most memory that the sequence takes at once, in MB."""
        self._prepare(records)
        tracemalloc.start()
        try:
            for number, step in enumerate(steps):
                self._step(step, number)
            return tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()

    def close(self) -> None:
        work_ticks.stop()

    def _prepare(self, records: int) -> None:
        self._count += 1
        forget_readings()
        if self._count % FRESH_AFTER == 0:
            self._begin()
        if self._is_changed:
            project(self.folder / "work")
            self._is_changed = False
        self._forget(records)

    def _forget(self, records: int) -> None:
        guard = self._engine.session.guard
        if (known := self._memories.get(records)) is None:
            known = self._memories[records] = FileMemory()
            known.restore(remembered(self.folder / "work", records))
        guard.files, guard.living = known.fork(), LivingPrograms()
        guard.processes, guard.contexts = Processes(), RunContexts()

    def _step(self, messages: list[Message], number: int) -> StepCost:
        decisions = list[str]()
        begun = time.process_time()
        for at, message in enumerate(messages):
            place = {"agent": "main", "session": f"s{self._count}", "run": f"r{self._count}", "call": f"c{number}-{at}"}
            if message["type"] == "disk":
                self._put(message["path"], message["text"])
                continue
            more = {"cwd": str(self.folder / "work")} if message["type"] == "judge" else {}
            process = message.get("process", "")
            line = {"id": at + 1, **{key: value for key, value in message.items() if key != "process"}, **place, **more}
            self._send(line)
            if message["type"] == "judge" and (decision := self._decision(at + 1)):
                decisions.append(decision)
                if decision == "allow":
                    self._has_run(message, place, process)
        return StepCost((time.process_time() - begun) * 1_000, tuple(decisions))

    def _decision(self, number: int) -> str:
        found = (json.loads(answer) for answer in reversed(self._pipe.answers))
        return next((str(each.get("code", "")) for each in found if each.get("id") == number), "")

    def _has_run(self, message: Message, place: Message, process: str) -> None:
        params: Any = message["params"]
        if message["tool"] == "write":
            self._put(str(params["path"]), str(params["content"]))
        more = {"process": process, "status": "running"} if process else {}
        self._send({"type": "came", "tool": message["tool"], "params": params, "text": "ok", "size": 2, **place, **more})

    def _put(self, name: str, text: str) -> None:
        work = self.folder / "work"
        path = work / name
        if "\0" in name or len(name) > 100 or work not in path.resolve().parents:  # noqa: PLR2004 - what file systems take
            return
        self._is_changed = True
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", "replace")
        except OSError:
            pass


def remembered(work: Path, count: int) -> dict[str, FileRecord]:
    record = FileRecord("agent", "write", "s0", created=True)
    names = (f"src/part{number % 97}/m{number % 11}/f{number}.{'py' if number % 3 else 'sh'}" for number in range(count))
    return {str(work / name): record for name in names}


def project(work: Path) -> None:
    """The files of a project, as they were before."""
    if (work / "package.json").exists():
        for path in work.iterdir():
            if path.name not in KEPT:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    else:
        work.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", work / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        if git := shutil.which("git"):
            subprocess.run([git, "-c", "init.defaultBranch=main", "init", "-q", str(work)], check=False)
    scripts = {f"build:{n}": f"tsc -p packages/p{n} && node scripts/post{n}.js --out dist/{n}" for n in range(40)}
    scripts |= {
        "test": "vitest run && npm run build:1",
        "build": "npm run build:2 && make all",
        "pretest": "sh scripts/test",
    }
    targets = "".join(f"t{n}: t{n + 1}\n\tcc -o build/t{n} src/t{n}.c\n\t./scripts/bench {n}\n" for n in range(60))
    (work / "package.json").write_text(json.dumps({"name": "x", "scripts": scripts, "workspaces": ["packages/*"]}, indent=2))
    (work / "Makefile").write_text(f"all: t0\n\tsh scripts/test --fast\n{targets}t60:\n\techo done\n")
    (work / "x.py").write_text((ROOT / "scripts/benches/everyday.py").read_text("utf-8"))
    (work / "x.sh").write_text((ROOT / "scripts/test").read_text("utf-8"))
    (work / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-q"\ntestpaths = ["tests"]\n')


KEPT = frozenset({"scripts", ".git", "package.json", "Makefile", "x.py", "x.sh", "pyproject.toml"})
