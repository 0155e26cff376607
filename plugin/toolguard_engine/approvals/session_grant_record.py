"""A grant for the rest of a session as it is stored. What it covers is `session_grant`'s, which is slow to import."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.model.held_details import HeldAlike

LASTS = 8 * 3600.0
SKEW = 5.0
"""Seconds that the clock may step back."""


class SessionGrant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`nonce`: the held call that was approved with it; `mac`: proves that a person gave it (see
    `stores.files.session_grants_file`)."""

    id: Annotated[str, Meta(max_length=40)]
    nonce: Annotated[str, Meta(max_length=64)]
    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    agent: Annotated[str, Meta(max_length=400)]
    session: Annotated[str, Meta(min_length=1, max_length=2_000)]
    alike: Annotated[tuple[HeldAlike, ...], Meta(min_length=1)]
    meaning: Meaning
    created: float = 0.0
    expires: float = 0.0
    by: Annotated[str, Meta(max_length=400)] = ""
    where: Annotated[str, Meta(max_length=40)] = ""
    reason: Annotated[str, Meta(max_length=400)] = ""
    mac: str = ""


def is_over(grant: SessionGrant, now: float) -> bool:
    """Also where the clock was set back: it cannot be said any more when it ends."""
    return not grant.created - SKEW <= now < grant.expires
