"""What is looked up on this machine for a room: what the gateway and the guard run with, and the workspaces."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path

import pytest

from toolguard_engine.model.call import Host
from toolguard_engine.server import room_surroundings


def _look(state: Path, config: object) -> room_surroundings.RoomPlaces:
    (state / "openclaw.json").write_text(json.dumps(config))
    return room_surroundings.look(Host(str(state.parent), str(state), f"{state}/openclaw.json"), {})


def test_workspaces_of_each_form_of_the_config(tmp_path: Path) -> None:
    agents = {"defaults": {"workspace": "~/a"}, "list": [{"workspace": "/b"}], "entries": {"x": {"workspace": "/c"}}}
    assert set(_look(tmp_path, {"agents": agents}).workspaces) >= {f"{tmp_path.parent}/a", "/b", "/c"}


def test_interpreters_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = os.path.realpath(sysconfig.get_path("stdlib"))
    monkeypatch.setattr(os, "getuid", lambda: Path(library).stat().st_uid)
    found = _look(tmp_path, {})
    assert {library, os.path.realpath(sys.executable)} <= set(found.interpreters)
    if sys.prefix != sys.base_prefix:
        assert found.packages == (f"{library}/site-packages",)


def test_interpreters_of_another_user_need_no_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    found = _look(tmp_path, {})
    assert (found.interpreters, found.packages) == ((), ())
