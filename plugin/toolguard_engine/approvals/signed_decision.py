"""What an approver signs, and whether a signed text is about this call. Pure; `stores.ssh_keygen` verifies signatures.

The text is canonical JSON (RFC 8785): `v, fleet, gateway, nonce, digest, verdict, need, until` of a decision on a held call,
`v, fleet, gateway, digest` of a grant. `digest` covers all that is shown of the call and its binding. On one machine `fleet`
is empty and `need` is 1. `until`: whole seconds since 1970, after which the approval lets nothing run.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal, TypeVar

import msgspec
import rfc8785

from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.signed_body import MAX_BODY

DECISION_NAMESPACE = "toolguard-decision"
GRANT_NAMESPACE = "toolguard-grant"
VERSION = 1

Verdict = Literal["approved", "denied"]
Cause = Literal["unsigned", "bad-signature", "other-call", "other-gateway", "changed", "over", "used", "too-few"]

_OF_CALL = ("tool", "agent", "session", "shown", "whole", "cwd")
"""Members of an entry that follow from the call alone. The ledger finds an entry by its binding, of whichever format."""

_SHOWN = ("binding", *_OF_CALL, "run", "code", "reason", "created", "details", "exact")
_SHOWN_SINCE = ("changes", "use")
"""Members of later versions, part of the text only where they are set: earlier versions sign all other entries."""

_OF_GRANT = ("tool", "pattern", "agent", "expires", "created", "by", "reason", "params", "cwd")


class Issuer(msgspec.Struct, frozen=True):
    """Which gateway a signature is for. `fleet` is empty on one machine."""

    gateway: str
    fleet: str = ""


class DecisionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    v: int
    fleet: str
    gateway: str
    nonce: str
    digest: str
    verdict: Verdict
    need: int
    until: int


class GrantBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    v: int
    fleet: str
    gateway: str
    digest: str


Body = TypeVar("Body", DecisionBody, GrantBody)


def digest(entry: HeldCall) -> str:
    """SHA-256, in hex, of all that is shown of a call that waits, and of what its approval is bound to."""
    later = [name for name in _SHOWN_SINCE if getattr(entry, name)]
    return _digest("held call", {name: msgspec.to_builtins(getattr(entry, name)) for name in (*_SHOWN, *later)})


def grant_digest(grant: Grant) -> str:
    """The same of a grant. Its id is a name and nothing else."""
    later = [*(["bound"] if grant.bound is not None else []), *(["uncontained"] if grant.uncontained else [])]
    return _digest("grant", {name: msgspec.to_builtins(getattr(grant, name)) for name in (*_OF_GRANT, *later)})


def decision_body(entry: HeldCall, issuer: Issuer, until: float, *, verdict: Verdict = "approved", need: int = 1) -> bytes:
    """The text to sign for a decision on this entry."""
    return _encoded(
        DecisionBody(VERSION, issuer.fleet, issuer.gateway, entry.nonce, digest(entry), verdict, need, int(until))
    )


def grant_body(grant: Grant, issuer: Issuer) -> bytes:
    """The text to sign for a grant."""
    return _encoded(GrantBody(VERSION, issuer.fleet, issuer.gateway, grant_digest(grant)))


def decision_refusal(body: str, entry: HeldCall, issuer: Issuer, now: float, *, need: int = 1) -> Cause | None:
    """Why this text does not approve this entry now; None where it does, if the signature is valid."""
    signed = _decoded(body, DecisionBody)
    if signed is None or signed.v != VERSION or signed.verdict != "approved" or signed.need != need:
        return "bad-signature"
    if (signed.fleet, signed.gateway) != (issuer.fleet, issuer.gateway):
        return "other-gateway"
    if signed.nonce != entry.nonce:
        return "other-call"
    if signed.digest != digest(entry):
        return "changed"
    return None if now < signed.until else "over"


def grant_refusal(body: str, grant: Grant, issuer: Issuer) -> Cause | None:
    """The same for a grant."""
    signed = _decoded(body, GrantBody)
    if signed is None or signed.v != VERSION:
        return "bad-signature"
    if (signed.fleet, signed.gateway) != (issuer.fleet, issuer.gateway):
        return "other-gateway"
    return None if signed.digest == grant_digest(grant) else "changed"


def is_of_call(entry: HeldCall, request: HeldCall) -> bool:
    """Whether `entry` shows the call that is asked about: `request` is what the engine would enter for that call."""
    return all(getattr(entry, name) == getattr(request, name) for name in _OF_CALL)


def _digest(kind: str, members: dict[str, Any]) -> str:
    return sha256(rfc8785.dumps({"kind": kind, "v": VERSION, "members": members})).hexdigest()


def _encoded(body: msgspec.Struct) -> bytes:
    return rfc8785.dumps(msgspec.to_builtins(body))


def _decoded(text: str, kind: type[Body]) -> Body | None:
    """None for what is not the one canonical form of such a text."""
    if len(text) > MAX_BODY:
        return None
    try:
        body = msgspec.json.decode(text, type=kind)
        return body if _encoded(body) == text.encode() else None
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
