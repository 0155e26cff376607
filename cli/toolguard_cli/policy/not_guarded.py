"""Reasons why the gateway may not apply the verdict of `toolguard check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.setup import install_record
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_engine.wording import printable


def warnings(places: Places, mode: str) -> Iterator[str]:
    """`mode`: of the agent in question."""
    for option, path in zip(places.given[::2], places.given[1::2], strict=True):
        if not (places.config if option == "--config" else places.state_dir).exists():
            yield printable.plain(f"{option} {path} does not exist, so the defaults are used")
    plugins = gateway_stores.plugins(places)
    entry = _table(_table(plugins.get("entries")).get(PLUGIN_ID))
    if plugins.get("enabled") is False:
        yield "plugins.enabled is false: the gateway loads no plugin, so nothing is guarded"
    elif entry and entry.get("enabled") is not True:
        yield f"plugins.entries.{PLUGIN_ID}.enabled is not true: the gateway does not load the plugin, so nothing is guarded"
    elif not entry and not _recorded(places):
        yield printable.plain(
            f"toolguard is not installed in {places.state_dir}, so nothing is guarded there (toolguard install)"
        )
    if mode == "disabled":
        yield "the guard is disabled (mode disabled): it judges nothing"


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _recorded(places: Places) -> bool:
    try:
        return install_record.load(places.record) is not None
    except UserError:
        return True  # damaged, which `doctor` reports
