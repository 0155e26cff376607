"""Whether the settings are weaker than those that were accepted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix
from toolguard_cli.doctor.checks import stores_check
from toolguard_cli.policy import accepted_view
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import signing_key, state_files
from toolguard_engine.stores.atomic import own_folder
from toolguard_engine.stores.locked import Damaged, corrupt_files, lock

ID = "weakened"


def accepted_all(subject: DoctorSubject) -> Check:
    if _damaged(subject):
        text = f"the record of the accepted settings is damaged: {state_files.ACCEPTED_SETTINGS}"
        return Check(ID, "error", text, subject.command("doctor", "--fix"))
    try:
        seen = accepted_view.Weaker(tuple(accepted_view.load(subject.places)))
    except signing_key.SigningKeyError:
        return Check(ID, "warn", "unknown without the key", "fix `key` first")
    if not seen.notices:
        return Check(ID, "ok", "nothing is weaker than what was accepted")
    text = "\n".join(accepted_view.describe(notice) for notice in seen.notices[: accepted_view.MAX_SHOWN])
    more = len(seen.notices) - accepted_view.MAX_SHOWN
    fix = f"{subject.command(*accepted_view.COMMAND.split())} if that was intended; otherwise restore the setting"
    return Check(ID, "warn", text + (f"\nand {more} more" if more > 0 else ""), fix, accepted_view.data(seen))


def fix(subject: DoctorSubject) -> Iterator[Fix]:
    """Moves a damaged record away; the next start of the gateway reports that it is missing."""
    for path in _damaged(subject):
        yield Fix(f"move {path} to {stores_check.kept_in(subject)}", partial(_put_away, subject, path))


def _damaged(subject: DoctorSubject) -> list[Path]:
    place = _place(subject)
    if kept := corrupt_files(place):
        return kept
    try:
        stores.accepted_settings(subject.places.state_dir).pending()
    except Damaged:
        return [place]
    except signing_key.SigningKeyError:
        return [] if os.path.lexists(stores.signing_key(subject.places.state_dir).path) else [place]
    return []


def _put_away(subject: DoctorSubject, path: Path) -> str:
    with lock(_place(subject)):
        if not os.path.lexists(path):
            return ""  # the fix of the key has moved it
        stores_check.put_away(subject, path)
    return "the accepted settings are no longer known; the next start of the gateway reports that"


def _place(subject: DoctorSubject) -> Path:
    return own_folder(subject.places.state_dir) / state_files.ACCEPTED_SETTINGS
