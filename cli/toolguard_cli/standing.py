"""Whether a gateway would ask at all: what stands between a verdict of `toolguard check` and the calls that are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolguard_cli import stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import PLUGIN_ID, Places
from toolguard_cli.setup import record
from toolguard_engine import answers


def warnings(places: Places, mode: str) -> Iterator[str]:
    """`mode`: the one that counts for the agent in question."""
    for option, path in zip(places.given[::2], places.given[1::2], strict=True):
        if not (places.config if option == "--config" else places.state_dir).exists():
            yield answers.plain(f"{option} {path}: there is no such place, so the defaults are used")
    plugins = stores.plugins(places)
    entry = _table(_table(plugins.get("entries")).get(PLUGIN_ID))
    if plugins.get("enabled") is False:
        yield "plugins.enabled is false: the gateway loads no plugin, so nothing is guarded"
    elif entry and entry.get("enabled") is not True:
        yield f"plugins.entries.{PLUGIN_ID}.enabled is not true: the gateway does not load it, so nothing is guarded"
    elif not entry and not _recorded(places):
        yield answers.plain(
            f"toolguard is not installed in {places.state_dir}, so nothing is guarded there (toolguard install)"
        )
    if mode == "disabled":
        yield "the guard is switched off (mode disabled): it judges nothing"


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _recorded(places: Places) -> bool:
    try:
        return record.load(places.record) is not None
    except UserError:
        return True  # damaged: `doctor` tells
