"""The audit log of a machine, in the fleet's database: the same bytes, whatever happens to either of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from audit_logs import event, log_with
from fleet_database import Connection, FleetDatabase, Gateway
from shipping_runs import ship_audit, with_link
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files import audit_log_file
from toolguard_fleet.shipping import audit_shipper
from toolguard_fleet.shipping.audit_shipper import AuditRefused, AuditShipper
from toolguard_fleet.shipping.gateway_connection import GatewayConnection


@pytest.fixture
def gateway(database: FleetDatabase) -> Gateway:
    return database.gateway()


def local(state_dir: Path) -> bytes:
    return b"".join(path.read_bytes() for path in stores.audit_log(state_dir).files())


def stored(owner: Connection, chain: int = 0) -> bytes:
    heads = owner.execute("SELECT log FROM fleet.audit_head ORDER BY created").fetchall()
    rows = owner.execute("SELECT line FROM fleet.audit WHERE log = %s ORDER BY seq", heads[chain]).fetchall()
    return b"".join(row[0] for row in rows)


def events(owner: Connection) -> list[str]:
    rows = owner.execute("SELECT kind FROM fleet.event WHERE kind LIKE 'audit.%' ORDER BY id").fetchall()
    return [row[0] for row in rows]


def gaps(owner: Connection) -> list[tuple[Any, ...]]:
    return owner.execute("SELECT first, last, reason FROM fleet.audit_gap ORDER BY first").fetchall()


def state(owner: Connection, gateway: Gateway) -> str:
    row = owner.execute(
        "SELECT fleet.gateway_json(g) ->> 'state' FROM fleet.gateway AS g WHERE id = %s", (gateway.id,)
    ).fetchone()
    assert row
    return row[0]


def test_the_lines_are_the_bytes_of_the_file(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    log_with(tmp_path, 1_200)
    assert ship_audit(database, gateway, tmp_path).progress.sent == 1_200
    log_with(tmp_path, 3)
    assert ship_audit(database, gateway, tmp_path).progress.sent == 3
    assert ship_audit(database, gateway, tmp_path).progress.sent == 0
    assert stored(owner) == local(tmp_path)
    assert events(owner) == []


def test_a_shipper_sends_what_is_added_meanwhile(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    async def work(link: GatewayConnection) -> None:
        shipper = AuditShipper(link, tmp_path)
        assert not await shipper.step()
        for many in (1, 700, 2):
            log_with(tmp_path, many)
            while await shipper.step():
                pass
        assert (shipper.progress.sent, shipper.progress.behind) == (703, 0)

    with_link(database, gateway, work)
    assert stored(owner) == local(tmp_path)


def test_a_batch_is_bounded_in_bytes(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_shipper, "BYTES", 1)
    log_with(tmp_path, 5)
    assert ship_audit(database, gateway, tmp_path).progress.sent == 5
    times = owner.execute("SELECT count(DISTINCT stored) FROM fleet.audit").fetchone()
    assert times == (5,)


def test_rotated_parts_are_one_chain(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log_file, "MAX_BYTES", 4_000)
    for _ in range(6):
        log_with(tmp_path, 20)
    assert len(stores.audit_log(tmp_path).files()) > 3
    ship_audit(database, gateway, tmp_path)
    assert stored(owner) == local(tmp_path)
    assert gaps(owner) == []


def test_half_a_line_waits_and_is_no_gap(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    path = log_with(tmp_path, 3)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq":4,"prev":"')
    ship_audit(database, gateway, tmp_path)
    assert stored(owner) == whole
    log_with(tmp_path, 1)
    ship_audit(database, gateway, tmp_path)
    lines = local(tmp_path).replace(b'{"seq":4,"prev":"\n', b"")
    assert stored(owner) == lines
    assert gaps(owner) == []


def test_parts_that_were_removed_before_they_were_sent_are_a_reported_gap(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log itself names the last hash of what it removed; the database then demands that the next line follows it."""
    log_with(tmp_path, 2)
    ship_audit(database, gateway, tmp_path)
    before = stored(owner)
    monkeypatch.setattr(audit_log_file, "MAX_BYTES", 2_000)
    monkeypatch.setattr(audit_log_file, "KEPT", 2)
    for _ in range(8):
        log_with(tmp_path, 10)
    log = stores.audit_log(tmp_path)
    assert log.verify().error == ""
    named = [str(line["reason"]) for line in log.events() if line["event"] == "segment-removed"]
    shipper = ship_audit(database, gateway, tmp_path)
    assert shipper.progress.gaps == 1
    ((first, last, reason),) = gaps(owner)
    assert (first, reason) == (3, "removed")
    (hash_of_gap,) = owner.execute("SELECT hash FROM fleet.audit_gap").fetchone() or ("",)
    assert any(each.endswith(f"up to line {last}, {hash_of_gap}") for each in named)
    assert stored(owner) == before + local(tmp_path)
    assert events(owner) == ["audit.gap"]


def test_a_changed_line_is_not_stored_and_reported(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    path = log_with(tmp_path, 6)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"exec 2", b"exec X"), *lines[3:]]))
    ship_audit(database, gateway, tmp_path)
    assert stored(owner) == b"".join([*lines[:2], *lines[3:]])
    assert gaps(owner) == [(3, 3, "changed")]


def test_removed_lines_are_reported(database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path) -> None:
    path = log_with(tmp_path, 6)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[4:]]))
    ship_audit(database, gateway, tmp_path)
    assert gaps(owner) == [(3, 4, "missing")]
    assert stored(owner) == path.read_bytes()


