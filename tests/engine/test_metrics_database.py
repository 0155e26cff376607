"""The metrics file: made, shared by several processes, and refused where it is not ours to write."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import files as resources
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from toolguard_engine.metrics import database
from toolguard_engine.metrics import row_writer as writing
from toolguard_engine.metrics.database import MetricsError, connect, is_ours, reported, transaction
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts

fork = multiprocessing.get_context("fork")
HOUR = 3_600_000
NOON = 1_750_000_000_000 - 1_750_000_000_000 % (24 * HOUR) + 12 * HOUR
TABLES = {
    "toolguard_schema",
    "toolguard_sources",
    "toolguard_taken",
    "toolguard_calls",
    "toolguard_verdicts",
    "toolguard_hours",
    "toolguard_days",
    "toolguard_gateways",
    "toolguard_sessions",
    "toolguard_verdict_hours",
    "toolguard_verdict_days",
    "toolguard_upkeep",
}
VERSIONS = [(number,) for number in range(1, database.latest() + 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "metrics.db"


@pytest.fixture
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as connection:
        yield connection


def names(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}


def rows(connection: sqlite3.Connection, table: str, columns: str = "*") -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3, 4, 5, 6").fetchall()  # noqa: S608


def test_made_for_nobody_elses_eyes(path: Path) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, [CallRecord(NOON)])
        beside = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert beside == {"metrics.db": 0o600, "metrics.db-wal": 0o600, "metrics.db-shm": 0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["metrics.db"]


def test_nobody_waits_for_the_disk_and_nobody_fails_at_once(opened: sqlite3.Connection) -> None:
    asked = ("journal_mode", "synchronous", "busy_timeout", "user_version", "application_id", "trusted_schema")
    assert [opened.execute(f"PRAGMA {name}").fetchone()[0] for name in asked] == ["wal", 1, 5000, 0, 0, 0]


def test_every_name_is_marked_as_ours(path: Path) -> None:
    connect(path).close()
    assert {name for name in names(path) if not name.startswith("toolguard_")} == set()
    assert names(path) >= TABLES


def test_what_is_there_stays(path: Path) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, [CallRecord(NOON, "home")])
    with closing(connect(path)) as connection:
        assert rows(connection, "toolguard_calls", "at, gateway, id, source, total, model") == [(NOON, "home", 1, 1, 0, "")]
        assert connection.execute("SELECT version FROM toolguard_schema").fetchall() == VERSIONS


def test_a_file_with_an_odd_name(tmp_path: Path) -> None:
    path = tmp_path / "50%25 ?mode=memory#x;' .db"
    connect(path).close()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_sql_files_are_numbered_without_a_gap() -> None:
    names = sorted(file.name for file in resources("toolguard_manifests").joinpath("metrics").iterdir())
    numbers = [int(name[:3]) for name in names]
    assert numbers == list(range(1, database.latest() + 1))


# What is refused, and how it is left


def text(path: Path) -> None:
    path.write_text("Dear diary, " * 1_000)


def noise(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE moz_places (url TEXT)")


def broken_schema(path: Path) -> None:
    connect(path).close()
    overwrite(path, 100, b"\x42" * 200)


def cut_off(path: Path) -> None:
    connect(path).close()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def broken_inside(path: Path) -> None:
    """The old plugin's file, damaged where its schema is not: only a look at all of it finds that."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE usage_events (id INTEGER PRIMARY KEY, ts TEXT)")
        connection.executemany("INSERT INTO usage_events (ts) VALUES (?)", [("2025-06-15T12:00:00Z" * 20,)] * 500)
    overwrite(path, 4096 * 5, b"\x42" * 4096)


def newer(path: Path) -> None:
    with closing(connect(path)) as connection:
        connection.execute("INSERT INTO toolguard_schema VALUES (7, 0)")


