"""`toolguard status`: installed, running, and what was logged."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import doctor_stage
import msgspec
import pytest
from cli_stage import SOURCE, put_in, texts
from doctor_stage import LIVING

from toolguard_cli.commands import show_status as status
from toolguard_cli.dashboard import discovery
from toolguard_cli.system.paths import Places
from toolguard_engine import __version__
from toolguard_engine.host import metrics_path as place
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.row_writer import CallRecord, record
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.transactions import transaction

NO_ENGINE = "no engine has run here yet; the gateway starts it"


def info(**changes: Any) -> engines.EngineInfo:
    counted = {"judged": 9, "corrected": 4, "loops": 2, "stopped": 1}
    return doctor_stage.info(started=time.time() - 7_500, mode="soft", **counted, **changes)


DONE = "mode soft, started 2 h ago, 9 calls judged, 4 corrected, 2 loops detected, 1 run ended"


def entry(number: int) -> dict[str, Any]:
    return {"time": f"t{number}", "model": "m", "tool": "read", "action": "corrected"}


@pytest.fixture(autouse=True)
def living(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "alive", lambda pid: pid == LIVING)


def test_the_next_step_is_for_the_folder_that_was_given(tmp_path: Path) -> None:
    given = ("--state-dir", str(tmp_path / "s"))
    places = Places(tmp_path / "s", tmp_path / "s" / "openclaw.json", given)
    assert texts(status.run(places))[-1] == f"toolguard install --state-dir {tmp_path / 's'}"


def test_nothing_is_there(tmp_path: Path) -> None:
    places = Places(tmp_path / "s", tmp_path / "s" / "openclaw.json")
    result = status.run(places)
    log = places.state_dir / "tool-guard.log"
    assert texts(result) == [
        "NOT guarded: toolguard is not installed, and no gateway is running",
        f"not installed in {places.state_dir}",
        NO_ENGINE,
        f"no malformed call has been logged ({log})",
        "no call is waiting for approval",
        "budgets: shadow, 1.00 each, none used yet",
        "toolguard install",
    ]
    assert result.data.pop("guard")["state"] == "not-installed"
    assert result.data == {
        "installed": False,
        "installation": None,
        "engines": [],
        "lastEngine": None,
        "log": {"path": str(log), "recent": []},
        "held": {
            "pending": 0,
            "approvedUnused": 0,
            "oldest": None,
            "missed": 0,
            "lapsed": 0,
            "grants": 0,
            "sessionGrants": 0,
            "damaged": [],
            "auditToday": {},
            "notificationsFailing": [],
        },
        "killSwitch": {"on": False},
        "weakened": {"weaker": [], "problem": ""},
        "budgets": [],
        "usage": {"recording": False, "path": None, "today": None, "week": None, "problem": ""},
        "dashboard": None,
        "limits": [],
        "missingExtras": [],
    }
    assert result.exit_code == 0
    assert not places.state_dir.exists()


def test_a_bad_rule(places: Places) -> None:
    places.own.mkdir()
    (places.own / "policy.toml").write_text('[[rule]]\nid = "a"\nrun = ["x"]\nstakes = 1\n')
    result = status.run(places)
    (error,) = [line.text for line in result.lines if line.kind == "error"]
    assert f"{places.own / 'policy.toml'}, line 1, column 1: the rule a: it has no reason" in error
    assert result.data["held"]["damaged"] == [error]


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_installed(places: Places, link: bool) -> None:  # noqa: FBT001 - of a table
    python = put_in(places, link=link).data["python"]
    result = status.run(places)
    where = f"linked from {SOURCE}" if link else f"copied to {places.extension}"
    assert texts(result)[2:4] == [f"toolguard {__version__} is installed, {where}", NO_ENGINE]
    assert result.data["installation"] == {
        "version": __version__,
        "python": python,
        "mode": "link" if link else "copy",
        "plugin": str(SOURCE if link else places.extension),
        "config": str(places.config),
    }


def test_running(places: Places) -> None:
    engines.publish(places.state_dir, info())
    result = status.run(places)
    assert texts(result)[2] == f"engine {LIVING} of gateway 7 (2026.9.6): {DONE}"
    assert [engine["pid"] for engine in result.data["engines"]] == [LIVING]
    assert result.data["lastEngine"] is None


def test_ended(places: Places) -> None:
    engines.publish(places.state_dir, info(pid=3))
    engines.retire(places.state_dir, 3)
    result = status.run(places)
    assert texts(result)[2] == f"no engine is running; the last one: {DONE}"
    assert result.data["engines"] == []
    assert result.data["lastEngine"]["gatewayPid"] == 7


@pytest.mark.parametrize(
    ("log_path", "place"),
    [
        pytest.param("", "tool-guard.log", id="default"),
        pytest.param("~/.openclaw/logs/mine.log", "logs/mine.log", id="in the state directory"),
        pytest.param("mine.log", "mine.log", id="relative"),
    ],
)
def test_newest_lines_of_the_log(places: Places, log_path: str, place: str) -> None:
    own = {"config": {"logPath": log_path}} if log_path else {}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": own}}}))
    log = places.state_dir / place
    log.parent.mkdir(exist_ok=True)
    log.write_text("not JSON\n[1]\n" + "".join(json.dumps(entry(at)) + "\n" for at in range(7)))
    result = status.run(places)
    assert texts(result)[3:9] == [
        f"last malformed calls, from {log}:",
        *(f"  t{at}  m  read  corrected" for at in range(2, 7)),
    ]
    assert result.data["log"] == {"path": str(log), "recent": [entry(at) for at in range(2, 7)]}


@pytest.mark.parametrize(
    "config",
    ["{ broken", '{"plugins": {"entries": {"toolguard": {"config": {"logPath": 1}}}}}'],
    ids=["broken", "bad setting"],
)
def test_a_config_that_cannot_be_used_is_told(places: Places, config: str) -> None:
    places.config.write_text(config)
    result = status.run(places)
    assert result.data["log"]["path"] == str(places.state_dir / "tool-guard.log")
    (error,) = [line.text for line in result.lines if line.kind == "error"]
    assert error.startswith("the settings are invalid (toolguard config validate): ")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"budget": {"mode": "enforce", "size": 2}}, "budgets: enforce, 2.00 each, none used yet"),
        (
            {"budget": {"mode": "enforce"}, "agents": {"main": {"budget": {"mode": "soft"}}, "x": {}}},
            "budgets: enforce (main: soft), 1.00 each, none used yet",
        ),
        ({"mode": "disabled"}, None),
    ],
)
def test_no_budget_was_used(places: Places, settings: dict[str, Any], line: str | None) -> None:
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": settings}}}}))
    assert [text for text in texts(status.run(places)) if text.startswith("budgets")] == ([line] if line else [])


def test_a_bad_constraint(places: Places) -> None:
    places.own.mkdir()
    (places.own / "policy.toml").write_text('[[constraint]]\nid = "a"\nseverity = "grave"\n')
    (error,) = [line.text for line in status.run(places).lines if line.kind == "error"]
    assert error.startswith(f"policy.toml is invalid (toolguard check --rules): {places.own / 'policy.toml'}, line 3")


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "TAIL_BYTES", 120)
    log = tmp_path / "log"
    log.write_text("".join(json.dumps(entry(at)) + "\n" for at in range(9)))
    assert status.tail(log) == [entry(8)]


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (3_599, "59 min"), (7_200, "2 h"), (200_000, "2 d")]
)
def test_ago(monkeypatch: pytest.MonkeyPatch, seconds: int, expected: str) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    assert status.ago(1_000_000.0 - seconds) == expected


# Usage and the dashboard


@pytest.fixture
def metrics(places: Places, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they are recorded; nothing was recorded yet."""
    monkeypatch.setenv("HOME", str(places.state_dir.parent))
    monkeypatch.delenv("OPENCLAW_HOME", raising=False)
    settings = {"plugins": {"entries": {"toolguard": {"config": {"metrics": {"enabled": True}}}}}}
    places.config.write_text(json.dumps(settings))
    return places.state_dir / "metrics.db"


