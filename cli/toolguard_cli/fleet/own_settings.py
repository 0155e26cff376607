"""The settings under `fleet` of the gateway on this machine."""

from __future__ import annotations

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config.fleet_settings import FleetConfig


def fleet_settings(places: Places) -> FleetConfig:
    """The defaults where there is no gateway, or it is in no fleet. Raises `UserError`."""
    entry = gateway_stores.entry(places)
    known = entry.get("fleet") if isinstance(entry, dict) else None
    try:
        return msgspec.convert(known or {}, FleetConfig)
    except msgspec.ValidationError as error:
        raise UserError(f"the setting fleet in {places.config}: {error}", "fix that setting, then try again") from error
