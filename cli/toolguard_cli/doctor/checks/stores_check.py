"""The stores of held calls and counters: undamaged, signed, and without entries that should be closed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, unused
from toolguard_cli.hostconfig import gateway_stores
from toolguard_engine.approvals.ledger import OPEN, HeldCall
from toolguard_engine.config import conflicts
from toolguard_engine.stores import atomic, signing_key, state_files
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.atomic import own_folder
from toolguard_engine.stores.locked import MAX_BYTES, Damaged, Newer, StoreError, corrupt_files, lock
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.wording import printable

KEPT = "damaged"
BEGIN = b'{"v":1,"entries":'
"""The beginning of a store of held calls, even if the rest is damaged."""
STALE_SECONDS = 3_600
"""Engines close expired calls within seconds; without an engine, they stay open."""


def whole(subject: DoctorSubject) -> Check:
    fix = subject.command("doctor", "--fix")
    damaged = _damaged(subject)
    ours = [path for path in damaged if is_ours(subject, path)]
    names = ", ".join(path.name for path in ours)
    if names and all(path.name.startswith(state_files.COUNTERS) for path in ours):
        counts = f"the counters of the runs are damaged, so failures are counted from zero: {names}"
        return Check("stores", "error", counts, fix)
    if names:
        return Check("stores", "error", f"a store is damaged, so nothing can be approved: {names}", fix)
    place = ledger(subject).path
    is_file = not subject.settings.fleet.enabled
    if is_file and (damaged or conflicts.is_taken(str(place))):
        elsewhere = f"{place} (storePath) is not a store of held calls, so nothing can be approved"
        return Check("stores", "error", elsewhere, subject.command("config", "unset", "storePath"))
    try:
        trusted, others = ledger(subject).look()
    except signing_key.SigningKeyError:
        return Check("stores", "warn", "unknown without the key", "fix `key` first")
    except Newer as error:
        text, _, fix = printable.plain(str(error)).rpartition("; ")
        return Check("stores", "error", text, fix)
    except StoreError as error:
        if not is_file:
            return Check("stores", "warn", "unknown without the fleet's database", "fix `fleet-server` first")
        return Check("stores", "error", printable.plain(str(error)), "check its owner and mode, and the disk")
    if others:
        return Check("stores", "error", f"{len(others)} held calls are not signed by toolguard and are ignored", fix)
    waiting = sum(entry.status == "pending" and subject.now < entry.expires for entry in trusted)
    return Check("stores", "ok", f"{waiting} calls waiting for approval", data={"waiting": waiting})


def fix_whole(subject: DoctorSubject) -> Iterator[Fix]:
    """Moves damaged stores away; nothing is deleted."""
    for path in filter(partial(is_ours, subject), _damaged(subject)):
        yield Fix(f"move {path} to {kept_in(subject)}", partial(_cleared, subject, path))
    if not _damaged(subject) and _forged(subject):
        yield Fix("remove held calls that toolguard has not signed; the audit log lists them", partial(_checked, subject))


def _cleared(subject: DoctorSubject, path: Path) -> str:
    with lock(ledger(subject).path):
        put_away(subject, path)
    return "held calls must be requested again"


def _forged(subject: DoctorSubject) -> list[HeldCall]:
    try:
        return ledger(subject).look()[1]
    except StoreError:
        return []


def _checked(subject: DoctorSubject) -> str:
    ledger(subject).entries()
    return ""


def put_away(subject: DoctorSubject, path: Path) -> Path:
    """Moves a file into the folder for damaged ones and returns its new path. Raises `OSError`."""
    folder = kept_in(subject)
    atomic.make_folder(folder)
    free = unused(folder / path.name, ".")
    shutil.move(path, free)
    return free


def put_odd_away(subject: DoctorSubject, path: Path) -> str:
    """Moves away what is not a file where a file belongs; an earlier fix may already have done so."""
    if os.path.lexists(path) and not path.is_file():
        put_away(subject, path)
    return ""


def is_logged(subject: DoctorSubject) -> bool:
    """Whether the key has signed anything in the audit log."""
    log = stores.audit_log(subject.places.state_dir)
    return bool(log.files()) or (own_folder(subject.places.state_dir) / state_files.AUDIT_HEAD).exists()


def is_ours(subject: DoctorSubject, path: Path) -> bool:
    """Whether it may be moved: a setting can name any file, so one elsewhere must begin like a store of held calls."""
    own = own_folder(subject.places.state_dir)
    if path.parent == own and (path.name == state_files.COUNTERS or not conflicts.is_taken(str(path))):
        return True
    try:
        return atomic.read_bounded(path, MAX_BYTES).startswith(BEGIN)
    except OSError:
        return False


def kept_in(subject: DoctorSubject) -> Path:
    return own_folder(subject.places.state_dir) / KEPT


def ledger(subject: DoctorSubject) -> HeldCallStore:
    return gateway_stores.nonces(subject.places, subject.settings)


def _damaged(subject: DoctorSubject) -> list[Path]:
    """Damaged files that were put aside before, or else would be now."""
    calls, counts = ledger(subject), stores.counters(subject.places.state_dir)
    reads = {calls.path: calls.look, own_folder(subject.places.state_dir) / state_files.COUNTERS: counts.look}
    kept = [path for place in reads for path in corrupt_files(place)]
    return kept or [path for path, read in reads.items() if _is_damaged(read)]


def _is_damaged(read: Callable[[], object]) -> bool:
    try:
        read()
    except Damaged:
        return True
    except StoreError:
        return False
    return False


def fresh(subject: DoctorSubject) -> Check:
    """Held calls and approvals that expired long ago and are still open."""
    old = _stale(subject)
    if not old:
        return Check("stale", "ok", "no expired held call is still open")
    names = ", ".join(entry.nonce for entry in old[:5])
    more = f" and {len(old) - 5} more" if len(old) > 5 else ""  # noqa: PLR2004 - as many as are named
    return Check(
        "stale", "warn", f"held calls that expired but are still open: {names}{more}",
        subject.command("doctor", "--fix"), {"nonces": [entry.nonce for entry in old]},
    )  # fmt: skip


def _stale(subject: DoctorSubject) -> list[HeldCall]:
    try:
        trusted, _ = ledger(subject).look()
    except StoreError:
        return []  # `stores` reports it
    return [entry for entry in trusted if entry.status in OPEN and subject.now > entry.expires + STALE_SECONDS]


def fix_fresh(subject: DoctorSubject) -> Iterator[Fix]:
    if old := _stale(subject):
        yield Fix(f"close {len(old)} expired held calls", partial(_swept, subject))


def _swept(subject: DoctorSubject) -> str:
    ledger(subject).sweep(subject.now)
    return ""
