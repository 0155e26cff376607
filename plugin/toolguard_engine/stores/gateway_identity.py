"""The id of a gateway: part of what its approvals are bound to, and of what approvers sign."""

from __future__ import annotations

from hashlib import sha256

_DOMAIN = b"toolguard gateway id "


def of_key(key: bytes) -> str:
    """The id of an installation that is in no fleet, derived from its signing key: a copy of its state has the same."""
    return f"gw-{sha256(_DOMAIN + key).hexdigest()[:16]}"