def odd_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE toolguard_schema ("<b>DROP</b>" TEXT)')


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a text": (text, "is not a SQLite database; move it away, or name another file in metrics.dbPath"),
    "noise": (noise, "is not a SQLite database; move it away, or name another file in metrics.dbPath"),
    "another program's": (foreign, "holds the tables of another program; name another file in metrics.dbPath"),
    "broken schema": (broken_schema, "is damaged; move it away, or restore a copy of it"),
    "cut off": (cut_off, "is damaged; move it away, or restore a copy of it"),
    "broken inside": (broken_inside, "is damaged; move it away, or restore a copy of it"),
    "newer": (newer, "was written by a newer toolguard (has schema 7, and this toolguard knows 2); update toolguard"),
    "odd schema": (odd_schema, "cannot be used: SQLite reports SQLITE_ERROR"),
    "a folder": (folder, "is not a file; name another one in metrics.dbPath"),
    "a pipe": (pipe, "is not a file; name another one in metrics.dbPath"),
    "a link to nowhere": (dangling, ": No such file or directory"),
}


@pytest.mark.parametrize(("make", "said"), REFUSED.values(), ids=REFUSED)
def test_refused_and_left_as_it_is(tmp_path: Path, make: Callable[[Path], None], said: str) -> None:
    path = tmp_path / "metrics.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for _ in range(2):
        with pytest.raises(MetricsError) as refused:
            connect(path)
        assert str(refused.value).replace(f"'{path}'", "").lstrip() == said
    assert (path.read_bytes() if path.is_file() else None) == before
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.db"]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    with pytest.raises(MetricsError, match=r"Not a directory|File exists"):
        connect(tmp_path / "file" / "metrics.db")


def test_a_name_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(MetricsError, match="embedded null byte"):
        connect(tmp_path / "a\0b")


def test_whose_file_it_is(tmp_path: Path) -> None:
    assert not is_ours(tmp_path / "metrics.db")
    foreign(tmp_path / "foreign.db")
    assert not is_ours(tmp_path / "foreign.db")
    connect(tmp_path / "metrics.db").close()
    assert is_ours(tmp_path / "metrics.db")


def test_held_by_another_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(path).close()
    path.write_bytes(b"")
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MetricsError) as refused:
            connect(path)
    assert (
        str(refused.value)
        == f"'{path}' is locked by another process; check whether one of your processes hangs, then try again"
    )


def test_a_full_disk(path: Path, opened: sqlite3.Connection) -> None:
    (pages,) = opened.execute("PRAGMA page_count").fetchone()
    opened.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(MetricsError) as refused, reported(path), transaction(opened):
        record(opened, [CallRecord(NOON, "home" * 10_000)])
    assert str(refused.value) == f"'{path}' cannot grow: the disk is full"
    assert rows(opened, "toolguard_calls") == []


# New versions of the schema


def with_another(script: str) -> Callable[[], tuple[str, ...]]:
    scripts = (*database.migrations(), script)
    return lambda: scripts


def test_a_new_version_is_added_once_and_keeps_what_is_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, [CallRecord(NOON)])
    second = (
        "CREATE TABLE toolguard_prices (\n  model TEXT -- ; not the end\n);\nINSERT INTO toolguard_prices VALUES ('a;b');\n"
    )
    monkeypatch.setattr(database, "migrations", with_another(second))
    for _ in range(2):
        with closing(connect(path)) as connection:
            assert connection.execute("SELECT version FROM toolguard_schema").fetchall() == [*VERSIONS, (len(VERSIONS) + 1,)]
            assert connection.execute("SELECT model FROM toolguard_prices").fetchall() == [("a;b",)]
            assert connection.execute("SELECT count(*) FROM toolguard_calls").fetchone() == (1,)


