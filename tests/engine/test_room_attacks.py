"""What a program that nobody can read does without a room, it does not in one: as a script and as a compiled program."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import programs
import room_attacks
import room_stage
from effort import some
from room_attacks import CREDENTIALS, DEEDS, DOCUMENTS, OPEN, SERVERS
from room_stage import RoomStage
from toolguard_engine.config.containment_settings import Profile

CASES = [("protect", name) for name in (*DEEDS, *SERVERS)]
CASES += [("secrets", name) for name in (*CREDENTIALS, "reads the key")]
CASES += [("workspace", name) for name in (*DOCUMENTS, "changes .bashrc")]


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


@pytest.mark.parametrize(("profile", "name"), some(CASES))
def test_a_script(stage: RoomStage, profile: Profile, name: str) -> None:
    argv = [sys.executable, "-I", "-S", "-c", room_attacks.python(room_attacks.ALL[name])]
    assert stage.succeeds(argv, None)
    assert not stage.succeeds(argv, profile)


@pytest.mark.parametrize(("profile", "name"), some([*CASES[2:], *CASES[:2]]))
def test_a_compiled_program(stage: RoomStage, profile: Profile, name: str) -> None:
    programs.need("gcc")
    program = room_attacks.compiled(stage.top / "tool", room_attacks.ALL[name])
    assert stage.succeeds([program], None)
    assert not stage.succeeds([program], profile)


@pytest.mark.parametrize("name", [*CREDENTIALS, *DOCUMENTS, *OPEN])
def test_what_the_profile_protect_leaves_open(stage: RoomStage, name: str) -> None:
    """docs/containment.md says so; a stricter profile closes it."""
    argv = [sys.executable, "-I", "-S", "-c", room_attacks.python(room_attacks.ALL[name])]
    assert stage.succeeds(argv, "protect")
