"""Whether the system time is plausible: approvals expire by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.doctor.checks import stores_check
from toolguard_engine.stores import atomic
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import AuditLogStore
from toolguard_engine.wording import printable

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
"""Outside this range, the system clock was never set."""
TOLERANCE = 60
TAIL = 64 * 1024
FIX = "timedatectl set-ntp true, or set the clock by hand; timedatectl status shows it"


def plausible(subject: DoctorSubject) -> Check:
    if not EARLIEST < subject.now < LATEST:
        return Check("clock", "error", f"it shows {printable.moment(subject.now)}: approvals expire too early or never", FIX)
    what, newest = max(_written(subject), key=lambda dated: dated[1], default=("", 0.0))
    shown = printable.moment(subject.now)
    if newest > subject.now + TOLERANCE:
        return Check(
            "clock", "warn", f"it shows {shown}, but {what} is from {printable.moment(newest)}: the clock was set back",
            f"{FIX}; if it is correct now, this warning disappears on its own",
        )  # fmt: skip
    return Check("clock", "ok", shown)


def _written(subject: DoctorSubject) -> Iterator[tuple[str, float]]:
    """What toolguard recorded, with the system time of that moment."""
    try:
        for entry in stores_check.ledger(subject).look()[0]:
            yield f"the held call {entry.nonce}", max(entry.created, entry.decided)
    except StoreError:
        pass  # `stores` reports it
    for info in stores.engines(subject.places.state_dir).running():
        yield f"the start of engine {info.pid}", info.started
    if moment := _newest_line(stores.audit_log(subject.places.state_dir)):
        yield "the newest line of the audit log", moment


def _newest_line(log: AuditLogStore) -> float:
    """Seconds since 1970 of the last readable line; 0 if there is none."""
    try:
        with atomic.opened(log.path) as file:
            file.seek(max(0, file.seek(0, 2) - TAIL))
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
