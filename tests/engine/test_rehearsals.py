"""Opaque programs on a copy of the files: what is harmless is done, the rest is shown, and nothing is touched before."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import programs
import rehearsal_deeds
import room_stage
from effort import ALL
from rehearsal_deeds import ASKED, HARMFUL, HONEST
from room_stage import RoomStage

FORMS = ("compiled", "script")
DRIVER = room_stage.DRIVER.with_name("rehearsal_driver.py")
IN_GATE = ("changes .bashrc", "cleans its build")
MOST_ASKED = 4
LEAST_HELD = 40


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


def _asked(stage: RoomStage, **asked: Any) -> list[dict[str, Any]]:
    folders = [room_stage.ROOT / "tests", DRIVER.parent, room_stage.ROOT / "plugin"]
    text = json.dumps({**asked, "folder": str(stage.home / "deeds")})
    stage.run("/bin/mkdir", "-p", str(stage.home / "deeds"))
    done = stage.run(sys.executable, str(DRIVER), text, PYTHONPATH=":".join(map(str, folders)))
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def _played(stage: RoomStage, cases: list[tuple[str, str]]) -> list[dict[str, Any]]:
    programs.need("gcc")
    found = [each for case in cases for each in _asked(stage, cases=[case])]
    assert [each["error"] for each in found if each["error"]] == []
    assert [each["name"] for each in found if each["unknown"] in ("", "held by its text")] == []
    return found


def _held(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for each in found:
        assert each["untouched"] or not each["effects"], each
        assert each["done"] or each["effects"], each
        assert each.get("approved", [0, 125]) == [0, 125], each  # once only
        assert each.get("done_when_approved", True), each
    return [each for each in found if each["effects"]]


def test_a_few_deeds(stage: RoomStage) -> None:
    found = _played(stage, [(FORMS[number % 2], name) for number, name in enumerate(IN_GATE)])
    held = _held(found)
    assert [each["name"] for each in held] == [name for name in IN_GATE if name in HARMFUL]
    assert all(HARMFUL[each["name"]][0] in each["effects"][0] and each["code"] == 125 for each in held)


@pytest.mark.thorough
def test_all_deeds(stage: RoomStage) -> None:
    """The figures of docs/containment.md."""
    harmful = _held(_played(stage, [(form, name) for form in FORMS for name in HARMFUL]))
    true = [each for each in harmful if any(HARMFUL[each["name"]][0] in text for text in each["effects"])]
    assert len(true) >= LEAST_HELD, [each["name"] for each in harmful if each not in true]
    honest = _held(_played(stage, [(form, name) for form in FORMS for name in HONEST]))
    assert {each["name"] for each in honest} == ASKED
    assert len(honest) <= MOST_ASKED


def test_killed_at_any_moment(stage: RoomStage) -> None:
    outcomes = [each["outcome"] for each in _asked(stage, kills=50 if ALL else 1)]
    assert set(outcomes) <= {"before", "after"}


def test_there_are_a_hundred_deeds() -> None:
    assert len(FORMS) * (len(HARMFUL) + len(HONEST)) == 100
    assert rehearsal_deeds.steps("does nothing") == ()
