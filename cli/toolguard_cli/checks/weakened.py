"""Whether the guard is weaker than what a person accepted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli import weakenings
from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Step, Subject
from toolguard_engine.stores import accepted, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import Damaged, corrupt_files, lock

ID = "weakened"


def accepted_all(subject: Subject) -> Check:
    if _damaged(subject):
        text = f"the record of the accepted settings is damaged: {accepted.NAME}"
        return Check(ID, "error", text, subject.command("doctor", "--fix"))
    try:
        seen = weakenings.Weaker(tuple(weakenings.found(subject.places)))
    except key.BadKey:
        return Check(ID, "warn", "not known without the key", "repair `key` first")
    if not seen.notices:
        return Check(ID, "ok", "nothing is weaker than what was accepted")
    text = "\n".join(weakenings.words(each) for each in seen.notices[: weakenings.MAX_SHOWN])
    more = len(seen.notices) - weakenings.MAX_SHOWN
    fix = f"{subject.command(*weakenings.COMMAND.split())} if you meant it; else put the setting back"
    return Check(ID, "warn", text + (f"\nand {more} more" if more > 0 else ""), fix, weakenings.data(seen))


def repair(subject: Subject) -> Iterator[Step]:
    """Puts what is left of a damaged record out of the way; the next start says that it is gone."""
    for path in _damaged(subject):
        yield Step(f"move {path} to {stores.kept_in(subject)}", partial(_put_away, subject, path))


def _damaged(subject: Subject) -> list[Path]:
    place = _place(subject)
    if kept := corrupt_files(place):
        return kept
    try:
        accepted.AcceptedSettings(subject.places.state_dir).pending()
    except Damaged:
        return [place]
    except key.BadKey:
        return [] if os.path.lexists(key.path(subject.places.state_dir)) else [place]
    return []


def _put_away(subject: Subject, path: Path) -> str:
    with lock(_place(subject)):
        if not os.path.lexists(path):
            return ""  # the repair of the key has done it
        stores.put_away(subject, path)
    return "what was accepted is not known any more; the next start of the gateway says so"


def _place(subject: Subject) -> Path:
    return own_folder(subject.places.state_dir) / accepted.NAME
