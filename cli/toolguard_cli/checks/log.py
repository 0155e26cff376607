"""Can malformed calls be logged where the settings say."""

from __future__ import annotations

import os
from pathlib import Path

from toolguard_cli.checks.check import Check, Subject, shown
from toolguard_engine.metrics import place
from toolguard_engine.stores import calllog

LARGE = 5 * calllog.MAX_BYTES
"""The engine begins a new file long before: something else writes there."""


def log_path(subject: Subject) -> Path:
    return calllog.resolve(subject.settings.log_path, subject.places.state_dir)


def metrics_path(subject: Subject) -> Path:
    return place.resolve(subject.settings.metrics.db_path)


def writable(subject: Subject) -> Check:
    path = log_path(subject)
    if "\0" in str(path):
        return Check("log", "error", "logPath is no path", subject.command("config", "unset", "logPath"))
    if path.is_dir():
        return Check("log", "error", f"{path} is a folder", subject.set_command("logPath", f"{path}/tool-guard.log"))
    able = os.access(path, os.W_OK) and path.is_file() if path.exists() else _may_be_made(path.parent)
    if not able:
        return Check("log", "error", f"{path} cannot be written", f"mend its owner and mode: ls -ld {shown(path.parent)}")
    size = path.stat().st_size if path.exists() else 0
    if size > LARGE:
        told = f"{path} has {size // (1024 * 1024)} MB: something else writes there as well"
        return Check("log", "warn", told, f"mv {shown(path)} {shown(path.with_name(path.name + '.old'))}")
    return Check("log", "ok", f"{path}", data={"bytes": size})


def _may_be_made(folder: Path) -> bool:
    """Whether a file can be made in this folder, or in the nearest one above that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
