"""The key that proves that an approval is ours."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from functools import partial

from toolguard_cli import stores as opened
from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Step, Subject
from toolguard_engine import answers
from toolguard_engine.stores import audit, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import StoreError, lock

RENEWED = "doctor.key-renewed"


def signed(subject: Subject) -> Check:
    place = key.path(subject.places.state_dir)
    if problem := _problem(subject):
        mend = f"{subject.command('doctor', '--fix')} (what waits must be asked for again)"
        return Check("key", "error", answers.plain(problem), mend)
    return Check("key", "ok", f"{place}" if place.exists() else "none yet; it is made when the first call is held")


def _problem(subject: Subject) -> str:
    """What is wrong with it, or with its absence."""
    place = key.path(subject.places.state_dir)
    try:
        if place.exists():
            key.load(subject.places.state_dir)
        else:
            stores.book(subject).look()
            if (own_folder(subject.places.state_dir) / audit.HEAD).exists():
                return f"{place} is missing, though it has signed the end of the audit log"
    except key.BadKey as error:
        return str(error)
    except StoreError:
        return ""  # `stores` tells
    return ""


def mend(subject: Subject) -> Iterator[Step]:
    """Only where it proves nothing any more: what it signed counts no more in any case."""
    if _problem(subject):
        place = key.path(subject.places.state_dir)
        yield Step(f"make a new key at {place}; grants must be accepted anew", partial(_renewed, subject))


def _renewed(subject: Subject) -> str:
    book = stores.book(subject).path
    with lock(book):
        key.path(subject.places.state_dir).unlink(missing_ok=True)
        if stores.is_ours(subject, book) and book.exists():
            stores.put_away(subject, book)
    log = audit.AuditLog(subject.places.state_dir)
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
