"""Agents with settings of their own, for the tests of repetition and of autonomy: one gateway shows them all without a
change in between."""

from __future__ import annotations

from typing import Any

from gateway_stage import Stage
from shared_gateway import Shared

FAST = {"enabled": True, "warningThreshold": 3, "criticalThreshold": 6, "globalCircuitBreakerThreshold": 9}
SLOW = {
    "enabled": True,
    "historySize": 100,
    "warningThreshold": 40,
    "criticalThreshold": 60,
    "globalCircuitBreakerThreshold": 90,
    "identicalErrors": {"warn": 40, "stop": 60},
}
BUDGET_ONLY = {"escalationThreshold": 100}
"""Nothing is held for its score, so that what a call costs is all that can hold it."""

OURS: dict[str, Any] = {
    "main": {},
    "fast": {"loopDetection": FAST},
    "on": {"loopDetection": {"enabled": True}},
    "patient": {
        "maxFailuresPerTurn": 20,
        "maxIdenticalFailures": 10,
        "loopDetection": {"enabled": True, "unknownToolThreshold": 4},
    },
    "soft": {"mode": "soft", "loopDetection": FAST},
    "watched": {"mode": "shadow", "loopDetection": FAST},
    "both-fast": {"loopDetection": FAST},
    "both-slow": {"loopDetection": SLOW},
    "alone": {},
    "narrow": {"loopDetection": {"postCompactionGuard": {"windowSize": 2}}},
    "paid": {"budget": {"mode": "enforce"}, "loopDetection": {"enabled": True}, **BUDGET_ONLY},
    "free": BUDGET_ONLY,
}
"""What an agent has of the guard's settings; the defaults for `main`. `on`: the default thresholds, 10, 20 and 30.
`paid`: its budget holds calls; `free`: it only tells, by default."""

HOSTS: dict[str, Any] = {"both-fast": True, "both-slow": True, "alone": False}
"""Whose loops the gateway looks for as well, or not even behind a compaction."""


def under(gateway: Shared) -> Stage:
    """The gateway with all these agents; they work in one folder."""
    entries = {name: {"workspace": str(gateway.home.workspace_dir)} for name in OURS}
    entries["main"] |= {"default": True}
    for name, enabled in HOSTS.items():
        entries[name] |= {"tools": {"loopDetection": {"enabled": enabled}}}
    own = {name: settings for name, settings in OURS.items() if settings}
    return gateway.under(host={"agents": {"entries": entries}}, agents=own)
