"""What the engine does beside its answers: no step of it ends the engine, and none makes a call wait."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine import serve
from toolguard_engine.stores.killswitch import KillSwitch

STEPS = [
    "_restore",
    "_take_own_rules",
    "_look_at_rules",
    "_look_at_switch",
    "_begin_recording",
    "_compare_settings",
    "_begin_switch",
    "_begin_audit",
    "_begin_counting",
    "_begin_standings",
    "_begin_weakenings",
    "_begin_log",
    "_name_problems",
    "_look_at_includes",
    "_say_why_it_ends",
    "_save_counters",
    "_write_events",
    "_publish",
    "_end_recording",
]
JUDGE = {"type": "judge", "tool": "read", "params": {"path": "a"}, "run": "r"}


class Played:
    """An engine in this process. `run` gives it messages, each in a chunk of its own."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "openclaw.json"
        self.state = folder / "state"
        self._out, self._sink = os.pipe()
        os.set_blocking(self._out, False)
        self.engine = serve.Engine(-1, self._sink)
        self.hello = {
            "id": 0,
            "type": "hello",
            "v": 1,
            "stateDir": str(self.state),
            "configPath": str(self.config),
            "config": None,
            "gateway": "gw",
        }

    def run(self, monkeypatch: pytest.MonkeyPatch, *messages: dict[str, Any]) -> list[Any]:
        """What it said from its introduction to its end."""
        chunks = iter([json.dumps(each).encode() + b"\n" for each in (self.hello, *messages)])
        monkeypatch.setattr(self.engine, "_read", lambda: next(chunks, b""))
        self.engine.run()
        return self.said()

    def said(self) -> list[Any]:
        """What it said since the last time."""
        try:
            data = os.read(self._out, 1 << 16)
        except BlockingIOError:
            return []
        return [json.loads(line) for line in data.splitlines()]

    def close(self) -> None:
        os.close(self._out)
        os.close(self._sink)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    made = Played(tmp_path)
    yield made
    made.close()


def failing(*_: Any, **__: Any) -> None:
    raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")


@pytest.mark.parametrize("step", STEPS)
def test_no_step_ends_the_engine(played: Played, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(played.engine, step, failing)
    said = played.run(monkeypatch, {"id": 1, **JUDGE}, {"id": 2, "type": "ping"})
    assert [each["type"] for each in said if each["type"] != "log"] == ["ready", "verdict", "pong"]
    assert any("please report this" in each["text"] for each in said if each["type"] == "log")


@pytest.mark.parametrize("step", [name for name in STEPS if name not in ("_begin_switch", "_look_at_switch")])
def test_whatever_fails_the_kill_switch_counts(played: Played, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    KillSwitch(played.state).set(on=True, by="a person", why="")
    monkeypatch.setattr(played.engine, step, failing)
    said = played.run(monkeypatch, {"id": 1, **JUDGE})
    assert [each["decision"] for each in said if each["type"] == "verdict"] == ["block"]


def test_a_config_behind_a_folder_whose_name_is_no_text(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = played.config.parent / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "openclaw.json").write_text("{}")
    played.config.symlink_to(folder / "openclaw.json")
    said = played.run(monkeypatch, {"id": 1, **JUDGE})
    assert [each["type"] for each in said if each["type"] != "log"] == ["ready", "verdict"]


class Counted:
    """A function that counts its calls, and notes what had been said by then."""

    def __init__(self, real: Callable[..., Any], played: Played) -> None:
        self.real = real
        self.played = played
        self.calls = 0
        self.before: list[str] = []

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        self.before += [each["type"] for each in self.played.said()]
        return self.real(*args)


def test_the_host_is_looked_at_once_until_the_config_changes(monkeypatch: pytest.MonkeyPatch, played: Played) -> None:
    played.config.write_text("{}")
    monkeypatch.setattr(serve, "RULES_EVERY", 0.0)
    links = Counted(serve.links_to, played)
    object.__setattr__(played.engine._session.setup, "links", links)
    played.run(monkeypatch, *({"id": at, **JUDGE} for at in range(1, 4)))
    assert links.calls == 1


def test_a_changed_config_is_read_after_the_answer(monkeypatch: pytest.MonkeyPatch, played: Played) -> None:
    played.config.write_text("{}")
    monkeypatch.setattr(serve, "RULES_EVERY", 0.0)
    counted = Counted(serve.links_to, played)
    object.__setattr__(played.engine._session.setup, "links", counted)
    real = played.engine._answer

    def answer(line: bytes, *, too_long: bool) -> None:
        if b"judge" in line:
            played.config.write_text('{ "$include": "./part.json5" }')
        real(line, too_long=too_long)

    monkeypatch.setattr(played.engine, "_answer", answer)
    played.run(monkeypatch, {"id": 1, **JUDGE}, {"id": 2, "type": "ping"})
    assert counted.calls == 2
    assert [each for each in counted.before if each != "log"] == ["ready", "verdict"]
