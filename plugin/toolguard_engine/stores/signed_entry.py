"""A held call as it is stored: JSON, signed with the key of its gateway. The signature covers all members, also those that
this version does not know."""

from __future__ import annotations

from typing import Any

import msgspec

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores import signing_key


def signed(own: bytes, entry: HeldCall, stored: msgspec.Raw | None = None) -> msgspec.Raw:
    """The entry with the members of the stored one that this version does not know, and its signature."""
    known = msgspec.to_builtins(entry)
    more = {name: value for name, value in _members(stored).items() if name not in known} if stored else {}
    members = {**known, **more}
    return msgspec.Raw(msgspec.json.encode({**members, "mac": signing_key.sign(own, _proof(members))}))


def is_trusted(own: bytes, stored: msgspec.Raw) -> bool:
    members = _members(stored)
    try:
        return signing_key.fits(own, _proof(members), members.get("mac", ""))
    except (OverflowError, UnicodeEncodeError):  # a number or a text that we never write
        return False


def _proof(members: dict[str, Any]) -> bytes:
    """The signed bytes: the members in their order, without the signature."""
    return msgspec.json.encode({**members, "mac": ""})


def _members(stored: msgspec.Raw) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.json.decode(stored)
    return members
