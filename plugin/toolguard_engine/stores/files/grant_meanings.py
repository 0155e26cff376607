"""What each grant was given for (`approvals.granted_meaning`), by the signature of the grant, beside `policy.toml`.

The signature of a grant covers its meaning, so this file needs none: a grant whose meaning is lost or changed does not
count. It is a file of its own because earlier versions refuse a policy with a member that they do not know. They do not
count such a grant either, since its signature is not the one that they expect.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError, lock, unusable
from toolguard_engine.stores.state_files import GRANT_MEANINGS as NAME

VERSION = 1
MAX_KEPT = 2_000
MAX_BYTES = 32 * 1024 * 1024


class _File(msgspec.Struct):
    v: int = VERSION
    bound: dict[str, msgspec.Raw] = {}


class GrantMeanings:
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME

    def all(self) -> dict[str, tuple[Meaning, ...]]:
        """Without those that cannot be understood."""
        stored = self._read()
        found = {mac: _decoded(raw) for mac, raw in stored.bound.items()} if stored else {}
        return {mac: bound for mac, bound in found.items() if bound is not None}

    def keep(self, mac: str, bound: tuple[Meaning, ...]) -> None:
        """Of more than `MAX_KEPT` the oldest are forgotten."""
        with lock(self.path):
            stored = self._read()
            if stored is None:
                raise StoreError(f"{self.path} is damaged; remove it, then grant again what toolguard grants lists")
            kept = {**stored.bound, mac: msgspec.Raw(msgspec.json.encode(bound))}
            try:
                atomic.replace(self.path, msgspec.json.encode(_File(bound=dict([*kept.items()][-MAX_KEPT:]))))
            except OSError as error:
                raise unusable(self.path, error) from error

    def _read(self) -> _File | None:
        """None for a file that this version does not understand."""
        try:
            stored = msgspec.json.decode(atomic.read_bounded(self.path, MAX_BYTES), type=_File)
        except FileNotFoundError:
            return _File()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, atomic.Unfit):
            return None
        except OSError as error:
            raise unusable(self.path, error) from error
        return stored if stored.v <= VERSION else None


def _decoded(raw: msgspec.Raw) -> tuple[Meaning, ...] | None:
    try:
        return msgspec.json.decode(raw, type=tuple[Meaning, ...])
    except msgspec.DecodeError:
        return None
