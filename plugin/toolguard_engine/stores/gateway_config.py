"""The gateway's own config, read to learn whether it still loads the plugin. JSON, and the common subset of JSON5.

`$include` is resolved as the gateway does it: files in order, then the keys beside them; objects merge key by key, lists
are joined. The command line has a full reader, which knows positions.
"""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

from toolguard_engine.config import limits
from toolguard_engine.host import json5_text
from toolguard_engine.stores import atomic

MAX_BYTES = limits.CONFIG_BYTES
"""For all its files together."""
MAX_FILES = limits.CONFIG_FILES
"""A file counts each time it is included. All readers of the config have these limits: `install_paths`, the command line
(`config_tree`), and the gateway part, which has them from `places.json`."""
MAX_LEVELS = 10
INCLUDE = "$include"


def plugins(path: str) -> dict[str, Any] | None:
    """Its `plugins` member; None if it cannot be read."""
    try:
        value = _Reader().read(Path(path), only="plugins")
    except (OSError, ValueError, RecursionError):  # ValueError: neither JSON nor the JSON5 that is known here
        return None
    section = value.get("plugins", {}) if isinstance(value, dict) else None
    return section if isinstance(section, dict) else None


def whole(path: str) -> tuple[Any, tuple[Path, ...]]:
    """All of it, with its includes, and the files that it was read from; None if it cannot be read."""
    reader = _Reader()
    try:
        value = reader.read(Path(path))
    except (OSError, ValueError, RecursionError):
        value = None
    return value, tuple(reader.files)


class _Reader:
    """All methods raise `OSError`, `ValueError` or `RecursionError`."""

    def __init__(self) -> None:
        self._bytes = 0
        self.files: list[Path] = []
        """Each as often as it was read."""

    def read(self, path: Path, *, only: str = "", level: int = 0) -> Any:
        """The value of a file with its includes; with `only`, just that member of an object."""
        self.files.append(path)
        if level > MAX_LEVELS or len(self.files) > MAX_FILES:
            raise ValueError("it includes too much")
        data = atomic.read_bounded(path, MAX_BYTES - self._bytes)
        self._bytes += len(data)
        return self._whole(json5_text.decoded(data), path, only, level)

    def _whole(self, value: Any, path: Path, only: str, level: int) -> Any:
        if isinstance(value, list):
            return [self._whole(item, path, "", level) for item in value]
        if not isinstance(value, dict):
            return value
        own = {key: self._whole(item, path, "", level) for key, item in value.items() if key == only or not only}
        own.pop(INCLUDE, None)
        if INCLUDE not in value:
            return own
        named = value[INCLUDE]
        parts = [self._included(name, path, only, level) for name in (named if isinstance(named, list) else [named])]
        return reduce(_merged, [*parts, own] if own else parts, {})

    def _included(self, name: Any, path: Path, only: str, level: int) -> Any:
        if not isinstance(name, str):
            raise ValueError("$include names no file")  # noqa: TRY004 - like all that is wrong with the file
        return self.read(path.parent / name, only=only, level=level + 1)


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _merged(below[key], item) if key in below else item for key, item in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above
