"""`approve` says truthfully whether the agent learns of the approval, and how long it holds."""

from __future__ import annotations

import time

import pytest
from cli_stage import texts
from held_stage import hold

from toolguard_cli.commands import approve
from toolguard_cli.operations import woken_agents
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.ledger import MAX_APPROVED, HeldCall, Woken
from toolguard_engine.stores.files.nonces import FileNonces


class Gateway:
    """An engine that notes something as soon as it sees the approval, as the command sees it: in the store."""

    def __init__(self, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = FileNonces(places.state_dir)
        self.notes: tuple[Woken, str] | None = None
        self.uses = False
        monkeypatch.setattr(woken_agents, "has_engine", lambda _: True)
        monkeypatch.setattr(woken_agents.time, "sleep", self.passing)

    def passing(self, _: float) -> None:
        now = time.time()
        (entry,) = self.store.entries()
        if self.notes:
            self.store.move_ends([EndMove(entry.nonce, entry.expires, *self.notes)], now)
        if self.uses:
            self.store.present(entry, now)


@pytest.fixture
def gateway(places: Places, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return Gateway(places, monkeypatch)


def last(places: Places, held: HeldCall) -> str:
    result = approve.run(places, held.nonce, yes=True, as_json=False)
    return texts(result)[-1].replace(held.nonce, "N")


WITHDRAW = "until the call has run, toolguard deny N withdraws the approval"
SAID: list[tuple[Woken, str, str]] = [
    ("woken", "", f"the agent is resumed; {WITHDRAW}"),
    ("busy", "", f"the agent is at work, and is told when its turn ends; {WITHDRAW}"),
    ("told", "", f"the agent's next run has begun; {WITHDRAW}"),
]


@pytest.mark.parametrize(("woken", "asleep", "text"), SAID, ids=[row[0] for row in SAID])
def test_what_the_gateway_says_is_said(places: Places, gateway: Gateway, woken: Woken, asleep: str, text: str) -> None:
    gateway.notes = (woken, asleep)
    assert last(places, hold(places)) == text


def test_who_cannot_be_woken_is_told_later_and_until_when(places: Places, gateway: Gateway) -> None:
    gateway.notes = ("later", "OpenClaw wakes no automation")
    said = last(places, hold(places))
    assert said.startswith(
        "the agent could not be woken (OpenClaw wakes no automation): it is told at its next run; if that"
    )
    assert said.endswith("toolguard revive N asks again")


def test_a_call_that_has_run_by_then(places: Places, gateway: Gateway) -> None:
    gateway.uses = True
    assert last(places, hold(places)) == "the agent has repeated the call"


def test_what_is_not_known_is_not_claimed(places: Places, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(woken_agents, "SECONDS", 0.02)
    assert gateway.notes is None
    assert last(places, hold(places)).startswith("it is not known yet whether the agent was woken")


def test_where_nobody_is_woken(places: Places, gateway: Gateway) -> None:
    places.config.write_text('{"plugins": {"entries": {"toolguard": {"config": {"approval": {"wake": false}}}}}}')
    gateway.notes = ("woken", "")
    assert last(places, hold(places)).startswith("agents are not woken here (approval.wake); tell the agent to continue")


@pytest.mark.parametrize(("runs", "seconds"), [(True, 30.0), (False, MAX_APPROVED)])
def test_how_long_it_holds(places: Places, monkeypatch: pytest.MonkeyPatch, *, runs: bool, seconds: float) -> None:
    monkeypatch.setattr(woken_agents, "has_engine", lambda _: runs)
    monkeypatch.setattr(woken_agents, "SECONDS", 0)
    approve.run(places, hold(places).nonce, yes=True, as_json=False)
    (entry,) = FileNonces(places.state_dir).entries()
    assert (entry.expires - entry.decided, entry.latest - entry.decided) == (
        pytest.approx(seconds),
        pytest.approx(MAX_APPROVED),
    )
