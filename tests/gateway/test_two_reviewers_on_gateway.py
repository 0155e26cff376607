"""OpenClaw's own review of commands (`tools.exec.mode`) comes after the guard's, and a person is asked once for both."""

from __future__ import annotations

import pytest

from gateway_stage import NEW_HOST, Stage, once, toolguard, waiting
from operator_client import OWNER, Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model

ASKED = "exec.approval.requested"
CAN_BE_ASKED = ("approvals", "exec-approvals")
pytestmark = pytest.mark.skipif(not NEW_HOST, reason="this release has no tools.exec.mode")


@pytest.fixture
def reviewed(shared: Shared) -> Stage:
    """The gateway asks for every command that is not on its list, and so does the guard."""
    mode = {"tools": {"exec": {"mode": "ask"}}}
    return shared.under(host=mode, alwaysBlock=["exec"], approval={"wake": False}, approvalWindowMs=120_000)


def test_an_approved_command_runs_without_a_second_question(reviewed: Stage) -> None:
    session, call = "agent:main:two-reviewers", scripted_model.call("exec", {"command": "touch two-reviewers.txt"})
    with Operator(reviewed.home, OWNER, CAN_BE_ASKED) as person:
        held = reviewed.play(once(call), session)
        (entry,) = [each for each in waiting(reviewed.home) if each.session == session]
        assert held.results[-1].startswith(f"TOOLGUARD_ESCALATE|{entry.nonce}|")
        assert person.payloads(ASKED) == [], "the guard comes first"
        assert toolguard(reviewed.home, "approve", entry.nonce, "--yes").returncode == 0
        reviewed.play(once(call), session)
        (asked,) = person.payloads(ASKED)
        assert asked["request"]["command"] == "touch two-reviewers.txt"
        answered = person.event("exec.approval.resolved", lambda payload: payload["id"] == asked["id"])
    assert answered["decision"] == "allow-once"
    assert (reviewed.home.workspace_dir / "two-reviewers.txt").exists()
