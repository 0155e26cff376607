"""Secrets of targets: in the settings, or the first line of a file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_engine.stores import atomic

MAX_BYTES = 8 * 1024


def read(value: str | msgspec.UnsetType, file: str | msgspec.UnsetType) -> str:
    """Empty if neither is set. Raises `OSError` or `ValueError`, which name the file only."""
    if isinstance(value, str):
        return value
    if not isinstance(file, str):
        return ""
    path = Path(file).expanduser()
    line = atomic.read_bounded(path, MAX_BYTES).decode("utf-8", "replace").partition("\n")[0].strip()
    if not line:
        raise ValueError(f"{path}: its first line is empty")
    return line
