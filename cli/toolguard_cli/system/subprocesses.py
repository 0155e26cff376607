"""Runs programs for their output, each in its own process group.

Invariant: nothing that a program starts outlives its answer, its time limit or this process. Threads do not receive Ctrl-C,
so the main thread ends the programs they wait for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any

MOST_BYTES = 4 * 1024 * 1024
POLL_SECONDS = 0.02
_GONE = (ProcessLookupError, PermissionError)
"""macOS raises the second for a group that has ended."""


class TooMuch(ValueError):  # noqa: N818 - named for the condition
    """The program printed more than the limit."""


@dataclass(frozen=True)
class Completed:
    code: int
    output: str
    errors: str

    @property
    def last_words(self) -> str:
        """The last line of its errors, else of its output, else its exit code."""
        words = (self.errors or self.output).strip().splitlines()
        return words[-1] if words else f"it exited with code {self.code} and no output"


class _Running:
    """The running programs. After `end_all`, nothing is started any more, because this process is about to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def start(self, command: Sequence[str], options: dict[str, Any]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._over:
                raise InterruptedError("it was interrupted")
            process = subprocess.Popen(list(command), start_new_session=True, **options)
            self._processes.add(process)
            return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kills its group, including what it left behind, and forgets it."""
        with self._lock:
            self._processes.discard(process)
            with suppress(*_GONE):
                os.killpg(process.pid, signal.SIGKILL)

    def end_all(self) -> None:
        with self._lock:
            self._over = True
            for process in self._processes:
                with suppress(*_GONE):
                    os.killpg(process.pid, signal.SIGKILL)


_RUNNING = _Running()


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the program during the block; `options` and errors as for `Popen`.

    Its group is ended when the block is left, or by `end_all`.
    """
    with _RUNNING.start(command, options) as process:
        try:
            yield process
        finally:
            _RUNNING.end(process)


def ask(command: Sequence[str], limit: float, given: bytes = b"", *, most: int = MOST_BYTES, **options: Any) -> Completed:
    """What the program prints within `limit` seconds. Raises `OSError`, `ValueError`, `TimeoutExpired`, `TooMuch`.

    Processes that it leaves running are killed.
    """
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        question.write(given)
        question.seek(0)
        with started(command, stdin=question, stdout=output, stderr=errors, **options) as process:
            until = time.monotonic() + limit
            while process.poll() is None:
                if max(_size(output), _size(errors)) > most:
                    raise TooMuch(f"it printed more than {most} bytes")
                if time.monotonic() > until:
                    raise subprocess.TimeoutExpired(list(command), limit)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
        return Completed(process.returncode, _text(output, most), _text(errors, most))


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _text(file: IO[bytes], most: int) -> str:
    if _size(file) > most:
        raise TooMuch(f"it printed more than {most} bytes")
    file.seek(0)
    return file.read(most).decode("utf-8", "replace")


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a program with its group, from any thread."""
    _RUNNING.end(process)


def end_all() -> None:
    """Kills every running program; nothing more is started in this process."""
    _RUNNING.end_all()


@contextmanager
def interruptible() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the block like Ctrl-C, so that running programs are cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGHUP)}
    replaced = {name: handler for name, handler in before.items() if handler is signal.SIG_DFL}
    for name in replaced:
        signal.signal(name, _leave)
    try:
        yield
    finally:
        for name, handler in replaced.items():
            signal.signal(name, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    raise SystemExit(128 + number)
