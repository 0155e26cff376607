"""The lines of the audit log and the result of `verify`, as values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from toolguard_engine.stores.state_files import AUDIT_HEAD
from toolguard_engine.wording import redact
from toolguard_engine.wording.visible_text import one_line, visible_cut

LOST = "head-lost"
"""An event: the head was lost, so lines before this one may be missing."""

REMOVED = "segment-removed"
"""An event: the oldest part of the log was removed, as there were enough newer ones."""

TORN = "the last line is cut off"
"""The error of `verify` after a process was killed while it wrote; the next line records and closes it."""

UNSIGNED = f"{AUDIT_HEAD} is not signed with our key"
"""The error of `verify` if the key was renewed, or somebody else wrote the head; the next line records it (`LOST`)."""

MAX_WHY = 300


class AuditEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line before it is chained. `id` is unique: the same event is never written twice."""

    id: str
    time: str
    event: str
    code: str = ""
    nonce: str = ""
    tool: str = ""
    agent: str = ""
    session: str = ""
    run: str = ""
    by: str = ""
    where: str = ""
    why: str = ""
    reason: str = ""
    shown: str = ""
    gateway: str = ""


class Verification(msgspec.Struct, frozen=True):
    """`line` is the first broken one of `file`, or 0.

    `gaps`: how often the head was lost, so that lines before may be missing.
    """

    lines: int
    error: str = ""
    file: str = ""
    line: int = 0
    recovered: int = 0
    gaps: int = 0


def when(now: float) -> str:
    """Seconds since 1970 as UTC text."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain(text: str, limit: int = MAX_WHY) -> str:
    """Text that a user typed: on one line, printable, redacted, bounded."""
    return visible_cut(one_line(redact.redact_text(text)), limit, len(text))


def moment(event: dict[str, Any]) -> float:
    """Seconds since 1970 of a line; 0 if it has no time."""
    try:
        return datetime.fromisoformat(str(event.get("time"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0