def test_a_rewritten_line_is_a_fork(database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path) -> None:
    """Its hash was computed again: the line after it still names the old one."""
    path = log_with(tmp_path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    prev = lines[0][-67:-3].decode()
    forged, _ = audit_log_file.chained(event(shown="forged"), 2, prev)
    path.write_bytes(b"".join([lines[0], forged, *lines[2:]]))
    with pytest.raises(AuditRefused, match="different line 2"):
        ship_audit(database, gateway, tmp_path)
    assert state(owner, gateway) == "quarantined"


def test_a_line_that_is_too_large_is_reported(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    log_with(tmp_path, 1)
    stores.audit_log(tmp_path).append([event(shown="x" * 70_000)])
    log_with(tmp_path, 1)
    ship_audit(database, gateway, tmp_path)
    lines = local(tmp_path).splitlines(keepends=True)
    assert stored(owner) == lines[0] + lines[2]
    assert gaps(owner) == [(2, 2, "too-large")]


def test_a_cloned_state_directory_is_seen(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    log_with(one, 5)
    ship_audit(database, gateway, one)
    shutil.copytree(one, other)
    log_with(one, 3)
    ship_audit(database, gateway, one)
    before = stored(owner)
    log_with(other, 1)
    with pytest.raises(AuditRefused, match="a copy of this gateway is running"):
        ship_audit(database, gateway, other)
    assert state(owner, gateway) == "quarantined"
    assert stored(owner) == before
    assert events(owner) == ["audit.fork"]


def test_after_a_fork_an_admin_lets_either_go_on_under_a_new_chain(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    log_with(one, 5)
    shutil.copytree(one, other)
    log_with(one, 3)
    ship_audit(database, gateway, one)
    log_with(other, 4)
    with pytest.raises(AuditRefused):
        ship_audit(database, gateway, other)
    owner.execute("SELECT fleet.admit(%s)", (gateway.id,))
    ship_audit(database, gateway, other)
    assert stored(owner, 1) == b"".join(local(other).splitlines(keepends=True)[5:])
    log_with(other, 2)
    ship_audit(database, gateway, other)
    assert stored(owner, 1) == b"".join(local(other).splitlines(keepends=True)[5:])
    assert state(owner, gateway) == "admitted"
    assert events(owner) == ["audit.fork", "audit.new-chain"]


def test_the_original_goes_on_where_it_was(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    log_with(one, 5)
    shutil.copytree(one, other)
    log_with(one, 3)
    ship_audit(database, gateway, one)
    log_with(other, 4)
    with pytest.raises(AuditRefused):
        ship_audit(database, gateway, other)
    owner.execute("SELECT fleet.admit(%s)", (gateway.id,))
    assert ship_audit(database, gateway, one).progress.sent == 0
    log_with(one, 2)
    ship_audit(database, gateway, one)
    assert stored(owner) + stored(owner, 1) == local(one)


def test_a_restored_backup_is_seen(database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path) -> None:
    one, backup = tmp_path / "one", tmp_path / "backup"
    log_with(one, 3)
    shutil.copytree(one, backup)
    log_with(one, 3)
    ship_audit(database, gateway, one)
    with pytest.raises(AuditRefused, match="restored from a backup"):
        ship_audit(database, gateway, backup)
    assert state(owner, gateway) == "admitted"
    log_with(backup, 1)
    with pytest.raises(AuditRefused, match="different line 4"):
        ship_audit(database, gateway, backup)
    assert state(owner, gateway) == "quarantined"


def test_a_log_that_was_moved_away_is_a_new_chain(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    path = log_with(tmp_path, 5)
    ship_audit(database, gateway, tmp_path)
    old = path.read_bytes()
    path.unlink()
    path.with_name("audit.head").unlink()
    log_with(tmp_path, 4)
    ship_audit(database, gateway, tmp_path)
    assert (stored(owner), stored(owner, 1)) == (old, local(tmp_path))
    assert events(owner) == ["audit.new-chain"]
    assert state(owner, gateway) == "admitted"


def test_a_log_that_was_moved_away_without_its_head_goes_on(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    path = log_with(tmp_path, 5)
    ship_audit(database, gateway, tmp_path)
    old = path.read_bytes()
    path.unlink()
    log_with(tmp_path, 4)
    ship_audit(database, gateway, tmp_path)
    assert stored(owner) == old + local(tmp_path)
    assert events(owner) == []


def test_a_database_that_lost_lines_gets_them_again(
    database: FleetDatabase, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    """As after a failover to a server that was behind."""
    log_with(tmp_path, 9)
    ship_audit(database, gateway, tmp_path)
    fifth = local(tmp_path).splitlines()[4][-66:-2].decode()
    owner.execute("DELETE FROM fleet.audit WHERE seq > 5")
    owner.execute("UPDATE fleet.audit_head SET seq = 5, hash = %s", (fifth,))
    assert ship_audit(database, gateway, tmp_path).progress.sent == 4
    assert stored(owner) == local(tmp_path)


def test_lines_are_synced_before_they_are_sent(
    database: FleetDatabase, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that a power failure takes back from this machine must not be in the database: its successor is no fork."""
    done: list[str] = []
    real = audit_shipper.AuditShipper._append
    path = log_with(tmp_path, 3)

    def sync(handle: int) -> None:
        assert path.stat().st_ino == __import__("os").fstat(handle).st_ino
        done.append("sync")

    async def append(self: AuditShipper, *given: Any) -> Any:
        done.append("send")
        return await real(self, *given)

    monkeypatch.setattr("toolguard_engine.stores.system_calls.sync_content", sync)
    monkeypatch.setattr(AuditShipper, "_append", append)
    ship_audit(database, gateway, tmp_path)
    assert "sync" in done[: done.index("send")]
