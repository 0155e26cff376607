"""Whatever is killed, and whenever: no approval lets two calls run, and the log has each line once."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from effort import ALL
from fleet_database import FleetDatabase
from fleet_desk import Approver, FleetDesk, wait_until
from fleet_servers import OwnPostgres, SharedPostgres
from ssh_signers import SshRoom
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.fleet import courier_link
from toolguard_engine.stores.fleet.courier_link import FleetAwayError
from toolguard_engine.stores.fleet.local_marks import LocalMarks, UsedBeforeError


@pytest.fixture
def server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    with OwnPostgres(postgres) as made:
        yield made


KILLS = 4
"""For each call."""


class Killer:
    """Kills the courier again and again, at random moments, and crashes the server now and then: so often as it is allowed,
    since a machine may be too slow to answer anything between two kills."""

    def __init__(self, desk: FleetDesk, server: TemporaryPostgres, seed: int) -> None:
        self._desk = desk
        self._server = server
        self._random = random.Random(seed)  # noqa: S311
        self._ended = threading.Event()
        self._allowed = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.kills = 0

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.allow(1)
        self._thread.join()

    def allow(self, kills: int) -> None:
        self._allowed.release(kills)

    def _run(self) -> None:
        while self._allowed.acquire() and not self._ended.wait(self._random.uniform(0.05, 1.0)):
            if self._random.random() < 0.15:
                self._server.stop(signal.SIGQUIT)
                self._server.start()
            elif pid := self._desk.client.link.pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.kills += 1


@pytest.mark.thorough
def test_nothing_runs_twice(server: TemporaryPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier_link, "MAX_DELAY", 0.4)
    database = FleetDatabase(server)
    room = SshRoom(tmp_path / "trust")
    anna = Approver(database, room, "anna")
    desk = FleetDesk(database, tmp_path / "gateway", room, deadline_ms=10_000)
    used: list[str] = []

    def outcome(call: str) -> str:
        with suppress(FleetAwayError):
            found = desk.present(call)
            if found.outcome == "used":
                used.append(found.entry.nonce)
            assert found.outcome != "expired", found.refusal
            return f"{found.outcome} {found.entry.nonce}"
        return ""

    try:
        with Killer(desk, server, seed=1) as killer:
            for number in range(8 if ALL else 2):
                call = f"call {number}"
                killer.allow(KILLS)
                nonce = wait_until(lambda call=call: outcome(call)).split()[1]  # type: ignore[misc]
                wait_until(lambda nonce=nonce: approved(anna, database, nonce))  # type: ignore[misc]
                wait_until(lambda call=call, nonce=nonce: outcome(call) and nonce in used)  # type: ignore[misc]
        assert killer.kills
        wait_until(lambda: outcome("the end"))
        wait_until(lambda: entries(desk) is not None)
    finally:
        desk.close()
        anna.connection.close()
        database.connect_again()
        database.close()
    assert set(Counter(used).values()) == {1}
    log = stores.audit_log(desk.state)
    lines = Counter((event["nonce"], event["event"]) for event in log.events())
    assert set(lines.values()) == {1}
    for nonce in used:
        assert {event for known, event in lines if known == nonce} == {"hold", "approve", "consume"}
    assert not log.verify().error


def approved(anna: Approver, database: FleetDatabase, nonce: str) -> bool:
    """Tried again while the server is down."""
    try:
        if anna.connection.closed or anna.connection.broken:
            anna.connection.close()
            anna.connection = database.connect(f"anna_{database.name}")
        found = [row for row in anna.waiting() if row["nonce"] == nonce]
        return not found or found[0]["status"] == "approved" or bool(anna.approve(nonce))
    except Exception:  # noqa: BLE001 - the server is down, or the yes is entered already
        return False


def entries(desk: FleetDesk) -> object:
    try:
        return desk.calls.entries()
    except FleetAwayError:
        return None


def test_marks_survive_half_a_line(tmp_path: Path) -> None:
    marks = LocalMarks(tmp_path)
    marks.use("aaaaaaaaaaaa", b"1" * 16)
    with marks.path.open("ab") as file:
        file.write(b"bbbbbbbbbbbb 3131")
    again = LocalMarks(tmp_path)
    again.use("bbbbbbbbbbbb", b"2" * 16)
    again.use("aaaaaaaaaaaa", b"1" * 16)
    third = LocalMarks(tmp_path)
    for nonce, attempt in (("aaaaaaaaaaaa", b"2" * 16), ("bbbbbbbbbbbb", b"1" * 16)):
        with pytest.raises(UsedBeforeError):
            third.use(nonce, attempt)
    third.give_back("aaaaaaaaaaaa", b"9" * 16)
    with pytest.raises(UsedBeforeError):
        third.use("aaaaaaaaaaaa", b"2" * 16)
    third.give_back("aaaaaaaaaaaa", b"1" * 16)
    LocalMarks(tmp_path).use("aaaaaaaaaaaa", b"2" * 16)


def test_marks_of_another_engine_count(tmp_path: Path) -> None:
    """Two engines of one state directory, while one takes over from the other."""
    one, other = LocalMarks(tmp_path), LocalMarks(tmp_path)
    one.use("aaaaaaaaaaaa", b"1" * 16)
    other.use("bbbbbbbbbbbb", b"1" * 16)
    for marks, nonce in ((one, "bbbbbbbbbbbb"), (other, "aaaaaaaaaaaa")):
        marks.use(nonce, b"1" * 16)
        with pytest.raises(UsedBeforeError):
            marks.use(nonce, b"2" * 16)
    one.give_back("aaaaaaaaaaaa", b"1" * 16)
    other.use("aaaaaaaaaaaa", b"2" * 16)
    with pytest.raises(UsedBeforeError):
        one.use("aaaaaaaaaaaa", b"1" * 16)


def test_old_marks_are_dropped_and_the_file_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolguard_engine.stores.fleet.local_marks.MAX_MARKS", 10)
    marks = LocalMarks(tmp_path)
    for number in range(40):
        marks.use(f"{number:012x}", b"1" * 16)
    assert len(marks.path.read_text().splitlines()) <= 31
    with pytest.raises(UsedBeforeError):
        LocalMarks(tmp_path).use(f"{39:012x}", b"2" * 16)
