"""What is asked of the metrics file: sums that fit each other and the rows, and nothing that a row can hold breaks them."""

from __future__ import annotations

import math
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples

sys.path.insert(0, str(Path(__file__).parent))

import metrics_seed
from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics import database, queries, read_database, retention
from toolguard_engine.metrics.database import MetricsError, Missing, connect
from toolguard_engine.metrics.queries import call_totals as calls_module
from toolguard_engine.metrics.queries import feeds
from toolguard_engine.metrics.queries import usage as usage_of
from toolguard_engine.metrics.queries.row_values import EXACT, SUMS, added
from toolguard_engine.metrics.queries.time_ranges import span
from toolguard_engine.metrics.queries.usage_totals import Grouping
from toolguard_engine.metrics.result_types import DecisionRow, Range, Share, Split, Totals
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS, CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction

NOW = 1_750_000_000_000 - 1_750_000_000_000 % DAY_MS + 13 * HOUR_MS + 17 * 60_000
RANGES: tuple[Range, ...] = ("24h", "7d", "30d")
SPLITS: tuple[Split | None, ...] = (None, "gateway", "model", "agent")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.db"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    metrics_seed.seed(path, NOW, hostile=True)
    with read_database.asked(path) as connection:
        yield connection


def write(path: Path, calls: list[CallRecord], verdicts: list[VerdictRecord] | None = None) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, calls)
        record_verdicts(connection, verdicts or [])


def near(totals: Totals) -> tuple[object, ...]:
    """Money to a millionth: it is added up in different orders."""
    return tuple(round(value, 6) for value in msgspec.structs.astuple(totals))


def summed(series: queries.Series) -> tuple[object, ...]:
    return tuple(round(sum(getattr(series, name)), 6) for name in calls_module._SERIES)


# Ranges


@pytest.mark.parametrize(("asked", "bucket", "count"), [("24h", HOUR_MS, 25), ("7d", 6 * HOUR_MS, 29), ("30d", DAY_MS, 31)])
def test_whole_buckets_and_the_running_one(asked: Range, bucket: int, count: int) -> None:
    for now in (NOW, NOW - NOW % DAY_MS, NOW - NOW % DAY_MS - 1):
        over = span(asked, now)
        assert (over.bucket_ms, len(over.begins)) == (bucket, count)
        assert over.begins[-1] <= now < over.end
        assert all(at % bucket == 0 for at in over.begins)
        assert over.ended.begins == over.begins[:-1]
        assert (over.ended.before.end, len(over.ended.before.begins)) == (over.start, count - 1)


# Laws

names = st.sampled_from(["a", "b", metrics_seed.MARKUP, metrics_seed.SQL, ""])
calls = st.builds(
    CallRecord,
    at=st.integers(NOW - 70 * DAY_MS, NOW),
    gateway=names,
    agent=names,
    session=names,
    channel=names,
    provider=names,
    model=st.sampled_from([f"model-{number}" for number in range(12)]),
    input=st.integers(0, 1_000),
    output=st.integers(0, 1_000),
    cache_read=st.integers(0, 9),
    cache_write=st.integers(0, 9),
    total=st.integers(0, 2_000),
    cost_usd=st.one_of(st.none(), st.floats(0, 10)),
    cost_estimated=st.integers(0, 1),
    duration_ms=st.one_of(st.none(), st.integers(0, 1_000)),
    outcome=st.sampled_from(["completed", "error", ""]),
)


def of_raw(connection: sqlite3.Connection, start: int, end: int, gateway: str = "") -> Totals:
    """What the calls themselves say."""
    row = connection.execute(
        "SELECT count(*), total(outcome NOT IN ('', 'completed')), total(input), total(output), total(cache_read),"
        " total(cache_write), total(total), count(cost_usd), total(cost_usd), total(cost_usd * cost_estimated),"
        " count(duration_ms), total(duration_ms) FROM toolguard_calls"
        " WHERE at >= ? AND at < ? AND (? = '' OR gateway = ?)",
        (start, end, gateway, gateway),
    ).fetchone()
    return Totals(**dict(zip(SUMS, row, strict=True)))


