"""An engine and a slow agent, over the wire: an approval lasts while a run is in progress, and who was not woken is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces

ANNA = Decision("anna", "cli")
SETTINGS = {"alwaysBlock": ["exec"], "pendingTimeoutMs": 3_600_000}
SESSION = "agent:main:main"
CRON = "agent:main:cron:nightly:run:"


class Desk:
    def __init__(self, talk: Talk, state: Path) -> None:
        self.talk, self.state = talk, state
        self.store = FileNonces(state)
        self.number = 0
        talk.hello(state, SETTINGS)
        talk.said()

    def judge(self, run: str, session: str = SESSION, tool: str = "exec", **params: str) -> dict[str, Any]:
        self.number += 1
        self.talk.send(
            id=self.number, type="judge", tool=tool, params=params or {"command": "make"}, agent="main", session=session,
            run=run,
        )  # fmt: skip
        return next(each for each in self.talk.said() if each.get("id") == self.number)

    def run(self, phase: str, run: str, session: str = SESSION) -> None:
        self.talk.send(type=f"run-{phase}", run=run, session=session)

    def held(self, session: str = SESSION) -> str:
        """A call is held, and its run ends."""
        self.run("start", "r0", session)
        assert self.judge("r0", session)["decision"] == "hold"
        self.run("end", "r0", session)
        return next(each.nonce for each in self.store.entries() if each.status == "pending")

    def approved(self, session: str = SESSION) -> str:
        nonce = self.held(session)
        self.store.approve(nonce, ANNA, self.talk.clock.time(), 30)
        self.talk.later(1)
        return nonce

    def events(self) -> list[str]:
        return [event["event"] for event in AuditLog(self.state).events()]


@pytest.fixture
def desk(talk: Talk, tmp_path: Path) -> Iterator[Desk]:
    yield Desk(talk, tmp_path)
    talk.said()


@pytest.mark.parametrize("seconds", [5, 40, 200, 590])
def test_a_slow_model_finds_its_approval(desk: Desk, seconds: int) -> None:
    desk.approved()
    desk.run("start", "r1")
    desk.talk.later(seconds)
    assert desk.judge("r1")["decision"] == "allow"
    assert desk.judge("r1")["decision"] == "hold"
    assert desk.events() == ["hold", "approve", "consume", "hold"]


def test_after_ten_minutes_it_is_over(desk: Desk) -> None:
    desk.approved()
    desk.run("start", "r1")
    desk.talk.later(605)
    assert desk.judge("r1")["decision"] == "hold"
    assert desk.events() == ["hold", "approve", "lapsed", "hold"]


def test_after_a_run_the_window_counts(desk: Desk) -> None:
    desk.approved()
    desk.run("start", "r1")
    desk.talk.later(100)
    desk.run("end", "r1")
    desk.talk.later(31)
    assert desk.judge("r2")["decision"] == "hold"
    assert desk.events() == ["hold", "approve", "lapsed", "hold"]


def test_a_run_that_only_its_calls_reveal_counts_too(desk: Desk) -> None:
    """Its start was not seen: the plugin was loaded anew in the middle of it."""
    desk.approved()
    desk.judge("r1", tool="read", path="a.txt")
    desk.talk.later(100)
    assert desk.judge("r1")["decision"] == "allow"


def test_a_denial_in_the_middle_of_a_run_prevails(desk: Desk) -> None:
    nonce = desk.approved()
    desk.run("start", "r1")
    desk.talk.later(100)
    desk.store.deny(nonce, ANNA, desk.talk.clock.time(), 300)
    desk.talk.later(10)
    assert desk.judge("r1")["decision"] == "block"
    assert "consume" not in desk.events()


def test_an_engine_that_is_killed_leaves_a_window(desk: Desk, tmp_path: Path) -> None:
    """The next one learns that the run is still in progress, and goes on."""
    nonce = desk.approved()
    desk.run("start", "r1")
    desk.talk.later(100)
    desk.talk.kill()
    later = Talk()
    later.clock.pass_by(desk.talk.clock.time() - later.clock.time() + 1)
    next_desk = Desk(later, tmp_path)
    next_desk.run("start", "r1")
    later.later(100)
    assert next_desk.judge("r1")["decision"] == "allow"
    assert [each.nonce for each in next_desk.store.entries() if each.status == "used"] == [nonce]
    later.kill()


def test_the_gateways_word_is_kept_in_the_entry(desk: Desk) -> None:
    nonce = desk.approved()
    desk.talk.send(type="woken", nonce=nonce, outcome="later", why="OpenClaw wakes no\nautomation")
    desk.talk.later(1)
    (entry,) = desk.store.entries()
    assert (entry.woken, entry.asleep) == ("later", "OpenClaw wakes no automation")
    assert entry.expires == entry.latest


def test_a_word_about_no_call_changes_nothing(desk: Desk) -> None:
    desk.approved()
    desk.talk.send(type="woken", nonce="ffffffff", outcome="later", why="x" * 90_000)
    desk.talk.later(1)
    (entry,) = desk.store.entries()
    assert (entry.woken, entry.asleep) == ("", "")


def test_an_automation_is_told_in_its_next_run_and_makes_the_call_there(desk: Desk) -> None:
    nonce = desk.approved(f"{CRON}one")
    desk.talk.send(type="woken", nonce=nonce, outcome="later", why="")
    desk.talk.later(300)
    desk.run("start", "r1", f"{CRON}two")
    first, second = (desk.judge("r1", f"{CRON}two", tool="read", path=path) for path in ("a.txt", "b.txt"))
    assert first["note"].startswith(f"[TOOLGUARD] The user approved the call that waited under {nonce}")
    assert "note" not in second
    assert desk.judge("r1", f"{CRON}two")["decision"] == "allow"
    assert desk.events() == ["hold", "approve", "consume"]


@pytest.mark.parametrize("session", ["agent:main:cron:weekly:run:one", "agent:other:cron:nightly:run:one", SESSION])
def test_another_automation_has_no_use_of_it(desk: Desk, session: str) -> None:
    desk.approved(f"{CRON}one")
    assert desk.judge("r1", session)["decision"] == "hold"
