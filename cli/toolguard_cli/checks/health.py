"""What the engines say about themselves."""

from __future__ import annotations

import os
from pathlib import Path

from toolguard_cli.checks.check import RESTART, Check, Subject, shown
from toolguard_cli.setup import record
from toolguard_engine import __version__, answers
from toolguard_engine.stores import engines


def ours(subject: Subject) -> Check:
    """What was installed beside what this is. Raises `UserError` where the record of it is damaged."""
    known = subject.record or record.load(subject.places.record)
    if known is None:
        return Check("toolguard", "warn", f"toolguard {__version__}, not installed here", subject.command("install"))
    if known.version != __version__:
        told = f"toolguard {__version__}; it was installed here as {answers.plain(known.version)}"
        return Check("toolguard", "warn", told, subject.command("install"))
    return Check("toolguard", "ok", f"toolguard {__version__}", data={"version": __version__})


def _away(path: Path) -> str:
    """The command that moves it to a name that is free."""
    names = (path.with_name(f"{path.name}.odd{number or ''}") for number in range(1000))
    return f"mv {shown(path)} {shown(next(name for name in names if not os.path.lexists(name)))}"


def running(subject: Subject) -> Check:
    infos = engines.running(subject.places.state_dir)
    data = {"engines": [engines.describe(info) for info in infos]}
    if odd := engines.unreadable(subject.places.state_dir):
        told = f"{odd[0]} cannot be read: what engines tell about themselves is lost there"
        return Check("running", "warn", told, f"{_away(odd[0])}, then {RESTART}", data)
    complaints = [text for info in infos for text in (info.config_error, info.log_error) if text]
    if complaints:
        return Check("running", "error", answers.plain(complaints[0]), f"mend it, then {RESTART}", data)
    old = [info for info in infos if info.version != __version__ or info.plugin != __version__]
    if old:
        told = f"engine {old[0].pid} is toolguard {answers.plain(old[0].version)}, its plugin {answers.plain(old[0].plugin)}"
        return Check("running", "warn", f"{told}; this is {__version__}", RESTART, data)
    names = ", ".join(f"{info.pid} of gateway {info.gateway_pid}" for info in infos)
    return Check("running", "ok", f"engine {names}" if infos else "no gateway is running with the plugin", data=data)
