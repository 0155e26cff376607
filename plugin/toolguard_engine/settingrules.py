"""Settings that are valid one by one and contradict each other: what a JSON schema cannot say.

The law: a problem is named only where a setting has no effect, or the opposite one, because of another. Nothing here keeps
the engine from starting. What an agent has of its own is judged as it is laid over the general settings, and only where the
agent's own values are part of the problem.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from typing import Any, get_args

import msgspec

from toolguard_engine import ownfiles
from toolguard_engine.config import DEFAULT_LOG_PATH, Config, RiskLevel
from toolguard_engine.stores.calllog import HOME_STATE
from toolguard_engine.toolsearch import tool_name

Path = tuple[str, ...]
MAX_NAMES = 5
"""Tools that one problem names."""


@dataclass(frozen=True)
class Problem:
    """`path`: the keys below the plugin's settings that lead to a value to change, one that is not a default."""

    path: Path
    text: str


@dataclass(frozen=True)
class _Order:
    """`low` must be below `high`, or equal to it where `may_equal`; otherwise `then` happens."""

    low: Path
    high: Path
    then: str
    may_equal: bool = False

    def broken(self, values: Any) -> bool:
        low, high = _get(values, self.low), _get(values, self.high)
        if high == 0:
            return False  # switched off
        return bool(low > high or (low == high and not self.may_equal))


_ORDERS = (
    _Order(
        ("maxIdenticalFailures",),
        ("maxFailuresPerTurn",),
        "the run ends before the model is told that it loops",
        may_equal=True,
    ),
    _Order(
        ("loopDetection", "warningThreshold"),
        ("loopDetection", "criticalThreshold"),
        "a call is blocked before the warning",
    ),
    _Order(
        ("loopDetection", "criticalThreshold"),
        ("loopDetection", "globalCircuitBreakerThreshold"),
        "the breaker for all calls comes before the block of one",
    ),
    _Order(
        ("loopDetection", "warningThreshold"),
        ("loopDetection", "historySize"),
        "so many calls are never looked back at, and nothing is warned of or blocked",
        may_equal=True,
    ),
    _Order(
        ("loopDetection", "criticalThreshold"),
        ("loopDetection", "historySize"),
        "so many calls are never looked back at, and nothing is blocked",
        may_equal=True,
    ),
    _Order(
        ("loopDetection", "identicalErrors", "warn"),
        ("loopDetection", "identicalErrors", "stop"),
        "the run ends before the agent is warned",
    ),
    *(
        _Order(
            ("budget", "riskCosts", lower),
            ("budget", "riskCosts", higher),
            "the riskier call is the cheaper one",
            may_equal=True,
        )
        for lower, higher in pairwise(get_args(RiskLevel))
    ),
    _Order(
        ("metrics", "retention", "rawDays"),
        ("metrics", "retention", "hourlyDays"),
        "single calls outlive their hourly sums",
        may_equal=True,
    ),
    _Order(
        ("metrics", "retention", "hourlyDays"),
        ("metrics", "retention", "dailyDays"),
        "hourly sums outlive the daily ones",
        may_equal=True,
    ),
)
_FILES: tuple[Path, ...] = (("storePath",), ("logPath",), ("metrics", "dbPath"))
_TAKEN = (
    "openclaw.json",
    "clawdbot.json",
    "extensions/toolguard/*",
    *(f"toolguard/{name}" for name in ownfiles.KEPT),
    "toolguard/engines",
    "toolguard/engines/*",
)
"""The ends of paths that belong to something else: the gateway's config, and what we keep at fixed places."""
_DEFAULTS = {"storePath": f"{HOME_STATE}toolguard/nonces.json", **msgspec.to_builtins(Config())}

Written = Callable[[Path], bool]
"""Whether the value at this path was set by a person, here and not elsewhere."""


def problems(config: Config) -> list[Problem]:
    """What is contradictory, general settings first. Empty where all is well."""
    general = {**_DEFAULTS, **msgspec.to_builtins(config)}
    found = list(_in(general, lambda path: bool(_get(general, path) != _get(_DEFAULTS, path))))
    found += _levels_without_effect(general)
    found += _one_file_for_two(general)
    found += _somebody_elses(general)
    for agent in config.agents:
        found += _of_agent(config, agent)
    return found


