"""Whether the engine starts with the gateway's interpreter, whether it answers, and how fast."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from toolguard_cli.doctor import fixes
from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix
from toolguard_cli.doctor.checks import discovery_check
from toolguard_cli.system import paths, subprocesses
from toolguard_engine.wire import messages
from toolguard_engine.wording.printable import plain

LIMIT_SECONDS = 20
ARGUMENTS = ("-P", "-E", "-m", "toolguard_engine")
OLDEST = (3, 11)
VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n"
ROUNDS = 200
MANY_TIMES = 50
"""A verdict may take this many times as long as an echo through a pipe; about 4 times is usual."""


def interpreter(subject: DoctorSubject) -> tuple[str, str]:
    """The interpreter that the gateway starts (plugin/gateway/command.mjs), and the fix if it does not work."""
    named = subject.settings.python
    if named is not msgspec.UNSET:
        unset = subject.command("config", "unset", "python")
        return named, f"{unset}, or correct the setting"
    recorded = subject.record.python if subject.record else ""
    program = recorded or paths.usual_python(Path.home()) or "python3"
    if discovery_check.package(subject):  # `toolguard install` leaves it alone
        return program, f"{subject.set_command('python', sys.executable)} (this Python, which has toolguard)"
    return program, f"{subject.command('install')} (it records the Python that runs it)"


def python(subject: DoctorSubject) -> Check:
    """Its version, determined without importing toolguard."""
    program, fix = interpreter(subject)
    if shutil.which(program) is None:
        return Check("python", "error", f"{program} no longer exists, so no call is judged", fix)
    try:
        done = subprocesses.ask([program, "-I", "-S", "-c", VERSION], LIMIT_SECONDS)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Check("python", "error", f"{program}: {error}", fix)
    version = re.fullmatch(r"(\d+)\.(\d+)\.\d+", done.output.strip())
    if not version:
        return Check("python", "error", f"{program} is not a working Python", fix)
    if (int(version[1]), int(version[2])) < OLDEST:
        return Check("python", "error", f"{program} is Python {version[0]}; the engine needs 3.11 or later", fix)
    return Check("python", "ok", f"Python {version[0]} ({program})", data={"version": version[0], "path": program})


def fix_python(subject: DoctorSubject) -> Iterator[Fix]:
    """Only if the interpreter is the recorded one; the user's setting is kept."""
    if subject.settings.python is msgspec.UNSET:
        yield from fixes.reinstall(subject)


def answers(subject: DoctorSubject) -> Check:
    program, fix = interpreter(subject)
    if shutil.which(program) is None:
        return Check("engine", "error", f"{program} was not found", fix)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="toolguard-doctor-") as scratch:
        problem = _ask(program, scratch)
    if problem:
        return Check("engine", "error", plain(f"{program}: {problem}"), fix)
    return Check("engine", "ok", f"it answered after {(time.monotonic() - started) * 1000:.0f} ms")


def _ask(python: str, scratch: str) -> str:
    """Why the engine did not answer as expected; empty if it did. It writes only below `scratch`."""
    lines = b"".join(msgspec.json.encode(question) + b"\n" for question in (_hello(scratch), _call(1)))
    try:
        done = subprocesses.ask([python, *ARGUMENTS], LIMIT_SECONDS, lines, cwd=scratch)
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT_SECONDS} s"
    except (OSError, ValueError) as error:
        return str(error)
    answered = '"type":"ready"' in done.output and '"decision":"allow"' in done.output
    return "" if answered else done.last_words


def _hello(scratch: str) -> dict[str, Any]:
    return {"id": 0, "type": "hello", "v": messages.VERSION, "stateDir": scratch}


def _call(number: int) -> dict[str, Any]:
    return {"id": number, "type": "judge", "tool": "exec", "params": {"command": f"ls -l folder-{number}"}}


def latency(subject: DoctorSubject) -> Check:
    """The time of a verdict compared with an echo through a pipe, alternately, so that load slows down both."""
    program, fix = interpreter(subject)
    if shutil.which(program) is None:
        return Check("latency", "warn", "unknown: the engine does not start", "fix `engine` first")
    try:
        with tempfile.TemporaryDirectory(prefix="toolguard-doctor-") as scratch:
            verdict, bare = _measured(program, scratch)
    except (OSError, ValueError) as error:
        return Check("latency", "warn", plain(f"unknown: {error or 'the engine ended'}"), "fix `engine` first")
    text = f"{verdict:.2f} ms per call, {verdict / bare:.1f} times as long as an echo through a pipe"
    data = {"verdictMs": round(verdict, 4), "bareMs": round(bare, 4)}
    if verdict > MANY_TIMES * bare:
        return Check("latency", "warn", text, f"find out what slows {program} down; {fix}", data)
    return Check("latency", "ok", text, data=data)


def _measured(program: str, scratch: str) -> tuple[float, float]:
    with _asked([program, *ARGUMENTS], scratch) as engine, _asked([program, "-I", "-S", "-c", ECHO], scratch) as echo:
        engine.ask(_hello(scratch))
        pairs = [(engine.ask(_call(number)), echo.ask(_call(number))) for number in range(1, ROUNDS + 1)]
    taken, bare = zip(*pairs, strict=True)
    return median(taken), median(bare)


@contextmanager
def _asked(command: list[str], folder: str) -> Iterator[_Asked]:
    """Runs the command; ends it when the block is left or the time limit is over."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocesses.started(command, cwd=folder, **pipes) as process:
        watch = threading.Timer(LIMIT_SECONDS, subprocesses.end, [process])
        watch.start()
        try:
            yield _Asked(process)
        finally:
            watch.cancel()


class _Asked:
    """A process that answers each line with a line that has the same id."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, question: dict[str, Any]) -> float:
        """The time until the answer, in ms. Raises `ValueError` if there is none."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ValueError("no pipe")
        started = time.perf_counter()
        stdin.write(msgspec.json.encode(question) + b"\n")
        stdin.flush()
        mark = b'"id":%d,' % question["id"]
        for line in stdout:
            if mark in line[:40]:
                return (time.perf_counter() - started) * 1000
        raise ValueError("the engine ended")
