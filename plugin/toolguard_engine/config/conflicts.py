"""Settings that are valid by themselves but conflict with each other, which a JSON schema cannot express.

A conflict is reported only if one setting makes another ineffective or reverses its effect. Conflicts never keep the engine
from starting. An agent's settings are checked merged with the general ones, and reported only if its own values take part.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from typing import Any, Literal, get_args

import msgspec

from toolguard_engine.config import notify_targets, public_hosts
from toolguard_engine.config.settings import DEFAULT_LOG_PATH, HOME_STATE, Config, RiskLevel
from toolguard_engine.host import file_names
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.wording import printable

Path = tuple[str, ...]
LONGEST_MONTH = 31
MAX_NAMES = 5
"""Tools named in one message."""


class SettingConflict(msgspec.Struct, frozen=True):
    """`path`: the keys, below the plugin's settings, of a non-default value to change. `instead`: another way to end the
    conflict. `weight`: a "warn" leaves the guard as strict as it would be without the setting."""

    path: Path
    text: str
    instead: str = ""
    weight: Literal["error", "warn"] = "error"


class _Order(msgspec.Struct, frozen=True):
    """`low` must be below `high`, or equal to it if `may_equal`; otherwise `then` happens."""

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
        "the run ends before the model is warned of the loop",
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
        "the breaker for all calls trips before a single call is blocked",
    ),
    _Order(
        ("loopDetection", "warningThreshold"),
        ("loopDetection", "historySize"),
        "the history is too short for a warning or a block",
        may_equal=True,
    ),
    _Order(
        ("loopDetection", "criticalThreshold"),
        ("loopDetection", "historySize"),
        "the history is too short for a block",
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
            "the riskier call is cheaper",
            may_equal=True,
        )
        for lower, higher in pairwise(get_args(RiskLevel))
    ),
    _Order(
        ("metrics", "retention", "rawDays"),
        ("metrics", "retention", "hourlyDays"),
        "single calls outlive their hourly totals",
        may_equal=True,
    ),
    _Order(
        ("metrics", "retention", "hourlyDays"),
        ("metrics", "retention", "dailyDays"),
        "hourly totals outlive the daily ones",
        may_equal=True,
    ),
)
_FILES: tuple[Path, ...] = (("storePath",), ("logPath",), ("metrics", "dbPath"))
_TAKEN = (
    "openclaw.json",
    "clawdbot.json",
    "extensions/toolguard/*",
    *(f"toolguard/{name}" for name in file_names.KEPT),
    "toolguard/engines",
    "toolguard/engines/*",
)
"""Path endings reserved for the gateway's config and for files of ours at fixed places."""
_TAKEN_BEGINS = {taken: taken.partition("*")[0] for taken in _TAKEN}
"""With their beginnings, by which most are told from a path without a pattern, which would be compiled at each start."""
_DEFAULTS = {"storePath": f"{HOME_STATE}toolguard/nonces.json", **msgspec.to_builtins(Config())}

Written = Callable[[Path], bool]
"""Whether the value at this path was set at this level."""


def problems(config: Config) -> list[SettingConflict]:
    """All conflicts, those of the general settings first."""
    general = {**_DEFAULTS, **msgspec.to_builtins(config)}
    conflicts = list(_in(general, lambda path: bool(_get(general, path) != _get(_DEFAULTS, path))))
    conflicts += _levels_without_effect(general)
    conflicts += _idle_limits(config)
    conflicts += _one_file_for_two(general)
    conflicts += _reserved_files(general)
    conflicts += _links_without_address(config)
    conflicts += _unusable_targets(config)
    conflicts += _unusable_fleet(config)
    conflicts += _unsigned_ways(config)
    for agent in config.agents:
        conflicts += _of_agent(config, agent)
    return conflicts


def _of_agent(config: Config, agent: str) -> list[SettingConflict]:
    own = msgspec.to_builtins(config.agents[agent])
    laid_over = msgspec.to_builtins(config.for_agent(agent))
    conflicts = _in(laid_over, lambda path: _get(own, path) is not None)
    return [SettingConflict(("agents", agent, *problem.path), problem.text) for problem in conflicts]


def _in(values: Any, written: Written) -> Iterator[SettingConflict]:
    yield from _out_of_order(values, written)
    yield from _exempt_and_held(values, written)


def _out_of_order(values: Any, written: Written) -> Iterator[SettingConflict]:
    for order in _ORDERS:
        blamed = next(filter(written, (order.low, order.high)), None)
        if blamed and order.broken(values):
            must = "be at most" if order.may_equal else "be below"
            low, high = (f"{'.'.join(path)} ({_get(values, path)})" for path in (order.low, order.high))
            yield SettingConflict(blamed, f"{low} must {must} {high}: otherwise {order.then}")


def _exempt_and_held(values: Any, written: Written) -> Iterator[SettingConflict]:
    exempt = set(map(tool_name, values["neverBlock"]))
    both = sorted({tool_name(name) for name in values["alwaysBlock"]} & exempt)
    if both and written(("alwaysBlock",)):
        text = f"alwaysBlock and neverBlock both name {_names(both)}: neverBlock wins, so nothing is held"
        yield SettingConflict(("alwaysBlock",), text)


