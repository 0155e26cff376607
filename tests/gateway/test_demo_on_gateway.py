"""`toolguard demo --hold` on the real gateway: the call waits, is answered here or elsewhere, and the agent is resumed."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway_stage import NEW_HOST, RELEASE
from toolguard_cli.rig import downloads

pytestmark = [pytest.mark.skipif(not NEW_HOST, reason="no message for an idle session"), pytest.mark.thorough]
LIMIT = 600


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where the demo puts its home; nothing may be left in it."""
    made = tmp_path / "scratch"
    made.mkdir()
    return made


@contextmanager
def demo(scratch: Path, *options: str, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "toolguard_cli", "demo", "--hold", "--openclaw", RELEASE, *options]
    environment = {**os.environ, "TMPDIR": str(scratch), "TOOLGUARD_CACHE_DIR": str(downloads.cache_dir())}
    with subprocess.Popen(
        command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        killer = threading.Timer(LIMIT, process.kill)
        killer.start()
        try:
            yield process
        finally:
            killer.cancel()
            process.kill()


def shown_until(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """What the demo prints on standard error, up to the line that this matches."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(pattern, line):
            return found
    raise AssertionError(f"never printed: {pattern}")


def wait_for_question(process: subprocess.Popen[str]) -> None:
    """What is typed before it is discarded."""
    assert process.stderr is not None
    printed = ""
    while not printed.endswith("approve? [y/n] "):
        sign = process.stderr.read(1)
        assert sign, printed
        printed += sign


def elsewhere(found: re.Match[str]) -> None:
    """The command that the demo names, in another process."""
    words = found[1].split()
    done = subprocess.run(
        [sys.executable, "-m", "toolguard_cli", *words, "--yes"], capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_answers_itself_without_a_terminal(scratch: Path) -> None:
    with demo(scratch, "--yes", "--json") as process:
        output, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors
    data = json.loads(output)["data"]
    assert {name: data[name] for name in ("decision", "where", "ran", "answer")} == {
        "decision": "approved",
        "where": "demo",
        "ran": True,
        "answer": "I deleted the folder.",
    }
    assert "It permanently deletes a folder" in errors
    assert list(scratch.glob("toolguard-*")) == []


ANSWERS = [
    pytest.param("approve", True, "the call ran once", id="approve"),
    pytest.param("deny", False, "denied: the call did not run", id="deny"),
]


@pytest.mark.parametrize(("word", "ran", "said"), ANSWERS)
def test_the_command_that_it_names_answers_it_elsewhere(scratch: Path, word: str, *, ran: bool, said: str) -> None:
    with demo(scratch) as process:
        elsewhere(shown_until(process, rf"toolguard ({word} \S+ --state-dir \S+)"))
        output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, said in output) == (0, True), output + errors
    assert ("I deleted the folder." in output) is ran
    assert list(scratch.glob("toolguard-*")) == []


def test_it_is_answered_where_it_runs(scratch: Path) -> None:
    terminal, inner = pty.openpty()
    try:
        with demo(scratch, stdin=inner) as process:
            wait_for_question(process)
            os.write(terminal, b"perhaps\ny\n")
            output, errors = process.communicate(timeout=LIMIT)
        assert (process.returncode, "the call ran once" in output) == (0, True), output + errors
    finally:
        os.close(terminal)
        os.close(inner)


def test_it_cleans_up_when_it_is_ended(scratch: Path) -> None:
    with demo(scratch) as process:
        shown_until(process, r"toolguard deny \S+ --state-dir")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    assert list(scratch.glob("toolguard-*")) == []
