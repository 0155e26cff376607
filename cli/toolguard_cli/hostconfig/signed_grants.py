"""Which grants count where the settings name signers."""

from __future__ import annotations

from collections.abc import Iterable

from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.config.settings import Config
from toolguard_engine.stores import open as stores


def counting(places: Places, config: Config, grants: Iterable[Grant]) -> list[Grant]:
    """Those that an allowed signer has signed; all of them where no signers are named. Raises `StoreError`."""
    signers = stores.grant_signers(places.state_dir, config)
    return [grant for grant in grants if signers is None or signers.allows(grant)]
