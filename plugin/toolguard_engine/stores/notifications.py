"""Notifications as they are stored: what is to be sent to which target, and what became of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

State = Literal["waiting", "sent", "lost", "dropped"]
"""`dropped`: there was nothing left to report, for example because the call was answered first."""


TEST = "test"
"""The event of a message that a person sends to see whether a target works."""


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """One event for one target. Times are seconds since 1970.

    `id` is the same for the same event; `same`: events that need no second notification for a while share it. `due`: when it
    is to be sent; after `until` it is of no use. `text`: what a person reads, `data`: what a program reads. `batch`: the
    message that it was first sent in.
    """

    id: str
    target: str
    event: str
    title: str
    text: str
    data: dict[str, Any]
    created: float
    due: float
    until: float
    nonce: str = ""
    same: str = ""
    batch: str = ""
    attempts: int = 0
    error: str = ""
    repeats: int = 0
    state: State = "waiting"
    changed: float = 0.0


class TargetHealth(msgspec.Struct, frozen=True):
    """`last_sent` and `failing_since`: seconds since 1970, or 0. `error`: of the last attempt, if that failed."""

    target: str
    waiting: int = 0
    sent: int = 0
    lost: int = 0
    last_sent: float = 0.0
    failing_since: float = 0.0
    error: str = ""


class ReadUpTo(msgspec.Struct, frozen=True):
    """How far the audit log was read: the number of the last line, and which line the log began with."""

    seq: int = 0
    first: str = ""
