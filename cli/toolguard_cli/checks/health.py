"""What the engines say about themselves."""

from __future__ import annotations

from toolguard_cli.checks.check import Check, Subject
from toolguard_engine import __version__
from toolguard_engine.stores import engines


def running(subject: Subject) -> Check:
    infos = engines.running(subject.places.state_dir)
    complaints = [text for info in infos for text in (info.config_error, info.log_error) if text]
    if complaints:
        return Check("running", "error", complaints[0], "mend it, then restart the gateway")
    old = [info for info in infos if info.version != __version__ or info.plugin != __version__]
    if old:
        return Check(
            "running",
            "warn",
            f"engine {old[0].pid} is toolguard {old[0].version}, its plugin {old[0].plugin}; this is {__version__}",
            "restart the gateway",
        )
    names = ", ".join(f"{info.pid} of gateway {info.gateway_pid}" for info in infos)
    return Check("running", "ok", f"engine {names}" if infos else "no gateway is running with the plugin")
