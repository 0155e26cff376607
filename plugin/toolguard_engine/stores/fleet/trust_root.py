"""The folder with the signers that this machine trusts. A gateway whose own user can change it proves nothing by it."""

from __future__ import annotations

import os
from pathlib import Path

ALLOWED = "allowed_signers"
REVOKED = "krl"


def problem(folder: Path) -> str:
    """Why the gateway's user could change who may approve; empty if it cannot. Never raises."""
    try:
        places = {*_above(folder), *_above(folder.resolve(strict=True))}
        for name in (ALLOWED, REVOKED):
            if name == ALLOWED or os.path.lexists(folder / name):
                places |= {*_above(folder / name), *_above((folder / name).resolve(strict=True))}
    except (OSError, RuntimeError, ValueError) as error:
        return f"{folder}/{ALLOWED} cannot be read: {getattr(error, 'strerror', None) or error}"
    found = next((place for place in sorted(places) if _can_change(place)), None)
    return (
        f"{found} can be changed by the gateway's own user; give it to root (fleet.trustWritable accepts this)"
        if found
        else ""
    )


def _above(place: Path) -> list[Path]:
    return [place, *place.parents]


def _can_change(place: Path) -> bool:
    """A sticky folder lets nobody replace what others have put there."""
    found = place.lstat()
    user = os.geteuid()
    if user in (0, found.st_uid):
        return True
    is_sticky = place.is_dir() and bool(found.st_mode & 0o1000)
    return (
        not is_sticky
        and not place.is_symlink()
        and os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    )
