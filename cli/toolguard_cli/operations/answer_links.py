"""One-time answer links: an address that shows one held call and takes one answer, for notifications.

A link is its call's nonce, its end, a digest of everything that is shown of the call, and a signature with the key of the
state folder. It stands in the fragment of the address, which browsers send to no server and proxies do not log.

Nothing else is stored: the ledger lets a call be decided once, whoever does it, and never opens it again. So the first
answer uses up all links to a call, of two at once one wins, and that survives a restart.
"""

from __future__ import annotations

import base64
import binascii
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import answer_for_session, approve_call, deny_call
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import HeldCall, RefusedError
from toolguard_engine.config import public_hosts
from toolguard_engine.config.settings import ApprovalConfig, Config, parse
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import signing_key
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import HeldCallStore

Answer = Literal["approve", "session", "deny"]
PLACE = "link"
PATH = "/answer"
PURPOSE = b"toolguard answer link "
NONCE, END, DIGEST, MAC = 4, 4, 16, 32
"""Bytes of the parts of a link."""

LENGTH = 4 * -(-(NONCE + END + DIGEST + MAC) // 3) - 1
"""Characters of a link."""

UNBOUND = frozenset(
    {"run", "expires", "status", "decided", "by", "where", "why", "latest", "woken", "asleep", "mac", "signatures"}
)
"""What may change while a call waits. A link is bound to all other fields: what the call is, and what is shown of it."""

_NEEDED = ("approval", "metrics")
_OTHER_WAYS = "decide on the dashboard or with toolguard pending"


class LinkRefusedError(UserError):
    """A link that shows and decides nothing. `cause` is stable."""

    def __init__(self, cause: str, message: str, fix: str = _OTHER_WAYS) -> None:
        super().__init__(message, fix)
        self.cause = cause


@dataclass(frozen=True)
class AnswerLink:
    """One link, signed or not. `expires`: seconds since 1970."""

    nonce: str
    expires: int
    digest: bytes
    mac: bytes = b""

    @property
    def _signed(self) -> bytes:
        return bytes.fromhex(self.nonce) + self.expires.to_bytes(END) + self.digest

    def signature(self, key: bytes) -> str:
        return signing_key.sign(key, PURPOSE + self._signed)

    def is_signed(self, key: bytes) -> bool:
        return signing_key.fits(key, PURPOSE + self._signed, self.mac.hex())

    def text(self, key: bytes) -> str:
        data = self._signed + bytes.fromhex(self.signature(key))
        return base64.urlsafe_b64encode(data).decode().rstrip("=")


def read(text: str) -> AnswerLink:
    """Raises `LinkRefusedError`. Does not check the signature."""
    try:
        data = base64.b64decode(f"{text}=", altchars=b"-_", validate=True) if len(text) == LENGTH else b""
    except (binascii.Error, ValueError):
        data = b""
    if len(data) != NONCE + END + DIGEST + MAC or base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise altered()
    nonce, rest = data[:NONCE], data[NONCE:]
    return AnswerLink(nonce.hex(), int.from_bytes(rest[:END]), rest[END:-MAC], rest[-MAC:])


def altered() -> LinkRefusedError:
    return LinkRefusedError("altered", "this link is incomplete or was changed", "open it from the notification again")


def link_for(state: Path, nonce: str, *, config: Path | None = None, now: float | None = None) -> str | None:
    """The address of a new link for a call that waits. None if links are off or have nowhere to lead, and if the call does
    not wait or cannot be read: a notification is then sent without one.

    `config`: the gateway's config, if it is not the usual one of this state folder. Whoever knows the result can answer for
    the user. Make it when it is sent, only for a target that no agent reads; never store or log it.
    """
    now = time.time() if now is None else now
    with suppress(UserError, RefusedError, StoreError, OSError):
        places = paths.find(state, config)
        base, lasts = _base(settings(places)), settings(places).approval.answer_link_ms // 1000
        trusted, _ = gateway_stores.nonces(places).look()
        entry = next((held for held in trusted if held.nonce == nonce and held.status == "pending"), None)
        if base and entry and now < entry.expires:
            return f"{base}{PATH}#{made(entry, now + lasts, stores.signing_key(state).known())}"
    return None


def made(entry: HeldCall, until: float, key: bytes) -> str:
    """The text of a link that ends then, or with the call."""
    return AnswerLink(entry.nonce, int(min(until, entry.expires)), digest(entry)).text(key)


def settings(places: Places) -> Config:
    """The settings of links, even if others are invalid. Raises `UserError`."""
    value = gateway_stores.entry(places)
    known = value if isinstance(value, dict) else {}
    try:
        return parse({name: known[name] for name in _NEEDED if name in known})
    except msgspec.ValidationError as error:
        raise UserError(f"the settings of answer links are invalid: {error}", "toolguard config validate") from error


def digest(entry: HeldCall) -> bytes:
    """Computes a digest of everything that a link is bound to."""
    bound = {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in UNBOUND}
    return sha256(msgspec.json.encode(bound)).digest()[:DIGEST]


def opened(places: Places, ledger: HeldCallStore, link: AnswerLink, now: float) -> HeldCall:
    """The call of a link whose signature is valid, if it can be answered now. Raises `LinkRefusedError`."""
    if not settings(places).approval.answer_links:
        raise LinkRefusedError("off", "answer links are switched off")
    entry = next((held for held in ledger.look()[0] if held.nonce == link.nonce), None)
    if entry is None:
        raise LinkRefusedError("unknown", "the call that this link was made for is no longer known")
    if entry.status != "pending" or now >= entry.expires:
        raise _decided(entry, now)
    if now >= link.expires:
        raise LinkRefusedError("expired", f"this link has expired, but {entry.nonce} is still waiting")
    if digest(entry) != link.digest:
        raise LinkRefusedError("changed", f"{entry.nonce} is not the call that this link was made for")
    return entry


def answer(places: Places, ledger: HeldCallStore, link: AnswerLink, word: Answer, now: float) -> str:
    """Approves or denies the call of the link, once; the message for the user. `session`: also for the calls like it, for
    the rest of the session. Raises `LinkRefusedError`, `StoreError`; `UserError` where that cannot be answered."""
    entry = opened(places, ledger, link, now)
    config, decision = gateway_stores.settings(places), gateway_stores.decision("", PLACE)
    try:
        if word == "approve":
            return approve_call.approve(places, ledger, entry.nonce, decision, config)[1]
        if word == "session":
            return answer_for_session.answer(places, ledger, entry, decision, config)[2]
        return deny_call.deny(ledger, entry.nonce, decision, config, unanswered=True)[1]
    except RefusedError as refused:  # decided in between, or it cannot be shown in full
        if refused.entry is None or refused.cause == "unseen":
            explained = replies.explain(refused)
            raise LinkRefusedError(refused.cause, explained.text, explained.fix) from refused
        raise _decided(refused.entry, now) from refused


def _decided(entry: HeldCall, now: float) -> LinkRefusedError:
    late = entry.status == "pending"
    status = "expired" if late and now >= entry.expires else entry.status
    known = msgspec.structs.replace(entry, status=status, decided=entry.expires if late else entry.decided)
    explained = replies.explain(RefusedError(status, known))
    cause = "used" if entry.where == PLACE else "decided"
    text = f"this call has already been answered with a link: {explained.text}" if cause == "used" else explained.text
    return LinkRefusedError(cause, text, explained.fix)


def _base(known: Config) -> str:
    """Where links lead: the first public name that is encrypted, or on this machine. Empty if links are off."""
    approval: ApprovalConfig = known.approval
    hosts = known.metrics.dashboard.hosts if approval.answer_links else []
    return next((public_hosts.origin(host) for host in hosts if public_hosts.is_private(host)), "")
