"""Small JSON files that anybody may have put there: bounded, and never waited for."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

MAX_BYTES = 1024 * 1024


def json_object(path: Path) -> dict[str, Any]:
    """The object in this file; empty where there is none, or something else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return {}
            data = file.read(MAX_BYTES + 1)
            found = json.loads(data) if len(data) <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
