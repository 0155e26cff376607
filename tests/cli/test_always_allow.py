"""Approving a call and allowing it for a while: nothing is allowed that was not approved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from held_stage import hold, status_of

from toolguard_cli.operations import always_allow, approve_call, grant_calls
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.settings import Config
from toolguard_engine.model.held_details import ExactCall, HeldDetails
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.locked import StoreError

DECISION = Decision("ada", "cli", "")


def allow(places: Places) -> str:
    entry = hold(places, code="rule.vcs.push", details=HeldDetails(), exact=ExactCall("git push", {}, "/w"), cwd="/w")
    always_allow.always_allow(places, FileNonces(places.state_dir), entry, "1d", DECISION, Config())
    return entry.nonce


def test_it_is_approved_and_allowed(places: Places) -> None:
    assert status_of(places, allow(places)) == "approved"
    (grant,) = stores.grants(places.state_dir).known()
    assert (grant.pattern, grant.cwd) == ("git push", "/w")


def test_nothing_is_allowed_if_it_cannot_be_approved(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise StoreError("nonces.json: No space left on device")

    monkeypatch.setattr(approve_call, "approve", fails)
    with pytest.raises(StoreError):
        allow(places)
    assert not stores.grants(places.state_dir).known()
    lines = [json.loads(line)["event"] for line in (places.own / "audit.jsonl").read_text().splitlines()]
    assert "grant" not in lines


def test_it_is_approved_once_if_nothing_can_be_granted(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise StoreError("policy.toml: No space left on device")

    monkeypatch.setattr(grant_calls, "add", fails)
    with pytest.raises(
        UserError, match=r"was approved once, but nothing was allowed for longer: policy.toml: No space left"
    ):
        allow(places)
    assert [entry.status for entry in FileNonces(places.state_dir).entries()] == ["approved"]
