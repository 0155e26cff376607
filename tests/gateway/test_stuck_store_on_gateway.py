"""Another process holds the lock of the held calls: the call that needs the store is blocked, everything else goes on."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway_stage import Stage, nonces, once, waiting
from toolguard_cli.rig import scripted_model


@contextmanager
def stuck(stage: Stage) -> Iterator[None]:
    """While it lasts, nobody else gets the lock."""
    lock = os.open(f"{nonces(stage.home).path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@pytest.fixture
def precious(stage: Stage) -> str:
    folder = stage.home.root / "precious"
    folder.mkdir(exist_ok=True)
    return str(folder)


def test_only_the_held_call_is_blocked(stage: Stage, precious: str, wait) -> None:
    delete = scripted_model.call("exec", {"command": f"rm -rf {precious}"})
    safe = scripted_model.call("exec", {"command": "echo $((6 * 7))"})
    assert stage.play(once(safe)).results == ["42"]
    engines = stage.engines()
    with stuck(stage):
        away = stage.play(once(delete, safe))
        assert away.results[0].startswith("TOOLGUARD_BLOCK|")
        assert away.results[1] == "42"
        assert stage.play(once(safe)).results == ["42"]
        assert waiting_in(stage, away.session) == []
    assert stage.engines() == engines
    assert Path(precious).is_dir()
    wait(lambda: "approval.away" in stage.codes(away))
    again = stage.play(once(delete), away.session)
    assert again.results[-1].startswith("TOOLGUARD_ESCALATE|")
    assert len(waiting_in(stage, away.session)) == 1


def waiting_in(stage: Stage, session: str) -> list[str]:
    return [entry.nonce for entry in waiting(stage.home) if entry.session == session]