def _of_agent(config: Config, agent: str) -> list[Problem]:
    own = msgspec.to_builtins(config.agents[agent])
    laid_over = msgspec.to_builtins(config.for_agent(agent))
    found = _in(laid_over, lambda path: _get(own, path) is not None)
    return [Problem(("agents", agent, *problem.path), problem.text) for problem in found]


def _in(values: Any, written: Written) -> Iterator[Problem]:
    yield from _out_of_order(values, written)
    yield from _exempt_and_held(values, written)


def _out_of_order(values: Any, written: Written) -> Iterator[Problem]:
    for order in _ORDERS:
        blamed = next(filter(written, (order.low, order.high)), None)
        if blamed and order.broken(values):
            must = "be at most" if order.may_equal else "be below"
            low, high = (f"{'.'.join(path)} ({_get(values, path)})" for path in (order.low, order.high))
            yield Problem(blamed, f"{low} must {must} {high}: else {order.then}")


def _exempt_and_held(values: Any, written: Written) -> Iterator[Problem]:
    exempt = set(map(tool_name, values["neverBlock"]))
    both = sorted({tool_name(name) for name in values["alwaysBlock"]} & exempt)
    if both and written(("alwaysBlock",)):
        text = f"alwaysBlock and neverBlock both name {_names(both)}: neverBlock wins, nothing is held"
        yield Problem(("alwaysBlock",), text)


def _levels_without_effect(values: Any) -> Iterator[Problem]:
    """Tools that `budget.toolRiskMap` gives a level which never counts."""
    path, chosen = ("budget", "toolRiskMap"), values["budget"]["toolRiskMap"]
    exempt = set(map(tool_name, values["neverBlock"]))
    if idle := sorted({tool_name(name) for name in chosen} & exempt):
        text = f"budget.toolRiskMap and neverBlock both name {_names(idle)}: neverBlock wins, nothing is charged"
        yield Problem(path, text)
    levels: dict[str, set[str]] = {}
    for name, level in chosen.items():
        levels.setdefault(tool_name(name), set()).add(level)
    if twice := sorted(name for name, several in levels.items() if len(several) > 1):
        yield Problem(path, f"budget.toolRiskMap gives {_names(twice)} two levels: the higher one counts")


def _names(tools: list[str]) -> str:
    more = f" and {len(tools) - MAX_NAMES} more" if len(tools) > MAX_NAMES else ""
    return ", ".join(map(repr, tools[:MAX_NAMES])) + more


def _one_file_for_two(values: Any) -> Iterator[Problem]:
    for one, other in combinations(_FILES, 2):
        if _place(_get(values, one)) == _place(_get(values, other)):
            blamed = one if _get(values, one) != _get(_DEFAULTS, one) else other
            yield Problem(blamed, f"{'.'.join(one)} and {'.'.join(other)} name the same file: each would spoil the other")


def _somebody_elses(values: Any) -> Iterator[Problem]:
    for path in _FILES:
        if is_taken(_get(values, path)):
            yield Problem(path, f"{'.'.join(path)} names a file that holds something else: each would spoil the other")


def is_taken(path: str) -> bool:
    """Whether this is the gateway's config or a file of ours that no setting moves, wherever the state directory is."""
    place = posixpath.normpath(posixpath.join("/", _place(path)))
    return any(fnmatchcase(place, f"*/{taken}") for taken in _TAKEN)


def store_path(config: Config) -> str | None:
    """Where held calls are kept; none for the default place, also where the setting names what must not be written over."""
    return config.store_path if isinstance(config.store_path, str) and not is_taken(config.store_path) else None


def log_path(config: Config) -> str:
    """Where malformed calls are logged; the default place where the setting names what must not be written into."""
    return DEFAULT_LOG_PATH if is_taken(config.log_path) else config.log_path


def _place(path: str) -> str:
    """Equal for two spellings of one file, as far as that can be told without looking."""
    return posixpath.normpath(path.removeprefix(HOME_STATE))


def _get(values: Any, path: Path) -> Any:
    """The value at this path; none where there is none."""
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values
