"""`toolguard fleet audit` as a user runs it, on a real database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_stage import toolguard

from audit_logs import event, log_with
from fleet_database import OWNER, FleetDatabase
from shipping_runs import ship_audit
from toolguard_engine.stores import open as stores
from toolguard_fleet.shipping.audit_shipper import AuditRefused


def run(state: Path, database: FleetDatabase, *words: str, code: int = 0) -> str:
    done = toolguard("fleet", "audit", *words, "--dsn", database.dsn(OWNER), "--state-dir", state)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def data(state: Path, database: FleetDatabase, *words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(state, database, *words, "--json", code=code))["data"]
    return found


def test_lines_are_shown_and_verified(database: FleetDatabase, tmp_path: Path) -> None:
    gateway = database.gateway()
    assert "none of your teams' gateways has sent" in run(tmp_path, database, "verify")
    log_with(tmp_path, 3)
    stores.audit_log(tmp_path).append([event(event="block", shown="exec \x1b[2J", nonce="n7")])
    ship_audit(database, gateway, tmp_path)
    shown = run(tmp_path, database, "show")
    assert shown.count("exec") == 4
    assert "\x1b[2J" not in shown
    (line,) = data(tmp_path, database, "show", "--nonce", "n7", "--since", "2d")["lines"]
    assert (line["seq"], line["line"]["event"], line["gateway"]) == (4, "block", gateway.id)
    assert "no audit lines of your teams" in run(tmp_path, database, "show", "--event", "deny")
    assert f"{gateway.id} " in run(tmp_path, database, "verify", "--gateway", gateway.id)
    (chain,) = data(tmp_path, database, "verify")["chains"]
    assert (chain["lines"], chain["intact"], chain["error"]) == (4, True, "")


def test_a_changed_database_is_an_error(database: FleetDatabase, tmp_path: Path) -> None:
    log_with(tmp_path, 3)
    ship_audit(database, database.gateway(), tmp_path)
    database.owner().execute("UPDATE fleet.audit SET line = replace(line::text, '1', '2')::bytea WHERE seq = 2")
    (chain,) = data(tmp_path, database, "verify", code=1)["chains"]
    assert (chain["error"], chain["intact"]) == ("line 2 does not match its hash", False)
    assert "unchanged before that: 1 line" in run(tmp_path, database, "verify", code=1)


def test_a_gateway_in_quarantine_is_listed_and_admitted_again(database: FleetDatabase, tmp_path: Path) -> None:
    gateway, owner = database.gateway(), ("--dsn", database.dsn(OWNER), "--state-dir", tmp_path)
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        log_with(folder, 1)
    ship_audit(database, gateway, one)
    lines = (one / "toolguard" / "audit.jsonl").read_bytes()
    log_with(one, 1)
    ship_audit(database, gateway, one)
    (other / "toolguard" / "audit.jsonl").write_bytes(lines)
    (other / "toolguard" / "audit.head").unlink()
    log_with(other, 1)
    with pytest.raises(AuditRefused):
        ship_audit(database, gateway, other)
    shown = toolguard("fleet", "gateways", *owner).stdout
    assert "quarantined" in shown
    assert "a copy of it ran" in shown
    (chain,) = data(tmp_path, database, "verify", code=1)["chains"]
    assert chain["forked"] == 2
    assert toolguard("fleet", "admit", gateway.id, *owner).returncode == 0
    assert "quarantined" not in toolguard("fleet", "gateways", *owner).stdout
