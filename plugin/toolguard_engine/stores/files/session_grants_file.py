"""Grants for the rest of a session: `<state dir>/toolguard/session-grants.json`.

They are no part of `policy.toml`: nobody writes one by hand, and each is gone after some hours. Invariant: a grant counts
only with a `mac` under our key over all its fields. What is over, or does not count, is dropped with the next change; a file
that cannot be read has no grants, so its calls are asked about again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from toolguard_engine.approvals import session_grant_record
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.stores import atomic, signing_key
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.locked import clear_leftovers, lock, unusable
from toolguard_engine.stores.state_files import SESSION_GRANTS as NAME
from toolguard_engine.stores.toml_file import Stamp, stamp_of

VERSION = 1
MAX_KEPT = 200
MAX_BYTES = 4 * 1024 * 1024
PURPOSE = b"session grant "


class _Stored(msgspec.Struct):
    v: int = VERSION
    grants: list[msgspec.Raw] = msgspec.field(default_factory=list)


class SessionGrantFile:
    """Those of one state directory. The file is read again when it or the key has changed."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._key_path = signing_key_file.path(state_dir)
        self._stamps: tuple[Stamp | None, ...] | None = None
        self._known: tuple[SessionGrant, ...] = ()

    def active(self, now: float) -> list[SessionGrant]:
        """Those that are signed and not over, the oldest first. Raises `StoreError`."""
        stamp = stamp_of(self.path)
        if stamp is None:
            return []
        stamps = (stamp, stamp_of(self._key_path))
        if stamps != self._stamps:
            self._known, self._stamps = tuple(self._read()), stamps
        return [grant for grant in self._known if not session_grant_record.is_over(grant, now)]

    def add(self, grant: SessionGrant, now: float, log: Callable[[SessionGrant], None]) -> SessionGrant:
        """Signs and stores a grant; returns it with its id. Calls `log` before the change is stored. Of more than `MAX_KEPT`
        the oldest end. Raises `StoreError`."""
        own = signing_key_file.load(self._state_dir)
        with lock(self.path):
            kept = [session_grant for session_grant in self._read() if not session_grant_record.is_over(session_grant, now)]
            taken = {session_grant.id for session_grant in kept}
            name = next(name for name in iter(_random_id, "") if name not in taken)
            signed = msgspec.structs.replace(grant, id=name, mac="")
            signed = msgspec.structs.replace(signed, mac=signing_key.sign(own, _proof(signed)))
            log(signed)
            self._write([*kept, signed][-MAX_KEPT:])
        return signed

    def revoke(self, grant_id: str, log: Callable[[SessionGrant], None] = lambda _: None) -> SessionGrant | None:
        """Removes a grant; None if there is none of this id. Raises `StoreError`. `log`: as for `add`."""
        grants = self._remove(lambda grant: grant.id == grant_id, log)
        return grants[0] if grants else None

    def end(self, session: str, log: Callable[[SessionGrant], None]) -> list[SessionGrant]:
        """The session is over: removes its grants. Raises as `revoke` does."""
        return self._remove(lambda grant: grant.session == session, log)

    def _remove(self, means: Callable[[SessionGrant], bool], log: Callable[[SessionGrant], None]) -> list[SessionGrant]:
        if stamp_of(self.path) is None:
            return []
        with lock(self.path):
            known = self._read()
            gone = [grant for grant in known if means(grant)]
            if gone:
                for grant in gone:
                    log(grant)
                self._write([grant for grant in known if not means(grant)])
        return gone

    def _read(self) -> list[SessionGrant]:
        """Those that are signed with our key."""
        try:
            stored = msgspec.json.decode(atomic.read_bounded(self.path, MAX_BYTES), type=_Stored)
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, atomic.Unfit):
            return []
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        if stored.v > VERSION or stamp_of(self._key_path) is None:
            return []
        own = signing_key_file.load(self._state_dir)
        grants = [grant for raw in stored.grants if (grant := _decoded(raw)) is not None]
        return [grant for grant in grants if signing_key.fits(own, _proof(grant), grant.mac)]

    def _write(self, grants: list[SessionGrant]) -> None:
        stored = _Stored(grants=[msgspec.Raw(msgspec.json.encode(grant)) for grant in grants])
        try:
            clear_leftovers(self.path)
            atomic.replace(self.path, msgspec.json.encode(stored))
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error


def _random_id() -> str:
    return f"s-{secrets.token_hex(2)}"


def _decoded(raw: msgspec.Raw) -> SessionGrant | None:
    try:
        return msgspec.json.decode(raw, type=SessionGrant)
    except (msgspec.DecodeError, RecursionError):
        return None


def _proof(grant: SessionGrant) -> bytes:
    """The signed bytes: every field but `mac`, sorted by name."""
    return PURPOSE + msgspec.json.encode(msgspec.structs.replace(grant, mac=""), order="sorted")
