"""The signatures of grants, where the settings name signers: by the digest of the grant, beside `policy.toml`.

Each proves itself, so the file is not signed with toolguard's key; and older versions go on reading the policy.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import LockedFile, is_there
from toolguard_engine.stores.state_files import GRANT_SIGNATURES as NAME

MAX_KEPT = 2_000


class _File(msgspec.Struct):
    v: int = 1
    signed: dict[str, SignedBody] = {}


class GrantSignatures:
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._file = LockedFile(self.path, _File)

    def known(self) -> dict[str, SignedBody]:
        return self._file.read().signed if is_there(self.path) else {}

    def keep(self, digest: str, signed: SignedBody) -> None:
        """Of more than `MAX_KEPT` the oldest are forgotten."""
        with self._file.locked():
            stored = self._file.read()
            kept = {name: each for name, each in stored.signed.items() if name != digest}
            self._file.write(_File(signed=dict([*kept.items(), (digest, signed)][-MAX_KEPT:])))
