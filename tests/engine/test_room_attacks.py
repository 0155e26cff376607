"""What a program that nobody can read does without a room, it does not in one: as a script and as a compiled program."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import programs
import room_attacks
import room_stage
from effort import some
from room_attacks import CREDENTIALS, DEEDS, DOCUMENTS, Step
from room_stage import RoomStage
from toolguard_engine.config.containment_settings import Profile

ALL = {**DEEDS, **CREDENTIALS, **DOCUMENTS}
CASES = [("protect", name) for name in DEEDS]
CASES += [("secrets", name) for name in (*CREDENTIALS, "reads the key")]
CASES += [("workspace", name) for name in (*DOCUMENTS, "changes .bashrc")]


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


def _tried(stage: RoomStage, argv: list[str], profile: Profile | None) -> bool:
    """Whether the deed succeeds in a home that is as new: without a room, or in one with the rules of the profile.

    It is given a process of the same user that runs in no room, as the gateway does.
    """
    stage.renew()
    room = stage.room(rules=stage.rules(profile)) if profile else 0
    waiting = ["/bin/sh", "-c", "echo up; exec sleep 600"]
    outside = stage.ask("start", room=0, argv=waiting, cwd=str(stage.workspace))["pid"]
    try:
        words = [*argv, str(stage.state), str(stage.home), f"/proc/{outside}"]
        return stage.run(*words, room=room, cwd=stage.top).out == "DONE\n"
    finally:
        stage.ask("end", pid=outside, kill=True)


@pytest.mark.parametrize(("profile", "name"), some(CASES))
def test_a_script(stage: RoomStage, profile: Profile, name: str) -> None:
    argv = [sys.executable, "-I", "-S", "-c", room_attacks.python(ALL[name])]
    assert _tried(stage, argv, None)
    assert not _tried(stage, argv, profile)


@pytest.mark.parametrize(("profile", "name"), some([*CASES[2:], *CASES[:2]]))
def test_a_compiled_program(stage: RoomStage, profile: Profile, name: str) -> None:
    programs.need("gcc")
    program = _compiled(stage.top / "tool", ALL[name])
    assert _tried(stage, [program], None)
    assert not _tried(stage, [program], profile)


def _compiled(path: Path, steps: tuple[Step, ...]) -> str:
    source = path.with_suffix(".c")
    source.write_text(room_attacks.c(steps))
    subprocess.run([str(shutil.which("gcc")), "-o", str(path), str(source)], check=True, capture_output=True)
    return str(path)


@pytest.mark.parametrize("name", [*CREDENTIALS, *DOCUMENTS])
def test_what_the_profile_protect_leaves_open(stage: RoomStage, name: str) -> None:
    """docs/containment.md says so; a stricter profile closes it."""
    argv = [sys.executable, "-I", "-S", "-c", room_attacks.python(ALL[name])]
    assert _tried(stage, argv, "protect")
