"""What the engine does beside its answers: no step of it ends the engine, and none makes a call wait."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from toolguard_engine.rules import packs, terms
from toolguard_engine.server import warm_up
from toolguard_engine.server.session_state import SessionTally
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile

STEPS = [
    ("records", "restore"),
    ("records", "begin_audit"),
    ("records", "begin_counters"),
    ("records", "begin_standings"),
    ("records", "begin_log"),
    ("records", "write_events"),
    ("records", "write_log"),
    ("records", "report_standings"),
    ("records", "save_counters"),
    ("policy", "begin_rules"),
    ("policy", "look_at_rules"),
    ("policy", "look_at_includes"),
    ("metrics", "begin"),
    ("metrics", "record"),
    ("metrics", "end"),
    ("settings", "begin"),
    ("settings", "compare"),
    ("settings", "report_end"),
    ("published", "publish"),
    ("held", "follow"),
]
SWITCH = [("policy", "begin_switch"), ("policy", "look_at_switch")]
JUDGE = {"type": "judge", "tool": "read", "params": {"path": "a"}, "run": "r"}


def failing(*_: Any, **__: Any) -> None:
    raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")


def talked(talk: Talk, state: Path, *messages: dict[str, Any], **more: Any) -> list[Any]:
    """What it said from its introduction to its end."""
    talk.send(id=0, type="hello", v=1, stateDir=str(state), config=None, gateway="gw", **more)
    for message in messages:
        talk.send(**message)
    said = talk.said()
    return said + talk.end()


@pytest.mark.parametrize(("part", "step"), [*STEPS, *SWITCH])
def test_no_step_ends_the_engine(talk: Talk, state: Path, monkeypatch: pytest.MonkeyPatch, part: str, step: str) -> None:
    monkeypatch.setattr(getattr(talk.engine.parts, part), step, failing)
    said = talked(talk, state, {"id": 1, **JUDGE}, {"id": 2, "type": "ping"})
    assert [each["type"] for each in said if each["type"] != "log"] == ["ready", "verdict", "pong"]
    assert any("please report this" in each["text"] for each in said if each["type"] == "log")


@pytest.mark.parametrize(("part", "step"), STEPS)
def test_whatever_fails_the_kill_switch_counts(
    talk: Talk, state: Path, monkeypatch: pytest.MonkeyPatch, part: str, step: str
) -> None:
    KillSwitchFile(state).set(on=True, by="a person", why="")
    monkeypatch.setattr(getattr(talk.engine.parts, part), step, failing)
    said = talked(talk, state, {"id": 1, **JUDGE})
    assert [each["decision"] for each in said if each["type"] == "verdict"] == ["block"]


def test_a_config_behind_a_folder_whose_name_is_no_text(talk: Talk, state: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "openclaw.json").write_text("{}")
    (config := tmp_path / "openclaw.json").symlink_to(folder / "openclaw.json")
    said = talked(talk, state, {"id": 1, **JUDGE}, configPath=str(config))
    assert [each["type"] for each in said if each["type"] != "log"] == ["ready", "verdict"]


def test_the_files_of_the_config_are_read_again_only_where_one_changed(talk: Talk, state: Path, tmp_path: Path) -> None:
    """Reading them again means to search the host for links. It is done before the answer: the first call counts."""
    config, searched = tmp_path / "openclaw.json", list[list[str]]()
    config.write_text("{}")

    def links(*_: str) -> tuple[tuple[str, str], ...]:
        searched.append([each["type"] for each in talk.said()])
        return ()

    object.__setattr__(talk.engine.session.setup, "links", links)
    talk.send(id=0, type="hello", v=1, stateDir=str(state), configPath=str(config))
    for number in range(3):
        talk.later(1)
        talk.send(id=number, **JUDGE)
    assert len(searched) == 1
    config.write_text('{ "$include": "./part.json5" }')
    talk.said()
    talk.later(1)
    talk.send(id=4, **JUDGE)
    assert searched[1:] == [[]]
    talk.said()


def test_the_warm_up_leaves_nothing_behind(talk: Talk, state: Path) -> None:
    talk.hello(state)
    session = talk.engine.session
    assert session.tally == SessionTally()
    assert session.take_touched() == {}
    assert session.guard.autonomy.take_changed() == {}
    assert (session.outbox.take_events(), session.outbox.take_verdicts(), session.outbox.take_records()) == ([], [], [])


def test_no_pattern_of_a_rule_is_compiled_after_the_warm_up(talk: Talk, state: Path) -> None:
    terms.search_for.cache_clear()
    talk.hello(state)
    before = terms.search_for.cache_info().misses
    assert before > 0
    shipped = [each for each in packs.load().rules if not each.needs_view]
    asked = [(each.text, each.unless, each.arg, each.no_arg, *(pattern for _, pattern in each.params)) for each in shipped]
    for pattern in filter(None, chain(*asked)):
        terms.search_for(pattern, shipped=True)
    assert terms.search_for.cache_info().misses == before


def test_the_warm_up_lets_a_question_that_waits_go_first(talk: Talk, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[int] = []

    def steps(_: object) -> Iterator[None]:
        for number in range(3):
            said.append(len(talk.pipe.said))
            if number == 0:
                talk.pipe.incoming.append(b'{"id":1,"type":"ping"}\n')
            yield

    monkeypatch.setattr(warm_up, "steps", steps)
    talk.hello(state)
    assert said == [1, 2, 2]
    talk.said()


def test_a_call_is_counted_when_its_answer_has_left(talk: Talk, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.hello(state, {"budget": {"mode": "shadow"}})
    counted = talk.engine.session.guard.autonomy.settle
    said: list[list[str]] = []

    def settle() -> None:
        said.append([each["type"] for each in talk.pipe.said])
        counted()

    monkeypatch.setattr(talk.engine.session, "settle", settle)
    talk.send(id=1, type="judge", tool="write", params={"path": "a", "content": "b"}, agent="main", session="s", run="r")
    assert said == [["verdict"]]
    talk.said()
    (standing,) = talk.engine.session.guard.autonomy.take_changed().values()
    assert standing.spent > 0