def test_a_file_of_the_first_version_loses_nothing_and_knows_its_sessions(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first version wrote, and what it would have been had the second one written it."""
    first = database.migrations()[:1]
    with monkeypatch.context() as patch:
        patch.setattr(database, "migrations", lambda: first)
        patch.setattr(writing, "_ROLL_UP", writing._ROLL_UP[:2])
        with closing(connect(path)) as connection, transaction(connection):
            record(connection, CALLS)
            connection.execute("INSERT INTO toolguard_verdicts VALUES (1, 5, 'gw', 'a', 's', 'r', 't', 'd', 'c', 'w')")
    with closing(connect(path)) as old, closing(connect(tmp_path / "new.db")) as new:
        with transaction(new):
            record(new, CALLS)
        for table in ("toolguard_calls", "toolguard_hours", "toolguard_days", "toolguard_sessions"):
            assert rows(old, table) == rows(new, table)
        kept = (1, 5, "gw", "a", "s", "r", "t", "d", "c", "w", "", None, "", "", "", "")
        assert rows(old, "toolguard_verdicts") == [kept]


def test_a_version_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(path).close()
    before = names(path)
    with monkeypatch.context() as patch:
        broken = "CREATE TABLE toolguard_prices (model TEXT);\nCREATE TABLE toolguard_calls (at INTEGER);\n"
        patch.setattr(database, "migrations", with_another(broken))
        with pytest.raises(MetricsError):
            connect(path)
    assert names(path) == before
    connect(path).close()


# Writing

CALLS = [
    CallRecord(NOON, "home", "main", "s1", "telegram", "anthropic", "big", 10, 5, 3, 2, 20, 0.5, 0, 1_000, "completed"),
    CallRecord(NOON + 1, "home", "main", "s1", "telegram", "anthropic", "big", 1, 1, 0, 0, 2, 0.25, 1, None, "error"),
    CallRecord(NOON + HOUR, "home", "main", "s2", "", "anthropic", "big", 7, 0, 0, 0, 7, None, 0, 500, ""),
    CallRecord(NOON + HOUR, "away", "", "", "", "", "small", 1, 0, 0, 0, 1),
]


def test_calls_and_their_sums(opened: sqlite3.Connection) -> None:
    for call in CALLS:
        with transaction(opened):
            record(opened, [call])
    assert rows(opened, "toolguard_calls") == [(number, *call, 1) for number, call in enumerate(CALLS, 1)]
    assert rows(opened, "toolguard_hours") == [
        (NOON, "home", "big", "anthropic", "main", 1, 2, 1, 11, 6, 3, 2, 22, 2, 0.75, 0.25, 1, 1_000),
        (NOON + HOUR, "away", "small", "", "", 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0),
        (NOON + HOUR, "home", "big", "anthropic", "main", 1, 1, 0, 7, 0, 0, 0, 7, 0, 0, 0, 1, 500),
    ]
    day = NOON - 12 * HOUR
    assert rows(opened, "toolguard_days") == [
        (day, "away", "small", "", "", 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0),
        (day, "home", "big", "anthropic", "main", 1, 3, 1, 18, 6, 3, 2, 29, 2, 0.75, 0.25, 2, 1_500),
    ]
    assert rows(opened, "toolguard_sessions") == [
        (day, "away", "", "", "", 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0),
        (day, "home", "s1", "main", "telegram", 1, 2, 1, 11, 6, 3, 2, 22, 2, 0.75, 0.25, 1, 1_000),
        (day, "home", "s2", "main", "", 1, 1, 0, 7, 0, 0, 0, 7, 0, 0, 0, 1, 500),
    ]


def test_one_batch_gives_the_same_sums_as_many(path: Path, tmp_path: Path) -> None:
    with closing(connect(path)) as one, closing(connect(tmp_path / "many.db")) as many:
        with transaction(one):
            record(one, CALLS)
        for call in CALLS:
            with transaction(many):
                record(many, [call])
        for table in ("toolguard_calls", "toolguard_hours", "toolguard_days", "toolguard_sessions"):
            assert rows(one, table) == rows(many, table)


def test_the_sums_outlive_the_calls(opened: sqlite3.Connection) -> None:
    with transaction(opened):
        record(opened, CALLS[:2])
    opened.execute("DELETE FROM toolguard_calls")
    with transaction(opened):
        record(opened, CALLS[2:])
    assert opened.execute("SELECT sum(calls) FROM toolguard_hours").fetchone() == (4,)


def test_all_or_nothing(opened: sqlite3.Connection) -> None:
    def fail_in_between() -> None:
        with transaction(opened):
            record(opened, CALLS)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_between()
    assert rows(opened, "toolguard_calls") == rows(opened, "toolguard_hours") == []


VERDICTS = [
    VerdictRecord(NOON, "home", "main", "s1", "r1", "read", kind="allow", code="allow"),
    VerdictRecord(NOON + 1, "home", "main", "s1", "r1", "read", kind="allow", code="allow"),
    VerdictRecord(NOON + 2, "home", "main", "s1", "r1", "exec", "hold", "exec.rm", "why", "hold", "n-hold", "n", "exec(rm)"),
    VerdictRecord(
        NOON + HOUR, "home", "main", "s1", "", "exec", "allow", "exec.rm", "", "approve", "n-yes", "n", "", "ann", "cli"
    ),
    VerdictRecord(NOON + HOUR, "away", kind="allow", code="allow"),
]


def test_verdicts_and_their_sums(opened: sqlite3.Connection) -> None:
    """Whatever comes twice by its event counts once: in one batch, in the next, and in another order."""
    for verdicts in (VERDICTS[:3], [VERDICTS[2], *VERDICTS[3:], VERDICTS[3]], [VERDICTS[3], VERDICTS[2]]):
        with transaction(opened):
            record_verdicts(opened, verdicts)
    assert rows(opened, "toolguard_verdicts") == [(number, *verdict) for number, verdict in enumerate(VERDICTS, 1)]
    assert rows(opened, "toolguard_verdict_hours", "*, 0") == [
        (NOON, "home", "main", "allow", "allow", 2, 0),
        (NOON, "home", "main", "hold", "exec.rm", 1, 0),
        (NOON + HOUR, "away", "", "allow", "allow", 1, 0),
        (NOON + HOUR, "home", "main", "approve", "exec.rm", 1, 0),
    ]
    assert opened.execute("SELECT at, sum(verdicts) FROM toolguard_verdict_days").fetchall() == [(NOON - 12 * HOUR, 5)]


# Several processes


class Contended:
    """A connection to a file that another process is switching to the same mode: SQLite does not wait then."""

    def __init__(self, *answers: int) -> None:
        self.answers = [*answers]

    def execute(self, statement: str) -> sqlite3.Cursor:
        if self.answers:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = self.answers.pop(0)
            raise error
        return sqlite3.connect(":memory:").execute(statement)


def test_a_race_for_the_mode_is_run_again() -> None:
    connection = Contended(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY)
    database._log_ahead(connection)  # type: ignore[arg-type]
    assert connection.answers == []


@pytest.mark.parametrize(
    ("answer", "patience"), [(sqlite3.SQLITE_IOERR, 5.0), (sqlite3.SQLITE_BUSY, -1.0)], ids=["disk", "late"]
)
def test_not_without_end(monkeypatch: pytest.MonkeyPatch, answer: int, patience: float) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", patience)
    connection = Contended(answer, answer)
    with pytest.raises(sqlite3.OperationalError):
        database._log_ahead(connection)  # type: ignore[arg-type]
    assert connection.answers == [answer]


WRITERS, BATCHES, BATCH = 4, 40, 25


def write(path: Path, number: int, start: Event) -> None:
    start.wait()
    with closing(connect(path)) as connection:
        for batch in range(BATCHES):
            with transaction(connection):
                record(connection, [CallRecord(NOON + batch * HOUR, f"gateway-{number}", input=1, total=1)] * BATCH)


@pytest.mark.usefixtures("patient_locks")
def test_several_processes_make_and_write_one_file(path: Path) -> None:
    """The first four racers all find no file; the next four find it."""
    for _ in range(2):
        start = fork.Event()
        racers = [fork.Process(target=write, args=(path, number, start)) for number in range(WRITERS)]
        for racer in racers:
            racer.start()
        start.set()
        for racer in racers:
            racer.join()
        assert [racer.exitcode for racer in racers] == [0] * WRITERS
    with closing(connect(path)) as connection:
        calls = "SELECT gateway, count(*) FROM toolguard_calls GROUP BY 1"
        assert connection.execute(calls).fetchall() == [
            (f"gateway-{number}", 2 * BATCHES * BATCH) for number in range(WRITERS)
        ]
        hours = "SELECT count(*), sum(calls), min(calls), max(calls) FROM toolguard_hours"
        each = 2 * BATCH
        assert connection.execute(hours).fetchone() == (WRITERS * BATCHES, WRITERS * BATCHES * each, each, each)
        assert connection.execute("SELECT sum(calls), sum(total) FROM toolguard_days").fetchone() == (
            WRITERS * BATCHES * each,
            WRITERS * BATCHES * each,
        )
        assert connection.execute("SELECT version FROM toolguard_schema").fetchall() == VERSIONS
