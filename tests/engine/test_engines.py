"""The files in which engines say that they live, and what becomes of them when they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolguard_engine.stores import atomic, system_calls
from toolguard_engine.stores.engines import EngineStart, describe
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files.engine_files import EngineInfo

DEAD = 2**22 + 12_345  # above the largest process id of Linux


def info(pid: int, gateway: str = "gw") -> EngineInfo:
    return EngineInfo(pid, 1, gateway, "2026.9.6", "0.1.0", "0.1.0", 1.5, "enforce", "/s/tool-guard.log")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The pids that count as engines which run."""
    pids: set[int] = set()
    monkeypatch.setattr(engines, "alive", pids.__contains__)
    return pids


def listing(state: Path) -> list[str]:
    return sorted(str(path.relative_to(state)) for path in state.rglob("*") if path.is_file())


def test_publish(state: Path) -> None:
    engines.publish(state, info(7))
    path = state / "toolguard" / "engines" / "7.json"
    assert listing(state) == ["toolguard/engines/7.json"]
    assert path.read_text() == (
        '{"pid":7,"gatewayPid":1,"gateway":"gw","host":"2026.9.6","version":"0.1.0","plugin":"0.1.0","started":1.5,'
        '"mode":"enforce","logPath":"/s/tool-guard.log","configError":"","logError":"","judged":0,"corrected":0,"loops":0,'
        '"stopped":0,"held":0,"blocked":0,"approved":0,"repeated":0,"seams":{},"namespaces":[],"replaced":"",'
        '"published":0.0,"settings":{},"contained":false,"uncontained":"","wayOut":"","unrehearsed":""}'
    )
    assert [place.stat().st_mode & 0o777 for place in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_publish_again_replaces(state: Path) -> None:
    engines.publish(state, info(7, "old"))
    engines.publish(state, info(7, "new"))
    assert listing(state) == ["toolguard/engines/7.json"]
    assert engines.read(state / "toolguard/engines/7.json") == info(7, "new")


def test_retire(state: Path) -> None:
    engines.publish(state, info(7))
    engines.retire(state, 7)
    engines.retire(state, 7)
    assert listing(state) == ["toolguard/last-engine.json"]
    assert engines.last(state) == info(7)


def test_running_lists_the_living(state: Path, living: set[int]) -> None:
    assert engines.running(state) == []
    for pid in (7, 8, 9):
        engines.publish(state, info(pid))
    (state / "toolguard/engines/10.json").write_text("half a fi")
    living.update((7, 9, 10))
    assert engines.running(state) == [info(7), info(9)]


def test_sweep_retires_the_dead_and_keeps_the_youngest(state: Path, living: set[int]) -> None:
    for age, pid in enumerate((9, 7, 8), start=1):
        engines.publish(state, info(pid))
        os.utime(state / f"toolguard/engines/{pid}.json", (age, age))
    (state / "toolguard/engines/notes.json").write_text("{}")
    (state / "toolguard/engines/²³.json").write_text("{}")
    living.add(9)
    engines.sweep(state)
    assert listing(state) == [
        "toolguard/engines/9.json",
        "toolguard/engines/notes.json",
        "toolguard/engines/²³.json",
        "toolguard/last-engine.json",
    ]
    assert engines.last(state) == info(8)


def test_sweep_removes_what_is_said_of_a_start_with_its_gateway(state: Path) -> None:
    engines.publish(state, info(7))
    for pid in (os.getpid(), DEAD):
        note = f'{{"gatewayPid": {pid}, "since": 5, "works": true, "limit": 60}}'
        (engines.folder(state) / f"{pid}.starting").write_text(note)
    engines.sweep(state)
    assert engines.starting(state) == [EngineStart(os.getpid(), 5.0, works=True, limit=60.0)]


def test_sweep_removes_what_killed_processes_left_but_looks_into_no_entry_of_undo(state: Path) -> None:
    """There may be 100,000 of those, and each engine sweeps before it is ready."""
    own = state / "toolguard"
    places = [state, own, own / "grants" / "inner", own / "undo" / "0a1b2c"]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        left = place / f".file.x{atomic.TEMPORARY}"
        left.write_text("half")
        os.utime(left, (1, 1))
    engines.sweep(state)
    assert [any(place.glob(".file*")) for place in places] == [False, False, False, True]


def test_sweep_of_nothing(state: Path) -> None:
    engines.sweep(state)
    assert engines.last(state) is None


def test_alive() -> None:
    assert not engines.alive(DEAD)
    assert not engines.alive(1)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff", b'{"pid":"7"}'], ids=["empty", "object", "list", "bytes", "type"]
)
def test_a_broken_file_is_no_engine(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "7.json"
    path.write_bytes(content)
    assert engines.read(path) is None


def test_what_a_later_version_adds_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "7.json"
    engines.publish(tmp_path, info(7))
    path.write_text((tmp_path / "toolguard/engines/7.json").read_text().replace('"pid"', '"colour":"red","pid"'))
    assert engines.read(path) == info(7)
    assert describe(info(7))["logPath"] == "/s/tool-guard.log"


def test_replace_leaves_the_old_file_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    atomic.replace(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        atomic.replace(path, b"new")
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("a", b"old")]


@pytest.mark.parametrize("name", ["linux", "darwin"])
def test_alive_on_each_system(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "linux" and not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    monkeypatch.setattr(system_calls, "NAME", name)
    command = [sys.executable, "-c", "print(flush=True); input()", "toolguard_engine"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdout
        engine.stdout.readline()  # at the start of a program its command line is empty for a moment
        assert engines.alive(engine.pid)
        engine.kill()
    assert not engines.alive(engine.pid)
    assert not engines.alive(os.getpid())
    assert not engines.alive(DEAD)
