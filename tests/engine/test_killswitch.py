"""The kill switch: on is on, for every mode, and a file that cannot be read counts as on."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from toolguard_engine.approvals.standing import Standing
from toolguard_engine.model.call import Stop
from toolguard_engine.server.person import NO_SESSION
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.stores.files.kill_switch_file import MAX_BYTES, UNREADABLE, KillSwitchFile, Unwritten
from toolguard_engine.wire import messages


@pytest.fixture
def switch(tmp_path: Path) -> KillSwitchFile:
    return KillSwitchFile(tmp_path)


def test_it_is_off_where_there_is_nothing(switch: KillSwitchFile) -> None:
    assert switch.thrown() is None
    assert switch.why() == ""
    assert not switch.path.parent.exists()


def test_on_and_off(switch: KillSwitchFile) -> None:
    before = time.time()
    switch.set(on=True, by="ann", why="it mails everybody")
    thrown = switch.thrown()
    assert thrown is not None
    assert (thrown.by, thrown.why) == ("ann", "it mails everybody")
    assert before <= thrown.at <= time.time()
    assert switch.why() == "it mails everybody (by ann)"
    assert stat.S_IMODE(switch.path.stat().st_mode) == 0o600
    for _ in range(2):
        switch.set(on=False, by="ann", why="")
        assert switch.thrown() is None


def test_on_again_keeps_what_was_said_first(switch: KillSwitchFile) -> None:
    switch.set(on=True, by="ann", why="it mails everybody")
    first = switch.thrown()
    switch.set(on=True, by="bob", why="")
    assert switch.thrown() == first
    switch.set(on=True, by="bob", why="and it pays")
    assert switch.why() == "and it pays (by bob)"
    switch.path.write_bytes(b"{")
    switch.set(on=True, by="bob", why="")
    assert UNREADABLE not in switch.why()


def test_no_reason_needs_no_words(switch: KillSwitchFile) -> None:
    switch.set(on=True, by="", why="")
    assert switch.why() == "a person stopped everything"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"by":5}', b"[" * 9_000, b'"' + b"x" * MAX_BYTES + b'"'], ids=range(7)
)
def test_a_file_that_cannot_be_read_counts_as_on(switch: KillSwitchFile, content: bytes) -> None:
    switch.path.parent.mkdir()
    switch.path.write_bytes(content)
    assert UNREADABLE in switch.why()
    switch.set(on=False, by="", why="")
    assert switch.why() == ""


def folder(path: Path) -> None:
    path.mkdir(parents=True)


def circle(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path)


def link_to_nowhere(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "nowhere")


@pytest.mark.parametrize("put", [folder, circle, link_to_nowhere])
def test_something_else_in_its_place_counts_as_on(switch: KillSwitchFile, put: Callable[[Path], None]) -> None:
    put(switch.path)
    assert switch.why() == UNREADABLE


def test_a_link_to_nowhere_is_switched_off(switch: KillSwitchFile) -> None:
    link_to_nowhere(switch.path)
    switch.set(on=False, by="", why="")
    assert switch.why() == ""


def test_a_folder_in_its_place_is_not_removed(switch: KillSwitchFile) -> None:
    folder(switch.path)
    for on in (True, False):
        with pytest.raises(Unwritten):
            switch.set(on=on, by="", why="")
    assert switch.path.is_dir()


@pytest.mark.parametrize("state", ["file", "a\0b"])
def test_where_there_can_be_none_it_is_off(tmp_path: Path, state: str) -> None:
    (tmp_path / "file").write_text("")
    switch = KillSwitchFile(tmp_path / state)
    assert switch.why() == ""
    with pytest.raises(Unwritten):
        switch.set(on=True, by="", why="")


def test_a_hostile_reason_stays_one_harmless_line(switch: KillSwitchFile) -> None:
    switch.set(on=True, by="\x1b[2Jann\n", why="a\nb\u202ec" + "x" * 5_000)
    assert switch.why().isprintable()


# --- in a session -------------------------------------------------------------------------------------------------------


@pytest.fixture
def session(switch: KillSwitchFile) -> Session:
    made = Session(Setup(hints={}, clock=lambda: datetime.now(UTC), pid=1))
    made.kill_switch = switch
    return made


def decide(session: Session, nonce: str, **more: Any) -> messages.DecisionReply:
    reported = session.answer(
        messages.PersonDecision(1, "kill-switch", **{"where": "chat", "nonce": nonce, "by": "telegram:42", **more})
    )
    assert isinstance(reported, messages.DecisionReply)
    return reported


def test_the_owner_says_it_in_chat(session: Session, switch: KillSwitchFile) -> None:
    assert decide(session, "on", why="stop it").ok
    assert switch.why() == "stop it (by telegram:42)"
    assert decide(session, "off").ok
    assert switch.why() == ""
    events = [(event.event, event.code, event.by, event.where, event.why) for event in session.outbox.take_events()]
    assert events == [
        ("kill-switch", "kill-switch.on", "telegram:42", "chat", "stop it"),
        ("kill-switch", "kill-switch.off", "telegram:42", "chat", ""),
    ]


@pytest.mark.parametrize("nonce", ["", "maybe", "ON"])
def test_what_is_neither_on_nor_off_changes_nothing(session: Session, switch: KillSwitchFile, nonce: str) -> None:
    assert not decide(session, nonce).ok
    assert switch.thrown() is None
    assert session.outbox.take_events() == []


@pytest.mark.parametrize("agent_tool", [True, False])
@pytest.mark.parametrize("action", ["kill-switch", "checkpoint", "deny", "pending"])
def test_no_agent_may_say_it(session: Session, switch: KillSwitchFile, action: Any, agent_tool: bool) -> None:  # noqa: FBT001
    session.answer(messages.Hello(0, messages.VERSION, "/state", config={"approval": {"agentTool": agent_tool}}))
    reported = session.answer(messages.PersonDecision(1, action, "tool", nonce="on"))
    assert isinstance(reported, messages.DecisionReply)
    assert not reported.ok
    assert switch.thrown() is None
    assert session.outbox.take_events() == []


@pytest.mark.parametrize("mode", ["enforce", "soft", "shadow", "disabled"])
def test_while_it_is_on_nothing_runs_in_any_mode(session: Session, mode: str) -> None:
    session.answer(messages.Hello(0, messages.VERSION, "/state", config={"mode": mode, "neverBlock": ["memory_get"]}))
    session.guard.killed = "stop it (by ann)"
    for tool in ("read", "memory_get"):
        answer = session.answer(messages.Judge(1, tool, {"path": "a"}, run="r"))
        assert isinstance(answer, messages.VerdictAnswer)
        assert (answer.decision, answer.code) == ("block", "kill-switch.on")
        assert "stop it (by ann)" in answer.text
        assert answer.stop


def test_what_only_it_stopped_goes_on_when_it_is_off(session: Session) -> None:
    session.answer(messages.Hello(0, messages.VERSION, "/state", config={}))
    call = messages.Judge(1, "read", {"path": "a"}, run="r")
    session.guard.killed = "stop it (by ann)"
    assert code_of(session, call) == "kill-switch.on"
    session.guard.killed = ""
    assert code_of(session, call) == "allow"


def test_a_run_that_was_over_before_stays_so(session: Session) -> None:
    session.answer(messages.Hello(0, messages.VERSION, "/state", config={}))
    session.guard.stop("r", Stop("loop.limit", "Enough."))
    call = messages.Judge(1, "read", {"path": "a"}, run="r")
    for killed, code in (("", "loop.limit"), ("stop it", "kill-switch.on"), ("", "loop.limit")):
        session.guard.killed = killed
        assert code_of(session, call) == code


def code_of(session: Session, call: messages.Judge) -> str:
    answer = session.answer(call)
    assert isinstance(answer, messages.VerdictAnswer)
    return answer.code


def checkpoint(owner: Session, **more: str) -> messages.DecisionReply:
    reported = owner.answer(messages.PersonDecision(1, "checkpoint", "chat", **more))
    assert isinstance(reported, messages.DecisionReply)
    return reported


def test_a_checkpoint_needs_a_chat_or_the_word_all(session: Session) -> None:
    session.guard.autonomy.remember([Standing("main", "s", spent=0.5), Standing("main", "t", spent=0.5)])
    assert checkpoint(session) == messages.DecisionReply(1, ok=False, text=NO_SESSION)
    assert checkpoint(session, session="u") == messages.DecisionReply(1, ok=True, text="nothing was spent in this chat")
    assert session.outbox.take_events() == []
    assert checkpoint(session, session="s").text == "checkpoint: 1 budget refilled"
    assert checkpoint(session, session="s", nonce="all").text == "checkpoint: 2 budgets refilled"
    assert [event.code for event in session.outbox.take_events()] == ["budget.checkpoint"] * 2


def test_only_what_a_person_wrote_earns_trust(session: Session) -> None:
    session.guard.autonomy.remember([Standing("main", "s", 0.5)])
    said = messages.UserMessage("go on", agent="main", session="s")
    session.answer(said)  # somebody, perhaps another session
    assert session.guard.autonomy.take_changed() == {}
    session.answer(replace(said, person=True))
    assert session.guard.autonomy.take_changed()["main", "s"].trust == 0.55
