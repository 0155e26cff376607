"""What is known of the fleet on this machine, for the kill switch while there is no contact, `doctor` and `status`:
`<state dir>/toolguard/fleet-state.json`. The courier writes it; each version replaces the whole file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_engine.stores import atomic
from toolguard_engine.stores.fleet.pipe_messages import FleetStatus
from toolguard_engine.stores.state_files import FLEET_STATE as NAME

MAX_BYTES = 65_536


class FleetState(msgspec.Struct, frozen=True):
    """`queue`: what waits to be copied to the database, by kind; `shipping_errors`: why it is not copied, one line
    by kind."""

    v: int = 1
    status: FleetStatus = FleetStatus()
    queue: dict[str, int] = {}
    shipping_errors: dict[str, str] = {}


def path(state_dir: Path) -> Path:
    return atomic.own_folder(state_dir) / NAME


def load(state_dir: Path) -> FleetState:
    """What was written last; an unreadable file is one that was never written. Never raises."""
    try:
        return msgspec.json.decode(atomic.read_bounded(path(state_dir), MAX_BYTES), type=FleetState)
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return FleetState()


def save(state_dir: Path, state: FleetState, *, durable: bool = False) -> None:
    """Raises `OSError`."""
    atomic.make_folder(path(state_dir).parent)
    atomic.replace(path(state_dir), msgspec.json.encode(state), durable=durable)
