"""Which of two values of a setting guards less, and what became weaker between two sets of settings.

`ORDERS` defines, for each setting that can weaken the guard, in which direction it does. `NEUTRAL` names all others.

Invariants: settings are never weaker than themselves; stricter ones are never reported; if neither of two values is weaker,
they guard equally. Each can be weaker than the other only in lists and maps, which may name different things, and in the
names of what the guard relies on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from toolguard_engine.config import spending_limits
from toolguard_engine.config.settings import LENIENT_FIRST, Config
from toolguard_engine.wording import printable, redact

Value = bool | int | float | str | list[str] | dict[str, str] | None
Values = dict[str, Value]

PLUGIN = "plugins.entries.toolguard.enabled"
"""Whether the gateway loads the plugin at all."""
CONVERSATION = "plugins.entries.toolguard.hooks.allowConversationAccess"
MAX_NAMES = 5
MAX_NAME = 60
MAX_SHOWN = 80


class EffectiveSettings(msgspec.Struct, frozen=True):
    """Settings in force, by their names in the config. `agents`: overrides by agent id."""

    values: Values = {}
    agents: dict[str, Values] = {}

    def get(self, agent: str, name: str) -> Value:
        """The value for this agent, or the general one if `agent` is empty; the default if unknown or invalid."""
        own = self.agents.get(agent, {})
        value = own[name] if name in own else self.values.get(name, DEFAULTS.get(name))
        return value if ORDERS[name].fits(value) else DEFAULTS.get(name)


class StrictnessChange(msgspec.Struct, frozen=True):
    """A setting that became weaker. `agent` is empty for the general setting."""

    name: str
    old: Value
    new: Value
    agent: str = ""

    @property
    def setting(self) -> str:
        """Its name in the config."""
        agent = redact.cut(printable.plain(self.agent), MAX_NAME)
        return f"agents.{agent}.{self.name}" if agent else self.name

    @property
    def text(self) -> str:
        """The change in words: printable, bounded."""
        order = ORDERS.get(self.name)
        return f"{self.setting} {order.words(self.old, self.new) if order else 'changed'}"


class Order(Protocol):
    """How the values of one setting compare."""

    def fits(self, value: Value) -> bool:
        """Whether this is a valid value of the setting."""

    def weaker(self, old: Value, new: Value) -> bool: ...

    def words(self, old: Value, new: Value) -> str: ...


class _Ranked:
    """Values with a rank; a higher rank guards less."""

    def rank(self, value: Value) -> float:
        raise NotImplementedError

    def fits(self, value: Value) -> bool:
        raise NotImplementedError

    def weaker(self, old: Value, new: Value) -> bool:
        return self.rank(new) > self.rank(old)

    def words(self, old: Value, new: Value) -> str:
        return f"changed from {shown(old)} to {shown(new)}"


class Listed(_Ranked):
    """Enumerated values, the strictest first; those in one group guard equally."""

    def __init__(self, *groups: Value | tuple[Value, ...]) -> None:
        self._ranks = [group if isinstance(group, tuple) else (group,) for group in groups]

    def fits(self, value: Value) -> bool:
        return any(self._is_in(value, group) for group in self._ranks)

    def rank(self, value: Value) -> float:
        return next(rank for rank, group in enumerate(self._ranks) if self._is_in(value, group))

    @staticmethod
    def _is_in(value: Value, group: tuple[Value, ...]) -> bool:
        return any(value == member and type(value) is type(member) for member in group)


class Higher(_Ranked):
    """A number: the higher, the weaker. `zero_is_off`: 0 is the weakest."""

    def __init__(self, *, zero_is_off: bool = False) -> None:
        self._zero_is_off = zero_is_off

    def fits(self, value: Value) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    def rank(self, value: Value) -> float:
        assert isinstance(value, int | float)  # noqa: S101 - `fits`
        return float("inf") if self._zero_is_off and not value else float(value)


class Lower(Higher):
    """A number: the lower, the weaker."""

    def rank(self, value: Value) -> float:
        return -super().rank(value)


class _Names:
    """A list of names; added or removed ones can make it weaker."""

    def fits(self, value: Value) -> bool:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)

    @staticmethod
    def _set(value: Value) -> set[str]:
        return set(value) if isinstance(value, list) else set()


class Exempts(_Names):
    """Named items are not guarded: added names are weaker."""

    def weaker(self, old: Value, new: Value) -> bool:
        return not self._set(new) <= self._set(old)

    def words(self, old: Value, new: Value) -> str:
        return f"also names {_names(self._set(new) - self._set(old))}"


class Demands(_Names):
    """Named items are always held: removed names are weaker."""

    def weaker(self, old: Value, new: Value) -> bool:
        return not self._set(old) <= self._set(new)

    def words(self, old: Value, new: Value) -> str:
        return f"no longer names {_names(self._set(old) - self._set(new))}"


class Trusted:
    """The name of something that the guard relies on, such as a file that limits who may do something; empty: none. Any
    other value is weaker, since what it names is not known here."""

    def fits(self, value: Value) -> bool:
        return isinstance(value, str)

    def weaker(self, old: Value, new: Value) -> bool:
        return bool(old) and new != old

    def words(self, old: Value, new: Value) -> str:
        return f"changed from {shown(old)} to {shown(new or None)}"


class RiskMap:
    """The risk level of single tools. A tool without one is rated by the guard, which counts as stricter than all levels
    but CRITICAL."""

    _RANKS = {"CRITICAL": 0, "": 1, "HIGH": 2, "MEDIUM": 3, "LOW": 4, "SAFE": 5}  # noqa: RUF012 - never changed

    def fits(self, value: Value) -> bool:
        return isinstance(value, dict) and all(level in self._RANKS for level in value.values())

    def weaker(self, old: Value, new: Value) -> bool:
        return bool(self._lowered(old, new))

    def words(self, old: Value, new: Value) -> str:
        return f"rates {_names(self._lowered(old, new))} as less risky"

    def _lowered(self, old: Value, new: Value) -> set[str]:
        assert isinstance(old, dict)  # noqa: S101 - `fits`
        assert isinstance(new, dict)  # noqa: S101
        return {tool for tool in {*old, *new} if self._RANKS[new.get(tool, "")] > self._RANKS[old.get(tool, "")]}


class Amounts:
    """Limits: the amount of each by its name (`spending_limits.amounts`). A higher or removed one is weaker."""

    def fits(self, value: Value) -> bool:
        return isinstance(value, dict) and all(map(_is_amount, value.values()))

    def weaker(self, old: Value, new: Value) -> bool:
        return bool(self._raised(old, new))

    def words(self, old: Value, new: Value) -> str:
        assert isinstance(old, dict)  # noqa: S101 - `fits`
        assert isinstance(new, dict)  # noqa: S101
        raised = self._raised(old, new)
        changes = {
            "raised": {f"{_limit(name, old[name])} to {_amount(name, new[name])}" for name in raised if name in new},
            "removed": {_limit(name, old[name]) for name in raised if name not in new},
        }
        return "; ".join(f"{what}: {_names(names)}" for what, names in changes.items() if names)

    def _raised(self, old: Value, new: Value) -> set[str]:
        assert isinstance(old, dict)  # noqa: S101 - `fits`
        assert isinstance(new, dict)  # noqa: S101
        return {name for name in old if name not in new or float(new[name]) > float(old[name])}


def _limit(key: str, amount: str) -> str:
    """`$5.00 per day of agent main`."""
    return f"{_amount(key, amount)} {key.partition(' ')[2]}"


def _amount(key: str, amount: str) -> str:
    return spending_limits.shown(float(amount), "usd" if key.startswith("usd") else "tokens")


def _is_amount(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


_MODES = Listed(*reversed(LENIENT_FIRST))
_ON = Listed(True, False)  # noqa: FBT003 - values of settings
_OFF = Listed(False, True)  # noqa: FBT003
_MORE_IS_WEAKER, _LESS_IS_WEAKER, _ZERO_IS_OFF = Higher(), Lower(), Higher(zero_is_off=True)

ORDERS: Mapping[str, Order] = {
    PLUGIN: _ON,
    CONVERSATION: _ON,
    "enabled": _ON,
    "mode": _MODES,
    "failMode": Listed("closed", "open"),
    "escalationThreshold": _MORE_IS_WEAKER,
    "maxIdenticalFailures": _MORE_IS_WEAKER,
    "maxFailuresPerTurn": _MORE_IS_WEAKER,
    "neverBlock": Exempts(),
    "rulesOff": Exempts(),
    "alwaysBlock": Demands(),
    "pendingTimeoutMs": _LESS_IS_WEAKER,  # how long a denial lasts
    "approvalWindowMs": _MORE_IS_WEAKER,
    "approval.agentTool": _OFF,
    "approval.answerLinks": _OFF,
    "approval.answerLinkMs": _MORE_IS_WEAKER,
    "approval.signers": Trusted(),
    "approval.revokedSigners": Trusted(),
    "metrics.dashboard.hosts": Exempts(),  # names that the page accepts, and where links lead
    "pinParams": Listed("always", "approved"),
    "redactSecrets": _ON,
    "audit.durable": _ON,
    "runLimits.calls": _ZERO_IS_OFF,
    "runLimits.requests": _ZERO_IS_OFF,
    "runLimits.minutes": _ZERO_IS_OFF,
    "undo.enabled": _ON,
    "undo.maxMegabytes": _LESS_IS_WEAKER,
    "undo.days": _LESS_IS_WEAKER,
    "toolTrust.firstUse": Listed("ask", "allow"),
    "containment.profile": Listed("offline", "workspace", "secrets", "protect", "off"),
    "containment.whenUnavailable": Listed("hold", "run"),
    "containment.unknown": Listed("hold", "rehearse", "allow"),
    "containment.write": Exempts(),
    "logLevel": Listed(("debug", "info", "warn"), "error"),  # the gateway's log lacks the guard's warnings
    "loopDetection.enabled": Listed(True, None, False),  # noqa: FBT003
    "loopDetection.historySize": _LESS_IS_WEAKER,
    "loopDetection.warningThreshold": _MORE_IS_WEAKER,
    "loopDetection.criticalThreshold": _MORE_IS_WEAKER,
    "loopDetection.unknownToolThreshold": _MORE_IS_WEAKER,
    "loopDetection.globalCircuitBreakerThreshold": _MORE_IS_WEAKER,
    "loopDetection.sequenceThreshold": _ZERO_IS_OFF,
    "loopDetection.identicalErrors.warn": _ZERO_IS_OFF,
    "loopDetection.identicalErrors.stop": _ZERO_IS_OFF,
    "loopDetection.detectors.genericRepeat": _ON,
    "loopDetection.detectors.knownPollNoProgress": _ON,
    "loopDetection.detectors.pingPong": _ON,
    "loopDetection.postCompactionGuard.windowSize": _MORE_IS_WEAKER,
    "limits": Amounts(),
    "fleet.enabled": _ON,
    "fleet.dsn": Trusted(),
    "fleet.team": Trusted(),
    "fleet.trust": Trusted(),
    "fleet.trustWritable": _OFF,
    "fleet.whenAway": Listed("block", "local"),
    "fleet.whenStale": Listed("stop", "keep"),
    "fleet.staleSeconds": _MORE_IS_WEAKER,
    "fleet.ship.audit": _ON,
    "notify.targets": Demands(),  # by name: who learns of a held call
    "budget.mode": _MODES,
    "budget.size": _MORE_IS_WEAKER,
    "budget.initialTrust": _MORE_IS_WEAKER,
    "budget.riskCosts.SAFE": _LESS_IS_WEAKER,
    "budget.riskCosts.LOW": _LESS_IS_WEAKER,
    "budget.riskCosts.MEDIUM": _LESS_IS_WEAKER,
    "budget.riskCosts.HIGH": _LESS_IS_WEAKER,
    "budget.riskCosts.CRITICAL": _LESS_IS_WEAKER,
    "budget.toolRiskMap": RiskMap(),
    "budget.drift.escalatingAccess": _ZERO_IS_OFF,
    "budget.drift.outwardCalls": _ZERO_IS_OFF,
    "budget.drift.callsPerMinute": _ZERO_IS_OFF,
    "budget.drift.sameResource": _ZERO_IS_OFF,
    "budget.drift.warnings": _ZERO_IS_OFF,
    "budget.drift.minutesAlone": _ZERO_IS_OFF,
}

NEUTRAL = (
    "approval.mode", "approval.prefix", "approval.wake", "storePath", "logPath", "python",
    "metrics.enabled", "metrics.dbPath", "metrics.retention", "metrics.prices",
    "metrics.dashboard.enabled", "metrics.dashboard.port", "metrics.dashboard.bind",
    "notify.events", "notify.quietHours", "notify.expiringSeconds", "notify.digestAt", "notify.mostPerHour",
    "fleet.deadlineMs", "fleet.listen", "fleet.ship.metrics",
)  # fmt: skip
"""Settings, and groups of them, whose values guard equally.

