"""The settings: defaults and ranges of the seeds, and errors that name the key, for the types and for the JSON schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from tables import each_row
from toolguard_engine.config import conflicts, plugin_manifest
from toolguard_engine.config.fleet_settings import has_password
from toolguard_engine.config.settings import AgentConfig, Config, MetricsConfig, digests, metrics_of, parse

SEED_EXAMPLE = {"maxIdenticalFailures": 2, "maxFailuresPerTurn": 5, "logPath": "~/.openclaw/tool-guard.log"}


def test_defaults() -> None:
    assert msgspec.to_builtins(parse({})) == {
        "enabled": True,
        "mode": "enforce",
        "maxIdenticalFailures": 2,
        "maxFailuresPerTurn": 5,
        "escalationThreshold": 36,
        "rulesOff": [],
        "alwaysBlock": [],
        "neverBlock": ["memory_search", "memory_get"],
        "pendingTimeoutMs": 300_000,
        "approvalWindowMs": 30_000,
        "pinParams": "approved",
        "redactSecrets": True,
        "containment": {"profile": "protect", "whenUnavailable": "run", "unknown": "allow", "write": []},
        "audit": {"durable": False},
        "runLimits": {"calls": 0, "requests": 0, "minutes": 0},
        "undo": {"enabled": True, "maxMegabytes": 2_000, "days": 7},
        "toolTrust": {"firstUse": "ask"},
        "approval": {
            "mode": "nonce",
            "prefix": "TOOLGUARD",
            "wake": True,
            "agentTool": False,
            "answerLinks": False,
            "answerLinkMs": 900_000,
            "signers": "",
            "revokedSigners": "",
        },
        "fleet": {
            "enabled": False,
            "dsn": "",
            "team": "",
            "deadlineMs": 1_500,
            "whenAway": "block",
            "staleSeconds": 60,
            "whenStale": "keep",
            "listen": False,
            "ship": {"audit": True, "metrics": True},
            "trust": "/etc/toolguard",
            "trustWritable": False,
        },
        "loopDetection": {
            "historySize": 30,
            "warningThreshold": 10,
            "criticalThreshold": 20,
            "unknownToolThreshold": 10,
            "globalCircuitBreakerThreshold": 30,
            "sequenceThreshold": 300,
            "identicalErrors": {"warn": 3, "stop": 6},
            "detectors": {"genericRepeat": True, "knownPollNoProgress": True, "pingPong": True},
            "postCompactionGuard": {"windowSize": 3},
        },
        "metrics": {
            "enabled": False,
            "dbPath": "~/.openclaw/metrics.db",
            "dashboard": {"enabled": False, "port": 8080, "bind": "127.0.0.1", "hosts": []},
            "retention": {"rawDays": 30, "hourlyDays": 90, "dailyDays": 365},
            "prices": {},
        },
        "notify": {
            "targets": {},
            "events": ["held", "expiring", "engineAway", "weakened", "guardEnded", "expired", "lapsed", "loop", "budget"],
            "quietHours": {
                "begin": "00:00",
                "end": "00:00",
                "urgent": ["held", "expiring", "engineAway", "weakened", "guardEnded"],
            },
            "expiringSeconds": 60,
            "digestAt": "08:00",
            "mostPerHour": 60,
        },
        "budget": {
            "mode": "shadow",
            "size": 1.0,
            "initialTrust": 0.7,
            "riskCosts": {"SAFE": 0.0, "LOW": 0.05, "MEDIUM": 0.15, "HIGH": 0.4, "CRITICAL": 1.0},
            "toolRiskMap": {},
            "drift": {
                "escalatingAccess": 3,
                "outwardCalls": 10,
                "callsPerMinute": 60,
                "sameResource": 20,
                "warnings": 5,
                "minutesAlone": 120,
            },
        },
        "limits": [],
        "logPath": "~/.openclaw/tool-guard.log",
        "logLevel": "info",
        "failMode": "closed",
        "agents": {},
    }


@pytest.mark.parametrize("raw", [None, {}, SEED_EXAMPLE], ids=["null", "empty", "seed"])
def test_what_means_the_defaults(raw: Any) -> None:
    assert parse(raw) == Config()


GUARDIAN_ANGEL = {
    "enabled": True,
    "logLevel": "info",
    "escalationThreshold": 36,
    "pendingTimeoutMs": 300000,
    "approvalWindowMs": 30000,
    "alwaysBlock": [],
    "neverBlock": ["memory_search", "memory_get"],
}
LOOP_DETECTION = {
    "enabled": False,
    "historySize": 30,
    "warningThreshold": 10,
    "criticalThreshold": 20,
    "unknownToolThreshold": 10,
    "globalCircuitBreakerThreshold": 30,
    "detectors": {"genericRepeat": True, "knownPollNoProgress": True, "pingPong": True},
    "postCompactionGuard": {"windowSize": 3},
}
METRICS = {
    "enabled": True,
    "dbPath": "~/.openclaw/metrics.db",
    "dashboard": {"enabled": True, "port": 8080, "bind": "127.0.0.1"},
}
VALID: list[Any] = [
    {},
    SEED_EXAMPLE,
    {"enabled": False},
    {"mode": "shadow", "failMode": "open", "logLevel": "debug"},
    {"maxIdenticalFailures": 1, "maxFailuresPerTurn": 100},
    {"neverBlock": []},
    {"neverBlock": ["x"] * 500},
    {"python": "/usr/bin/python3"},
    {"agents": {"main": {}, "other": {"mode": "soft", "maxIdenticalFailures": 3, "maxFailuresPerTurn": 9}}},
    {"agents": {"main": {"loopDetection": {"enabled": True, "warningThreshold": 8, "detectors": {"pingPong": False}}}}},
]
VALID_IN_PART: list[Any] = [
    GUARDIAN_ANGEL,
    {"loopDetection": LOOP_DETECTION},
    {"loopDetection": {"enabled": True}},
    {"metrics": METRICS},
    {"metrics": {"retention": {"rawDays": 1, "dailyDays": 3650}}},
    {"metrics": {"prices": {"openai/gpt-*": {"input": 1, "output": 2.5}, "*": {"input": 0, "output": 0, "cacheRead": 0}}}},
    {"budget": {"mode": "enforce", "size": 100, "initialTrust": 0, "riskCosts": {"LOW": 0.1, "HIGH": 2}}},
    {"budget": {"toolRiskMap": {"exec": "HIGH", "read": "SAFE"}}},
]
INVALID: list[tuple[Any, str]] = [
    ({"maxIdenticalFailure": 2}, "Object contains unknown field `maxIdenticalFailure`"),
    ({"max_identical_failures": 2}, "Object contains unknown field `max_identical_failures`"),
    ({"maxIdenticalFailures": 0}, "Expected `int` >= 1 - at `$.maxIdenticalFailures`"),
    ({"maxIdenticalFailures": 101}, "Expected `int` <= 100 - at `$.maxIdenticalFailures`"),
    ({"maxFailuresPerTurn": "5"}, "Expected `int`, got `str` - at `$.maxFailuresPerTurn`"),
    ({"maxFailuresPerTurn": 2.5}, "Expected `int`, got `float` - at `$.maxFailuresPerTurn`"),
    ({"maxFailuresPerTurn": True}, "Expected `int`, got `bool` - at `$.maxFailuresPerTurn`"),
    ({"enabled": "yes"}, "Expected `bool`, got `str` - at `$.enabled`"),
    ({"mode": "strict"}, "Invalid enum value 'strict' - at `$.mode`"),
    ({"failMode": None}, "Expected `str`, got `null` - at `$.failMode`"),
    ({"logPath": ""}, "Expected `str` of length >= 1 - at `$.logPath`"),
    ({"logPath": "a" * 4097}, "Expected `str` of length <= 4096 - at `$.logPath`"),
    ({"logLevel": "trace"}, "Invalid enum value 'trace' - at `$.logLevel`"),
    ({"neverBlock": "read"}, "Expected `array`, got `str` - at `$.neverBlock`"),
    ({"neverBlock": [""]}, "Expected `str` of length >= 1 - at `$.neverBlock[0]`"),
    ({"neverBlock": ["x"] * 501}, "Expected `array` of length <= 500 - at `$.neverBlock`"),
    ({"agents": {"main": {"mode": "strict"}}}, "Invalid enum value 'strict' - at `$.agents[...].mode`"),
    ({"agents": {"main": {"logPath": "x"}}}, "Object contains unknown field `logPath` - at `$.agents[...]`"),
    ({"agents": {"main": {"maxFailuresPerTurn": 0}}}, "Expected `int` >= 1 - at `$.agents[...].maxFailuresPerTurn`"),
    ({"loopDetection": {"enabled": None}}, "Expected `bool`, got `null` - at `$.loopDetection.enabled`"),
    ({"loopDetection": {"historySize": 0}}, "Expected `int` >= 1 - at `$.loopDetection.historySize`"),
    ({"loopDetection": {"historySize": 1001}}, "Expected `int` <= 1000 - at `$.loopDetection.historySize`"),
    ({"loopDetection": {"warningThreshold": 10_001}}, "Expected `int` <= 10000 - at `$.loopDetection.warningThreshold`"),
    (
        {"loopDetection": {"detectors": {"pong": True}}},
        "Object contains unknown field `pong` - at `$.loopDetection.detectors`",
    ),
    (
        {"loopDetection": {"postCompactionGuard": {"windowSize": 101}}},
        "Expected `int` <= 100 - at `$.loopDetection.postCompactionGuard.windowSize`",
    ),
    (
        {"agents": {"main": {"loopDetection": {"historySize": 0}}}},
        "Expected `int` >= 1 - at `$.agents[...].loopDetection.historySize`",
    ),
    ({"metrics": {"dashboard": {"port": 0}}}, "Expected `int` >= 1 - at `$.metrics.dashboard.port`"),
    ({"metrics": {"dashboard": {"port": 65_536}}}, "Expected `int` <= 65535 - at `$.metrics.dashboard.port`"),
    ({"metrics": {"dashboard": {"bind": ""}}}, "Expected `str` of length >= 1 - at `$.metrics.dashboard.bind`"),
    ({"metrics": {"dbPath": ""}}, "Expected `str` of length >= 1 - at `$.metrics.dbPath`"),
    ({"metrics": {"retention": {"rawDays": 0}}}, "Expected `int` >= 1 - at `$.metrics.retention.rawDays`"),
    ({"metrics": {"prices": {"a/b": {"input": 1}}}}, "Object missing required field `output` - at `$.metrics.prices[...]`"),
    (
        {"metrics": {"prices": {"a/b": {"input": 1, "output": -1}}}},
        "Expected `float` >= 0.0 - at `$.metrics.prices[...].output`",
    ),
    ({"budget": {"mode": "off"}}, "Invalid enum value 'off' - at `$.budget.mode`"),
    ({"budget": {"size": 0.05}}, "Expected `float` >= 0.1 - at `$.budget.size`"),
    ({"budget": {"size": True}}, "Expected `float`, got `bool` - at `$.budget.size`"),
    ({"budget": {"initialTrust": 1.1}}, "Expected `float` <= 1.0 - at `$.budget.initialTrust`"),
    ({"budget": {"riskCosts": {"low": 1}}}, "Object contains unknown field `low` - at `$.budget.riskCosts`"),
    ({"budget": {"toolRiskMap": {"exec": "high"}}}, "Invalid enum value 'high' - at `$.budget.toolRiskMap[...]`"),
    ({"budget": {"toolRiskMap": ["exec"]}}, "Expected `object`, got `array` - at `$.budget.toolRiskMap`"),
    ([], "Expected `object`, got `array`"),
]


@each_row("raw", VALID, ids=[json.dumps(raw)[:60] for raw in VALID])
def test_valid(raw: Any) -> None:
    assert schema_errors(raw) == []
    parsed = msgspec.to_builtins(parse(raw))
    assert {key: parsed[key] for key in raw} == raw


NOT_READABLE: list[Any] = [
    7, [], {"metrics": 7}, {"metrics": {"dbPath": 7}}, {"metrics": {"dbPath": "/a", "dashboard": {"port": 0}}},
    {"metrics": {"dbPath": "/a", "dashboard": None}}, {"metrics": {"dbPath": ""}},
]  # fmt: skip


@each_row("raw", [None, {}, *NOT_READABLE])
def test_where_the_metrics_are_if_nobody_can_read_it(raw: Any) -> None:
    assert metrics_of(raw) == MetricsConfig()


@each_row("raw", VALID_IN_PART, ids=[json.dumps(raw)[:60] for raw in VALID_IN_PART])
def test_absent_fields_of_nested_settings_have_their_defaults(raw: Any) -> None:
    assert schema_errors(raw) == []
    assert msgspec.to_builtins(parse(raw)) == deep_update(msgspec.to_builtins(Config()), raw)


def deep_update(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    nested = {key: deep_update(base.get(key, {}), value) for key, value in change.items() if isinstance(value, dict)}
    return {**base, **change, **nested}


@each_row(("raw", "error"), INVALID, ids=[json.dumps(row[0])[:60] for row in INVALID])
def test_invalid_for_the_types_and_for_the_schema(raw: Any, error: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        parse(raw)
    assert str(caught.value) == error
    assert schema_errors(raw) != []


def schema_errors(raw: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(plugin_manifest.config_schema())
    return [error.message for error in validator.iter_errors(raw)]


AGENTS = Config(
    max_identical_failures=3,
    agents={"own": AgentConfig(mode="shadow", max_failures_per_turn=7), "empty": AgentConfig()},
)


@each_row(
    ("agent", "expected"),
    [("own", ("shadow", 3, 7)), ("empty", ("enforce", 3, 5)), ("unknown", ("enforce", 3, 5)), ("", ("enforce", 3, 5))],
)
def test_for_agent(agent: str, expected: tuple[str, int, int]) -> None:
    config = AGENTS.for_agent(agent)
    assert (config.active_mode, config.max_identical_failures, config.max_failures_per_turn) == expected


def test_what_an_agent_has_of_its_own_is_laid_over_field_by_field() -> None:
    general = {"historySize": 40, "detectors": {"genericRepeat": False}}
    own = {"enabled": True, "warningThreshold": 8, "detectors": {"pingPong": False}}
    config = parse({"loopDetection": general, "agents": {"main": {"loopDetection": own}}})
    assert "enabled" not in msgspec.to_builtins(config.for_agent("other").loop_detection)
    assert msgspec.to_builtins(config.for_agent("main").loop_detection) == {
        "enabled": True,
        "historySize": 40,
        "warningThreshold": 8,
        "criticalThreshold": 20,
        "unknownToolThreshold": 10,
        "globalCircuitBreakerThreshold": 30,
        "sequenceThreshold": 300,
        "identicalErrors": {"warn": 3, "stop": 6},
        "detectors": {"genericRepeat": False, "knownPollNoProgress": True, "pingPong": False},
        "postCompactionGuard": {"windowSize": 3},
    }


@each_row(
    ("one", "other", "differing"),
    [
        ({}, {"mode": "enforce", "budget": {"size": 1}, "logPath": "~/.openclaw/tool-guard.log"}, set()),
        ({"storePath": "~/x/calls.json"}, {"storePath": "/home/me/x/calls.json"}, set()),
        ({"budget": {"size": 2, "mode": "soft"}}, {"budget": {"mode": "soft", "size": 2.0}}, set()),
        ({"metrics": {"dbPath": "~/a.db"}}, {"metrics": {"dbPath": "/home/me/b.db"}}, {"metrics"}),
        ({"neverBlock": ["a"]}, {"neverBlock": ["b"], "mode": "soft"}, {"neverBlock", "mode"}),
        ({"failMode": "open"}, {}, {"failMode"}),
    ],
)
def test_digests_tell_settings_apart(one: dict[str, Any], other: dict[str, Any], differing: set[str]) -> None:
    """Not how they are written: with defaults filled in, and with the home in the place of `~`."""
    found = [digests(parse(each)) for each in (one, other)]
    assert {name for name in {**found[0], **found[1]} if found[0].get(name) != found[1].get(name)} == differing


@each_row(
    ("dsn", "found"),
    [
        ("host=db dbname=fleet user=gateway", False),
        ("host=db passfile=/etc/pgpass sslmode=verify-full", False),
        ("postgresql://gateway@db.example:5432/fleet?sslmode=verify-full", False),
        ("postgresql:///fleet?host=/run/postgresql", False),
        ("service=password", False),
        ("host=db password=secret", True),
        ("password = 'secret' host=db", True),
        ("host=db PASSWORD=secret", True),
        ("host=db sslpassword=secret", True),
        ("postgresql://gateway:secret@db/fleet", True),
        ("POSTGRES://gateway:secret@db/fleet", True),
        ("postgresql://db/fleet?user=a&pass%77ord=secret", True),
        ("postgres://db/fleet?sslpassword=secret", True),
    ],
)
def test_passwords_in_connection_strings(dsn: str, found: bool) -> None:  # noqa: FBT001
    assert has_password(dsn) is found


@each_row(
    ("fleet", "blamed"),
    [
        ({}, []),
        ({"dsn": "host=db password=secret"}, []),
        ({"enabled": True}, ["fleet.enabled"]),
        ({"enabled": True, "dsn": "host=db"}, ["fleet.enabled"]),
        ({"enabled": True, "dsn": "host=db password=secret", "team": "ops"}, ["fleet.dsn"]),
        ({"enabled": True, "dsn": "host=db", "team": "ops", "trust": "here"}, ["fleet.trust"]),
        ({"enabled": True, "dsn": "host=db", "team": "ops"}, []),
    ],
)
def test_a_fleet_that_cannot_be_used(fleet: dict[str, Any], blamed: list[str]) -> None:
    assert [".".join(each.path) for each in conflicts.problems(parse({"fleet": fleet}))] == blamed


def test_a_native_prompt_cannot_approve_in_a_fleet() -> None:
    config = parse({"fleet": {"enabled": True, "dsn": "host=db", "team": "ops"}, "approval": {"mode": "native"}})
    assert [".".join(each.path) for each in conflicts.problems(config)] == ["approval.mode"]


def test_an_agent_has_a_profile_of_its_own() -> None:
    config = parse({"containment": {"write": ["~/out"]}, "agents": {"main": {"containment": {"profile": "offline"}}}})
    of_agent = config.for_agent("main").containment
    assert (of_agent.profile, of_agent.when_unavailable, of_agent.write) == ("offline", "run", ["~/out"])
    assert config.for_agent("other").containment.profile == "protect"


@pytest.mark.parametrize("path", ["relative/path", "$HOME/x", "", "/a\nb"])
def test_where_commands_may_write_is_an_absolute_path(path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"containment\.write"):
        parse({"containment": {"write": [path]}})
