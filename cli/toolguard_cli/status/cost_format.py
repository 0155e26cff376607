"""The metrics settings of a gateway, and the format of costs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_engine.config.settings import Config, MetricsConfig, SpendingLimit, parse
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics.result_types import Totals

SWITCH = "toolguard config set metrics.enabled true"
INSTALL = "toolguard install"
OFF = "metrics are disabled, so nothing is recorded"
OFF_NOW = "metrics are disabled: these are older records, and nothing new is recorded"
ESTIMATED, UNKNOWN = "~", "?"
_SMALL_USD = 0.1


def settings(places: Places) -> MetricsConfig:
    """Ignores errors elsewhere in the settings. Raises `UserError`."""
    return usage_settings(places)[0]


def usage_settings(places: Places) -> tuple[MetricsConfig, list[SpendingLimit]]:
    """The same with the limits; `enabled` says whether usage is recorded."""
    config = limit_settings(places)
    return msgspec.structs.replace(config.metrics, enabled=config.is_measured), config.limits


def limit_settings(places: Places) -> Config:
    """The settings of limits and metrics; all others have their defaults. Raises `UserError`."""
    value = gateway_stores.entry(places)
    known = value if isinstance(value, dict) else {}
    agents = known.get("agents")
    own = (
        {name: {"runLimits": agent["runLimits"]} for name, agent in agents.items() if _has_run_limits(agent)}
        if isinstance(agents, dict)
        else {}
    )
    try:
        return parse({**{name: known[name] for name in ("metrics", "limits", "runLimits") if name in known}, "agents": own})
    except msgspec.ValidationError as error:
        raise UserError(
            f"{'.'.join(gateway_stores.ENTRY)} in {places.config}: {error}", "fix that setting, then try again"
        ) from error


def _has_run_limits(agent: object) -> bool:
    return isinstance(agent, dict) and "runLimits" in agent


def switch(places: Places) -> str:
    entries = gateway_stores.plugins(places).get("entries")
    installed = isinstance(entries, dict) and PLUGIN_ID in entries
    return SWITCH if installed else f"{INSTALL}, then {SWITCH}"


def path(config: MetricsConfig) -> Path:
    return metrics_path.resolve(config.db_path)


def cost(totals: Totals) -> str:
    """`~`: part of it is an estimate; `?`: part of it is unknown."""
    if not totals.calls:
        return "$0.00"
    if not totals.priced:
        return UNKNOWN
    more = f" + {UNKNOWN}" if totals.priced < totals.calls else ""
    return f"{ESTIMATED if totals.estimated_usd else ''}{usd(totals.cost_usd)}{more}"


def describe(totals: Totals) -> str:
    many = "1 model call" if totals.calls == 1 else f"{totals.calls:,} model calls"
    return f"{many}, {totals.total:,} tokens, {_cost_words(totals)}" if totals.calls else "no model calls"


def _cost_words(totals: Totals) -> str:
    """The same as `cost` in a sentence, where no line below it explains the marks."""
    if not totals.priced:
        return "cost unknown"
    about = "about " if totals.estimated_usd else ""
    unknown = totals.calls - totals.priced
    more = f" and {unknown:,} {'call' if unknown == 1 else 'calls'} of unknown cost" if unknown else ""
    return f"{about}{usd(totals.cost_usd)}{more}"


def usd(amount: float) -> str:
    digits = 4 if 0 < amount < _SMALL_USD else 2
    return f"${amount:,.{digits}f}"
