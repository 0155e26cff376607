"""What the tests of the command line share: the command line in this process, installs, pictures of a folder."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from toolguard_cli import main
from toolguard_cli.commands import uninstall
from toolguard_cli.dashboard.discovery import Running
from toolguard_cli.operations import install_plugin
from toolguard_cli.system.paths import Places, plugin_source
from toolguard_cli.terminal.result import Result

SCRIPT = Path(sys.executable).with_name("toolguard")
SOURCE = plugin_source()
LARGE = 16 * 1024 * 1024
"""Of a file of this size only the size is compared."""
LIMIT = 120
"""Seconds after which a command counts as hanging. No test asserts how long one takes."""


def toolguard(*arguments: str | Path, typed: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in this process: its exit code and all that it prints.

    With `typed` a person sits at a terminal and has typed this; without it, all three streams are no terminal and the
    input is empty. Environment, working directory and streams are as before afterwards.
    """
    command = ["toolguard", *map(str, arguments)]
    with ExitStack() as stack:
        streams = [stack.enter_context(_Stream(name, terminal=typed is not None)) for name in ("r", "w", "w")]
        streams[0].fill(typed or "")
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        patch.setattr(sys, "argv", command)
        patch.setattr(sys, "excepthook", sys.excepthook)  # the option parser sets its own
        for name, value in environment.items():
            patch.setenv(name, value)
        with chdir(Path.cwd()):
            code = _exit_code(main.run)
        return subprocess.CompletedProcess(command, code, streams[1].text(), streams[2].text())


def toolguard_process(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The console script in a process of its own, for what only a process can show."""
    return subprocess.run(
        [SCRIPT, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def dashboard_thread(arguments: list[str]) -> Iterator[Running]:
    """`python -m toolguard_cli.dashboard` with these arguments, in a thread of this process."""
    from toolguard_cli.dashboard.__main__ import main as serve  # noqa: PLC0415 - few tests need it, and it loads much

    announced: Queue[Running | None] = Queue()
    held, end = os.pipe()
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(serve, arguments, announced.put, held)
        ended.add_done_callback(lambda _: announced.put(None))
        try:
            about = announced.get(timeout=LIMIT)
            assert about, ended.result()
            yield about
        finally:
            os.close(end)
            assert ended.result(LIMIT) == 0
            os.close(held)


class _Stream(io.TextIOWrapper):
    """A standard stream with a file of its own behind it."""

    def __init__(self, mode: str, *, terminal: bool) -> None:
        self._file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 - it is closed with this stream
        super().__init__(io.BufferedRandom(self._file), "utf-8", "surrogateescape" if mode == "r" else "backslashreplace")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def fill(self, text: str) -> None:
        self.write(text)
        self.seek(0)

    def text(self) -> str:
        self.seek(0)
        return self.read()


def _exit_code(run: Callable[[], None]) -> int:
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def envelope(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one JSON object on standard output."""
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def put_in(places: Places, *, link: bool = False, dry_run: bool = False) -> Result:
    return install_plugin.run(places, link=link, dry_run=dry_run)


def take_out(places: Places, *, dry_run: bool = False) -> Result:
    return uninstall.run(places, dry_run=dry_run)


def answering(folder: Path, answer: object) -> list[str]:
    """A program that prints this text, or this value as JSON, whatever it is asked: what OpenClaw answers."""
    (folder / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
    return ["sh", "-c", f"cat '{folder}/answer'"]


def picture(root: Path, *, times: bool = True) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kind and mode, the time of the last change, content or target. The time of a folder says
    only that something was in it for a moment, and that of a lock only that somebody held it: some releases of `filelock`
    empty a file that they have locked."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        info = path.lstat()
        content: object = None
        if stat.S_ISLNK(info.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes() if info.st_size < LARGE else info.st_size
        is_passing = stat.S_ISDIR(info.st_mode) or path.suffix == ".lock"
        time = info.st_mtime_ns if times and not is_passing else 0
        found[str(path.relative_to(root))] = (info.st_mode, time, content)
    return found


def texts(result: Result) -> list[str]:
    return [line.text for line in result.lines]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
