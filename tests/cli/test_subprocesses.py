"""Programs that are asked: bounded in time and in what they print, and nothing of theirs is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolguard_cli.system import subprocesses

SHELL = ["/bin/sh", "-c"]
LIMIT = 60


def test_what_it_says_and_how_it_ends() -> None:
    done = subprocesses.ask([*SHELL, "cat; echo no >&2; exit 3"], LIMIT, b"given")
    assert done == subprocesses.Completed(3, "given", "no\n")
    assert done.last_words == "no"


@pytest.mark.parametrize("script", ["yes", "yes >&2", "head -c 2000 /dev/zero"], ids=["output", "errors", "and ends"])
def test_one_that_never_stops_printing(script: str) -> None:
    with pytest.raises(subprocesses.TooMuch, match="it printed more than 1000 bytes"):
        subprocesses.ask([*SHELL, script], LIMIT, most=1000)


def test_one_that_hangs() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        subprocesses.ask([*SHELL, "sleep 1000 & sleep 1000"], 0.1)


def test_what_it_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    """The child holds the other end of a pipe: its end is an end of file."""
    script = "import os, subprocess; subprocess.Popen(['sleep', '1000'], pass_fds=[0, int(os.environ['HELD'])])"
    reading, held = os.pipe()
    with os.fdopen(reading, "rb") as ended:
        subprocesses.ask(
            [sys.executable, "-c", script], LIMIT, pass_fds=[held], env={"HELD": str(held), "PATH": "/bin:/usr/bin"}
        )
        os.close(held)
        assert ended.read() == b""


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        subprocesses.ask(["/no/such/program"], LIMIT)
