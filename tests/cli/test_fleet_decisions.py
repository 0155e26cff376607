"""What a person signs for a call of the fleet, where the database says something strange."""

from __future__ import annotations

from typing import Any

import pytest

from toolguard_cli.fleet.fleet_decisions import MAX_SKEW, signature_end
from toolguard_cli.system.ssh_signing import SECONDS
from toolguard_engine.approvals.ledger import MAX_APPROVED
from toolguard_fleet.registry_rows import FleetCall

NOW = 1_900_000_000.0


def row(**changed: Any) -> FleetCall:
    values: dict[str, Any] = {
        "gateway": "gw-0123456789abcdef", "team": "ops", "host": "h", "nonce": "3f9a51c2d07b", "status": "pending",
        "binding": "b", "session": "s", "requester": "", "digest": b"", "entry": b"", "need": 1, "need_teams": (),
        "created": NOW - 10, "age": 10.0, "left": 300.0, "expires": NOW + 300, "wait": 300.0, "window": 30.0, "at": None,
        "by": "", "where": "", "why": "", "decisions": (), **changed,
    }  # fmt: skip
    return FleetCall(**values)


def test_a_signature_lasts_as_long_as_an_approval_may_by_the_servers_clock() -> None:
    assert signature_end(row(), NOW) == NOW + MAX_APPROVED + SECONDS
    assert signature_end(row(created=NOW + 50), NOW) == NOW + 60 + MAX_APPROVED + SECONDS


@pytest.mark.parametrize("changed", [{"created": NOW * 2}, {"age": 1e300}, {"window": 2_678_400.0}])
def test_the_database_gets_no_approval_for_later(changed: dict[str, Any]) -> None:
    assert signature_end(row(**changed), NOW) <= NOW + MAX_SKEW + MAX_APPROVED + SECONDS
