"""Who this gateway is in its fleet: an id and a token, made when it joined, in a file that only its user may read."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec

from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError, unusable
from toolguard_engine.stores.state_files import FLEET_IDENTITY as NAME

MAX_BYTES = 4_096
TOKEN_BYTES = 32
JOIN = "run `toolguard fleet join` on this machine"


class NotJoinedError(StoreError):
    """The gateway has no usable identity."""

    code = "approval.away"


class FleetIdentity(msgspec.Struct, frozen=True):
    """`token` is secret: the database has only its digest."""

    id: str
    token: bytes
    team: str = ""


def path(state_dir: Path) -> Path:
    return atomic.own_folder(state_dir) / NAME


def load(state_dir: Path) -> FleetIdentity:
    """Raises `NotJoinedError`, `StoreError`."""
    place = path(state_dir)
    try:
        status = place.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
            raise NotJoinedError(f"{place} can be read by others, so it proves nothing; {JOIN} again")
        identity = msgspec.json.decode(atomic.read_bounded(place, MAX_BYTES), type=FleetIdentity)
    except FileNotFoundError:
        raise NotJoinedError(f"this gateway has not joined the fleet; {JOIN}") from None
    except OSError as error:
        raise unusable(place, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJoinedError(f"{place} is damaged; {JOIN} again") from error
    if len(identity.token) != TOKEN_BYTES or not identity.id.startswith("gw-"):
        raise NotJoinedError(f"{place} is damaged; {JOIN} again")
    return identity
