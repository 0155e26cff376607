"""Settings that contradict each other: each is named once, where its cause was written, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

from tables import each_row
from toolguard_engine.config import conflicts
from toolguard_engine.config.conflicts import SettingConflict, is_taken, problems
from toolguard_engine.config.settings import DEFAULT_LOG_PATH, parse

WARNING_LATE = (
    "loopDetection.warningThreshold ({}) must be below loopDetection.criticalThreshold ({}): "
    "otherwise a call is blocked before the warning"
)
BREAKER_EARLY = (
    "loopDetection.criticalThreshold ({}) must be below loopDetection.globalCircuitBreakerThreshold ({}): "
    "otherwise the breaker for all calls trips before a single call is blocked"
)
LOOP_UNSEEN = (
    "maxIdenticalFailures ({}) must be at most maxFailuresPerTurn ({}): "
    "otherwise the run ends before the model is warned of the loop"
)
RAW_OUTLIVE = (
    "metrics.retention.rawDays ({}) must be at most metrics.retention.hourlyDays ({}): "
    "otherwise single calls outlive their hourly totals"
)
HOURLY_OUTLIVE = (
    "metrics.retention.hourlyDays ({}) must be at most metrics.retention.dailyDays ({}): "
    "otherwise hourly totals outlive the daily ones"
)
BOTH = "alwaysBlock and neverBlock both name {}: neverBlock wins, so nothing is held"
TAKEN = "{} names a file that holds something else: each would corrupt the other"
SAME_FILE = "{} and {} name the same file: each would corrupt the other"


def thresholds(warning: int, critical: int, breaker: int) -> dict[str, Any]:
    return {"warningThreshold": warning, "criticalThreshold": critical, "globalCircuitBreakerThreshold": breaker}


def loops(name: str, *path: str) -> tuple[str, ...]:
    return (*path, "loopDetection", name)


CASES: list[tuple[str, Any, list[SettingConflict]]] = [
    ("defaults", {}, []),
    ("limits", {"limits": [{"per": "day", "usd": 1}, {"per": "month", "tokens": 1, "model": "a/*"}]}, []),
    (
        "limits that do less than they say",
        {
            "limits": [{"per": "month"}, {"per": "session", "usd": 1, "model": "a"}, {"per": "month", "usd": 2}],
            "metrics": {"retention": {"dailyDays": 30, "hourlyDays": 30, "rawDays": 30}},
        },
        [
            SettingConflict(("limits",), "limits[0] has neither usd nor tokens: it limits nothing"),
            SettingConflict(("limits",), "limits[1] names a model, but a limit per session always counts every model"),
            SettingConflict(("limits",), "limits[2] is about the same as an earlier limit: the lower amount applies"),
            SettingConflict(
                ("metrics", "retention", "dailyDays"),
                "metrics.retention.dailyDays is less than a month: limits per month forget what is removed",
            ),
        ],
    ),
    ("thresholds one apart", {"loopDetection": thresholds(1, 2, 3)}, []),
    (
        "warning equals critical",
        {"loopDetection": thresholds(20, 20, 30)},
        [SettingConflict(loops("warningThreshold"), WARNING_LATE.format(20, 20))],
    ),
    (
        "critical equals breaker, by the breaker",
        {"loopDetection": {"globalCircuitBreakerThreshold": 20}},
        [SettingConflict(loops("globalCircuitBreakerThreshold"), BREAKER_EARLY.format(20, 20))],
    ),
    (
        "critical below the warning's default",
        {"loopDetection": {"criticalThreshold": 9}},
        [SettingConflict(loops("criticalThreshold"), WARNING_LATE.format(10, 9))],
    ),
    (
        "all the wrong way round",
        {"loopDetection": thresholds(30, 20, 10)},
        [
            SettingConflict(loops("warningThreshold"), WARNING_LATE.format(30, 20)),
            SettingConflict(loops("globalCircuitBreakerThreshold"), BREAKER_EARLY.format(20, 10)),
        ],
    ),
    (
        "an agent against the general settings",
        {"agents": {"a.b": {"loopDetection": {"warningThreshold": 25}}, "fine": {"loopDetection": {"enabled": True}}}},
        [SettingConflict(loops("warningThreshold", "agents", "a.b"), WARNING_LATE.format(25, 20))],
    ),
    (
        "an agent that mends the general settings",
        {
            "loopDetection": {"warningThreshold": 25},
            "agents": {"main": {"loopDetection": {"criticalThreshold": 28}}, "other": {"mode": "soft"}},
        },
        [SettingConflict(loops("warningThreshold"), WARNING_LATE.format(25, 20))],
    ),
    ("loop text at the last failure", {"maxIdenticalFailures": 5, "maxFailuresPerTurn": 5}, []),
    (
        "loop text never shown",
        {"maxIdenticalFailures": 6},
        [SettingConflict(("maxIdenticalFailures",), LOOP_UNSEEN.format(6, 5))],
    ),
    (
        "run ended at the first failure",
        {"maxFailuresPerTurn": 1},
        [SettingConflict(("maxFailuresPerTurn",), LOOP_UNSEEN.format(2, 1))],
    ),
    (
        "loop text never shown to one agent",
        {"agents": {"main": {"maxFailuresPerTurn": 1}}},
        [SettingConflict(("agents", "main", "maxFailuresPerTurn"), LOOP_UNSEEN.format(2, 1))],
    ),
    ("retention all equal", {"metrics": {"retention": {"rawDays": 90, "dailyDays": 90}}}, []),
    (
        "retention the wrong way round",
        {"metrics": {"retention": {"rawDays": 91, "dailyDays": 89}}},
        [
            SettingConflict(("metrics", "retention", "rawDays"), RAW_OUTLIVE.format(91, 90)),
            SettingConflict(("metrics", "retention", "dailyDays"), HOURLY_OUTLIVE.format(90, 89)),
        ],
    ),
    ("held and exempt tools apart", {"alwaysBlock": ["exec"], "neverBlock": ["read"]}, []),
    (
        "one tool held and exempt, spelled differently",
        {"alwaysBlock": ["openclaw:core:Message", "exec"], "neverBlock": ["message"]},
        [SettingConflict(("alwaysBlock",), BOTH.format("'message'"))],
    ),
    (
        "many tools held and exempt",
        {"alwaysBlock": [f"t{n}" for n in range(7)], "neverBlock": [f"t{n}" for n in range(7)]},
        [SettingConflict(("alwaysBlock",), BOTH.format("'t0', 't1', 't2', 't3', 't4' and 2 more"))],
    ),
    (
        "a tool that is exempt, held for one agent",
        {"agents": {"main": {"alwaysBlock": ["memory_get"]}, "other": {}}},
        [SettingConflict(("agents", "main", "alwaysBlock"), BOTH.format("'memory_get'"))],
    ),
    ("a level that is free", {"budget": {"riskCosts": {"LOW": 0, "MEDIUM": 0, "HIGH": 0}}}, []),
    ("a budget below the cost of a call", {"budget": {"size": 0.1}}, []),
    (
        "a riskier level that costs less",
        {"budget": {"riskCosts": {"LOW": 0.3}}},
        [
            SettingConflict(
                ("budget", "riskCosts", "LOW"),
                "budget.riskCosts.LOW (0.3) must be at most budget.riskCosts.MEDIUM (0.15): "
                "otherwise the riskier call is cheaper",
            )
        ],
    ),
    ("levels of tools", {"budget": {"toolRiskMap": {"exec": "LOW", "message": "HIGH"}}}, []),
    (
        "the level of a tool that is exempt",
        {"budget": {"toolRiskMap": {"openclaw:core:Memory_Get": "LOW"}}},
        [
            SettingConflict(
                ("budget", "toolRiskMap"),
                "budget.toolRiskMap and neverBlock both name 'memory_get': neverBlock wins, so nothing is charged",
            )
        ],
    ),
    (
        "two levels of one tool",
        {"budget": {"toolRiskMap": {"exec": "LOW", "Exec": "HIGH", "read": "LOW", "Read": "LOW"}}},
        [SettingConflict(("budget", "toolRiskMap"), "budget.toolRiskMap gives 'exec' two levels: the higher one counts")],
    ),
    (
        "log in the store of held calls",
        {"logPath": "toolguard/../toolguard/nonces.json"},
        [SettingConflict(("logPath",), SAME_FILE.format("storePath", "logPath"))],
    ),
    (
        "database in the log",
        {"logPath": "/var/a.db", "metrics": {"dbPath": "/var//a.db"}},
        [SettingConflict(("logPath",), SAME_FILE.format("logPath", "metrics.dbPath"))],
    ),
    (
        "database in the log's default",
        {"metrics": {"dbPath": "tool-guard.log"}},
        [SettingConflict(("metrics", "dbPath"), SAME_FILE.format("logPath", "metrics.dbPath"))],
    ),
    (
        "the store in the gateway's config, the log in the audit log, the database in the key",
        {
            "storePath": "~/.openclaw/openclaw.json",
            "logPath": "/srv/state/toolguard/audit.jsonl",
            "metrics": {"dbPath": "toolguard/key"},
        },
        [
            SettingConflict(("storePath",), TAKEN.format("storePath")),
            SettingConflict(("logPath",), TAKEN.format("logPath")),
            SettingConflict(("metrics", "dbPath"), TAKEN.format("metrics.dbPath")),
        ],
    ),
]


@each_row(("raw", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_contradictions(raw: Any, expected: list[SettingConflict]) -> None:
    assert problems(parse(raw)) == expected


def test_every_problem_points_at_a_value_that_was_written() -> None:
    for _, raw, expected in CASES:
        for problem in expected:
            value = raw
            for key in problem.path:
                value = value[key]
            assert json.dumps(value)


@each_row(
    ("path", "expected"),
    [
        ("openclaw.json", True),
        ("~/.openclaw/toolguard/../openclaw.json", True),
        ("/srv/clawdbot.json", True),
        ("toolguard/key", True),
        ("toolguard//key", True),
        ("toolguard/audit.jsonl", True),
        ("toolguard/audit.17.jsonl", True),
        ("toolguard/audit.head", True),
        ("toolguard/counters.json", True),
        ("toolguard/policy.toml", True),
        ("toolguard/install.json", True),
        ("toolguard/last-engine.json", True),
        ("toolguard/policy.last-good.toml", True),
        ("toolguard/nonces.json.lock", True),
        ("toolguard/engines/7.json", True),
        ("extensions/toolguard/index.mjs", True),
        ("~/.openclaw/toolguard/nonces.json", False),
        ("tool-guard.log", False),
        ("metrics.db", False),
        ("/srv/key", False),
        ("/srv/audit.jsonl", False),
        ("my-openclaw.json", False),
    ],
)
def test_files_that_hold_something_else(path: str, expected: bool) -> None:  # noqa: FBT001 - of a table
    assert is_taken(path) is expected


@each_row("taken", ["~/.openclaw/openclaw.json", "openclaw.json", "toolguard/audit.jsonl", "/s/toolguard/key"])
def test_what_must_not_be_written_over_is_not_used(taken: str) -> None:
    config = parse({"storePath": taken, "logPath": taken})
    assert conflicts.store_path(config) is None
    assert conflicts.log_path(config) == DEFAULT_LOG_PATH


def test_other_places_are_used() -> None:
    config = parse({"storePath": "held.json", "logPath": "~/x.log"})
    assert (conflicts.store_path(config), conflicts.log_path(config)) == ("held.json", "~/x.log")
    assert conflicts.store_path(parse({})) is None
