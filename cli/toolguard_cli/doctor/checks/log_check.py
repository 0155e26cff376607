"""Whether the log of malformed calls can be written."""

from __future__ import annotations

import os
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, shown
from toolguard_engine.host import metrics_path as place
from toolguard_engine.stores import call_log

LARGE = 5 * call_log.MAX_BYTES
"""The engine rotates the file long before this size, so another program writes to it."""


def log_path(subject: DoctorSubject) -> Path:
    return call_log.resolve(subject.settings.log_path, subject.places.state_dir)


def metrics_path(subject: DoctorSubject) -> Path:
    return place.resolve(subject.settings.metrics.db_path)


def writable(subject: DoctorSubject) -> Check:
    path = log_path(subject)
    if "\0" in str(path):
        return Check("log", "error", "logPath is not a path", subject.command("config", "unset", "logPath"))
    if path.is_dir():
        return Check("log", "error", f"{path} is a folder", subject.set_command("logPath", f"{path}/tool-guard.log"))
    able = os.access(path, os.W_OK) and path.is_file() if path.exists() else _may_be_made(path.parent)
    if not able:
        return Check("log", "error", f"{path} is not writable", f"check its owner and mode: ls -ld {shown(path.parent)}")
    size = path.stat().st_size if path.exists() else 0
    if size > LARGE:
        text = f"{path} is {size // (1024 * 1024)} MB: another program also writes to it"
        return Check("log", "warn", text, f"mv {shown(path)} {shown(path.with_name(path.name + '.old'))}")
    return Check("log", "ok", f"{path}", data={"bytes": size})


def _may_be_made(folder: Path) -> bool:
    """Whether a file can be created in this folder, or in its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
