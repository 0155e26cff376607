"""Can malformed calls be logged where the settings say."""

from __future__ import annotations

import os

from toolguard_cli.checks.check import Check, Subject
from toolguard_cli.checks.engine import scratch_free
from toolguard_engine.stores import calllog


def writable(subject: Subject) -> Check:
    path = calllog.resolve(subject.settings.log_path, subject.places.state_dir)
    able = os.access(path, os.W_OK) and path.is_file() if path.exists() else scratch_free(path.parent)
    if not able:
        return Check("log", "error", f"{path} cannot be written", "change logPath, or the owner or mode of that place")
    return Check("log", "ok", f"{path}")
