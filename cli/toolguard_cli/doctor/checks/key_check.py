"""The key that signs held calls, approvals and grants."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.doctor import fixes
from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, shown
from toolguard_cli.doctor.checks import stores_check
from toolguard_cli.hostconfig import gateway_stores
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import signing_key, state_files
from toolguard_engine.stores.atomic import own_folder
from toolguard_engine.stores.locked import StoreError, lock
from toolguard_engine.wording import printable

RENEWED = "doctor.key-renewed"


def signed(subject: DoctorSubject) -> Check:
    place = stores.signing_key(subject.places.state_dir).path
    if problem := _problem(subject):
        return Check("key", "error", printable.plain(problem), _fix(subject))
    return Check("key", "ok", f"{place}" if place.exists() else "none yet; it is created when the first call is held")


def _fix(subject: DoctorSubject) -> str:
    place, fix = stores.signing_key(subject.places.state_dir).path, subject.command("doctor", "--fix")
    if _is_closed(place):
        return fix
    if _is_out_of_reach(subject):
        return f"check its owner and mode: ls -ld {shown(place.parent)} {shown(place)}"
    return f"{fix} (held calls must be requested again)"


def _problem(subject: DoctorSubject) -> str:
    """What is wrong with the key, or with its absence; empty if nothing is."""
    place = stores.signing_key(subject.places.state_dir).path
    if _is_closed(place):
        return f"{place} cannot be read by its owner"
    try:
        if os.path.lexists(place):
            stores.signing_key(subject.places.state_dir).known()
        else:
            stores_check.ledger(subject).look()
            if stores_check.is_logged(subject):
                return f"{place} is missing, although it signed the end of the audit log"
    except signing_key.SigningKeyError as error:
        return str(error)
    except StoreError:
        return ""  # `stores` reports it
    return ""


def _is_closed(place: Path) -> bool:
    """Whether not even its owner may read it; the key itself is still good."""
    try:
        info = place.lstat()
    except OSError:
        return False
    return stat.S_ISREG(info.st_mode) and not info.st_mode & 0o477


def _is_out_of_reach(subject: DoctorSubject) -> bool:
    """Whether this account or the disk keeps us from reading a key that may be good."""
    try:
        stores.signing_key(subject.places.state_dir).known()
    except signing_key.SigningKeyError as error:
        return isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError)
    return False


def fix(subject: DoctorSubject) -> Iterator[Fix]:
    """Creates a new key only if the old one is unusable, so that what it signed is void anyway."""
    place = stores.signing_key(subject.places.state_dir).path
    if _is_closed(place):
        yield from fixes.open_for_owner(place)
    elif _problem(subject) and not _is_out_of_reach(subject):
        yield Fix(f"create a new key at {place}; grants must be accepted again", partial(_renewed, subject))


def _renewed(subject: DoctorSubject) -> str:
    place, store = stores.signing_key(subject.places.state_dir).path, stores_check.ledger(subject).path
    log = stores.audit_log(subject.places.state_dir)
    with lock(store):
        if not _problem(subject):
            return "it was already fixed by another process"
        if stores_check.is_ours(subject, store) and store.exists():
            stores_check.put_away(subject, store)
        if (settings := own_folder(subject.places.state_dir) / state_files.ACCEPTED_SETTINGS).exists():
            stores_check.put_away(subject, settings)
        stores_check.put_odd_away(subject, place)
        place.unlink(missing_ok=True)
    stores.signing_key(subject.places.state_dir).load()
    for path in log.odd():
        stores_check.put_odd_away(subject, path)
    if log.files():
        reason = "a new key was created by `toolguard doctor --fix`"
        log.append([gateway_stores.event("security", code=RENEWED, reason=reason)])
    return "held calls must be requested again"
