"""A disk that answers as before and stores nothing is found by trying it."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest
from cli_stage import put_in, texts

from toolguard_cli.commands import run_doctor, show_status
from toolguard_cli.doctor.checks import disk_check
from toolguard_cli.system import disk_trial
from toolguard_cli.system.paths import Places

STEPS = [
    ("tempfile.mkstemp", errno.EROFS, "written"),
    ("os.write", errno.EIO, "written"),
    ("system_calls.sync", errno.EIO, "synced"),
    ("fcntl.flock", errno.ENOLCK, "locked"),
    ("Path.replace", errno.EROFS, "renamed"),
]


def test_a_sound_disk(places: Places) -> None:
    places.own.mkdir(parents=True, exist_ok=True)
    before = sorted(places.own.iterdir())
    assert disk_trial.problem(places.own) == ""
    assert sorted(places.own.iterdir()) == before


@pytest.mark.parametrize(("name", "number", "step"), STEPS)
def test_each_step(places: Places, monkeypatch: pytest.MonkeyPatch, name: str, number: int, step: str) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    put_in(places)
    places.own.mkdir(parents=True, exist_ok=True)
    before = sorted(places.own.iterdir())
    holder, _, what = name.partition(".")
    subject = run_doctor.look(places)
    with monkeypatch.context() as faulty:
        faulty.setattr(getattr(disk_trial, holder), what, fails)
        found = disk_check.room(subject)
        shown = texts(show_status.run(places))
    assert (found.id, found.status) == ("disk", "error")
    assert f"cannot be {step}: {os.strerror(number)}" in found.detail
    assert any(f"cannot be {step}: {os.strerror(number)}" in line for line in shown)
    assert sorted(places.own.iterdir()) == before
