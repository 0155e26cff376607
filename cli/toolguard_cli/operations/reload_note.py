"""What a user has to do so that the gateway applies a change of its config: usually nothing, because it reloads the file."""

from __future__ import annotations

from contextlib import suppress

from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.operations.guard_proof import RESTART
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.engines import EngineInfo

APPLIED_SOON = "the gateway applies this automatically within seconds, or after the current run; check with toolguard status"
APPLIED_LATER = "no gateway with toolguard is running; it applies this when it starts"
UNLOADED_SOON = f"a running gateway unloads the plugin automatically within seconds; if it does not: {RESTART}"
RELOADED_SOON = f"a running gateway applies this automatically within seconds; if it does not: {RESTART}"
OFF = f"{RESTART} (gateway.reload.mode is off)"


def after_setting(tree: ConfigTree, places: Places) -> str:
    """Says what to do after a change of toolguard's settings."""
    return OFF if _is_off(tree) else APPLIED_SOON if is_gateway_running(places) else APPLIED_LATER


def after_removal(tree: ConfigTree) -> str:
    """Says what to do after the plugin was taken out of the config."""
    return OFF if _is_off(tree) else UNLOADED_SOON


def after_change(tree: ConfigTree) -> str:
    """Says what to do after a change of other parts of the config."""
    return OFF if _is_off(tree) else RELOADED_SOON


def _is_off(tree: ConfigTree) -> bool:
    return bool(tree.get("gateway", "reload", "mode") == "off")


def is_gateway_running(places: Places) -> bool:
    """Whether a gateway with toolguard runs. While it reloads, its engine does not run, but is on record."""
    with suppress(OSError):
        engines = stores.engines(places.state_dir)
        return bool(engines.running()) or any(map(_has_gateway, engines.noted()))
    return True


def _has_gateway(info: EngineInfo) -> bool:
    """Whether the gateway that started this engine still runs."""
    import psutil  # noqa: PLC0415 - takes 15 ms

    try:
        started: float = psutil.Process(info.gateway_pid).create_time()
    except (psutil.Error, ValueError, OverflowError):
        return False
    return started <= info.started
