"""`toolguard limits`, and what `status` and `doctor` say about limits."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

import pytest
from cli_stage import toolguard

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.commands import show_limits, show_status
from toolguard_cli.doctor.checks import limits_check
from toolguard_cli.system.paths import Places
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.row_writer import CallRecord, record
from toolguard_engine.stores.transactions import transaction


@pytest.fixture
def places(places: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("HOME", str(places.state_dir.parent))
    monkeypatch.delenv("OPENCLAW_HOME", raising=False)
    write(places)
    return places


def write(places: Places, *limits: dict[str, Any]) -> None:
    entry = {"enabled": True, "config": {"limits": list(limits)} if limits else {}}
    config = {"gateway": {"mode": "local"}, "plugins": {"entries": {"toolguard": entry}}}
    places.config.write_text(json.dumps(config))


def limits(places: Places) -> Any:
    return json.loads(places.config.read_text())["plugins"]["entries"]["toolguard"]["config"].get("limits")


def used(places: Places, usd: float | None, model: str = "m") -> None:
    call = CallRecord(time.time_ns() // 1_000_000, "gw", "main", "s", provider="p", model=model, total=500, cost_usd=usd)
    with closing(connect(places.state_dir / "metrics.db")) as connection, transaction(connection):
        record(connection, [call])


def run(places: Places, *words: str) -> tuple[int, str]:
    where = [] if not words else ["--offline"]
    done = toolguard("limits", *words, *where, "--state-dir", places.state_dir)
    return done.returncode, done.stdout + done.stderr


def test_set_raise_and_remove(places: Places) -> None:
    steps: list[tuple[list[str], str, Any]] = [
        (["set", "day", "--usd=5"], "the limit per day is now $5.00 (", [{"per": "day", "usd": 5}]),
        (["set", "day", "--tokens=90"], "is now 90 tokens (", [{"per": "day", "usd": 5, "tokens": 90}]),
        (["set", "day", "--usd=5"], "is already $5.00; nothing changes", [{"per": "day", "usd": 5, "tokens": 90}]),
        (["set", "day", "--usd=7.5"], "raised: $5.00 per day to $7.50", [{"per": "day", "usd": 7.5, "tokens": 90}]),
        (
            ["set", "month", "--tokens=9", "--agent=main", "--model=a/*"],
            "per month for agent main for model a/*",
            [{"per": "day", "usd": 7.5, "tokens": 90}, {"per": "month", "agent": "main", "model": "a/*", "tokens": 9}],
        ),
        (
            ["remove", "day"],
            "removed: $7.50 per day, 90 tokens per day",
            [{"per": "month", "agent": "main", "model": "a/*", "tokens": 9}],
        ),
        (["remove", "month", "--agent=main", "--model=a/*"], "removed the limit", []),
    ]
    for words, said, after in steps:
        code, output = run(places, *words)
        assert (code, said in output, limits(places)) == (0, True, after), output


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["set", "day", "--usd=0"], 1, "must be a number from 0.01 to 1000000, not 0"),
        (["set", "week", "--usd=1"], 2, "'week' is not a period; use session, day, month"),
        (["set", "day"], 2, "give an amount: --usd or --tokens"),
        (["set", "day", "--usd", "five"], 2, "--usd takes a number such as 5 or 0.50, not 'five'"),
        (["set", "day", "--usd", "-5"], 2, "--usd takes a number such as 5 or 0.50, not '-5'"),
        (["set", "day", "--tokens=1.0001k"], 2, "--tokens takes a number such as 500000, 500k or 5M, not '1.0001k'"),
        (["remove", "day"], 1, "there is no limit per day"),
    ],
    ids=str,
)
def test_what_cannot_be_set(places: Places, words: list[str], code: int, said: str) -> None:
    assert run(places, *words)[0] == code
    assert said in run(places, *words)[1]
    assert limits(places) is None


@pytest.mark.parametrize(("text", "tokens"), [("5M", 5_000_000), ("500k", 500_000), ("1.5m", 1_500_000), ("2_000", 2_000)])
def test_many_tokens(places: Places, text: str, tokens: int) -> None:
    assert run(places, "set", "day", "--tokens", text)[0] == 0
    assert limits(places) == [{"per": "day", "tokens": tokens}]


@pytest.mark.parametrize(("agent", "warned"), [("main", False), ("mian", True)])
def test_an_agent_that_the_config_does_not_name(places: Places, agent: str, *, warned: bool) -> None:
    code, output = run(places, "set", "day", "--usd=5", f"--agent={agent}")
    assert (code, f"the config names no agent {agent}, only main" in output) == (0, warned), output


MODELS = {
    "agents": {
        "defaults": {"model": {"primary": "anthropic/claude-9", "fallbacks": ["openai/gpt-9"]}, "models": {"x/small": {}}},
        "list": [{"id": "main", "model": "google/gem"}, {"id": "b", "subagents": {"model": "y/sub"}}],
    },
    "models": {"providers": {"local": {"models": [{"id": "qwen/9b"}]}}},
}


@pytest.mark.parametrize(
    ("model", "warned"),
    [
        ("anthropic/claude-9", False),
        ("ANTHROPIC/*", False),
        ("gpt-9", False),
        ("x/small", False),
        ("google/*", False),
        ("y/sub", False),
        ("local/qwen/9b", False),
        ("9b", False),
        ("antropic/*", True),
        ("claude", True),
    ],
)
def test_a_model_that_the_config_does_not_name(places: Places, model: str, *, warned: bool) -> None:
    config = json.loads(places.config.read_text()) if places.config.exists() else {}
    places.config.write_text(json.dumps(config | MODELS))
    code, output = run(places, "set", "day", "--usd=5", f"--model={model}")
    assert (code, f"the config names no model {model}, only " in output) == (0, warned), output


def test_without_models_in_the_config_none_is_unknown(places: Places) -> None:
    assert "names no model" not in run(places, "set", "day", "--usd=5", "--model=any/thing")[1]


def test_what_is_used(places: Places) -> None:
    assert "there is no limit" in run(places)[1]
    write(places, {"per": "day", "usd": 5}, {"per": "session", "tokens": 600})
    assert "below 80%" in run(places)[1]
    used(places, 5.0)
    output = run(places)[1]
    assert "REACHED" in output
    assert "toolguard limits set day --usd=10 raises the limit of $5.00 a day" in output
    assert "500 tokens in s" in output
    assert "at this pace: about $" in output
    data = show_limits.listing(places).data
    assert [(each["key"], each["used"], each["state"]) for each in data["limits"]] == [
        ("usd per day", 5.0, "reached"),
        ("tokens per session", 500.0, "near"),
    ]
    texts = [line.text for line in show_status.run(places).lines]
    assert [text for text in texts if text.startswith("limit of")] == [
        "limit of $5.00 a day: $5.00 used, REACHED: agents that it covers are stopped (toolguard limits)",
        "limit of 600 tokens a session: 500 tokens in s used, above 80% (toolguard limits)",
    ]


def test_an_unreadable_file_is_named(places: Places) -> None:
    write(places, {"per": "day", "usd": 5})
    (places.state_dir / "metrics.db").write_text("no database")
    assert "is not a SQLite database" in run(places)[1]


def test_doctor(places: Places) -> None:
    def check(*given: dict[str, Any]) -> tuple[str, str, str]:
        write(places, *given)
        found = limits_check.effective(doctor.look(places))
        return found.status, found.detail, found.fix

    day = {"per": "day", "usd": 5}
    assert check() == ("ok", "no limit on cost or tokens is set", "")
    assert check(day)[1].startswith("1 limit on cost and tokens, none reached; once one is reached, a run outside of chat")
    used(places, None, "own")
    status, detail, fix = check(day)
    assert (status, detail) == ("warn", "the cost of p/own is unknown, so its calls do not count toward USD limits")
    assert 'metrics.prices["p/own"]' in fix
    assert check({"per": "day", "tokens": 500})[:2] == (
        "warn", "the limit of 500 tokens a day is reached: agents that it covers are stopped",
    )  # fmt: skip


def test_limits_on_one_run_are_shown(places: Places) -> None:
    agents = {"main": {"runLimits": {"minutes": 60}}, "quiet": {"mode": "soft"}}
    config = {"runLimits": {"calls": 200, "minutes": 30}, "agents": agents}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": config}}}}))
    texts = [line.text for line in show_limits.listing(places).lines]
    assert texts[:2] == [
        "a run: 200 tool calls, 30 minutes (runLimits)",
        "a run of main: 200 tool calls, 60 minutes (runLimits)",
    ]
