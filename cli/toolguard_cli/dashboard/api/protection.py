"""Whether the calls of a gateway are judged, since when, and what to do if they are not."""

from __future__ import annotations

from toolguard_cli.dashboard.api_types import Protection, Switch
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.engines import EngineInfo
from toolguard_engine.wording import printable

LATEST = 1e11
"""Seconds since 1970; a later time is invalid."""

_ENFORCE = "toolguard config set mode enforce"


def since(seconds: float) -> int:
    return int(seconds * 1_000) if 0 < seconds < LATEST else 0


def look(config: Config, thrown: Switch | None, running: list[EngineInfo]) -> Protection:
    """The strongest statement first: what is true of every call."""
    if not running:
        return Protection("idle", 0, "No running gateway has toolguard loaded.", "toolguard doctor")
    if thrown is not None:
        return Protection("stopped", thrown.at, "The kill switch is on: every tool call is blocked.")
    begun = since(max(info.started for info in running))
    if wrong := next((info.config_error for info in running if info.config_error), ""):
        text = f"The settings are invalid, so every call is judged by the defaults: {printable.plain(wrong)}"
        return Protection("unproven", begun, text, "toolguard doctor")
    if config.active_mode == "disabled":
        return Protection("off", begun, "The guard is off: every call runs without being checked.", _ENFORCE)
    if config.active_mode == "shadow":
        return Protection("watching", begun, "Calls are only recorded; none is held or blocked.", _ENFORCE)
    text = "Every tool call is judged before it runs."
    if config.active_mode == "soft":
        text = "Every tool call is judged; only high-stakes calls are held or blocked."
    return Protection("guarded", begun, text)
