"""The metrics of one gateway as its settings name them, and how numbers of it are written for people."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_cli import stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import PLUGIN_ID, Places
from toolguard_engine.config import MetricsConfig, parse
from toolguard_engine.metrics import place
from toolguard_engine.metrics.shapes import Totals

SWITCH = "toolguard config set metrics.enabled true"
INSTALL = "toolguard install"
OFF = "metrics are off, so nothing is recorded"
OFF_NOW = "metrics are off: this is from before, nothing new is recorded"
ESTIMATED, UNKNOWN = "~", "?"
_SMALL_USD = 0.1


def settings(places: Places) -> MetricsConfig:
    """A fault elsewhere in the settings does not matter here. Raises `UserError`."""
    value = stores.entry(places)
    known = value if isinstance(value, dict) else {}
    try:
        return parse({name: known[name] for name in ("metrics",) if name in known}).metrics
    except msgspec.ValidationError as error:
        raise UserError(f"{'.'.join(stores.ENTRY)} in {places.config}: {error}", "mend that setting, then repeat") from error


def switch(places: Places) -> str:
    """What to call so that something is recorded. Raises `UserError`."""
    entries = stores.plugins(places).get("entries")
    installed = isinstance(entries, dict) and PLUGIN_ID in entries
    return SWITCH if installed else f"{INSTALL}, then {SWITCH}"


def path(config: MetricsConfig) -> Path:
    return place.resolve(config.db_path)


def cost(totals: Totals) -> str:
    """`~` where part of it is an estimate, `?` where nobody knows all of it."""
    if not totals.calls:
        return "$0.00"
    if not totals.priced:
        return UNKNOWN
    amount = totals.cost_usd
    digits = 4 if 0 < amount < _SMALL_USD else 2
    more = f" + {UNKNOWN}" if totals.priced < totals.calls else ""
    return f"{ESTIMATED if totals.estimated_usd else ''}${amount:,.{digits}f}{more}"


def words(totals: Totals) -> str:
    many = "1 model call" if totals.calls == 1 else f"{totals.calls:,} model calls"
    return f"{many}, {totals.total:,} tokens, {cost(totals)}" if totals.calls else "no model call"
