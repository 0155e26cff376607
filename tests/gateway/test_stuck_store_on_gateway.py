"""The store of held calls is stuck: the call that needs it does not run and is named, everything else goes on, and no engine
is killed. All under `failMode: "open"`, which lets calls run where the engine is silent."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway_stage import Stage, nonces, once, waiting
from toolguard_cli.rig import scripted_model

SLOW_DISK = Path(__file__).parents[2] / "scripts/benches/slow_disk.py"
HOLDER = "import fcntl, sys; lock = open(sys.argv[1], 'a'); fcntl.flock(lock, fcntl.LOCK_EX); print(flush=True); input()"
NEVER, SLOW = "inf", "0.3"
"""How many seconds the disk takes for each `fsync`."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that says how slow the disk of the engine is."""
    path = tmp_path_factory.mktemp("disk") / "seconds"
    path.write_text("0")
    return path


@pytest.fixture
def slow_stage(shared, disk: Path) -> Stage:
    if sys.platform != "linux":
        pytest.skip("only Linux reports system calls")
    python = disk.with_name("python")
    command = [sys.executable, str(SLOW_DISK), str(disk), sys.executable]
    python.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    python.chmod(0o755)
    return shared.under(failMode="open", python=str(python), engines=2)  # the engine and what slows its disk


@contextmanager
def stopped_holder(stage: Stage, _: Path) -> Iterator[None]:
    """A process that has the lock was stopped with Ctrl-Z."""
    place = f"{nonces(stage.home).path}.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline()
            holder.send_signal(signal.SIGSTOP)
            yield
        finally:
            holder.kill()


@contextmanager
def slow_fsync(_: Stage, disk: Path, seconds: str = SLOW) -> Iterator[None]:
    seen = disk.with_name("seconds.seen")
    seen.unlink(missing_ok=True)
    disk.write_text(seconds)
    try:
        yield
        assert seen.exists(), "nothing waited for the disk"
    finally:
        disk.write_text("0")


@contextmanager
def hanging_disk(stage: Stage, disk: Path) -> Iterator[None]:
    with slow_fsync(stage, disk, NEVER):
        yield


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "verdict", "code"),
    [
        pytest.param(stopped_holder, "BLOCK", "approval.away", id="a stopped process holds the lock"),
        pytest.param(slow_fsync, "ESCALATE", "rule.filesystem.delete-recursive", id="fsync takes 0.3 s"),
        pytest.param(hanging_disk, "BLOCK", "approval.away", id="the disk hangs"),
    ],
)
def test_only_the_held_call_waits(slow_stage: Stage, disk: Path, fault, verdict: str, code: str, wait) -> None:
    stage = slow_stage
    precious = stage.home.root / "precious"
    precious.mkdir(exist_ok=True)
    delete = scripted_model.call("exec", {"command": f"rm -rf {precious}"})
    safe = scripted_model.call("exec", {"command": "echo $((6 * 7))"})
    assert stage.play(once(safe)).results == ["42"]
    engines = stage.engines()
    with fault(stage, disk):
        held = stage.play(once(delete, safe))
        assert [text.partition("|")[0] for text in held.results] == [f"TOOLGUARD_{verdict}", "42"]
        assert stage.play(once(safe)).results == ["42"]
    assert stage.engines() == engines
    for engine in engines:
        os.kill(engine, 0)
    assert precious.is_dir()
    wait(lambda: code in stage.codes(held))
    again = stage.play(once(delete), held.session)
    assert again.results[-1].startswith("TOOLGUARD_ESCALATE|")
    assert len([entry for entry in waiting(stage.home) if entry.session == held.session]) == 1