@settings(max_examples=examples(60))
@given(made=st.lists(calls, max_size=40), asked=st.sampled_from(RANGES), late=st.integers(0, DAY_MS))
def test_totals_are_the_sum_of_buckets_of_parts_and_of_calls(made: list[CallRecord], asked: Range, late: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, now = Path(folder) / "metrics.db", NOW + late
        write(path, made)
        with read_database.asked(path) as db:
            found = queries.overview(db, asked, now)
            whole, over = near(found.totals), span(asked, now)
            assert whole == near(of_raw(db, over.start, over.end))
            assert near(found.ended) == near(of_raw(db, over.start, over.end - over.bucket_ms))
            if found.previous is not None:
                assert near(found.previous) == near(of_raw(db, over.ended.before.start, over.start))
            for parts in (found.gateways, found.models, queries.gateways(db, asked, now).gateways):
                assert near(added(one.totals for one in parts)) == whole
            assert near(added(one.totals for one in queries.models(db, asked, now).models)) == whole
            reported = tuple(getattr(found.totals, name) for name in calls_module._SERIES)
            for by in SPLITS:
                series = queries.timeseries(db, asked, now, by).series
                sums = [sum(column) for column in zip(*map(summed, series), strict=True)] or [0] * len(reported)
                assert sums == pytest.approx(reported, abs=1e-4)
                assert len(series) <= calls_module.MAX_SERIES + 1
                assert [one.rest for one in series] == [False] * min(len(series), 8) + [True] * (len(series) > 8)
            for name in {call.gateway for call in made} - {""}:
                assert_detail(db, name, asked, now)


@settings(max_examples=examples(40))
@given(
    asked=st.sampled_from(RANGES),
    late=st.integers(0, DAY_MS),
    buckets=st.floats(0.01, 70),
    each=st.integers(1, 9) | st.floats(0.1, 9),
)
def test_a_steady_stream_has_no_trend(asked: Range, late: int, buckets: float, each: float) -> None:
    """`buckets`: how long it has been going on; `each`: calls to a bucket. At most a call at an edge makes a difference."""
    now = NOW + late
    over = span(asked, now)
    begun, every = now - int(buckets * over.bucket_ms), over.bucket_ms / each
    made = [CallRecord(now - int(number * every), model="m", total=10) for number in range(int((now - begun) / every) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "metrics.db", made)
        with read_database.asked(Path(folder) / "metrics.db") as db:
            found = queries.overview(db, asked, now)
    before = over.ended.before
    assert (found.previous is not None) == (made[-1].at // before.length < before.start // before.length)
    if found.previous is not None:
        assert abs(found.ended.calls - found.previous.calls) <= (0 if isinstance(each, int) else 1)


def test_nothing_is_compared_with_what_is_gone(path: Path) -> None:
    write(path, [CallRecord(NOW - number * HOUR_MS) for number in range(100)])
    with closing(connect(path)) as connection:
        assert queries.overview(connection, "24h", NOW).previous == Totals(calls=24)
        connection.execute("DELETE FROM toolguard_hours WHERE at < ?", (NOW - 40 * HOUR_MS,))
        assert queries.overview(connection, "24h", NOW).previous is None


def assert_detail(db: sqlite3.Connection, name: str, asked: Range, now: int) -> None:
    over = span(asked, now)
    found = queries.gateway(db, name, asked, now)
    assert found is not None
    whole = near(of_raw(db, over.start, over.end, name))
    assert near(found.gateway.totals) == near(added(one.totals for one in found.agents)) == whole
    days = near(of_raw(db, over.start - over.start % DAY_MS, over.end + -over.end % DAY_MS, name))
    assert near(added(one.totals for one in found.sessions)) == days
    assert near(added(one.totals for one in found.channels)) == days == near(found.days)
    only = queries.timeseries(db, asked, now, gateway=name).series
    assert sum(sum(one.calls) for one in only) == found.gateway.totals.calls


@settings(max_examples=examples(30))
@given(made=st.lists(calls, max_size=30), since=st.integers(0, 40 * DAY_MS))
def test_usage_is_the_sum_of_calls(made: list[CallRecord], since: int) -> None:
    groupings: tuple[Grouping, ...] = ("model", "agent", "gateway", "session", "day")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.db"
        write(path, made)
        with read_database.asked(path) as db:
            for by in groupings:
                found = usage_of(db, by, NOW - since, NOW)
                assert NOW - since - DAY_MS < found.start <= NOW - since
                assert near(added(one.totals for one in found.shares)) == near(of_raw(db, found.start, NOW + DAY_MS))


@pytest.mark.parametrize(
    ("by", "cut"), [("session", 30), ("model", 365), ("day", 365)], ids=["sessions", "sums of days", "days"]
)
def test_usage_says_where_less_is_kept(path: Path, by: Grouping, cut: int) -> None:
    write(path, [CallRecord(NOW - age * DAY_MS, session="s") for age in range(0, 400, 5)])
    with closing(connect(path)) as connection:
        list(retention.clean(connection, Retention(), NOW))
    with read_database.asked(path) as db:
        for age in (cut - 1, cut + 1):
            found = usage_of(db, by, NOW - age * DAY_MS, NOW)
            assert found.cut is (age > cut)
            begins = NOW - min(age, cut) * DAY_MS
            assert found.start == begins - begins % DAY_MS
            assert added(one.totals for one in found.shares).calls == min(age, cut) // 5 + 1


def test_the_parts_follow_hours_and_days_when_they_go(path: Path) -> None:
    made = [
        CallRecord(NOW - number * HOUR_MS, f"g{number % 3}", f"a{number % 4}", model=f"m{number % 5}")
        for number in range(99)
    ]
    write(path, made)
    with closing(connect(path)) as connection:
        for table in ("toolguard_hours", "toolguard_days", "toolguard_sessions"):
            connection.execute(f"DELETE FROM {table} WHERE gateway = 'g1'")  # noqa: S608
        kept = connection.execute(
            "SELECT part, sum(calls), min(calls) > 0, min(gateway <> 'g1') FROM toolguard_parts GROUP BY 1"
        )
        assert kept.fetchall() == [("agent", 132, 1, 1), ("channel", 66, 1, 1), ("model", 132, 1, 1)]
        for table in ("toolguard_hours", "toolguard_days", "toolguard_sessions"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608
        assert connection.execute("SELECT count(*) FROM toolguard_parts").fetchone() == (0,)


def test_what_the_parts_cost_does_not_grow_with_the_file(path: Path) -> None:
    """In steps of SQLite: a row written and removed again, in a file with few hours and with many."""
    few, many = (_steps(path, hours) for hours in (30, 1_000))
    assert few > 1_000
    assert many < 1.1 * few


def _steps(path: Path, hours: int) -> int:
    write(path, [CallRecord(NOW - number * HOUR_MS, agent=f"a{number}") for number in range(hours)])
    counted: list[None] = []
    with closing(connect(path)) as connection:
        connection.set_progress_handler(lambda: counted.append(None), 1)
        with transaction(connection):
            record(connection, [CallRecord(NOW + DAY_MS)])
        for table in ("toolguard_hours", "toolguard_days", "toolguard_sessions"):
            assert connection.execute(f"DELETE FROM {table} WHERE at > ?", (NOW,)).rowcount == 1  # noqa: S608
    return len(counted)


# Single answers


def test_empty(path: Path) -> None:
    connect(path).close()
    with read_database.asked(path) as db:
        for asked in RANGES:
            found = queries.overview(db, asked, NOW)
            assert (found.totals, found.ended, found.gateways, found.models) == (Totals(), Totals(), [], [])
            assert found.previous is None
            assert (found.since, found.last, found.guard.judged) == (None, None, 0)
            (series,) = queries.timeseries(db, asked, NOW).series
            assert series.calls == [0] * len(span(asked, NOW).begins)
            assert queries.timeseries(db, asked, NOW, "model").series == []
            assert queries.models(db, asked, NOW).models == queries.gateways(db, asked, NOW).gateways == []
            assert queries.guard(db, asked, NOW).kinds == queries.guard(db, asked, NOW).codes == {}
        assert queries.gateway(db, "home", "24h", NOW) is None
        assert queries.calls_after(db, 0, 10) == queries.decisions_after(db, 0, 10) == []
        assert queries.decisions(db) == queries.decisions(db, 0)
        assert (queries.decisions(db).next, queries.newest(db), queries.known(db)) == (None, (0, 0), [])


def test_models(path: Path) -> None:
    made = [
        CallRecord(NOW - HOUR_MS, model="big", provider="p", total=2_000, cost_usd=3.0, duration_ms=10),
        CallRecord(NOW, model="big", provider="p", total=9_000),
        CallRecord(NOW - HOUR_MS, model="big", provider="q", total=1_000, cost_usd=1.0, cost_estimated=1),
        CallRecord(NOW, model="free", total=8_000, duration_ms=30),
        CallRecord(NOW, model="free", total=0, duration_ms=50),
    ]
    write(path, made)
    with read_database.asked(path) as db:
        found = queries.models(db, "24h", NOW).models
    assert [(row.model, row.provider, row.token_share, row.cost_share, row.cost_per_1k, row.mean_ms) for row in found] == [
        ("big", "p", 0.55, 0.75, 1.5, 10),
        ("big", "q", 0.05, 0.25, 1.0, None),
        ("free", "", 0.4, 0.0, None, 40),
    ]


def test_gateways_that_are_idle_are_there_too(path: Path) -> None:
    metrics_seed.seed(path, NOW - 60 * DAY_MS)
    write(path, [CallRecord(NOW, "new", model="m", cost_usd=1.0)])
    with read_database.asked(path) as db:
        rows = queries.gateways(db, "7d", NOW).gateways
        assert [(row.id, row.totals.calls, [one.name for one in row.models], row.host) for row in rows] == [
            ("new", 1, ["m"], ""),
            ("dev", 0, [], "2026.9.6"),
            ("openclaw", 0, [], "2026.9.6"),
        ]
        assert rows[1].seen == NOW - 60 * DAY_MS
        old, unknown = queries.gateway(db, "dev", "7d", NOW), queries.gateway(db, "nobody", "7d", NOW)
        assert (old and old.gateway, unknown) == (rows[1], None)
        assert [(one.id, one.pid, one.mode) for one in queries.known(db)] == [
            ("dev", 1, "enforce"),
            ("openclaw", 1, "enforce"),
        ]


def test_guard(db: sqlite3.Connection) -> None:
    found = queries.guard(db, "24h", NOW)
    recent = sum(age < 24 * HOUR_MS for age in metrics_seed.AGES)
    attacks = len(metrics_seed.HOSTILE)
    totals = found.totals
    assert (totals.allowed, totals.held, totals.blocked) == (recent, recent, recent + attacks)
    assert totals.judged == totals.allowed + totals.held + totals.blocked
    assert (totals.stopped, totals.loops) == (recent + 1, recent)
    assert totals.requests_saved == recent * queries.SAVED_PER_LOOP
    assert (totals.malformed, totals.approved, totals.denied, totals.expired) == (2 * recent, recent, recent, recent)
    assert {kind: sum(many) for kind, many in found.kinds.items()}["block"] == recent + attacks
    assert all(len(many) == len(found.at) for many in (*found.kinds.values(), found.loops))
    assert (sum(found.loops), sum(found.kinds["stop"])) == (recent, recent + 1)
    assert all(loops <= stops for loops, stops in zip(found.loops, found.kinds["stop"], strict=True))
    assert (found.codes["approval.waiting"], found.codes["loop.identical"]) == (1, recent)
    parts = [queries.guard(db, "24h", NOW, one).totals for one in (*metrics_seed.GATEWAYS, *metrics_seed.HOSTILE)]
    assert sum(one.judged for one in parts) == totals.judged
    assert queries.overview(db, "24h", NOW).guard == totals


def test_codes_and_kinds_are_bounded(path: Path) -> None:
    made = [VerdictRecord(NOW, "home", kind=f"kind-{number}") for number in range(300)]
    made += [VerdictRecord(NOW, "home", kind="block", code=f"code-{number}") for number in range(300)]
    write(path, [], made)
    with read_database.asked(path) as db:
        found = queries.guard(db, "24h", NOW)
    assert (len(found.kinds), len(found.codes)) == (41, 50)
    assert sum(sum(many) for many in found.kinds.values()) == 600


@pytest.mark.parametrize(
    ("reported", "codes"),
    [
        ([("hold", "rubric"), ("approve", "rubric"), ("consume", "rubric")], {"rubric": 1}),
        ([("hold", "rubric"), ("hold-again", "rubric"), ("expire", "rubric"), ("hold", "rubric")], {"rubric": 2}),
        (
            [("kill-switch", "kill-switch.on"), ("block", "kill-switch.on"), ("stop", "kill-switch.on")],
            {"kill-switch.on": 1},
        ),
        ([("kill-switch", "kill-switch.off"), ("checkpoint", "budget.checkpoint"), ("grant", "")], {}),
        ([("stop", "loop.identical")], {"loop.identical": 1}),
        ([("allow", "approval.consumed"), ("block", "")], {}),
        ([("would-refuse", "shadow.rubric"), ("error", "guard.error")], {"shadow.rubric": 1, "guard.error": 1}),
    ],
)
def test_a_call_counts_once_as_a_reason(path: Path, reported: list[tuple[str, str]], codes: dict[str, int]) -> None:
    made = [VerdictRecord(NOW, "home", kind=kind, code=code, event=str(at)) for at, (kind, code) in enumerate(reported)]
    write(path, [], made)
    with read_database.asked(path) as db:
        assert queries.guard(db, "24h", NOW).codes == codes


# Feeds


def test_the_newest_calls(path: Path) -> None:
    """In the order in which they were written, though the clock was ahead before; imported ones are left out."""
    write(path, [CallRecord(NOW - age, model=f"m{age}") for age in (3, -DAY_MS, 2)])
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, [CallRecord(NOW - age, model=f"imported{age}") for age in (7, 9, 8)], source=2)
    with read_database.asked(path) as db:
        own = ["m2", f"m{-DAY_MS}", "m3"]
        assert [row.model for row in queries.calls_after(db, 1, 10)] == own[1::-1]
        assert [row.model for row in queries.calls_after(db, 0, 1)] == ["m3"]
        assert queries.newest(db) == (6, 0)


def pages(db: sqlite3.Connection, limit: int, **wanted: str) -> list[DecisionRow]:
    """All decisions that are asked for, page by page."""
    found: list[DecisionRow] = []
    before: int | None = None
    while True:
        page = queries.decisions(db, limit, before, queries.DecisionFilter(**wanted))
        found += page.decisions
        if (before := page.next) is None:
            return found


def test_decisions_page_by_page(db: sqlite3.Connection) -> None:
    everything = db.execute("SELECT id FROM toolguard_verdicts WHERE kind <> 'allow' ORDER BY id DESC").fetchall()
    seen = [row.id for row in pages(db, 37)]
    assert seen == [number for (number,) in everything]
    assert [row.id for row in queries.decisions_after(db, 0, 50)] == seen[::-1][:50]


def test_decisions_of_one_kind_and_one_gateway(db: sqlite3.Connection) -> None:
    held = queries.decisions(db, 200, wanted=queries.DecisionFilter(kind="hold", gateway="dev")).decisions
    assert {(row.kind, row.gateway) for row in held} == {("hold", "dev")}
    allowed = queries.decisions(db, 200, wanted=queries.DecisionFilter(kind="allow")).decisions
    assert ({row.kind for row in allowed}, len(allowed)) == ({"allow"}, len(metrics_seed.AGES))
    assert all(row.kind != "allow" for row in queries.decisions(db, 200).decisions)
    (attacked,) = queries.decisions(db, 200, wanted=queries.DecisionFilter(kind="block", gateway=metrics_seed.SQL)).decisions
    assert attacked.reason == attacked.tool == attacked.shown == metrics_seed.SQL


@pytest.mark.parametrize(
    "wanted",
    [
        {"agent": "agent-0"},
        {"code": "rubric"},
        {"nonce": "00020003"},
        {"text": "WHY DENY"},
        {"text": "'); DROP"},
        {"text": "%"},
        {"text": "~_"},
        {"kind": "hold", "gateway": "dev", "text": "build", "code": "rule.delete-important"},
        {"kind": "allow", "text": "why"},
    ],
)
def test_decisions_that_are_searched_for(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, str]
) -> None:
    """However few are searched at once, page by page they are those that have all of it."""
    monkeypatch.setattr(feeds, "SEARCHED", 30)
    every = [*pages(db, 200), *pages(db, 200, kind="allow")]
    text, exact = wanted.get("text", "").lower(), {name: value for name, value in wanted.items() if name != "text"}
    expected = [
        row.id
        for row in every
        if all(getattr(row, name) == value for name, value in exact.items())
        and any(text in getattr(row, name).lower() for name in feeds._TEXTS)
        and (row.kind != "allow" or "kind" in wanted)
    ]
    assert [row.id for row in pages(db, 3, **wanted)] == expected
    assert bool(expected) == (text not in ("%", "~_"))


def test_a_hold_comes_with_what_became_of_it(path: Path) -> None:
    kinds = ("hold", "approve", "consume", "note")
    rows = [VerdictRecord(1, "dev", kind=kind, event=kind, nonce="aaaa0001") for kind in kinds]
    write(path, [], [*rows, rows[0]._replace(gateway="openclaw", kind="deny", event="other")])
    with read_database.asked(path) as db:
        page = queries.decisions(db, 10, wanted=queries.DecisionFilter(kind="hold", nonce="aaaa0001"))
    assert [(row.kind, row.gateway) for row in page.answers] == [("approve", "dev"), ("consume", "dev")]


@pytest.mark.parametrize("limit", [-1, 0, 10**6, 2**70])
def test_limits_are_bounded(db: sqlite3.Connection, limit: int) -> None:
    most = 200 if limit > 0 else 0
    assert len(queries.decisions(db, limit).decisions) == len(queries.decisions_after(db, 0, limit)) == most
    assert len(queries.calls_after(db, 0, limit)) <= most


@pytest.mark.parametrize("number", [-(2**70), -1, 2**63, 2**70])
def test_ids_are_bounded(db: sqlite3.Connection, number: int) -> None:
    assert (queries.calls_after(db, number, 5) == []) is (number > 0)
    assert (queries.decisions(db, 5, number).decisions == []) is (number < 0)


# Hostile rows

ODD = [None, "text", b"\xff\xfe", -5, 2**63 - 1, math.inf, -math.inf, 1e300, "", "x" * 100_000]


@pytest.mark.parametrize("value", [one for one in ODD if one is not None], ids=lambda value: repr(value)[:20])
def test_whatever_stands_in_a_row(path: Path, value: object) -> None:
    metrics_seed.seed(path, NOW)
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for table in (
            "calls",
            "parts",
            "days",
            "hours",
            "sessions",
            "verdicts",
            "verdict_hours",
            "verdict_days",
            "gateways",
        ):
            spoil(connection, f"toolguard_{table}", value)
    with read_database.asked(path) as db:
        for asked in RANGES:
            for answer in answers(db, asked):
                assert_safe(msgspec.json.decode(msgspec.json.encode(answer)))


def spoil(connection: sqlite3.Connection, table: str, value: object) -> None:
    """One more row in which everything but its key and its time is odd."""
    columns = connection.execute("SELECT name, pk FROM pragma_table_info(?)", (table,)).fetchall()
    kept = {"length": DAY_MS, "part": "model", "at": NOW, "id": 10**6 if table in NUMBERED else "odd"}
    row = {name: kept.get(name, value) for name, _ in columns}
    if table == "toolguard_gateways":
        row["state_dir"] = "/odd"
    places = ", ".join("?" * len(row))
    connection.execute(f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))  # noqa: S608


NUMBERED = {"toolguard_calls", "toolguard_verdicts"}


def answers(db: sqlite3.Connection, asked: Range) -> Iterator[object]:
    yield queries.overview(db, asked, NOW)
    for by in SPLITS:
        yield queries.timeseries(db, asked, NOW, by)
    yield queries.models(db, asked, NOW)
    yield queries.gateways(db, asked, NOW)
    yield queries.gateway(db, "openclaw", asked, NOW)
    yield queries.guard(db, asked, NOW)
    yield queries.calls_after(db, 0, 200)
    yield queries.decisions(db, 200)
    yield queries.known(db)


def assert_safe(value: object) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            assert len(name) <= 200
            assert_safe(each)
    elif isinstance(value, list):
        for each in value:
            assert_safe(each)
    elif isinstance(value, (int, float)):
        assert math.isfinite(value)
        assert 0 <= value <= EXACT
    elif isinstance(value, str):
        assert len(value) <= 4_096


# The file


def test_nobody_writes_by_asking(path: Path, db: sqlite3.Connection) -> None:
    with pytest.raises(MetricsError), read_database.asked(path) as other:
        other.execute("DELETE FROM toolguard_calls")
    assert db.execute("SELECT count(*) > 0 FROM toolguard_calls").fetchone() == (1,)


def test_what_is_missing(path: Path) -> None:
    with pytest.raises(Missing):
        read_database.open_to_read(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {database.OLD_EVENTS} (id INTEGER)")
    with pytest.raises(Missing, match="holds no metrics of toolguard yet"):
        read_database.open_to_read(path)
    assert not path.with_name(f"{path.name}-wal").exists()


def test_a_file_of_an_older_toolguard(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = database.migrations()[:1]
    with monkeypatch.context() as patch, closing(sqlite3.connect(path)) as connection:
        patch.setattr(database, "migrations", lambda: first)
        connect(path).close()
        connection.executemany(
            "INSERT INTO toolguard_hours (at, gateway, model, provider, agent, source, calls) VALUES (?, ?, ?, ?, ?, 1, 2)",
            [(NOW - NOW % HOUR_MS, "home", "m", "p", agent) for agent in "ab"],
        )
        connection.commit()
    with read_database.asked(path) as db:
        assert queries.models(db, "24h", NOW).models[0].totals.calls == 4
        agents = queries.timeseries(db, "24h", NOW, "agent").series
        assert [sum(one.calls) for one in agents] == [2, 2]


def test_a_file_of_a_newer_toolguard(path: Path) -> None:
    with closing(connect(path)) as connection:
        connection.execute("INSERT INTO toolguard_schema VALUES (99, 0)")
    with pytest.raises(MetricsError, match="was written by a newer toolguard"):
        read_database.open_to_read(path)


def test_somebody_writes_meanwhile(path: Path) -> None:
    write(path, [CallRecord(NOW)])
    with closing(connect(path)) as writer, read_database.asked(path) as db:
        writer.execute("BEGIN IMMEDIATE")
        record(writer, [CallRecord(NOW)])
        assert queries.overview(db, "24h", NOW).totals.calls == 1
        writer.execute("COMMIT")
        assert queries.overview(db, "24h", NOW).totals.calls == 2


def test_shares_are_ranked_by_cost_then_tokens() -> None:
    shares = [Share("b", Totals(total=5)), Share("a", Totals(total=5)), Share("c", Totals(cost_usd=1.0))]
    assert [one.name for one in queries.call_totals.most_expensive(shares, 2)] == ["c", "a"]
