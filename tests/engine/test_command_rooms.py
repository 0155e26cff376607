"""Which commands are contained, what is said when they are not, and what `whenUnavailable` makes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.guard import Guard
from toolguard_engine.layers import uncontained
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.server import command_rooms, room_causes, rooms
from toolguard_engine.server.command_rooms import CommandRoom, CommandRooms, RoomsLost
from toolguard_engine.server.room_causes import ROOT
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.server.verdicts import OUT_OF_ORDER, ROOM_LOST
from toolguard_engine.wire import messages


class Kernel:
    """Rooms as `server.rooms` makes them. `cause`: why none can be made."""

    def __init__(self) -> None:
        self.cause: room_causes.RoomCause | None = None
        self.fault = ""
        self.asked: list[tuple[str, frozenset[str]]] = []

    def __call__(self, rules_of: Any) -> Kernel:
        self.rules_of = rules_of
        return self

    def entrance(self, agent: str, doors: frozenset[str] = frozenset()) -> int:
        self.asked.append((agent, doors))
        return 0 if self.cause else 7 if self.rules_of(agent) else -1

    def probe(self, agent: str = "") -> str:
        return self.fault or ("" if self.entrance(agent) else "no room")

    def close(self) -> None:
        pass


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    found = Kernel()
    monkeypatch.setattr(rooms, "Rooms", found)
    monkeypatch.setattr(room_causes, "standing", lambda: None)
    return found


SHELL = {"shell": "/bin/sh", "path": "/usr/bin:/bin"}


def begun(state: Path, config: dict[str, Any] | None = None) -> CommandRooms:
    made = CommandRooms({})
    made.begin(
        messages.Hello(1, messages.VERSION, str(state), **SHELL),
        parse(config or {}),
        Host(home=str(state), state_dir=str(state)),
    )
    return made


def enter(made: CommandRooms, agent: str = "main", command: str = "ls", cwd: str = "") -> CommandRoom:
    call = Call("exec", {"command": command}, agent=agent, cwd=cwd)
    return made.entrance(call, made.doors(CallReading(call, Host()), approved=False))


def test_a_command_enters_the_room_that_was_probed(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path)
    assert made.is_contained
    assert made.program == str(tmp_path / "toolguard" / "shell" / "sh")
    assert enter(made) == CommandRoom(7, "main")
    assert made.take_news() is None


def test_the_name_of_a_room_says_whose_and_with_which_doors(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path)
    assert made.entrance(Call("exec", {}, agent="a,b=1"), frozenset({"tmux", "docker"})).name == "a_b_1+docker+tmux"
    assert made.entrance(Call("exec", {}), frozenset()).name == "-"


@pytest.mark.parametrize("config", [{"mode": "shadow"}, {"enabled": False}, {"containment": {"profile": "off"}}])
def test_what_is_not_wanted_is_not_tried(tmp_path: Path, kernel: Kernel, config: dict[str, Any]) -> None:
    made = begun(tmp_path, config)
    assert (made.program, made.error, kernel.asked) == ("", "", [])
    assert enter(made).pid == command_rooms.NOT_WANTED


def test_an_agent_may_be_left_out(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path, {"agents": {"free": {"containment": {"profile": "off"}}}})
    assert enter(made, "free").pid == command_rooms.NOT_WANTED
    assert enter(made, "main").pid == 7


def test_an_agent_may_be_the_only_one(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path, {"containment": {"profile": "off"}, "agents": {"held": {"containment": {"profile": "protect"}}}})
    assert enter(made, "held").pid == 7
    assert enter(made, "main").pid == command_rooms.NOT_WANTED


def test_a_new_workspace_is_shown(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path)
    place = str(tmp_path / "mine")
    enter(made, cwd=place)
    assert RoomRule("show", Path(place)) in kernel.rules_of("main")


def test_a_probe_that_reaches_something_leaves_no_room(tmp_path: Path, kernel: Kernel) -> None:
    kernel.fault = "can read /key"
    made = begun(tmp_path)
    assert (made.program, made.error) == ("", "the probe failed: can read /key")
    assert enter(made).pid == command_rooms.NO_ROOM


def test_a_machine_without_rooms_has_lost_none(tmp_path: Path, kernel: Kernel) -> None:
    kernel.cause = ROOT
    made = begun(tmp_path)
    assert (made.program, made.error, made.fix) == ("", ROOT.text, ROOT.fix)
    assert made.take_news() is None
    assert not (tmp_path / "toolguard").exists()


def test_rooms_that_were_there_are_missed_once_and_greeted_again(tmp_path: Path, kernel: Kernel) -> None:
    begun(tmp_path)
    kernel.cause = ROOT
    assert [begun(tmp_path).take_news() for _ in range(2)] == [RoomsLost(ROOT.text), None]
    kernel.cause = None
    assert [begun(tmp_path).take_news() for _ in range(2)] == [RoomsLost(""), None]


def test_a_room_that_cannot_be_made_again_is_news(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path)
    kernel.cause = ROOT
    assert enter(made).pid == command_rooms.NO_ROOM
    assert (made.take_news(), made.is_contained) == (RoomsLost(ROOT.text), False)
    assert made.why_not("main") == ROOT.text
    kernel.cause = None
    assert enter(made).pid == 7
    assert (made.take_news(), made.is_contained) == (RoomsLost(""), True)


def test_a_gateway_that_uses_another_shell_has_lost_its_rooms(tmp_path: Path, kernel: Kernel) -> None:
    setup = Setup(hints={}, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC), pid=1, rooms=CommandRooms({}))
    session = Session(setup)
    session.answer(messages.Hello(1, messages.VERSION, str(tmp_path), **SHELL))
    for _ in range(2):
        session.answer(messages.Seams({"commandShell": "fails"}))
    assert [event.code for event in session.outbox.take_events()] == [ROOM_LOST]
    answer = session.answer(messages.Judge(id=2, tool="exec", params={"command": "ls"}))
    assert isinstance(answer, messages.VerdictAnswer)
    assert (answer.decision, answer.room) == ("allow", 0)


HOLDS = Config(containment=ContainmentConfig(when_unavailable="hold"))


@pytest.mark.parametrize(
    ("tool", "params", "why", "code"),
    [
        ("exec", {"command": "./tool"}, "as root", uncontained.CODE),
        ("exec", {"command": "./tool"}, "", "allow"),
        ("read", {"path": "notes.md"}, "as root", "allow"),
    ],
)
def test_a_command_that_cannot_be_contained_is_held(tool: str, params: dict[str, str], why: str, code: str) -> None:
    guard = Guard(HOLDS, {})
    guard.uncontained = why
    assert guard.judge(Call(tool, params)).code.startswith(code)


@pytest.mark.parametrize(("setting", "decision"), [("run", "allow"), ("hold", "hold")])
def test_only_the_setting_holds(tmp_path: Path, kernel: Kernel, setting: str, decision: str) -> None:
    kernel.cause = ROOT
    setup = Setup(hints={}, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC), pid=1, rooms=CommandRooms({}))
    session = Session(setup)
    config = {"containment": {"whenUnavailable": setting}}
    session.answer(messages.Hello(1, messages.VERSION, str(tmp_path), config, **SHELL))
    answer = session.answer(messages.Judge(id=2, tool="exec", params={"command": "ls"}))
    code = {"allow": "allow", "hold": OUT_OF_ORDER}[decision]  # without a store nothing can wait
    assert isinstance(answer, messages.VerdictAnswer)
    assert answer.code.startswith(code)
    assert answer.room == 0


def test_the_answer_names_the_room_of_a_command_only(tmp_path: Path, kernel: Kernel) -> None:
    setup = Setup(hints={}, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC), pid=1, rooms=CommandRooms({}))
    session = Session(setup)
    ready = session.answer(messages.Hello(1, messages.VERSION, str(tmp_path), **SHELL))
    assert isinstance(ready, messages.Ready)
    assert Path(ready.shell).name == "sh"
    rooms_of = [
        getattr(session.answer(messages.Judge(id=2, tool=tool, params=params)), "room", None)
        for tool, params in (
            ("exec", {"command": "ls"}),
            ("exec", {"command": "ls", "host": "node"}),
            ("tool_call", {"id": "exec", "args": {"command": "ls"}}),
            ("read", {"path": "a"}),
        )
    ]
    assert rooms_of == [7, 0, 0, 0]


def test_what_a_person_lets_out_enters_no_room(tmp_path: Path, kernel: Kernel) -> None:
    made = begun(tmp_path)
    call = Call("exec", {"command": "./tool"}, agent="main")
    assert made.doors(CallReading(call, Host()), approved=False, granted=lambda: True) == {"outside"}
    assert made.doors(CallReading(call, Host()), approved=False, granted=lambda: False) == set()


def test_a_command_that_the_gateway_asks_about_enters_its_room_if_a_person_says_yes(tmp_path: Path, kernel: Kernel) -> None:
    setup = Setup(hints={}, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC), pid=1, rooms=CommandRooms({}))
    session = Session(setup)
    session.answer(messages.Hello(1, messages.VERSION, str(tmp_path), **SHELL))
    prompt = messages.Prompt("3fa9c1d2", "title", "text", 60_000)
    call = Call("exec", {"command": "./tool"}, agent="main")
    answer = session._verdicts.refuse(2, call, Verdict("hold", "rule.score"), prompt=prompt)
    assert isinstance(answer, messages.VerdictAnswer)
    assert (answer.decision, answer.room, answer.room_name) == ("hold", 7, "main")
