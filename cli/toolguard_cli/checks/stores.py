"""The stores of held calls and counts: whole, ours, and nothing in them that should be gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from toolguard_cli import stores
from toolguard_cli.checks.check import Check, Step, Subject
from toolguard_engine import answers, settingrules
from toolguard_engine.ledger import OPEN, Entry
from toolguard_engine.stores import audit, counters, files, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import MAX_BYTES, Damaged, StoreError, corrupt_files, lock
from toolguard_engine.stores.nonces import FileNonces

KEPT = "damaged"
BEGIN = b'{"v":1,"entries":'
"""How the store of held calls begins, whatever became of the rest."""
STALE_SECONDS = 3_600
"""An engine closes what is over within seconds; where none runs it lies until one does."""


def whole(subject: Subject) -> Check:
    mend = subject.command("doctor", "--fix")
    damaged = _damaged(subject)
    ours = [path for path in damaged if is_ours(subject, path)]
    told = ", ".join(path.name for path in ours)
    if told and all(path.name.startswith(counters.NAME) for path in ours):
        counts = f"what was counted in each run is damaged, so failures are counted anew: {told}"
        return Check("stores", "error", counts, mend)
    if told:
        return Check("stores", "error", f"a store is damaged, nothing is approved: {told}", mend)
    place = book(subject).path
    if damaged or settingrules.is_taken(str(place)):
        elsewhere = f"{place}, which storePath names, is no store of held calls: nothing is approved"
        return Check("stores", "error", elsewhere, subject.command("config", "unset", "storePath"))
    try:
        trusted, others = book(subject).look()
    except key.BadKey:
        return Check("stores", "warn", "cannot be told without the key", "mend `key` first")
    except StoreError as error:
        return Check("stores", "error", answers.plain(str(error)), "check its owner, its mode and the disk")
    if others:
        return Check("stores", "error", f"{len(others)} held calls are not signed by toolguard; they do not count", mend)
    waiting = sum(entry.status == "pending" and subject.now < entry.expires for entry in trusted)
    return Check("stores", "ok", f"{waiting} waiting for a person", data={"waiting": waiting})


def mend_whole(subject: Subject) -> Iterator[Step]:
    """Puts what is left of damaged stores out of the way; nothing is thrown away."""
    for path in filter(partial(is_ours, subject), _damaged(subject)):
        yield Step(f"move {path} to {kept_in(subject)}", partial(_cleared, subject, path))
    if not _damaged(subject) and _forged(subject):
        yield Step("take out held calls that toolguard has not signed; the audit log names them", partial(_checked, subject))


def _cleared(subject: Subject, path: Path) -> str:
    with lock(book(subject).path):
        put_away(subject, path)
    return "what waited must be asked for again"


def _forged(subject: Subject) -> list[Entry]:
    try:
        return book(subject).look()[1]
    except StoreError:
        return []


def _checked(subject: Subject) -> str:
    book(subject).entries()
    return ""


def put_away(subject: Subject, path: Path) -> Path:
    """Moves a file where it hurts nobody and nothing is lost. Raises `OSError`."""
    folder = kept_in(subject)
    files.make_folder(folder)
    names = [path.name, *(f"{path.name}.{number}" for number in range(1, 1_000))]
    free = next(folder / name for name in names if not (folder / name).exists())
    shutil.move(path, free)
    return free


def put_odd_away(subject: Subject, path: Path) -> str:
    """For what stands where a file of ours belongs and is none; an earlier repair may have done it."""
    if os.path.lexists(path) and not path.is_file():
        put_away(subject, path)
    return ""


def is_logged(subject: Subject) -> bool:
    """Whether the key has signed anything in the audit log."""
    log = audit.AuditLog(subject.places.state_dir)
    return bool(log.files()) or (own_folder(subject.places.state_dir) / audit.HEAD).exists()


def is_ours(subject: Subject, path: Path) -> bool:
    """Whether it may be put away: a setting can name any file, so what lies elsewhere must look like a store of ours."""
    own = own_folder(subject.places.state_dir)
    if path.parent == own and (path.name == counters.NAME or not settingrules.is_taken(str(path))):
        return True
    try:
        return files.read_bounded(path, MAX_BYTES).startswith(BEGIN)
    except OSError:
        return False


def kept_in(subject: Subject) -> Path:
    return own_folder(subject.places.state_dir) / KEPT


def book(subject: Subject) -> FileNonces:
    return stores.nonces(subject.places, subject.settings)


def _damaged(subject: Subject) -> list[Path]:
    """What was put aside before, and what would be now."""
    counts = own_folder(subject.places.state_dir) / counters.NAME
    kept = [path for place in (book(subject).path, counts) for path in corrupt_files(place)]
    return kept or [path for path, look in _looks(subject, counts) if _is_damaged(look)]


def _looks(subject: Subject, counts: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    yield book(subject).path, book(subject).look
    yield counts, counters.Counters(subject.places.state_dir).look


def _is_damaged(look: Callable[[], object]) -> bool:
    try:
        look()
    except Damaged:
        return True
    except StoreError:
        return False
    return False


def fresh(subject: Subject) -> Check:
    """A yes or a question that was over long ago and still lies there as if it were open."""
    old = _stale(subject)
    if not old:
        return Check("stale", "ok", "no held call is open beyond its time")
    names = ", ".join(entry.nonce for entry in old[:5])
    more = f" and {len(old) - 5} more" if len(old) > 5 else ""  # noqa: PLR2004 - as many as are named
    return Check(
        "stale", "warn", f"{len(old)} held calls are over and still open, like {names}{more}",
        subject.command("doctor", "--fix"), {"nonces": [entry.nonce for entry in old]},
    )  # fmt: skip


def _stale(subject: Subject) -> list[Entry]:
    try:
        trusted, _ = book(subject).look()
    except StoreError:
        return []  # `stores` tells
    return [entry for entry in trusted if entry.status in OPEN and subject.now > entry.expires + STALE_SECONDS]


def mend_fresh(subject: Subject) -> Iterator[Step]:
    if old := _stale(subject):
        yield Step(f"close {len(old)} held calls whose time is over", partial(_swept, subject))


def _swept(subject: Subject) -> str:
    book(subject).sweep(subject.now)
    return ""
