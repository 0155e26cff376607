"""The audit log in the table of verdicts: every line, each once, whatever becomes of the log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.metrics import follow
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.follow import Follower
from toolguard_engine.metrics.registry import GatewayFacts, claim
from toolguard_engine.metrics.row_writer import DAY_MS
from toolguard_engine.stores import audit_tail
from toolguard_engine.stores.files import audit_log_file as audit_log
from toolguard_engine.stores.files.audit_log_file import AuditEvent, AuditLog

NOW = 1_750_000_000_000


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "metrics.db")) as connection:
        claim(connection, GatewayFacts("home", str(tmp_path), "", "", "", "", "", 1), NOW)
        yield connection


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path)


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path, "home")


def event(number: int, kind: str = "hold", **more: Any) -> AuditEvent:
    return AuditEvent(**{"id": f"id-{number}", "time": audit_log.when(NOW / 1000 + number), "event": kind, **more})


def catch_up(follower: Follower, connection: sqlite3.Connection, now: int = NOW, since: int = 0) -> list[int]:
    """The lines that are there then, by their numbers."""
    while follower.step(connection, now, since):
        pass
    found = connection.execute("SELECT event FROM toolguard_verdicts WHERE event LIKE 'id-%' ORDER BY id").fetchall()
    return [int(name.split()[0].removeprefix("id-")) for (name,) in found]


def counted(connection: sqlite3.Connection) -> int:
    (hours, days), (rows,) = (
        connection.execute(
            "SELECT (SELECT sum(verdicts) FROM toolguard_verdict_hours), (SELECT sum(verdicts) FROM toolguard_verdict_days)"
        ).fetchone(),
        connection.execute("SELECT count(*) FROM toolguard_verdicts").fetchone(),
    )
    assert hours == days == rows
    return int(rows)


def test_a_line_and_its_row(opened: sqlite3.Connection, log: AuditLog, follower: Follower) -> None:
    reported = {"code": "exec.rm", "nonce": "ab12", "tool": "exec", "agent": "main", "session": "s", "run": "r"}
    log.append([event(1, "approve", **reported, by="ann", where="cli", why="fine", shown="exec(rm)", gateway="another")])
    assert catch_up(follower, opened) == [1]
    assert opened.execute("SELECT * FROM toolguard_verdicts").fetchall() == [
        (
            *(1, NOW + 1_000, "home", "main", "s", "r", "exec", "allow", "exec.rm", "fine", "approve"),
            *(f"id-1 {audit_log.when(NOW / 1000 + 1)}", "ab12", "exec(rm)", "ann", "cli"),
        )
    ]


@pytest.mark.parametrize(
    ("kind", "decision"),
    [
        ("hold", "hold"),
        ("hold-again", "hold"),
        ("block", "block"),
        ("deny", "block"),
        ("expire", "block"),
        ("stop", "block"),
        ("error", "block"),
        ("approve", "allow"),
        ("consume", "allow"),
        ("note", "allow"),
        ("would-refuse", "allow"),
        ("kill-switch", "allow"),
        ("something new", "allow"),
    ],
)
def test_what_an_event_means(
    opened: sqlite3.Connection, log: AuditLog, follower: Follower, kind: str, decision: str
) -> None:
    log.append([event(1, kind)])
    catch_up(follower, opened)
    assert opened.execute("SELECT kind, decision FROM toolguard_verdicts").fetchall() == [(kind, decision)]


def test_no_log_no_rows(opened: sqlite3.Connection, follower: Follower) -> None:
    assert catch_up(follower, opened) == []


def test_step_by_step(
    opened: sqlite3.Connection, log: AuditLog, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long log is taken in pieces, and what is added meanwhile comes too."""
    monkeypatch.setattr(audit_tail, "STEP_BYTES", 1_000)
    log.append([event(number) for number in range(20)])
    assert follower.step(opened, NOW, 0)
    assert 0 < counted(opened) < 10
    log.append([event(20)])
    assert catch_up(follower, opened) == [*range(21)]
    assert not follower.step(opened, NOW, 0)


