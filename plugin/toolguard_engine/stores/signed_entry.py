"""A held call as it is stored: JSON, signed with the key of its gateway. The signature covers all members, also those that
this version does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores import signing_key


@dataclass(slots=True)
class _Kept:
    """`own`: the key that `is_trusted` is about."""

    stored: msgspec.Raw
    entry: HeldCall
    own: bytes = b""
    is_trusted: bool = False


class KnownEntries:
    """What was found out about the entries that were read last, by their digests: whoever reads the same ledger again need
    not decode and verify what has not changed in it. Those that are kept are known as the objects that they are."""

    def __init__(self) -> None:
        self._entries: dict[bytes, HeldCall] = {}
        self._trusted: dict[bytes, bool] = {}
        self._own = b""
        self._last: tuple[Sequence[msgspec.Raw], list[HeldCall]] = (), []
        self._kept: dict[int, _Kept] = {}

    def keep(self, stored: Sequence[msgspec.Raw]) -> list[HeldCall]:
        """Decodes like `decoded`, for objects that will be asked about again. Raises `msgspec.ValidationError`."""
        for raw in stored:
            if id(raw) not in self._kept:
                self._kept[id(raw)] = _Kept(raw, _ENTRY.decode(raw))
        return [self._kept[id(stored_raw)].entry for stored_raw in stored]

    def decoded(self, stored: Sequence[msgspec.Raw]) -> list[HeldCall]:
        """Raises `msgspec.ValidationError`. `stored` may not be changed afterwards."""
        kept = [self._kept.get(id(raw)) for raw in stored]
        if stored and None not in kept:
            if len(self._kept) > 2 * len(stored) + 100:
                self._kept = {id(kept_entry.stored): kept_entry for kept_entry in kept if kept_entry}
            return [kept_entry.entry for kept_entry in kept if kept_entry]
        last, calls = self._last
        if stored is last:  # the second time is the last one: what is read may be large
            self._last = (), []
        else:
            before, digests = self._entries, [_digest(raw) for raw in stored]
            calls = [before.get(name) or _ENTRY.decode(raw) for name, raw in zip(digests, stored, strict=True)]
            self._entries, self._last = dict(zip(digests, calls, strict=True)), (stored, calls)
            self._trusted = {name: self._trusted[name] for name in digests if name in self._trusted}
        return list(calls)

    def is_trusted(self, own: bytes, stored: msgspec.Raw) -> bool:
        if kept := self._kept.get(id(stored)):
            if kept.own != own:
                kept.own, kept.is_trusted = own, is_trusted(own, stored)
            return kept.is_trusted
        if own != self._own:
            self._own, self._trusted = own, {}
        name = _digest(stored)
        if name not in self._trusted:
            self._trusted[name] = is_trusted(own, stored)
        return self._trusted[name]


_ENTRY = msgspec.json.Decoder(HeldCall)


def _digest(stored: msgspec.Raw) -> bytes:
    return sha256(stored).digest()


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
