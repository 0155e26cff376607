"""`toolguard fleet demo` with real gateways and a real PostgreSQL: it shows what it promises, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from toolguard_cli.rig import downloads
from toolguard_cli.rig.temporary_postgres import programs

COMMAND = [sys.executable, "-m", "toolguard_cli", "fleet", "demo", "--gateways", "2", "--openclaw"]
LIMIT = 900


@pytest.fixture
def folder() -> Path:
    """For the temporary files of the demo."""
    if programs() is None:
        missing = "PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("TOOLGUARD_TEST_POSTGRES") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    return Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))  # the demo has to leave it empty


@pytest.mark.thorough
def test_one_approval_lets_one_call_run_once_and_nothing_is_left(folder: Path, real: downloads.Runtime) -> None:
    process = start(folder, real, "--yes", "--json")
    output, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, output + errors
    data = json.loads(output)["data"]
    assert sorted(data["ran"].values()) == [0, 1]
    assert data["ran"][data["gateway"]] == 1
    assert data["heldAgain"] not in ([], [data["nonce"]])
    assert left_in(folder) == []


@pytest.mark.thorough
def test_an_interrupted_demo_ends_all_that_it_started(folder: Path, real: downloads.Runtime) -> None:
    process = start(folder, real)
    assert process.stderr is not None
    while "starting gateway 1" not in (line := process.stderr.readline()):
        assert line, "it ended"
    started = psutil.Process(process.pid).children(recursive=True)
    assert started
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode not in (0, None)
    _, alive = psutil.wait_procs(started, timeout=LIMIT)
    assert alive == []
    assert left_in(folder) == []


def start(folder: Path, real: downloads.Runtime, *more: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "TMPDIR": str(folder),
        "HOME": str(folder),
        "TOOLGUARD_CACHE_DIR": str(downloads.cache_dir()),
    }
    return subprocess.Popen(
        [*COMMAND, real.version, *more],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_in(folder: Path) -> list[str]:
    """Folders of the demo. Node's cache of compiled code is not ours."""
    return [path.name for path in folder.iterdir() if path.name.startswith("toolguard-")]
