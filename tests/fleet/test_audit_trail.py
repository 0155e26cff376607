"""Audit logs in the database as persons read and verify them."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit_logs import log_with
from fleet_database import Connection, FleetDatabase, Gateway
from shipping_runs import ship_audit
from toolguard_engine.stores.files import audit_log_file
from toolguard_fleet import audit_trail
from toolguard_fleet.audit_trail import AuditTrail, ChainCheck
from toolguard_fleet.fleet_errors import FleetError


@pytest.fixture
def gateway(database: FleetDatabase) -> Gateway:
    return database.gateway()


def check(owner: Connection) -> ChainCheck:
    (found,) = AuditTrail(owner).verify()
    return found


def test_a_whole_chain(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_trail, "PAGE", 7)
    log_with(tmp_path, 30)
    ship_audit(database, gateway, tmp_path)
    found = check(owner)
    assert (found.is_sound, found.lines, found.removed, found.error) == (True, 30, 0, "")
    assert audit_trail.is_from_the_beginning(found.chain)


CHANGES = {
    "a changed line": ("UPDATE fleet.audit SET line = line || ' ' WHERE seq = 4", "line 4 does not match its hash"),
    "another line": (
        "UPDATE fleet.audit AS a SET line = b.line FROM fleet.audit AS b WHERE a.seq = 4 AND b.seq = 5",
        "line 4 does not match its hash",
    ),
    "a removed line": ("DELETE FROM fleet.audit WHERE seq = 4", "line 5 does not follow the line before it"),
    "a removed end": ("DELETE FROM fleet.audit WHERE seq > 7", "the lines end at 7, the chain at 9"),
    "another name": (
        "UPDATE fleet.audit_head SET chain = repeat('b', 64)",
        "line 1 is not the one that identifies the chain",
    ),
    "another head": ("UPDATE fleet.audit_head SET hash = repeat('a', 64)", "the lines end at 9, the chain at 9"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_database_owner_changed_is_found(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, change: str
) -> None:
    log_with(tmp_path, 9)
    ship_audit(database, gateway, tmp_path)
    statement, error = CHANGES[change]
    owner.execute(statement)  # type: ignore[call-overload]
    found = check(owner)
    assert (found.error, found.is_sound) == (error, False)


def test_lines_that_are_no_longer_kept_are_no_error(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    """Retention drops whole days: the oldest lines of a chain."""
    log_with(tmp_path, 9)
    ship_audit(database, gateway, tmp_path)
    owner.execute("UPDATE fleet.audit SET day = day - 500 WHERE seq <= 4")
    owner.execute("SELECT fleet.maintain_partitions()")
    found = check(owner)
    assert (found.is_sound, found.lines, found.removed) == (True, 5, 4)
    owner.execute("UPDATE fleet.audit SET day = day - 500")
    owner.execute("SELECT fleet.maintain_partitions()")
    found = check(owner)
    assert (found.is_sound, found.lines, found.removed) == (True, 0, 9)
    log_with(tmp_path, 1)
    ship_audit(database, gateway, tmp_path)
    assert check(owner).is_sound


@pytest.mark.parametrize("is_named", [True, False])
def test_a_gap_must_be_named_by_the_log(
    database: FleetDatabase,
    owner: Connection,
    gateway: Gateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_named: bool,
) -> None:
    log_with(tmp_path, 2)
    ship_audit(database, gateway, tmp_path)
    monkeypatch.setattr(audit_log_file, "MAX_BYTES", 2_000)
    monkeypatch.setattr(audit_log_file, "KEPT", 2 if is_named else 100)
    for _ in range(8):
        log_with(tmp_path, 10)
    if not is_named:
        for path in sorted((tmp_path / "toolguard").glob("audit.*.jsonl"))[:3]:
            path.unlink()
    ship_audit(database, gateway, tmp_path)
    found = check(owner)
    assert found.error == ""
    assert (found.is_sound, bool(found.unnamed)) == (is_named, not is_named)


def test_persons_read_the_lines_of_their_teams(database: FleetDatabase, tmp_path: Path) -> None:
    gateways = {team: database.gateway(team) for team in ("ops", "dev")}
    for team, gateway in gateways.items():
        log_with(tmp_path / team, 3)
        ship_audit(database, gateway, tmp_path / team)
    anna = AuditTrail(database.person("anna", "viewer", ("ops",)))
    root = AuditTrail(database.person("root", "admin", ("*",)))
    assert [line.team for line in anna.lines({})] == ["ops"] * 3
    assert [line.team for line in root.lines({})] == ["dev"] * 3 + ["ops"] * 3
    assert [line.seq for line in root.lines({"gateway": gateways["ops"].id, "event": "hold"}, limit=2)] == [3, 2]
    page = root.lines({}, limit=4)
    assert [line.seq for line in root.lines({}, before=page[-1].number)] == [2, 1]
    assert anna.lines({"team": "dev"}) == anna.lines({"agent": "nobody"}) == anna.lines({"nonce": "x", "hours": 1}) == []
    assert len(anna.lines({"agent": "main", "hours": 1})) == 3
    assert len(anna.chains()) == 1
    assert anna.chains(gateways["dev"].id) == []


def test_a_gateway_cannot_read(database: FleetDatabase) -> None:
    with pytest.raises(FleetError):
        AuditTrail(database.gateway_login()).lines({})


@pytest.mark.parametrize("filters", [{"hours": "x"}, {"hours": 10**12}])
def test_bad_filters_are_one_line(owner: Connection, filters: dict[str, object]) -> None:
    with pytest.raises(FleetError):
        AuditTrail(owner).lines(filters)
