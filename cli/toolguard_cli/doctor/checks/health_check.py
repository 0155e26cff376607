"""The installed version, and the complaints of running engines; `gateway_check` compares what they have loaded."""

from __future__ import annotations

from toolguard_cli.doctor.check_types import RESTART, Check, DoctorSubject, shown, unused
from toolguard_cli.doctor.checks.discovery_check import package
from toolguard_cli.setup import install_record
from toolguard_engine import __version__
from toolguard_engine.stores import engines
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable


def ours(subject: DoctorSubject) -> Check:
    """Compares the installed version with this one. Raises `UserError` if the install record is damaged."""
    known = subject.record or install_record.load(subject.places.record)
    if known is None and package(subject):
        return Check("toolguard", "ok", f"toolguard {__version__}; `openclaw plugins` manages the gateway part")
    if known is None:
        return Check("toolguard", "warn", f"toolguard {__version__}, not installed here", subject.command("install"))
    if known.version != __version__:
        text = f"toolguard {__version__}, but version {printable.plain(known.version)} is installed here"
        return Check("toolguard", "warn", text, subject.command("install"))
    return Check("toolguard", "ok", f"toolguard {__version__}", data={"version": __version__})


def running(subject: DoctorSubject) -> Check:
    infos = stores.engines(subject.places.state_dir).running()
    data = {"engines": [engines.describe(info) for info in infos]}
    if odd := stores.engines(subject.places.state_dir).unreadable():
        text = f"{odd[0]} cannot be read, so the state of this engine is unknown"
        return Check(
            "running",
            "warn",
            text,
            f"mv {shown(odd[0])} {shown(unused(odd[0].with_name(odd[0].name + '.odd')))}, then {RESTART}",
            data,
        )
    complaints = [text for info in infos for text in (info.config_error, info.log_error) if text]
    if complaints:
        return Check("running", "error", printable.plain(complaints[0]), f"fix it, then {RESTART}", data)
    names = ", ".join(f"{info.pid} of gateway {info.gateway_pid}" for info in infos)
    return Check("running", "ok", f"engine {names}" if infos else "no gateway is running with the plugin", data=data)
