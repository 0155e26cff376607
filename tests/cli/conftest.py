"""Fixtures of the command line's tests; `cli_stage` and `config_texts` beside this file are for all of them."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_stage import LIMIT

from toolguard_cli.system.paths import Places


@pytest.fixture(autouse=True)
def patient_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a program that works may answer later than `toolguard doctor` waits for it."""
    for limit in ("engine_check.LIMIT_SECONDS", "node_check.LIMIT_SECONDS", "host_check.SAY_SECONDS"):
        monkeypatch.setattr(f"toolguard_cli.doctor.checks.{limit}", LIMIT)


@pytest.fixture(autouse=True)
def no_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway on the usual port of this machine is not asked: nothing listens on this one."""
    monkeypatch.setenv("OPENCLAW_GATEWAY_PORT", "1")


@pytest.fixture
def standing_clock(monkeypatch: pytest.MonkeyPatch) -> float:
    """The time, which stands still in this process: what is left of a time does not depend on the machine."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    return now


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A gateway whose state directory is there and empty."""
    state = tmp_path / ".openclaw"
    state.mkdir()
    return Places(state, state / "openclaw.json")