`metrics.dbPath` and `metrics.prices` change what counts towards `limits`, but have no direction: another file may have more
or less usage in it, and a price that is corrected may be higher or lower than the one that it replaces. When notifications
are sent is a matter of taste; that somebody is notified at all is not (`notify.targets`).
"""


def settings_of(config: Config, *, plugin: bool = True, conversation: bool | None = None) -> EffectiveSettings:
    """`plugin`: the gateway loads it. `conversation`: it has conversation access; None if unknown."""
    general = {**_UNSET, **_flat(msgspec.to_builtins(config)), PLUGIN: plugin}
    if conversation is not None:
        general[CONVERSATION] = conversation
    return EffectiveSettings(
        general, {agent: own for agent, settings in config.agents.items() if (own := _flat(msgspec.to_builtins(settings)))}
    )


def weaker(old: EffectiveSettings, new: EffectiveSettings) -> tuple[StrictnessChange, ...]:
    """The settings of `new` that guard less than in `old`. Settings unknown to `new` are not compared."""
    changes = [
        StrictnessChange(name, was, now)
        for name in ORDERS
        if name in new.values and ORDERS[name].weaker(was := old.get("", name), now := new.get("", name))
    ]
    for agent in sorted({*old.agents, *new.agents}):
        changes += _of_agent(old, new, agent)
    return tuple(changes)


def raised(old: EffectiveSettings, new: EffectiveSettings) -> EffectiveSettings:
    """`old` with all values of `new` that are not weaker: the new baseline. Settings known only to `old` stay."""
    values = {**old.values, **{name: _stricter("", name, old, new) for name in ORDERS if name in new.values}}
    agents = {agent: _raised_own(old, new, agent) for agent in sorted({*old.agents, *new.agents})}
    return EffectiveSettings(values, agents)


def accepting(old: EffectiveSettings, changes: tuple[StrictnessChange, ...]) -> EffectiveSettings:
    """`old` with these changes applied."""
    values = {**old.values, **{change.name: change.new for change in changes if not change.agent}}
    agents = {agent: dict(own) for agent, own in old.agents.items()}
    for setting_change in changes:
        if setting_change.agent:
            agents.setdefault(setting_change.agent, {})[setting_change.name] = setting_change.new
    return EffectiveSettings(values, agents)


def _of_agent(old: EffectiveSettings, new: EffectiveSettings, agent: str) -> list[StrictnessChange]:
    """Changes of values that the agent itself has or had; inherited ones are reported once, as general settings."""
    own = {*old.agents.get(agent, {}), *new.agents.get(agent, {})}
    return [
        StrictnessChange(name, was, now, agent)
        for name in ORDERS
        if name in own and ORDERS[name].weaker(was := old.get(agent, name), now := new.get(agent, name))
    ]


def _raised_own(old: EffectiveSettings, new: EffectiveSettings, agent: str) -> Values:
    known, own = old.agents.get(agent, {}), {*old.agents.get(agent, {}), *new.agents.get(agent, {})}
    return {**known, **{name: _stricter(agent, name, old, new) for name in ORDERS if name in own}}


def _stricter(agent: str, name: str, old: EffectiveSettings, new: EffectiveSettings) -> Value:
    was, now = old.get(agent, name), new.get(agent, name)
    return was if ORDERS[name].weaker(was, now) else now


_COMPARED: Mapping[str, Callable[[Any], Value]] = {"limits": spending_limits.amounts, "notify.targets": sorted}
"""What is compared of settings that are more than a value or a list."""


def _flat(nested: dict[str, Any], above: str = "") -> Values:
    """The settings with an order, by full name."""
    flat: Values = {}
    for key, value in nested.items():
        name = f"{above}{key}"
        if name in ORDERS:
            flat[name] = _COMPARED[name](value) if name in _COMPARED else value
        elif isinstance(value, dict) and name != "agents":
            flat |= _flat(value, f"{name}.")
    return flat


def shown(value: Value) -> str:
    """Printable and bounded."""
    if value is None:
        return "not set"
    return redact.cut(printable.plain(value if isinstance(value, str) else json.dumps(value)), MAX_SHOWN)


def _names(quoted: set[str]) -> str:
    names = [redact.cut(printable.plain(name), MAX_NAME) for name in sorted(quoted)]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


_UNSET: Values = {"loopDetection.enabled": None}
DEFAULTS: Values = {CONVERSATION: False, PLUGIN: True, **_UNSET, **_flat(msgspec.to_builtins(Config()))}
