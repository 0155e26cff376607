"""Does the engine start with the interpreter that the gateway part will use, does it answer, and how fast."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import msgspec

from toolguard_cli import children
from toolguard_cli.checks import mending
from toolguard_cli.checks.check import Check, Step, Subject
from toolguard_engine import protocol
from toolguard_engine.answers import plain

LIMIT_SECONDS = 20
ARGUMENTS = ("-P", "-E", "-m", "toolguard_engine")
OLDEST = (3, 11)
VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n"
ROUNDS = 200
MANY_TIMES = 50
"""So many times the bare pipe a verdict may take; some 4 times is usual."""


def interpreter(subject: Subject) -> tuple[str, str]:
    """As the gateway part finds it (plugin/gateway/command.mjs), and what to do where it does not work."""
    named = subject.settings.python
    if named is not msgspec.UNSET:
        unset = subject.command("config", "unset", "python")
        return named, f"{unset} (or mend it there)"
    recorded = subject.record.python if subject.record else ""
    return recorded or "python3", f"{subject.command('install')} (it records the Python that runs it)"


def python(subject: Subject) -> Check:
    """Its version, asked without toolguard."""
    program, mend = interpreter(subject)
    if shutil.which(program) is None:
        return Check("python", "error", f"{program} is not there", mend)
    try:
        done = children.ask([program, "-I", "-S", "-c", VERSION], LIMIT_SECONDS)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Check("python", "error", f"{program}: {error}", mend)
    said = re.fullmatch(r"(\d+)\.(\d+)\.\d+", done.output.strip())
    if not said:
        return Check("python", "error", f"{program} is no Python that runs", mend)
    if (int(said[1]), int(said[2])) < OLDEST:
        return Check("python", "error", f"{program} is Python {said[0]}; the engine needs 3.11 or later", mend)
    return Check("python", "ok", f"Python {said[0]} ({program})", data={"version": said[0], "path": program})


def mend_python(subject: Subject) -> Iterator[Step]:
    """Only where it was recorded: what a person wrote into the settings stays."""
    if subject.settings.python is msgspec.UNSET:
        yield from mending.reinstall(subject)


def answers(subject: Subject) -> Check:
    program, mend = interpreter(subject)
    if shutil.which(program) is None:
        return Check("engine", "error", f"{program} is not there", mend)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="toolguard-doctor-") as scratch:
        problem = _ask(program, scratch)
    if problem:
        return Check("engine", "error", plain(f"{program}: {problem}"), mend)
    return Check("engine", "ok", f"it answered after {(time.monotonic() - started) * 1000:.0f} ms")


def _ask(python: str, scratch: str) -> str:
    """Why the engine did not answer as it should; empty where it did. It writes only below `scratch`."""
    lines = b"".join(msgspec.json.encode(question) + b"\n" for question in (_hello(scratch), _call(1)))
    try:
        done = children.ask([python, *ARGUMENTS], LIMIT_SECONDS, lines, cwd=scratch)
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT_SECONDS} s"
    except (OSError, ValueError) as error:
        return str(error)
    answered = '"type":"ready"' in done.output and '"decision":"allow"' in done.output
    return "" if answered else done.last_words


def _hello(scratch: str) -> dict[str, Any]:
    return {"id": 0, "type": "hello", "v": protocol.VERSION, "stateDir": scratch}


def _call(number: int) -> dict[str, Any]:
    return {"id": number, "type": "judge", "tool": "exec", "params": {"command": f"ls -l folder-{number}"}}


def latency(subject: Subject) -> Check:
    """A verdict beside the bare echo of a line through such a pipe, in turns, so that a busy machine slows both."""
    program, mend = interpreter(subject)
    if shutil.which(program) is None:
        return Check("latency", "warn", "cannot be told: the engine does not start", "mend `engine` first")
    try:
        with tempfile.TemporaryDirectory(prefix="toolguard-doctor-") as scratch:
            verdict, bare = _measured(program, scratch)
    except (OSError, ValueError) as error:
        told = f"cannot be told: {error or 'the engine ended'}"
        return Check("latency", "warn", plain(told), "mend `engine` first")
    told = f"{verdict:.2f} ms a call, {verdict / bare:.1f} times a bare pipe"
    data = {"verdictMs": round(verdict, 4), "bareMs": round(bare, 4)}
    if verdict > MANY_TIMES * bare:
        return Check("latency", "warn", told, f"look at what slows {program} down; {mend}", data)
    return Check("latency", "ok", told, data=data)


def _measured(program: str, scratch: str) -> tuple[float, float]:
    """The median time of a verdict and of an echo, in ms."""
    with _asked([program, *ARGUMENTS], scratch) as engine, _asked([program, "-I", "-S", "-c", ECHO], scratch) as echo:
        engine.ask(_hello(scratch))
        pairs = [(engine.ask(_call(number)), echo.ask(_call(number))) for number in range(1, ROUNDS + 1)]
    taken, bare = zip(*pairs, strict=True)
    return median(taken), median(bare)


@contextmanager
def _asked(command: list[str], folder: str) -> Iterator[_Asked]:
    """It is ended when the block is left, or hangs."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with children.started(command, cwd=folder, **pipes) as process:
        watch = threading.Timer(LIMIT_SECONDS, children.end, [process])
        watch.start()
        try:
            yield _Asked(process)
        finally:
            watch.cancel()


class _Asked:
    """A process that answers each line with one that has the same id."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, question: dict[str, Any]) -> float:
        """How long the answer took, in ms. Raises `ValueError` where none comes."""
        asks, told = self._process.stdin, self._process.stdout
        if asks is None or told is None:
            raise ValueError("no pipe")
        started = time.perf_counter()
        asks.write(msgspec.json.encode(question) + b"\n")
        asks.flush()
        mark = b'"id":%d,' % question["id"]
        for line in told:
            if mark in line[:40]:
                return (time.perf_counter() - started) * 1000
        raise ValueError("the engine ended")
