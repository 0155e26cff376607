"""`toolguard usage`: the sums as a table, as JSON and as CSV, and what it says where there are none."""

from __future__ import annotations

import csv
import io
import json
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_stage import envelope, texts, toolguard

from toolguard_cli.commands import usage
from toolguard_cli.commands.usage import UsageRequest
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics import retention
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS, CallRecord, record
from toolguard_engine.stores.transactions import transaction

NOW = 1_750_000_000_000 - 1_750_000_000_000 % DAY_MS + 13 * HOUR_MS
"""2025-06-15, 13:00 UTC."""

CALLS = [
    CallRecord(NOW - HOUR_MS, "home", "main", "s1", "", "p", "big", 1_000, 200, 30, 4, 1_234, 0.75, 0, None, "completed"),
    CallRecord(NOW - HOUR_MS, "home", "main", "s1", "", "p", "guessed", 10, 0, 0, 0, 10, 0.02, 1, None, "error"),
    CallRecord(NOW - 2 * DAY_MS, "away", "", "s2", "", "", "unpriced", 100, 0, 0, 0, 100),
    CallRecord(NOW - 40 * DAY_MS, "away", "main", "s3", "", "p", "big", 1, 0, 0, 0, 1, 0.23),
]


@pytest.fixture
def path(places: Places, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the metrics are recorded; nothing was recorded yet."""
    monkeypatch.setenv("HOME", str(places.state_dir.parent))
    monkeypatch.delenv("OPENCLAW_HOME", raising=False)
    monkeypatch.setattr(time, "time_ns", lambda: NOW * 1_000_000)
    configure(places, enabled=True)
    return places.state_dir / "metrics.db"


@pytest.fixture
def recorded(path: Path) -> Path:
    put(path, *CALLS)
    return path


def configure(places: Places, **metrics: Any) -> None:
    settings = {"plugins": {"entries": {"toolguard": {"config": {"metrics": metrics}}}}}
    places.config.write_text(json.dumps(settings))


def put(path: Path, *calls: CallRecord) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, calls)


def words(places: Places, wish: UsageRequest) -> list[list[str]]:
    return [line.split() for line in texts(usage.run(places, wish))]


@pytest.mark.usefixtures("recorded")
def test_table(places: Places) -> None:
    first, *lines = words(places, UsageRequest())
    assert first[0] == "since"
    assert lines == [
        ["MODEL", "PROVIDER", "CALLS", "FAILED", "INPUT", "OUTPUT", "CACHE", "READ", "CACHE", "WRITE", "COST", "OF", "COST"],
        ["big", "p", "1", "0", "1,000", "200", "30", "4", "$0.75", "97%"],
        ["guessed", "p", "1", "1", "10", "0", "0", "0", "~$0.0200", "3%"],
        ["unpriced", "-", "1", "0", "100", "0", "0", "0", "?", "0%"],
        ["total", "-", "3", "1", "1,110", "200", "30", "4", "~$0.77", "+", "?", "100%"],
        [
            "~",
            "marks",
            "an",
            "estimate:",
            "the",
            "gateway",
            "reported",
            "no",
            "price,",
            "so",
            "a",
            "price",
            "table",
            "was",
            "used",
        ],
        ["?", "marks", "an", "unknown", "cost", "(metrics.prices", "sets", "prices)"],
        lines[-1],
    ]
    # 0.77 USD and 1,244 tokens in 23 hours, and 11 hours are left
    assert " ".join(lines[-1]).startswith("at this pace: about $1.14 and 1,838 tokens today, ")
    assert ", without calls of unknown cost, and " in " ".join(lines[-1]), "this month includes the call without a price"


GROUPED = {
    "model": ["big", "guessed", "unpriced"],
    "agent": ["main", ""],
    "gateway": ["home", "away"],
    "session": ["s1", "s2"],
    "day": ["2025-06-13", "2025-06-15"],
}


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("by", "names"), GROUPED.items(), ids=GROUPED)
def test_grouped(places: Places, by: str, names: list[str]) -> None:
    data = usage.run(places, UsageRequest(by)).data
    assert [one["name"] for one in data["usage"]] == names
    assert data["total"]["total"] == sum(one["totals"]["total"] for one in data["usage"]) == 1_344
    assert (data["total"]["costUsd"], data["total"]["estimatedUsd"]) == (0.77, 0.02)


SINCE = {"2h": 2, "12h": 2, "3d": 3, "9w": 4, "2025-06-15": 2, "2025-06-13": 3, "2025-01-01": 4}


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("since", "calls"), SINCE.items(), ids=SINCE)
def test_since(places: Places, since: str, calls: int) -> None:
    assert usage.run(places, UsageRequest(since=since)).data["total"]["calls"] == calls


SPELLED = "write it like 30m, 8h or 7d, or as a day like 2026-11-01"
WRONG = {
    "by": (UsageRequest(by="planet"), "--by 'planet' is not a grouping; use one of model, agent, gateway, session, day"),
    "word": (UsageRequest(since="yesterday"), f"--since 'yesterday' is neither a duration nor a day; {SPELLED}"),
    "no time": (UsageRequest(since="0h"), f"--since '0h' is neither a duration nor a day; {SPELLED}"),
    "day": (UsageRequest(since="2025-02-30"), f"--since '2025-02-30' is neither a duration nor a day; {SPELLED}"),
    "not yet": (UsageRequest(since="2025-06-16"), f"--since '2025-06-16' is in the future; {SPELLED}"),
}


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("wish", "message"), WRONG.values(), ids=WRONG)
def test_wrong_wishes(wish: UsageRequest, message: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - its words are looked at
        usage.parsed(wish)
    assert str(refused.value) == message


BEGINS = {
    ("model", "90m"): "since 2025-06-15 11:00:00+00:00 (from the start of the hour)",
    ("model", "8d"): "since 2025-06-07 00:00:00+00:00 (from the start of the day in UTC)",
    ("day", "2025-06-14"): "since 2025-06-14 00:00:00+00:00 (from the start of the day in UTC)",
    ("session", "60d"): "since 2025-05-16 00:00:00+00:00 (nothing older is kept: metrics.retention.rawDays)",
    ("model", "60d"): "since 2025-04-16 00:00:00+00:00 (from the start of the day in UTC)",
    ("model", "400d"): "since 2024-06-15 00:00:00+00:00 (nothing older is kept: metrics.retention.dailyDays)",
}


@pytest.mark.parametrize(("wish", "line"), BEGINS.items(), ids=map(" ".join, BEGINS))
def test_since_when_it_counts(places: Places, recorded: Path, wish: tuple[str, str], line: str) -> None:
    with closing(connect(recorded)) as connection:
        list(retention.clean(connection, Retention(), NOW))
    result = usage.run(places, UsageRequest(*wish))
    assert texts(result)[0] == line
    assert result.data["cut"] is ("older" in line)


def test_amounts_are_added_up_without_faults(places: Places, path: Path) -> None:
    put(path, *(CallRecord(NOW, model=f"m{number}", total=1, cost_usd=0.1) for number in range(3)))
    assert usage.run(places, UsageRequest()).data["total"]["costUsd"] == 0.3
    assert usage.run(places, UsageRequest("agent")).data["usage"][0]["totals"]["costUsd"] == 0.3


def test_no_cost_at_all(places: Places, path: Path) -> None:
    put(path, CallRecord(NOW, model="a", total=3), CallRecord(NOW, model="b", total=1))
    rows = words(places, UsageRequest())
    assert rows[1][-2:] == ["OF", "TOKENS"]
    assert [(row[0], row[-2], row[-1]) for row in rows[2:4]] == [("a", "?", "75%"), ("b", "?", "25%")]


def test_many_rows_are_cut_and_counted(places: Places, path: Path) -> None:
    put(path, *(CallRecord(NOW, model=f"m{number}", total=1) for number in range(60)))
    result = usage.run(places, UsageRequest())
    assert "and 10 more, which the total includes (--json and --csv list all)" in texts(result)
    assert len(result.data["usage"]) == 60
    assert result.data["total"]["calls"] == 60


HOSTILE = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "a\r\nb", "\x1b[2J", "<b>", '"; DROP TABLE x', "\u202ed")


def test_csv_is_no_program(places: Places, path: Path) -> None:
    put(path, *(CallRecord(NOW, name, name, name, "", name, name, total=number) for number, name in enumerate(HOSTILE, 1)))
    for by in ("model", "session"):
        printed = usage.run(places, UsageRequest(by, form="csv")).printed or ""
        head, *rows = csv.reader(io.StringIO(printed))
        assert head[:6] == ["name", "provider", "agent", "gateway", "calls", "failed"]
        assert len(rows) == len(HOSTILE)
        for row in rows:
            for cell in row[:4]:
                assert cell.isprintable()
                assert not cell.startswith(("=", "+", "-", "@"))
    assert "'=1+1" in printed


def test_csv_of_nothing_has_a_head(places: Places, path: Path) -> None:
    assert (usage.run(places, UsageRequest(form="csv")).printed or "").startswith("name,provider,agent,gateway,calls")
    assert not path.exists()


def test_metrics_are_off(places: Places, path: Path) -> None:
    configure(places, enabled=False)
    result = usage.run(places, UsageRequest())
    assert [(line.kind, line.text) for line in result.lines] == [
        ("warn", f"nothing in the last 7 days in {path}: metrics are disabled, so nothing is recorded"),
        ("next", "toolguard config set metrics.enabled true"),
    ]
    places.config.unlink()
    assert (
        usage.run(places, UsageRequest()).lines[-1].text
        == "toolguard install, then toolguard config set metrics.enabled true"
    )
    assert (result.exit_code, result.data["usage"], result.data["recording"]) == (0, [], False)
    assert not path.exists()


def test_metrics_were_on(places: Places, recorded: Path) -> None:
    assert recorded.exists()
    configure(places, enabled=False)
    assert [(line.kind, line.text) for line in usage.run(places, UsageRequest()).lines[-2:]] == [
        ("warn", "metrics are disabled: these are older records, and nothing new is recorded"),
        ("next", "toolguard config set metrics.enabled true"),
    ]


@pytest.mark.parametrize(
    ("since", "words"),
    [
        ("24h", "in the last 24 hours"),
        ("1W", "in the last week"),
        ("1d12h", "in the last 1d12h"),
        (f"{datetime.fromtimestamp(NOW / 1000, UTC):%Y-%m-%d}", f"since {datetime.fromtimestamp(NOW / 1000, UTC):%Y-%m-%d}"),
    ],
)
def test_nothing_since_then(places: Places, path: Path, since: str, words: str) -> None:
    put(path, CallRecord(NOW - 20 * DAY_MS, model="m"))
    result = usage.run(places, UsageRequest(since=since))
    assert [line.kind for line in result.lines] == ["info", "next"]
    assert texts(result)[0] == f"no model calls {words} in {path}"


def test_another_file(places: Places, path: Path) -> None:
    other = path.with_name("other.db")
    configure(places, enabled=True, dbPath=str(other))
    put(other, *CALLS)
    assert usage.run(places, UsageRequest()).data["path"] == str(other)
    assert usage.run(places, UsageRequest()).data["total"]["calls"] == 3


def test_a_file_that_is_none(places: Places, path: Path) -> None:
    path.write_text("Dear diary, " * 100)
    with pytest.raises(UserError) as refused:
        usage.run(places, UsageRequest())
    assert refused.value.message == f"'{path}' is not a SQLite database"
    assert refused.value.fix == "move it away, or name another file in metrics.dbPath"


def test_settings_that_make_no_sense(places: Places, path: Path) -> None:
    configure(places, dbPath=5)
    with pytest.raises(UserError, match="dbPath"):
        usage.run(places, UsageRequest())
    assert not path.exists()


def test_command(places: Places, tmp_path: Path) -> None:
    configure(places, enabled=True)
    put(places.state_dir / "metrics.db", CallRecord(time.time_ns() // 1_000_000, "home", model="m", total=3, cost_usd=0.5))
    there = {"HOME": str(tmp_path), "OPENCLAW_HOME": "", "TOOLGUARD_STATE_DIR": str(places.state_dir)}
    found = envelope(toolguard("usage", "--by", "gateway", "--json", **there))
    assert (found["ok"], found["data"]["usage"][0]["name"]) == (True, "home")
    assert toolguard("usage", "--csv", **there).stdout.splitlines()[1].startswith("m,,,,1,0,")
    both = toolguard("usage", "--csv", "--json", **there)
    assert both.returncode == 2
    wrong = toolguard("usage", "--by", "planet", **there)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "is not a grouping" in wrong.stderr
