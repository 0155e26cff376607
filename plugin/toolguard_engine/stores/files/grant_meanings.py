"""What each grant was given for (`approvals.granted_meaning`), by the signature of the grant.

That signature covers the meaning: a grant whose meaning is lost or changed does not count. Earlier versions do not count it
either, since its signature is not the one that they expect.
"""

from __future__ import annotations

from pathlib import Path

from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.stores import atomic
from toolguard_engine.stores.files.values_by_digest import ValuesByDigest
from toolguard_engine.stores.state_files import GRANT_MEANINGS as NAME


class GrantMeanings(ValuesByDigest[tuple[Meaning, ...]]):
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        path = atomic.own_folder(state_dir) / NAME
        super().__init__(path, "bound", tuple[Meaning, ...], "grant again what toolguard grants lists")
