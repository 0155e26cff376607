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
from toolguard_engine.layers import harm_in_room, uncontained
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.server import command_rooms, room_causes, rooms
from toolguard_engine.server.command_rooms import CommandRoom, CommandRooms, RoomsLost
from toolguard_engine.server.room_causes import ROOT
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.server.verdicts import OUT_OF_ORDER, ROOM_GONE, ROOM_LOST
from toolguard_engine.wire import messages
from toolguard_engine.wording import loop_notes


class Kernel:
    """Rooms as `server.rooms` makes them. `cause`: why none can be made."""

    def __init__(self) -> None:
        self.cause: room_causes.RoomCause | None = None
        self.fault = ""
        self.asked: list[tuple[str, frozenset[str]]] = []

    def __call__(self, rules_of: Any, *_: Any) -> Kernel:
        self.rules_of = rules_of
        return self

    def entrance(self, agent: str, doors: frozenset[str] = frozenset()) -> int:
        self.asked.append((agent, doors))
        return 0 if self.cause else 7 if self.rules_of(agent) else -1

    def proven(self, agent: str, doors: frozenset[str]) -> int:
        return 0 if self.fault else self.entrance(agent, doors)

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


def contained(tmp_path: Path, config: str = "{}", **more: Any) -> Session:
    """A session whose gateway is known to run commands with the shell that leads to rooms."""
    (tmp_path / "openclaw.json").write_text(config)
    clock, home = (lambda: datetime(2026, 1, 1, tzinfo=UTC)), str(tmp_path.parent)
    session = Session(Setup(hints={}, clock=clock, pid=1, rooms=CommandRooms({}), home=home))
    own, settings = f"{tmp_path}/openclaw.json", {"metrics": {"dbPath": f"{tmp_path}/metrics.db"}}
    session.answer(messages.Hello(1, messages.VERSION, str(tmp_path), settings, config_path=own, **SHELL))
    session.answer(messages.Seams({"commandShell": "works", **more}))
    return session


def asked(session: Session, tmp_path: Path, **params: Any) -> messages.VerdictAnswer:
    (tmp_path / "toolguard").mkdir(exist_ok=True)
    params = {"command": f"cat {tmp_path}/toolguard/key", **params}
    answer = session.answer(messages.Judge(id=2, tool="exec", params=params))
    assert isinstance(answer, messages.VerdictAnswer)
    return answer


def test_what_a_room_keeps_from_a_command_runs_in_that_room_only(tmp_path: Path, kernel: Kernel) -> None:
    answer = asked(contained(tmp_path), tmp_path)
    assert (answer.decision, answer.code) == ("allow", harm_in_room.CODE)
    assert (answer.room, answer.only_there, answer.pin) == (7, True, True)
    assert loop_notes.NOTE in answer.note


def test_its_room_is_the_reason_in_the_audit_log(tmp_path: Path, kernel: Kernel) -> None:
    session = contained(tmp_path)
    asked(session, tmp_path)
    (line,) = session.outbox.take_events()
    assert (line.event, line.code) == ("note", harm_in_room.CODE)
    assert "toolguard hides the gateway's state" in line.reason


@pytest.mark.parametrize(
    "params",
    [{"host": "node"}, {"host": "sandbox"}, {"elevated": True}, {"env": {"A": "b"}}, {"node": "pi"}],
)
def test_it_must_be_sure_to_enter(tmp_path: Path, kernel: Kernel, params: dict[str, Any]) -> None:
    session = contained(tmp_path)
    assert asked(session, tmp_path, **params).decision == "block"
    assert asked(session, tmp_path, host="gateway").decision == "allow"


@pytest.mark.parametrize("evidence", ["unknown", "fails"])
def test_its_gateway_must_have_been_seen_to_use_the_shell(tmp_path: Path, kernel: Kernel, evidence: str) -> None:
    assert asked(contained(tmp_path, commandShell=evidence), tmp_path).decision == "block"


@pytest.mark.parametrize(
    "config",
    [
        '{"agents": {"defaults": {"sandbox": {"mode": "all"}}}}',
        '{"agents": {"list": [{"id": "a", "sandbox": {"mode": "non-main"}}]}}',
        '{"agents": {"list": [{"id": "a", "tools": {"exec": {"host": "node"}}}]}}',
        '{"agents": {"entries": {"a": {"sandbox": {"mode": "all"}}}}}',
        '{"agents": {"entries": []}}',
        '{"tools": {"exec": {"host": "sandbox"}}}',
        '{"tools": 1}',
        "{",
    ],
)
def test_a_gateway_that_may_run_commands_elsewhere_is_not_sure_to_do_it_there(
    tmp_path: Path, kernel: Kernel, config: str
) -> None:
    assert asked(contained(tmp_path, config), tmp_path).decision == "block"


def test_a_room_that_no_probe_has_tried_keeps_nothing(tmp_path: Path, kernel: Kernel) -> None:
    session = contained(tmp_path)
    kernel.fault = "can read /key"
    assert asked(session, tmp_path).decision == "block"


def test_a_room_that_cannot_be_made_keeps_nothing(tmp_path: Path, kernel: Kernel) -> None:
    session = contained(tmp_path)
    kernel.cause = ROOT
    assert asked(session, tmp_path).decision == "block"


def test_a_room_that_is_lost_behind_the_verdict_lets_nothing_run(tmp_path: Path, kernel: Kernel) -> None:
    session = contained(tmp_path)
    made: list[int] = []

    def lost_later(agent: str, doors: frozenset[str]) -> int:
        made.append(0 if made else 7)
        return made[-1]

    kernel.proven = lost_later  # type: ignore[method-assign]
    answer = asked(session, tmp_path)
    assert (answer.decision, answer.code, answer.room) == ("block", ROOM_GONE, 0)
    assert made == [7, 0]


def test_nothing_is_kept_from_what_is_typed_nor_from_what_ran_unjudged(tmp_path: Path, kernel: Kernel) -> None:
    session = contained(tmp_path)
    call = Call("exec", {"command": f"cat {tmp_path}/toolguard/key"})
    asked(session, tmp_path)
    assert session.guard.weigh(call).decision == "allow"
    assert session.guard._judge_typed(session.guard.read(call)).decision == "block"
    assert session.guard.would_refuse(call) is not None
