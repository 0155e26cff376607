"""Whether the stores can write to a folder, found out by doing what they do: a disk that became read-only after an error, or
one without locks, answers every question about it as before."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from toolguard_engine.stores import system_calls
from toolguard_engine.stores.atomic import TEMPORARY

MEANS = "held calls and the audit log cannot be stored"


def problem(folder: Path) -> str:
    """Why a file cannot be written, synced, locked, renamed and removed there, as the stores do; empty if it can."""
    step, beside = "written", None
    try:
        handle, name = tempfile.mkstemp(TEMPORARY, ".doctor.", folder)
        beside = Path(name)
        try:
            os.write(handle, b"tried by toolguard\n")
            step = "synced"
            system_calls.sync(handle)
            step = "locked"
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(handle)
        step = "renamed"
        beside = beside.replace(beside.with_name(f"{beside.name}2"))
        step = "removed"
        beside.unlink()
    except OSError as error:
        with suppress(OSError):
            if beside:
                beside.unlink(missing_ok=True)
        return f"a file in {folder} cannot be {step}: {error.strerror or error}"
    return ""
