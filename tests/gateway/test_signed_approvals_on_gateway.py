"""A held call on the real gateway whose settings name signers: what the store's own key signs lets nothing run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gateway_stage import Stage, audit, nonces, once, toolguard, waiting
from shared_gateway import Shared
from ssh_signers import SshRoom
from toolguard_cli.rig import scripted_model
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.stores import open as stores


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "keys")


@pytest.fixture
def held(shared: Shared, room: SshRoom) -> Stage:
    """A gateway that asks for every `exec`; nobody is woken, so that a test says itself when a call is repeated."""
    room.allow("ann@example.com", room.key("ann"))
    approval = {"wake": False, "signers": str(room.allowed)}
    return shared.under(alwaysBlock=["exec"], approvalWindowMs=120_000, pendingTimeoutMs=600_000, approval=approval)


@pytest.mark.thorough
def test_only_a_signed_approval_lets_the_call_run(held: Stage, room: SshRoom) -> None:
    trace = held.home.workspace_dir / "signed.txt"
    call = scripted_model.call("exec", {"command": "echo ran >> signed.txt"})
    session = "agent:main:signed"
    held.play(once(call), session)
    (first,) = waiting(held.home)

    nonces(held.home).approve(first.nonce, Decision("ann", "cli"), time.time(), 3_600)  # with the store's own key
    stores.grants(held.home.state_dir).add(Grant("", "exec", "echo *", created=time.time()))
    played = held.play(once(call, call), session)
    assert not trace.exists()
    assert played.results[-2].startswith("TOOLGUARD_BLOCK|This call did not run: the approval of ")
    assert played.results[-1].startswith("TOOLGUARD_ESCALATE|")
    (second,) = waiting(held.home)
    assert second.nonce != first.nonce
    assert events(held, first.nonce)[:3] == ["hold", "approve", "forged"]

    done = toolguard(held.home, "approve", second.nonce, "--yes", "--key", str(room.folder / "ann"))
    assert done.returncode == 0, done.stdout + done.stderr
    held.play(once(call), session)
    assert trace.read_text().split() == ["ran"]
    assert events(held, second.nonce) == ["hold", "approve", "consume"]


def events(held: Stage, nonce: str) -> list[str]:
    return [line["event"] for line in audit(held.home) if line.get("nonce") == nonce and line["event"] != "kept"]
