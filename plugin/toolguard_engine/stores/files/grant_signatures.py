"""The signatures of grants, where the settings name signers: by the digest of the grant, beside `policy.toml`.

Each proves itself, so the file is not signed with toolguard's key, and what cannot be read counts as missing: a grant
without a signature does not apply. Older versions go on reading the policy.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError, lock, unusable
from toolguard_engine.stores.state_files import GRANT_SIGNATURES as NAME

VERSION = 1
MAX_KEPT = 2_000
MAX_BYTES = 32 * 1024 * 1024


class _File(msgspec.Struct):
    v: int = VERSION
    signed: dict[str, msgspec.Raw] = {}


class GrantSignatures:
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME

    def of(self, digest: str) -> SignedBody | None:
        """None also for one that cannot be understood."""
        stored = self._read()
        if stored is None or digest not in stored.signed:
            return None
        try:
            return msgspec.json.decode(stored.signed[digest], type=SignedBody)
        except msgspec.DecodeError:
            return None

    def keep(self, digest: str, signed: SignedBody) -> None:
        """Of more than `MAX_KEPT` the oldest are forgotten."""
        with lock(self.path):
            stored = self._read()
            if stored is None:
                raise StoreError(
                    f"{self.path} is damaged; remove it, then sign the grants again (toolguard grants lists them)"
                )
            kept = {name: each for name, each in stored.signed.items() if name != digest}
            kept[digest] = msgspec.Raw(msgspec.json.encode(signed))
            try:
                atomic.replace(self.path, msgspec.json.encode(_File(signed=dict([*kept.items()][-MAX_KEPT:]))))
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
