"""The last version of `policy.toml` without an error, for an engine that starts while the file has one.

Kept per kind: `rule`, and `constraint`, which is empty except in files of earlier versions. Grants are not kept: they are
signed in place. A damaged file means that no good version is known, not that there are no rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolguard_engine.stores import atomic, toml_file
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.state_files import LAST_GOOD as NAME
from toolguard_engine.stores.toml_file import InvalidTomlError

KNOWN = "known"
_HEAD = """\
# The last valid version of the rules in policy.toml. It is in force while that file contains an error. Toolguard writes
# this file: edit policy.toml instead.
"""

Tables = list[dict[str, Any]]


class LastGood:
    """The file of one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME

    def tables(self, kind: str) -> Tables | None:
        """The tables as written in `policy.toml`; None if no good version of this kind is known. Never raises."""
        return self._known().get(kind)

    def keep(self, tables: Mapping[str, Tables]) -> None:
        """Stores these kinds if they have changed; the others stay. Raises `StoreError`."""
        known = self._known()
        after = {**known, **tables}
        if after == known:
            return
        text = _rendered(after)
        try:
            if _read(text) != after:
                raise StoreError(f"{self.path} would not be read back as intended")
            atomic.replace(self.path, text.encode())
        except (OSError, InvalidTomlError, UnicodeError) as error:
            raise StoreError(f"{self.path}: {getattr(error, 'strerror', None) or error}") from error

    def _known(self) -> dict[str, Tables]:
        try:
            return _read(toml_file.text_of(self.path))
        except (InvalidTomlError, StoreError):
            return {}


def _read(text: str) -> dict[str, Tables]:
    loaded = toml_file.load(text)
    kinds = loaded.get(KNOWN)
    named = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
    by_kind = {kind: loaded.get(kind, []) for kind in named}
    return {
        kind: tables
        for kind, tables in by_kind.items()
        if isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    }


def _rendered(kinds: Mapping[str, Tables]) -> str:
    lines = [_HEAD, f"{KNOWN} = {_value(list(kinds))}"]
    for kind, tables in kinds.items():
        for table in tables:
            lines += ["", f"[[{kind}]]", *(f"{_value(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """The value in TOML. A value that no rule may have (a time) becomes a string, which then fails the comparison."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_value(key)} = {_value(item)}' for key, item in value.items())} }}"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
