"""A file of what belongs to grants, by a digest of each grant, beside `policy.toml`.

Each value is proven by a signature elsewhere or proves itself, so the file is not signed with toolguard's key, and what
cannot be read counts as missing. Earlier versions go on reading the policy, which has no member that they do not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError, lock, unusable

VERSION = 1
MAX_KEPT = 2_000
MAX_BYTES = 32 * 1024 * 1024

T = TypeVar("T")


class ValuesByDigest(Generic[T]):
    """Raises `StoreError`. `member`: the name of the values in the file; `kind`: their type; `again`: what a person does
    after removing a damaged file."""

    def __init__(self, path: Path, member: str, kind: type[T], again: str) -> None:
        self.path = path
        self._member = member
        self._kind = kind
        self._again = again
        stored = [("v", int, VERSION), (member, dict[str, msgspec.Raw], msgspec.field(default_factory=dict))]
        self._stored: Any = msgspec.defstruct("Stored", stored)

    def all(self) -> dict[str, T]:
        """Returns all values but those that cannot be understood."""
        values = {digest: self._decoded(raw) for digest, raw in (self._read() or {}).items()}
        return {digest: value for digest, value in values.items() if value is not None}

    def get(self, digest: str) -> T | None:
        """None also for one that cannot be understood."""
        raw = (self._read() or {}).get(digest)
        return None if raw is None else self._decoded(raw)

    def keep(self, digest: str, value: T) -> None:
        """Keeps a value. Beyond `MAX_KEPT` of them, the oldest are forgotten."""
        with lock(self.path):
            kept = self._read()
            if kept is None:
                raise StoreError(f"{self.path} is damaged; remove it, then {self._again}")
            kept.pop(digest, None)
            kept[digest] = msgspec.Raw(msgspec.json.encode(value))
            newest = dict([*kept.items()][-MAX_KEPT:])
            try:
                atomic.replace(self.path, msgspec.json.encode({"v": VERSION, self._member: newest}))
            except OSError as error:
                raise unusable(self.path, error) from error

    def _read(self) -> dict[str, msgspec.Raw] | None:
        """None for a file that this version does not understand."""
        try:
            stored = msgspec.json.decode(atomic.read_bounded(self.path, MAX_BYTES), type=self._stored)
        except FileNotFoundError:
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, atomic.Unfit):
            return None
        except OSError as error:
            raise unusable(self.path, error) from error
        return getattr(stored, self._member) if stored.v <= VERSION else None

    def _decoded(self, raw: msgspec.Raw) -> T | None:
        try:
            return msgspec.json.decode(raw, type=self._kind)
        except msgspec.DecodeError:
            return None
