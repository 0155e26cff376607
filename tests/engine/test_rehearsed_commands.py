"""By which name a command enters its room: rehearsed, with the changes that a person approved, or as any other."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolguard_engine.config.settings import parse
from toolguard_engine.containment.rehearsed_changes import After, Before, RehearsedChange
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.rehearsals import Rehearsed
from toolguard_engine.server import (
    command_rooms,
    command_shell,
    present_state,
    rehearsal_commit,
    rehearsal_files,
    rehearsal_judge,
    rehearsal_run,
    rehearsed_commands,
    room_causes,
    rooms,
)
from toolguard_engine.server.command_rooms import CommandRoom, CommandRooms
from toolguard_engine.server.rehearsal_files import HeldRehearsal, RehearsalPlan, RehearsalSettings
from toolguard_engine.server.rehearsed_commands import RehearsedCommands
from toolguard_engine.wire import messages

REHEARSE = {"containment": {"unknown": "rehearse"}}
SHELL = {"shell": "/bin/sh", "path": "/usr/bin:/bin"}
UNKNOWN = Call("exec", {"command": "./tool"}, agent="main")


class Kernel:
    """Every room can be made."""

    def __init__(self, rules_of: Any, *_: Any) -> None:
        self.rules_of = rules_of
        self.cause = None

    def entrance(self, agent: str, doors: frozenset[str] = frozenset()) -> int:  # noqa: ARG002
        return 7

    def probe(self, agent: str = "") -> str:  # noqa: ARG002
        return ""

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "Rooms", Kernel)
    monkeypatch.setattr(room_causes, "standing", lambda: None)
    monkeypatch.setattr(RehearsedCommands, "_trial", lambda _: "")


def _begun(state: Path, config: dict[str, Any] = REHEARSE) -> CommandRooms:
    made = CommandRooms({})
    hello = messages.Hello(1, messages.VERSION, str(state), config=config, **SHELL)
    made.begin(hello, parse(config), Host(home=str(state), state_dir=str(state)))
    return made


def _name(made: CommandRooms, call: Call = UNKNOWN, *, approved: bool = False) -> str:
    room = CommandRoom(7, call.agent or "-")
    return made.rehearsal(CallReading(call, Host()), room, approved=approved).name


def _rehearsals(made: CommandRooms) -> RehearsedCommands:
    assert made.rehearsals is not None
    return made.rehearsals


def _hold(made: CommandRooms, target: Path, *, is_whole: bool = True) -> Path:
    """What a run does that ends with something for a person to see."""
    new = target.with_name("kept")
    new.write_text("new")
    change = RehearsedChange(str(target), present_state.before(str(target)), After("file", 0o600, 3, 1, kept=str(new)))
    held = _rehearsals(made)._at(UNKNOWN) / "held"
    held.mkdir(parents=True)
    rehearsal_commit.keep([change], held)
    record = HeldRehearsal(["changes it"], is_whole, "salt", done=[("write", str(target))])
    (held / "held.json").write_bytes(msgspec.json.encode(record))
    return held


def test_only_unknown_code_is_rehearsed(tmp_path: Path) -> None:
    made = _begun(tmp_path)
    assert made.unrehearsed == ""
    assert _name(made, Call("exec", {"command": "git status"}, agent="main")) == "main"
    key = _rehearsals(made)._at(UNKNOWN).name
    assert _name(made) == f"main+rehearse:{key}"
    assert _name(made, approved=True) == "main"
    plan = tmp_path / "toolguard/rehearsals" / key / "plan.json"
    assert plan.stat().st_mode & 0o777 == 0o600
    assert msgspec.json.decode(plan.read_bytes())["agent"] == "main"


@pytest.mark.parametrize("config", [{}, {"containment": {"unknown": "hold"}}, {"agents": {"other": REHEARSE}}])
def test_where_it_is_not_wanted(tmp_path: Path, config: dict[str, Any]) -> None:
    assert _name(_begun(tmp_path, config)) == "main"


def test_an_agent_may_be_the_only_one(tmp_path: Path) -> None:
    made = _begun(tmp_path, {"agents": {"main": REHEARSE}})
    assert "+rehearse:" in _name(made)
    assert _name(made, Call("exec", {"command": "./tool"}, agent="b")) == "b"


def test_where_it_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RehearsedCommands, "_trial", lambda _: "no overlay")
    made = _begun(tmp_path)
    assert made.is_contained
    assert made.unrehearsed == "no overlay"
    assert _name(made) == "main"
    assert _rehearsals(made).rehearse(UNKNOWN) == Rehearsed(unavailable="no overlay")


@pytest.mark.parametrize(
    "call", [Call("exec", {"command": "./tool"}, searched=True), Call("exec", {"command": "./tool", "host": "node"})]
)
def test_what_runs_elsewhere_is_not_rehearsed(tmp_path: Path, call: Call) -> None:
    assert _rehearsals(_begun(tmp_path)).rehearse(call).unavailable


def test_what_waits_is_made_when_approved(tmp_path: Path) -> None:
    made, target = _begun(tmp_path), tmp_path / "file"
    target.write_text("old")
    held = _hold(made, target)
    seen = _rehearsals(made).rehearse(UNKNOWN)
    assert seen == Rehearsed(("changes it",), str(held / "held.json"), (("write", str(target)),))
    name = _name(made, approved=True)
    assert name.startswith(f"main+commit:{held.parent.name}:")
    assert _rehearsals(made).rehearse(Call("exec", {"command": "./tool"}, agent="main", session="other")) == Rehearsed()
    assert made.waits(UNKNOWN)


def test_what_could_not_be_seen_whole_runs_again_when_approved(tmp_path: Path) -> None:
    made = _begun(tmp_path)
    held = _hold(made, tmp_path / "file", is_whole=False)
    assert _name(made, approved=True) == f"main+run:{held.parent.name}"


def test_what_is_overtaken_is_forgotten(tmp_path: Path) -> None:
    made, target = _begun(tmp_path), tmp_path / "file"
    target.write_text("old")
    held = _hold(made, target)
    target.write_text("changed meanwhile")
    assert _rehearsals(made).rehearse(UNKNOWN) == Rehearsed()
    assert not held.exists()


def test_names_are_bounded(tmp_path: Path) -> None:
    made = _begun(tmp_path)
    call = Call("exec", {"command": "./tool"}, agent="a" * 300)
    room = made.rehearsal(CallReading(call, Host()), CommandRoom(7, "a" * command_rooms.MAX_NAME), approved=False)
    assert len(room.name) == command_rooms.MAX_NAME
    assert room.name.endswith(_rehearsals(made)._at(call).name)


def test_the_program_of_the_gateway_hands_the_command_on(tmp_path: Path) -> None:
    program = command_shell.put(tmp_path, "/bin/sh", "/usr/bin:/bin", rehearsing=["/bin/echo", "a folder"])
    env = {**os.environ, "TOOLGUARD_ROOM": "main+rehearse:key", "TOOLGUARD_ROOMS": ",main=7,main+rehearse:key=8,"}
    done = subprocess.run([program, "-c", "ls $HOME"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "a folder 8 main+rehearse:key /bin/sh -c ls $HOME\n"


def _plan(made: CommandRooms, state: Path, cwd: Path) -> RehearsalPlan:
    key = _name(made, replace(UNKNOWN, cwd=str(cwd))).rpartition(":")[2]
    return rehearsal_files.PLANS.decode((state / "toolguard/rehearsals" / key / "plan.json").read_bytes())


def test_start_up_files_that_are_links_are_watched_where_they_lead(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/rc").write_text("")
    (tmp_path / ".files").symlink_to("dotfiles")
    (tmp_path / ".bashrc").symlink_to(".files/rc")
    (tmp_path / ".config/autostart").mkdir(parents=True)
    (tmp_path / ".config/autostart/a.desktop").symlink_to(tmp_path / "dotfiles/a")
    found = _plan(_begun(tmp_path), tmp_path, tmp_path).revealed
    real = os.path.realpath(tmp_path)
    assert {f"{real}/.bashrc", f"{real}/.files", f"{real}/dotfiles/rc", f"{real}/dotfiles/a"} <= set(found)


@pytest.mark.parametrize(
    ("workspace", "is_seen"),
    [
        ("Documents", True), ("", True), ("..", True), (".openclaw", True), ("Documents/of-agent", True),
        (".openclaw/workspace", True), ("project", False),
    ],
)  # fmt: skip
def test_only_the_workspace_is_worked_on(tmp_path: Path, workspace: str, is_seen: bool) -> None:  # noqa: FBT001
    home = Path(os.path.realpath(tmp_path)) / "home"
    file = home / "project/report"
    state = f"{home}/.openclaw"
    plan = RehearsalPlan("main", [], [], [], [], workspace=os.path.normpath(home / workspace))
    settings = RehearsalSettings({}, Host(home=str(home), state_dir=state, config_path=f"{state}/openclaw.json"))
    gone = RehearsedChange(str(file), Before("file", 1, 5, 1, 1, 0o644), After())
    assert bool(rehearsal_judge.judged([gone], [], plan, settings).effects) is is_seen


def test_what_runs_again_enters_no_room_in_which_the_guard_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it ran"))
    assert rehearsal_run.plainly(tmp_path, "self", ["/bin/sh", "-c", ":"]) == rehearsal_run.NOT_DONE
    assert "not a room of this gateway" in capsys.readouterr().err


def test_an_interpreter_that_takes_nothing_from_the_command() -> None:
    command = [*rehearsed_commands.interpreter("rehearsal_probe")[:-1], "import sys; print(sys.flags.isolated)"]
    done = subprocess.run(command, env={"PYTHONPATH": "/nowhere"}, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
