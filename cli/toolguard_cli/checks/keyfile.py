"""The key that proves that an approval is ours."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli import stores as opened
from toolguard_cli.checks import mending, stores
from toolguard_cli.checks.check import Check, Step, Subject, shown
from toolguard_engine import answers
from toolguard_engine.stores import accepted, audit, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import StoreError, lock

RENEWED = "doctor.key-renewed"


def signed(subject: Subject) -> Check:
    place = key.path(subject.places.state_dir)
    if problem := _problem(subject):
        return Check("key", "error", answers.plain(problem), _fix(subject))
    return Check("key", "ok", f"{place}" if place.exists() else "none yet; it is made when the first call is held")


def _fix(subject: Subject) -> str:
    place, mend = key.path(subject.places.state_dir), subject.command("doctor", "--fix")
    if _is_closed(place):
        return mend
    if _is_out_of_reach(subject):
        return f"mend its owner and mode: ls -ld {shown(place.parent)} {shown(place)}"
    return f"{mend} (what waits must be asked for again)"


def _problem(subject: Subject) -> str:
    """What is wrong with it, or with its absence."""
    place = key.path(subject.places.state_dir)
    if _is_closed(place):
        return f"{place} cannot be read by its owner"
    try:
        if os.path.lexists(place):
            key.known(subject.places.state_dir)
        else:
            stores.book(subject).look()
            if stores.is_logged(subject):
                return f"{place} is missing, though it has signed the end of the audit log"
    except key.BadKey as error:
        return str(error)
    except StoreError:
        return ""  # `stores` tells
    return ""


def _is_closed(place: Path) -> bool:
    """A key that is none the worse for it: nobody may read it, not even its owner."""
    try:
        info = place.lstat()
    except OSError:
        return False
    return stat.S_ISREG(info.st_mode) and not info.st_mode & 0o477


def _is_out_of_reach(subject: Subject) -> bool:
    """It may well be good; this account or this disk does not let us see it."""
    try:
        key.known(subject.places.state_dir)
    except key.BadKey as error:
        return isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError)
    return False


def mend(subject: Subject) -> Iterator[Step]:
    """A new one only where the old one proves nothing any more: what it signed counts no more in any case."""
    place = key.path(subject.places.state_dir)
    if _is_closed(place):
        yield from mending.open_for_owner(place)
    elif _problem(subject) and not _is_out_of_reach(subject):
        yield Step(f"make a new key at {place}; grants must be accepted anew", partial(_renewed, subject))


def _renewed(subject: Subject) -> str:
    place, book = key.path(subject.places.state_dir), stores.book(subject).path
    log = audit.AuditLog(subject.places.state_dir)
    with lock(book):
        if not _problem(subject):
            return "somebody mended it meanwhile"
        stores.put_odd_away(subject, place)
        place.unlink(missing_ok=True)
        if stores.is_ours(subject, book) and book.exists():
            stores.put_away(subject, book)
        if (settings := own_folder(subject.places.state_dir) / accepted.NAME).exists():
            stores.put_away(subject, settings)
    key.load(subject.places.state_dir)
    for path in log.odd():
        stores.put_odd_away(subject, path)
    if log.files():
        log.append([_told()])
    return "what waited must be asked for again"


def _told() -> audit.Event:
    return audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="security",
        code=RENEWED,
        by=opened.who(),
        where="cli",
        reason="a new key was made by `toolguard doctor --fix`",
    )