@pytest.mark.parametrize("same", [True, False], ids=["the same engine", "the next engine"])
def test_through_rotations(
    opened: sqlite3.Connection, log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, same: bool
) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 1_500)
    follower = Follower(tmp_path, "home")
    for number in range(30):
        log.append([event(number)])
        if number % 7 == 0:
            follower = follower if same else Follower(tmp_path, "home")
            assert catch_up(follower, opened) == [*range(number + 1)]
    assert len(log.files()) > 3
    assert catch_up(follower if same else Follower(tmp_path, "home"), opened) == [*range(30)]
    assert counted(opened) == 30


@pytest.mark.parametrize("same", [True, False], ids=["the same engine", "the next engine"])
def test_through_retention(
    opened: sqlite3.Connection, log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, same: bool
) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 1_500)
    monkeypatch.setattr(audit_log, "KEPT", 2)
    follower = Follower(tmp_path, "home")
    for number in range(30):
        log.append([event(number)])
        follower = follower if same else Follower(tmp_path, "home")
        while follower.step(opened, NOW, 0):
            pass
    found = opened.execute("SELECT event FROM toolguard_verdicts WHERE kind != 'segment-removed'").fetchall()
    assert len(found) == len(set(found)) == 30


def test_the_next_engine_reads_nothing_twice(
    opened: sqlite3.Connection, log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([event(number) for number in range(5)])
    catch_up(Follower(tmp_path, "home"), opened)
    log.append([event(5)])
    taken: list[list[audit_tail.AuditLine]] = []
    real = audit_tail.lines_in
    monkeypatch.setattr(follow, "lines_in", lambda data: taken.append(lines := [*real(data)]) or lines)
    assert catch_up(Follower(tmp_path, "home"), opened) == [*range(6)]
    assert [[line.seq for line in lines] for lines in taken] == [[6]]


def test_several_followers_of_one_log(opened: sqlite3.Connection, log: AuditLog, tmp_path: Path) -> None:
    followers = [Follower(tmp_path, "home") for _ in range(3)]
    for number in range(12):
        log.append([event(number)])
        catch_up(followers[number % 3], opened)
    assert [catch_up(one, opened) for one in followers] == [[*range(12)]] * 3
    assert counted(opened) == 12


# What becomes of logs


def cut(log: AuditLog) -> None:
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:2]))


def removed(log: AuditLog) -> None:
    log.path.unlink()


def replaced(log: AuditLog) -> None:
    log.path.write_bytes(log.path.read_bytes()[:0])


def without_its_start(log: AuditLog) -> None:
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[3:]))


def begun_anew(log: AuditLog) -> None:
    log.path.unlink()
    log.path.with_name(audit_log.HEAD).unlink()


@pytest.mark.parametrize("same", [True, False], ids=["the same engine", "the next engine"])
@pytest.mark.parametrize("change", [cut, removed, replaced, without_its_start, begun_anew])
def test_a_log_that_is_not_what_it_was(
    opened: sqlite3.Connection, log: AuditLog, tmp_path: Path, change: Any, *, same: bool
) -> None:
    log.append([event(number) for number in range(6)])
    follower = Follower(tmp_path, "home")
    assert catch_up(follower, opened) == [*range(6)]
    change(log)
    if same:
        catch_up(follower, opened)
    log.append([event(number) for number in range(6, 20)])
    log.append([event(number) for number in range(4)])
    assert catch_up(follower if same else Follower(tmp_path, "home"), opened) == [*range(20)]
    assert counted(opened) == 20


