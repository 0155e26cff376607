"""The table `[[constraint]]` of earlier versions in `policy.toml`, rewritten as `[[rule]]`: only the headers change.

Grants stay signed where they stand, comments and order stay. What would not read back as the same rules is not written.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig.config_file import backup_path
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import atomic, toml_file
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError, lock
from toolguard_engine.stores.ports import UserRuleStore
from toolguard_engine.stores.toml_file import InvalidTomlError
from toolguard_engine.stores.values import FORMER_TABLE, RULE_TABLE


@dataclass(frozen=True)
class Rewrite:
    """A file that would be written. `tables`: how many become `[[rule]]`."""

    path: Path
    before: bytes
    after: bytes
    tables: int

    @property
    def words(self) -> str:
        return f"{self.path}: {self.tables} x [[{FORMER_TABLE}]] becomes [[{RULE_TABLE}]]; what they decide stays the same"


def find(places: Places) -> tuple[Rewrite | None, str]:
    """What there is to rewrite, and why something of it cannot be. Never raises."""
    own = stores.user_rules(places.state_dir)
    path = own.path
    try:
        text = toml_file.text_of(path)
        before = toml_file.load(text)
    except (InvalidTomlError, StoreError):
        return None, ""  # doctor says so; the last good rules count
    tables = before.get(FORMER_TABLE)
    if not isinstance(tables, list) or not tables:
        return None, ""
    after = toml_file.renamed(text, FORMER_TABLE, RULE_TABLE)
    if not _is_same(own, before, text, after):
        by_hand = f"write each [[{FORMER_TABLE}]] as [[{RULE_TABLE}]] by hand"
        return None, f"{path}: {by_hand}: toolguard cannot do so safely while the file has a fault"
    return Rewrite(path, text.encode(), after.encode(), len(tables)), ""


def _is_same(own: UserRuleStore, before: dict[str, Any], text: str, after: str) -> bool:
    try:
        then = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return False
    old, new = own.parse(before, text), own.parse(then, after)
    others = [
        {name: value for name, value in entry.items() if name not in (RULE_TABLE, FORMER_TABLE)} for entry in (before, then)
    ]
    return old.fault is None and old.good == new.good and FORMER_TABLE not in then and others[0] == others[1]


def write(rewrite: Rewrite) -> Path:
    """The answer is the backup. Raises `UserError` where the file was changed meanwhile."""
    _replace(rewrite.path, rewrite.before, rewrite.after, backup := backup_path(rewrite.path.resolve(), again=True))
    return backup


def put_back(path: Path, after: bytes, before: bytes) -> None:
    """Takes a `write` back. Raises as it does."""
    _replace(path, after, before, None)


def _replace(path: Path, expected: bytes, data: bytes, backup: Path | None) -> None:
    real = path.resolve()
    try:
        with lock(path):
            with atomic.opened(real) as file:
                present = file.read(len(expected) + 1)
            if present != expected:
                raise UserError(f"{path} was changed by another process", "nothing was written; repeat the command")
            mode = real.stat().st_mode & 0o777
            if backup is not None:
                atomic.replace(backup, expected, mode)
            atomic.replace(real, data, mode)
    except (OSError, StoreError) as error:
        raise UserError(f"cannot write {real}: {error}", "check its owner and mode; nothing was changed") from error
