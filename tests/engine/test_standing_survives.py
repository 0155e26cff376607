"""What was spent outlives the engine, also one that is killed behind its answer; a damaged store gives nothing back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engine_talk import Talk
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.layers.autonomy.budget import NO_STORE
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.server.verdicts import OUT_OF_ORDER
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.locked import corrupt_files
from toolguard_engine.stores.sqlite.standings import FileStandings
from toolguard_engine.wire import messages

CONFIG = {"budget": {"mode": "enforce", "toolRiskMap": {"note_down": "MEDIUM"}}, "toolTrust": {"firstUse": "allow"}}
"""Six calls of a MEDIUM tool at 0.15 use up the budget: the seventh is held."""

Engines = Callable[[], Talk]


@pytest.fixture
def engine(start: Callable[[], Talk], state: Path) -> Engines:
    """Starts one that has been greeted."""

    def greeted() -> Talk:
        talk = start()
        assert talk.hello(state, CONFIG)["type"] == "ready"
        return talk

    return greeted


def call(talk: Talk, number: int = 1, **more: Any) -> Any:
    """The verdict; what is said for the gateway's log goes to `more["said"]`."""
    said = more.pop("said", [])
    usual = {"tool": "note_down", "params": {"text": f"line {number}"}, "agent": "main", "session": "s", "run": f"r{number}"}
    found = talk.answer(said, id=number, type="judge", **usual | more)
    said += [each["text"] for each in talk.said()]
    return found


def spent(state: Path) -> list[float]:
    return [each.spent for each in FileStandings(state).look()]


def test_killed_right_behind_its_answers(engine: Engines, state: Path) -> None:
    decisions = []
    for number in range(7):
        talk = engine()
        answer = call(talk, number)
        talk.kill()
        decisions.append(answer["decision"])
    assert decisions == ["allow"] * 6 + ["hold"]
    assert answer["text"].startswith("TOOLGUARD_ESCALATE|")
    assert spent(state) == [0.9]


def test_ended_in_peace(engine: Engines, state: Path) -> None:
    talk = engine()
    assert [call(talk, number)["decision"] for number in range(7)] == ["allow"] * 6 + ["hold"]
    talk.end()
    assert call(engine(), 8)["decision"] == "hold"
    assert [path.name for path in (state / "toolguard").glob("standings.db-*")] != []  # the engine that runs has it open


def test_what_a_person_refilled_in_another_process_counts_at_once(engine: Engines, state: Path) -> None:
    talk = engine()
    assert [call(talk, number)["decision"] for number in range(7)] == ["allow"] * 6 + ["hold"]
    FileStandings(state).checkpoint(refilled)
    assert call(talk, 8)["decision"] == "allow"
    assert spent(state) == [0.15]


def test_a_checkpoint_in_between_is_not_undone(engine: Engines, state: Path) -> None:
    talk = engine()
    assert call(talk, 1)["decision"] == "allow"
    FileStandings(state).checkpoint(refilled)
    assert [call(talk, number)["decision"] for number in (2, 3)] == ["allow"] * 2
    talk.kill()
    (standing,) = FileStandings(state).look()
    assert (standing.epoch, standing.spent) == (1, 0.3)


def refilled(standing: Standing) -> Standing:
    return structs.replace(standing, spent=0.0, reported=[], epoch=standing.epoch + 1)


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100])
def test_a_damaged_store_gives_nothing_back(engine: Engines, state: Path, content: bytes) -> None:
    first = engine()
    call(first)
    first.end()
    place = FileStandings(state).path
    place.write_bytes(content)
    for _ in range(2):  # a restart does not help
        talk, said = engine(), list[str]()
        assert call(talk, said=said)["decision"] == "hold"
        assert all(
            "the agents' earlier standings are unknown" in text and "`toolguard doctor --fix`" in text for text in said
        )
        assert said
        assert call(talk, 2, tool="read", params={"path": "a"})["decision"] == "allow"  # SAFE: it costs nothing
        talk.kill()
    held = (state / "toolguard" / "nonces.json").read_text()
    assert NO_STORE in held
    talk = engine()
    assert call(talk)["decision"] == "hold"
    for path in corrupt_files(place):  # as `doctor --fix` does
        path.unlink()
    assert call(talk, 2)["decision"] == "allow"
    assert spent(state) == [0.15]


def test_the_kill_switch_stops_a_running_engine(engine: Engines, state: Path) -> None:
    talk, switch = engine(), KillSwitchFile(state)
    read: dict[str, Any] = {"tool": "read", "params": {"path": "a"}}
    assert call(talk, **read)["decision"] == "allow"
    switch.set(on=True, by="ann", why="stop")
    talk.later(0.2)
    answer = call(talk, 1, **read)
    assert (answer["decision"], answer["code"]) == ("block", "kill-switch.on")
    switch.set(on=False, by="ann", why="")
    talk.later(0.2)
    assert call(talk, 2, **read)["decision"] == "allow"


def test_engines_at_once_have_one_budget(engine: Engines, state: Path) -> None:
    talks = [engine() for _ in range(3)]
    decisions = [call(talk, number)["decision"] for number in range(6) for talk in talks]
    assert decisions == ["allow"] * 6 + ["hold"] * 12
    assert spent(state) == [0.9]


def test_while_another_process_holds_the_store(tmp_path: Path) -> None:
    """For a second calls go on, and it is told; then what is paid for waits, and it goes on by itself."""
    state, now = tmp_path / "state", [datetime.now(UTC)]
    session = Session(Setup(tool_hints.load(), lambda: now[0], 42, book=packs.load()))
    session.answer(messages.Hello(0, messages.VERSION, str(state), config=CONFIG))
    session.standings = FileStandings(state)
    judged = messages.Judge(1, "note_down", params={"text": "x"}, agent="main", session="s", run="r")

    def code(**more: Any) -> str:
        answer = session.answer(structs.replace(judged, **more))
        assert isinstance(answer, messages.VerdictAnswer)
        return answer.code

    before = code()
    other = sqlite3.connect(session.standings.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert code() == code() == before
    (replied,) = session.outbox.take_log()
    assert "the agents' standings cannot be saved" in replied.text
    assert spent(state) == [0.15]
    now[0] += timedelta(seconds=1)
    session.approvals = None
    assert code() == OUT_OF_ORDER  # held, and here is nobody to ask
    assert session.guard.lost
    assert code(tool="read", params={"path": "a"}).startswith("allow")
    other.execute("ROLLBACK")
    other.close()
    assert code() == before
    assert not session.guard.lost
    assert spent(state) == [0.6]
