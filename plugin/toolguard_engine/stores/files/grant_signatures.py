"""The signatures of grants, where the settings name signers, by the digest of the grant.

Each proves itself. A grant without a signature does not apply.
"""

from __future__ import annotations

from pathlib import Path

from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import atomic
from toolguard_engine.stores.files.values_by_digest import ValuesByDigest
from toolguard_engine.stores.state_files import GRANT_SIGNATURES as NAME


class GrantSignatures(ValuesByDigest[SignedBody]):
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        again = "sign the grants again (toolguard grants lists them)"
        super().__init__(atomic.own_folder(state_dir) / NAME, "signed", SignedBody, again)
