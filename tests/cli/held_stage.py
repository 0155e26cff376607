"""What the tests about held calls share: calls that wait, and a terminal to answer from."""

from __future__ import annotations

import os
import select
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli_stage import LIMIT, SCRIPT

from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.call_meaning import Meaning, MeantEffect
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import HeldAlike, HeldDetails, HeldEffect
from toolguard_engine.stores.files.nonces import FileNonces


def hold(
    places: Places, *, now: float = 0.0, lasts: float = 300, book: FileNonces | None = None, **changes: Any
) -> HeldCall:
    """A call that waits now."""
    book = book or FileNonces(places.state_dir)
    began = now or time.time()
    usual: dict[str, Any] = {
        "nonce": "",
        "binding": f"b{len(book.entries())}",
        "tool": "exec",
        "agent": "main",
        "session": "agent:main:main",
        "run": "r1",
        "code": "hold.always",
        "reason": "alwaysBlock names exec",
        "shown": '{ command: "make release" }',
        "created": began,
        "expires": began + lasts,
    }
    return book.present(HeldCall(**usual | changes), began).entry


def like(path: str) -> dict[str, Any]:
    """What a call that deletes this folder has, so that it can be answered for the rest of its session."""
    key = HeldAlike("filesystem.delete-recursive", "delete", path, ("recursive",), "in-home")
    return {
        "code": "rule.filesystem.delete-recursive",
        "shown": f'exec({{ command: "rm -r {path}" }})',
        "details": HeldDetails((HeldEffect("delete", path, path, ("recursive",), "in-home"),), alike=(key,)),
        "meaning": Meaning(1, effects=(MeantEffect("delete", path, path),)),
    }


def status_of(places: Places, nonce: str) -> str:
    return next(entry.status for entry in FileNonces(places.state_dir).entries() if entry.nonce == nonce)


class Terminal:
    """A program on a terminal of its own. Without `program` the arguments name it, and it is controlled by the terminal."""

    def __init__(self, arguments: list[str], program: Path | None = SCRIPT) -> None:
        self._master, self.slave = os.openpty()
        termios.tcsetwinsize(self.slave, (30, 100))
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [program, *arguments] if program else ["setsid", "--ctty", "--wait", *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
        )
        self.seen = ""

    def until(self, words: str) -> str:
        """Reads until these words were shown since the last time; the answer is all that was."""
        began, text = time.monotonic(), ""
        while words not in text:
            ended = self.process.poll() is not None  # asked first: what it wrote before its end is still read
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    text += os.read(self._master, 65536).decode(errors="replace")
                except OSError:
                    break
            elif ended or time.monotonic() - began > LIMIT:
                break
        self.seen += text
        assert words in text, text
        return text

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """The exit code; whatever is still shown is read, so that nobody waits for a reader."""
        began = time.monotonic()
        while self.process.poll() is None and time.monotonic() - began < LIMIT:
            if select.select([self._master], [], [], 0.05)[0]:
                self.seen += os.read(self._master, 65536).decode(errors="replace")
        while select.select([self._master], [], [], 0)[0]:
            self.seen += os.read(self._master, 65536).decode(errors="replace")
        return self.process.wait(1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self.slave)


@contextmanager
def terminal(places: Places, command: str, *arguments: str) -> Iterator[Terminal]:
    shown = Terminal([command, *arguments, "--state-dir", str(places.state_dir)])
    try:
        yield shown
    finally:
        shown.close()