def _levels_without_effect(values: Any) -> Iterator[SettingConflict]:
    """Tools whose level in `budget.toolRiskMap` has no effect."""
    path, chosen = ("budget", "toolRiskMap"), values["budget"]["toolRiskMap"]
    exempt = set(map(tool_name, values["neverBlock"]))
    if idle := sorted({tool_name(name) for name in chosen} & exempt):
        text = f"budget.toolRiskMap and neverBlock both name {_names(idle)}: neverBlock wins, so nothing is charged"
        yield SettingConflict(path, text)
    levels: dict[str, set[str]] = {}
    for name, level in chosen.items():
        levels.setdefault(tool_name(name), set()).add(level)
    if twice := sorted(name for name, several in levels.items() if len(several) > 1):
        yield SettingConflict(path, f"budget.toolRiskMap gives {_names(twice)} two levels: the higher one counts")


def _idle_limits(config: Config) -> Iterator[SettingConflict]:
    """Limits that do less than they say."""
    path, seen = ("limits",), set()
    for number, limit in enumerate(config.limits):
        name, scope = f"limits[{number}]", (limit.per, limit.agent, limit.model)
        if limit.usd is msgspec.UNSET and limit.tokens is msgspec.UNSET:
            yield SettingConflict(path, f"{name} has neither usd nor tokens: it limits nothing")
        if limit.per == "session" and limit.model:
            yield SettingConflict(path, f"{name} names a model, but a limit per session always counts every model")
        if scope in seen:
            yield SettingConflict(path, f"{name} is about the same as an earlier limit: the lower amount applies")
        seen.add(scope)
    kept = ("metrics", "retention", "dailyDays")
    if config.metrics.retention.daily_days < LONGEST_MONTH and any(limit.per == "month" for limit in config.limits):
        yield SettingConflict(kept, f"{'.'.join(kept)} is less than a month: limits per month forget what is removed")


def _names(tools: list[str]) -> str:
    more = f" and {len(tools) - MAX_NAMES} more" if len(tools) > MAX_NAMES else ""
    return ", ".join(map(repr, tools[:MAX_NAMES])) + more


def _one_file_for_two(values: Any) -> Iterator[SettingConflict]:
    for one, other in combinations(_FILES, 2):
        if _place(_get(values, one)) == _place(_get(values, other)):
            blamed = one if _get(values, one) != _get(_DEFAULTS, one) else other
            yield SettingConflict(
                blamed, f"{'.'.join(one)} and {'.'.join(other)} name the same file: each would corrupt the other"
            )


def _reserved_files(values: Any) -> Iterator[SettingConflict]:
    for path in _FILES:
        if is_taken(_get(values, path)):
            yield SettingConflict(
                path, f"{'.'.join(path)} names a file that holds something else: each would corrupt the other"
            )


def _links_without_address(config: Config) -> Iterator[SettingConflict]:
    hosts = config.metrics.dashboard.hosts
    if config.approval.answer_links and not any(map(public_hosts.is_private, hosts)):
        text = "approval.answerLinks needs a name with TLS in metrics.dashboard.hosts: otherwise notifications have no link"
        instead = "add a name that has TLS, such as box.example.ts.net, to metrics.dashboard.hosts"
        yield SettingConflict(("approval", "answerLinks"), text, instead, "warn")


def _unsigned_ways(config: Config) -> Iterator[SettingConflict]:
    approval = config.approval
    if approval.revoked_signers and not approval.is_signed:
        text = "approval.revokedSigners has no effect without approval.signers"
        yield SettingConflict(("approval", "revokedSigners"), text)
    if not approval.is_signed:
        return
    for name, is_on in (("mode", approval.mode == "native"), ("answerLinks", approval.answer_links)):
        if is_on:
            text = f"approval.{name} approves nothing while approval.signers is set: it cannot sign"
            yield SettingConflict(("approval", name), text)


def _unusable_targets(config: Config) -> Iterator[SettingConflict]:
    for number, (name, target) in enumerate(config.notify.targets.items()):
        most = notify_targets.MAX_TARGETS
        text = notify_targets.problem(name, target) if number < most else f"at most {most} targets are used"
        if text:
            where = ("notify", "targets", name)
            yield SettingConflict(where, f"{text}: nothing is sent to {printable.plain(name)}")


def _unusable_fleet(config: Config) -> Iterator[SettingConflict]:
    setting, text = config.fleet.problem
    if text:
        yield SettingConflict(("fleet", setting), text)
    if config.fleet.enabled and config.approval.mode == "native":
        text = "approval.mode native has no effect in a fleet: an approval needs a signature, which a prompt cannot make"
        yield SettingConflict(("approval", "mode"), text)


def is_taken(path: str) -> bool:
    """Whether this is the gateway's config or one of our files at a fixed place, in any state directory."""
    place = posixpath.normpath(posixpath.join("/", _place(path)))
    return any(f"/{known}" in place and fnmatchcase(place, f"*/{taken}") for taken, known in _TAKEN_BEGINS.items())


def store_path(config: Config) -> str | None:
    """The ledger's file; None for the default place, also if the setting names a reserved file."""
    return config.store_path if isinstance(config.store_path, str) and not is_taken(config.store_path) else None


def log_path(config: Config) -> str:
    """The log of malformed calls; the default place if the setting names a reserved file."""
    return DEFAULT_LOG_PATH if is_taken(config.log_path) else config.log_path


def _place(path: str) -> str:
    """A form that is equal for two spellings of one file, without file access."""
    return posixpath.normpath(path.removeprefix(HOME_STATE))


def _get(values: Any, path: Path) -> Any:
    """The value at this path, or None."""
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values