def record_calls(path: Path, *calls: CallRecord) -> None:
    with closing(connect(path)) as connection, transaction(connection):
        record(connection, calls)


def test_nothing_was_recorded_yet(places: Places, metrics: Path) -> None:
    result = status.run(places)
    assert texts(result)[-3:-1] == [
        "usage: no model call has been recorded yet",
        "no dashboard is running; toolguard dashboard --open starts one",
    ]
    assert result.data["usage"] == {"recording": True, "path": str(metrics), "today": None, "week": None, "problem": ""}
    assert not metrics.exists()


def test_what_was_used(places: Places, metrics: Path) -> None:
    now = time.time_ns() // 1_000_000
    old = [CallRecord(now - days * 86_400_000, "home", input=1, total=1_000, cost_usd=0.25) for days in (2, 5, 8)]
    record_calls(
        metrics, CallRecord(now, "home", total=5, cost_usd=0.5, cost_estimated=1), CallRecord(now, "away", total=2), *old
    )
    result = status.run(places)
    today = "2 model calls, 7 tokens, about $0.50 and 1 call of unknown cost"
    week = "4 model calls, 2,007 tokens, about $1.00 and 1 call of unknown cost"
    assert texts(result)[-3] == f"usage today: {today}; in the last 7 days: {week} (toolguard usage)"
    assert (result.data["usage"]["today"]["total"], result.data["usage"]["week"]["costUsd"]) == (7, 1.0)


