"""One answer for the rest of a session on the real gateway, and recorded sessions that replay as they went."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_stage import NEW_HOST, Stage, audit, measured, nonces, once, toolguard
from operator_client import OWNER, Operator
from shared_gateway import Shared
from toolguard_cli.approvals.watch_screen import ScreenView, WatchAction
from toolguard_cli.commands import watch
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import answer_for_session, answer_links
from toolguard_cli.rig import scripted_model
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.stores import open as stores

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="older hosts take no message for an idle session")
ROOM = "agent:main:answers"


@pytest.fixture
def stage(shared: Shared) -> Stage:
    return shared.under(**measured(shared.home))


@pytest.fixture
def owner(stage: Stage) -> Iterator[Operator]:
    with Operator(stage.home, OWNER) as operator:
        yield operator


def runs(command: str) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": command})


def made(stage: Stage, name: str) -> Path:
    folder = stage.home.root / name
    folder.mkdir(exist_ok=True)
    (folder / "kept.txt").write_text("a file of the person")
    return folder


def said(stage: Stage, session: str, command: str) -> str:
    """What the model is told about a call in this session."""
    return stage.play(once(runs(command)), session).results[-1]


def is_asked(text: str) -> bool:
    return text.startswith("TOOLGUARD_ESCALATE|")


def held(stage: Stage, session: str) -> HeldCall:
    (entry,) = [each for each in nonces(stage.home).entries() if each.session == session and each.status == "pending"]
    return entry


def given(stage: Stage, session: str) -> list[SessionGrant]:
    found = stores.session_grants(stage.home.state_dir).active(time.time())
    return [grant for grant in found if grant.session == session]


def places(stage: Stage) -> Places:
    return Places(stage.home.state_dir, stage.home.config_path)


def in_terminal(stage: Stage, _owner: Operator, entry: HeldCall) -> None:
    done = toolguard(stage.home, "approve", entry.nonce, "--session", "--yes")
    assert done.returncode == 0, done


def in_chat(stage: Stage, owner: Operator, entry: HeldCall) -> None:
    del stage
    answer = owner.approve(ROOM, entry.nonce, "--session")
    assert "for the rest of this session" in answer


def in_watch(stage: Stage, _owner: Operator, entry: HeldCall) -> None:
    watch._done(watch.WatchedCalls(places(stage)), ScreenView(), WatchAction("session", entry.nonce))


def by_link(stage: Stage, _owner: Operator, entry: HeldCall) -> None:
    ledger, key = nonces(stage.home), stores.signing_key(stage.home.state_dir).known()
    link = answer_links.read(answer_links.made(entry, time.time() + 60, key))
    answer_links.answer(places(stage), ledger, link, "session", time.time())


def on_the_dashboard(stage: Stage, _owner: Operator, entry: HeldCall) -> None:
    decision = gateway_stores.decision("", "dashboard")
    answer_for_session.answer(places(stage), nonces(stage.home), entry, decision, gateway_stores.settings(places(stage)))


WAYS: dict[str, tuple[Callable[[Stage, Operator, HeldCall], None], str]] = {
    "terminal": (in_terminal, "cli"),
    "chat": (in_chat, "chat"),
    "watch": (in_watch, "cli"),
    "link": (by_link, "link"),
    "dashboard": (on_the_dashboard, "dashboard"),
}


IN_GATE = ("chat",)
"""The others end in the same function in a process of their own or in this one, as the terminal does in the next test."""


@pytest.mark.parametrize("way", [pytest.param(way, marks=[] if way in IN_GATE else [pytest.mark.thorough]) for way in WAYS])
def test_one_answer_for_a_session(stage: Stage, owner: Operator, way: str) -> None:
    answer, where = WAYS[way]
    session, box, other = f"agent:main:box-{way}", made(stage, f"box-{way}"), made(stage, f"other-{way}")
    command = f"rm -rf ~/box-{way}"
    assert is_asked(said(stage, session, command))
    answer(stage, owner, held(stage, session))
    assert not is_asked(said(stage, session, command))
    assert not box.exists()
    made(stage, box.name)
    assert not is_asked(said(stage, session, f"cd ~ && rm -r -f {box.name}; echo gone"))
    assert not box.exists()
    made(stage, box.name)
    assert is_asked(said(stage, session, f"rm -rf ~/{other.name}"))
    assert is_asked(said(stage, f"{session}-else", command))
    assert box.exists()
    assert other.exists()
    (grant,) = given(stage, session)
    assert grant.where == where
    lines = [event["event"] for event in audit(stage.home) if event.get("session") == session]
    assert {"grant", "grant-used"} <= set(lines)


def test_it_ends_with_the_session(stage: Stage, owner: Operator) -> None:
    session, box = "agent:main:box-ends", made(stage, "box-ends")
    command = "rm -rf ~/box-ends"
    assert is_asked(said(stage, session, command))
    in_terminal(stage, owner, held(stage, session))
    assert not is_asked(said(stage, session, command))
    assert len(given(stage, session)) == 1
    stage.server.play(once())
    owner.chat(session, "/reset")
    made(stage, box.name)
    assert is_asked(said(stage, session, command))
    assert given(stage, session) == []
    assert box.exists()


def test_a_recorded_session_replays_as_it_went(stage: Stage) -> None:
    """Call by call: what was let run, held, held again, approved, blocked and corrected."""
    session, box = "agent:main:replayed", made(stage, "box-replayed")
    script = {"path": "tidy.sh", "content": "rm -rf ~/box-replayed\n"}
    tidy = runs("bash tidy.sh")
    first = stage.play(
        once(runs("echo hi"), scripted_model.call("write", script), scripted_model.call("read", {}), tidy, tidy), session
    )
    assert [is_asked(text) for text in first.results] == [False, False, False, True, True]
    toolguard(stage.home, "approve", held(stage, session).nonce, "--yes")
    second = stage.play(once(tidy, runs("toolguard kill-switch off"), runs("ls")), session, "go on")
    assert not box.exists()
    through = scripted_model.call("tool_call", {"id": "exec", "args": {"command": "rm -rf ~/box-through"}})
    listed = scripted_model.call("tool_call", {"id": "exec", "args": {"command": "ls"}})
    other = made(stage, "box-through")
    third = stage.play(once(listed, through), session, "and the other one")
    assert other.exists()
    told = [*second.results[-8:], *third.results[-2:]]
    done = toolguard(stage.home, "replay", "--calls", "--json", str(stage.home.state_dir / "agents"))
    assert done.returncode == 0, done.stderr
    sessions = json.loads(done.stdout)["data"]["sessions"]
    (played,) = [each["listed"] for each in sessions if any("tidy.sh" in call["call"] for call in each["listed"])]
    assert [call["verdict"] for call in played] == [
        "allow", "allow", "corrected", "hold", "hold", "allow", "block", "allow", "allow", "hold",
    ], (played, told)  # fmt: skip
    assert [at for at, call in enumerate(played) if call["question"]] == [3, 9]
    assert [call["ran"] for call in played if call["verdict"] in ("hold", "block")] == [False, False, False, False]
