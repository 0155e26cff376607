"""After a power failure nothing is lost that was acknowledged, and nothing looks as if somebody had changed it."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from power_loss import FailingDisk, left_of_log
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.stores import atomic
from toolguard_engine.stores.audit_log import AuditEvent, when
from toolguard_engine.stores.files import audit_log_file, signing_key_file
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.notifications import Notification, ReadUpTo
from toolguard_engine.stores.sqlite.notification_outbox import NotificationOutbox
from toolguard_engine.stores.sqlite.standings import FileStandings

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads synced files through /proc")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    signing_key_file.load(tmp_path / "state")
    return tmp_path / "state"


def event(number: int) -> AuditEvent:
    return AuditEvent(f"e{number}", when(1_000 + number), "hold", shown=f"rm -rf {number}")


@pytest.mark.parametrize("bytes_of_a_part", [audit_log_file.MAX_BYTES, 600])
def test_the_audit_log_is_whole(state: Path, tmp_path: Path, bytes_of_a_part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log_file, "MAX_BYTES", bytes_of_a_part)
    disk, log = FailingDisk(atomic.own_folder(state), monkeypatch), AuditLog(state)
    for number in range(5):
        log.append([event(number)])
        disk.acknowledge()
    monkeypatch.undo()
    assert len(disk.states) > 10
    for place, acknowledged in disk.left(tmp_path / "left"):
        after = AuditLog(place.parent)
        assert after.verify().error == ""
        assert [found["id"] for found in after.events()][:acknowledged] == [f"e{number}" for number in range(acknowledged)]
        after.append([event(9)])
        assert (after.verify().error, after.verify().gaps) == ("", 0)


def test_a_kill_switch_stays_as_it_was_set(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switch, disk = KillSwitchFile(state), FailingDisk(atomic.own_folder(state), monkeypatch)
    for is_on in (True, False, True, False):
        switch.set(on=is_on, by="anna", why="too fast")
        disk.acknowledge()
    monkeypatch.undo()
    for place, acknowledged in disk.left(tmp_path / "left"):
        is_on = KillSwitchFile(place.parent).thrown() is not None
        assert not is_on or acknowledged % 2 == 1  # the last acknowledged change was on


FULL = 2
"""SQLite syncs its log when a transaction ends. With less it does so when it moves the log into the database, or never."""


def test_what_was_spent_before_an_answer_is_not_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, synced = atomic.own_folder(tmp_path / "state"), atomic.own_folder(tmp_path / "left")

    class Connection(sqlite3.Connection):
        """Keeps what is on the disk after each commit that is synced."""

        def execute(self, *given: Any) -> sqlite3.Cursor:
            done = super().execute(*given)
            if given[0] == "COMMIT" and super().execute("PRAGMA synchronous").fetchone() == (FULL,):
                shutil.rmtree(synced, ignore_errors=True)
                shutil.copytree(own, synced)
            return done

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: real(*given, **more, factory=Connection))
    with closing(FileStandings(tmp_path / "state")) as store:
        waited, behind = (Standing("main", session, touched=5.0) for session in ("waited", "behind"))
        for number in range(5):
            waited.spent = behind.spent = number * 0.1
            store.save({behind.key: behind})
            store.save({waited.key: waited}, durable=True)
            store.save({behind.key: behind})
            with closing(FileStandings(tmp_path / "left")) as after:
                assert {each.session: each.spent for each in after.look()} == {
                    "waited": pytest.approx(number * 0.1),
                    "behind": pytest.approx(number * 0.1),
                }
        store.checkpoint(lambda each: Standing(*each.key, epoch=each.epoch + 1))
        with closing(FileStandings(tmp_path / "left")) as after:
            assert {each.epoch for each in after.look()} == {1}


def test_whatever_is_left_of_the_log_of_budgets_no_budget_grows(tmp_path: Path) -> None:
    store = FileStandings(tmp_path / "state")
    with closing(store):
        spent = Standing("main", "s", touched=5.0)
        synced: list[tuple[int, float]] = []
        for number in range(1, 13):
            spent.spent = float(number)
            store.save({spent.key: spent}, durable=number % 4 == 0)
            if number % 4 == 0:
                synced.append((_log(store.path).stat().st_size, spent.spent))
        places = list(left_of_log(store.path, synced[0][0], tmp_path / "left"))
    assert len(places) > 40
    for size, place in places:
        kept = max(amount for length, amount in synced if length <= size)
        with closing(FileStandings(place.parent)) as after:
            assert [kept <= standing.spent <= 12 for standing in after.load(patient=True)] == [True], size
            assert after.trouble == ""


def test_whatever_is_left_of_the_log_of_notifications_none_is_lost_or_made_twice(tmp_path: Path) -> None:
    with closing(NotificationOutbox(tmp_path / "state")) as store:
        store.take([], ReadUpTo(0, "first"))
        begun = _log(store.path).stat().st_size
        for number in range(1, 9):
            name = f"e{number}"
            store.take([_notification(name)], ReadUpTo(number, "first"))
        places = list(left_of_log(store.path, begun, tmp_path / "left"))
    seen = set()
    for size, place in places:
        with closing(NotificationOutbox(place.parent)) as after:
            position = after.position()
            assert position is not None
            assert [after.state_of(f"e{number}", "phone") is not None for number in range(1, 9)] == [
                number <= position.seq for number in range(1, 9)
            ], size
            seen.add(position.seq)
    assert seen == set(range(9))


def _notification(name: str) -> Notification:
    return Notification(id=name, target="phone", event="held", title="", text="", data={}, created=1.0, due=1.0, until=9.0)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
