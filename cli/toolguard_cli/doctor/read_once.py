"""Reads small, untrusted JSON files: size-bounded, and without blocking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolguard_engine.stores import atomic

MAX_BYTES = 1024 * 1024


def json_object(path: Path) -> dict[str, Any]:
    """The object in this file; empty if the file is missing, unreadable or holds anything else."""
    try:
        parsed = json.loads(atomic.read_bounded(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