ZONES = {"UTC": "usage today: 1 ", "Europe/Berlin": "usage today: 1 ", "Asia/Kolkata": "usage since 23:30: 1 "}


@pytest.mark.parametrize(("zone", "words"), ZONES.items(), ids=ZONES)
def test_today_where_midnight_is_within_an_hour(
    places: Places, metrics: Path, monkeypatch: pytest.MonkeyPatch, zone: str, words: str
) -> None:
    """Sums are by hours of UTC: said where the day does not begin with one."""
    record_calls(metrics, CallRecord(time.time_ns() // 1_000_000, "home", total=5))
    with monkeypatch.context() as there:
        there.setenv("TZ", zone)
        time.tzset()
        said = texts(status.run(places))[-3]
    time.tzset()
    assert said.startswith(words)


def test_metrics_that_were_on(places: Places, metrics: Path) -> None:
    record_calls(metrics, CallRecord(time.time_ns() // 1_000_000, "home", total=5))
    places.config.unlink()
    assert texts(status.run(places))[-2] == "metrics are disabled: nothing new is recorded (metrics.enabled)"


def test_a_metrics_file_that_is_none(places: Places, metrics: Path) -> None:
    metrics.write_text("Dear diary, " * 100)
    result = status.run(places)
    assert [(line.kind, line.text) for line in result.lines[-3:-1]] == [
        ("error", f"'{metrics}' is not a SQLite database"),
        ("info", "-> move it away, or name another file in metrics.dbPath"),
    ]
    assert (result.exit_code, result.data["usage"]["problem"]) == (0, f"'{metrics}' is not a SQLite database")


@pytest.mark.parametrize("runs", [True, False])
def test_where_the_dashboard_is(places: Places, metrics: Path, monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:  # noqa: FBT001
    record_calls(metrics)
    about = discovery.Running(7, "http://127.0.0.1:7878", 0, "1")
    place.server_path(metrics).write_bytes(msgspec.json.encode(about))
    monkeypatch.setattr(discovery, "running", lambda db: about if runs and db == metrics else None)
    result = status.run(places)
    assert result.data["dashboard"] == (about.url if runs else None)
    assert (f"the dashboard is at {about.url} (toolguard dashboard --open)" in texts(result)) is runs
