"""Is the time of day plausible: approvals end by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Subject
from toolguard_engine.stores import audit, engines, files
from toolguard_engine.stores.locked import StoreError

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
"""Outside of these, the clock of the machine was never set."""
TOLERANCE = 60
MEND = "timedatectl set-ntp true, or set the clock by hand; timedatectl status shows it"


def plausible(subject: Subject) -> Check:
    if not EARLIEST < subject.now < LATEST:
        return Check("clock", "error", f"it shows {_shown(subject.now)}: approvals end too early or never", MEND)
    what, newest = max(_written(subject), key=lambda each: each[1], default=("", 0.0))
    if newest > subject.now + TOLERANCE:
        return Check(
            "clock", "warn", f"it shows {_shown(subject.now)}, and {what} is of {_shown(newest)}: the clock was set back",
            f"{MEND}; if it is right now, this ends by itself",
        )  # fmt: skip
    return Check("clock", "ok", _shown(subject.now))


def _shown(moment: float) -> str:
    try:
        return datetime.fromtimestamp(moment).astimezone().isoformat(sep=" ", timespec="seconds")
    except (OSError, OverflowError, ValueError):
        return f"{moment:.0f} s since 1970"


def _written(subject: Subject) -> Iterator[tuple[str, float]]:
    """What toolguard wrote down, and when by the clock of then."""
    try:
        for entry in stores.book(subject).look()[0]:
            yield f"the held call {entry.nonce}", max(entry.created, entry.decided)
    except StoreError:
        pass  # `stores` tells
    for info in engines.running(subject.places.state_dir):
        yield f"the start of engine {info.pid}", info.started
    if moment := _newest_line(audit.AuditLog(subject.places.state_dir)):
        yield "the newest line of the audit log", moment


def _newest_line(log: audit.AuditLog) -> float:
    """Seconds since 1970 of the last line that can be read; 0 where there is none."""
    try:
        with files.opened(log.path) as file:
            file.seek(max(0, file.seek(0, 2) - audit.TAIL))
            lines = file.read().splitlines()
    except OSError:
        return 0.0
    return next((moment for line in reversed(lines) if (moment := _time(line))), 0.0)


def _time(line: bytes) -> float:
    try:
        return datetime.fromisoformat(msgspec.json.decode(line, type=_Line).time).timestamp()
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError):
        return 0.0


class _Line(msgspec.Struct):
    time: str