GARBAGE: dict[str, bytes] = {
    "noise": b"\xff\xfe\x00{}[]\n",
    "another's line": b'{"level":"info","time":"2026-01-01T00:00:00Z"}\n',
    "no time": b'{"seq":9,"id":"x","time":"yesterday","event":"hold"}\n',
    "no zone": b'{"seq":9,"id":"x","time":"2026-01-01T00:00:00","event":"hold"}\n',
    "a time that cannot be": b'{"seq":9,"id":"x","time":"0001-01-01T00:00:00+23:00","event":"hold"}\n',
    "numbers for names": b'{"seq":9,"id":1,"time":"2026-01-01T00:00:00Z","event":"hold"}\n',
    "deep": b"[" * 50_000 + b"\n",
    "a number without end": b'{"seq":' + b"9" * 5_000 + b"}\n",
    "a line without end": b"a" * 5_000_000 + b"\n",
    "empty lines": b"\n\r\n\n",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_passed_over(opened: sqlite3.Connection, log: AuditLog, tmp_path: Path, garbage: bytes) -> None:
    log.append([event(1)])
    with log.path.open("ab") as file:
        file.write(garbage)
    assert catch_up(Follower(tmp_path, "home"), opened) == [1]
    log.append([event(2)])
    assert catch_up(Follower(tmp_path, "home"), opened) == [1, 2]


def test_a_line_that_claims_a_high_number_hides_none(opened: sqlite3.Connection, log: AuditLog, tmp_path: Path) -> None:
    log.append([event(1)])
    with log.path.open("ab") as file:
        file.write(b'{"seq":999999999999,"id":"id-2","time":"2026-01-01T00:00:00Z","event":"hold"}\n')
    assert catch_up(Follower(tmp_path, "home"), opened) == [1, 2]
    log.append([event(3)])
    assert catch_up(Follower(tmp_path, "home"), opened) == [1, 2, 3]


@pytest.mark.parametrize("number", [-1, 2**63, 10**400, 1.5, True])
def test_a_line_whose_number_cannot_be_is_not_ours(
    opened: sqlite3.Connection, log: AuditLog, follower: Follower, number: float
) -> None:
    log.append([event(1)])
    with log.path.open("ab") as file:
        line = {"seq": number, "id": "id-2", "time": "2026-01-01T00:00:00Z", "event": "hold"}
        file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    assert catch_up(follower, opened) == [1]
    log.append([event(3)])
    assert catch_up(follower, opened) == [1, 3]


def test_half_a_line_is_waited_for(opened: sqlite3.Connection, log: AuditLog, follower: Follower) -> None:
    log.append([event(1), event(2)])
    whole = log.path.read_bytes()
    for end in (len(whole) - 1, len(whole) // 2 + 3, 1):
        log.path.write_bytes(whole[:end])
        catch_up(follower, opened)
    log.path.write_bytes(whole)
    assert catch_up(follower, opened) == [1, 2]


def test_texts_and_times_are_bounded(opened: sqlite3.Connection, log: AuditLog, follower: Follower) -> None:
    far = {"id": "id-1", "time": "9999-12-31T23:59:59Z"}
    hostile = {"tool": "<script>\x1b[2J\u202e" + "x" * 900, "reason": "'); DROP TABLE toolguard_verdicts; --" * 99}
    log.append([event(1, **far, **hostile, shown="y" * 9_000, code="c" * 900)])
    catch_up(follower, opened)
    columns = "at, length(tool), length(reason), length(shown), length(code), substr(tool, 1, 14)"
    assert opened.execute(f"SELECT {columns} FROM toolguard_verdicts").fetchall() == [  # noqa: S608
        (NOW, 200, 500, 4_000, 200, "<script>?[2J?x")
    ]


def test_what_is_too_old_is_left_out(opened: sqlite3.Connection, log: AuditLog, tmp_path: Path) -> None:
    """It does not come back after it was cleaned away, even where the log is read from its start."""
    log.append([event(number) for number in range(10)])
    since = NOW + 4_000
    assert catch_up(Follower(tmp_path, "home"), opened, NOW + DAY_MS, since) == [4, 5, 6, 7, 8, 9]
    opened.execute("UPDATE toolguard_gateways SET audit_first = ''")
    assert catch_up(Follower(tmp_path, "home"), opened, NOW + DAY_MS, since) == [4, 5, 6, 7, 8, 9]


def test_the_same_nonce_of_another_time_is_another_event(
    opened: sqlite3.Connection, log: AuditLog, follower: Follower
) -> None:
    log.append([event(1, "hold", nonce="ab12")])
    with log.path.open("ab") as file:
        again = {"seq": 2, "id": "id-1", "time": audit_log.when(NOW / 1000 + 900), "event": "hold"}
        file.write(json.dumps(again, separators=(",", ":")).encode() + b"\n")
    assert catch_up(follower, opened) == [1, 1]
