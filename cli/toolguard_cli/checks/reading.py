"""Small JSON files that anybody may have put there: bounded, and never waited for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolguard_engine.stores import files

MAX_BYTES = 1024 * 1024


def json_object(path: Path) -> dict[str, Any]:
    """The object in this file; empty where there is none, or something else."""
    try:
        found = json.loads(files.read_bounded(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
