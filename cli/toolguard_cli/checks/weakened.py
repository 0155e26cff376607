"""Whether the guard is weaker than what a person accepted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli import weakenings
from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Step, Subject
from toolguard_engine.stores import accepted
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import Damaged, corrupt_files, lock

ID = "weakened"


def accepted_all(subject: Subject) -> Check:
    seen = weakenings.look(subject.places)
    if seen.problem:
        told = f"whether settings became weaker cannot be told: {seen.problem}"
        return Check(ID, "error", told, subject.command("doctor", "--fix"))
    if not seen.notices:
        return Check(ID, "ok", "nothing is weaker than what was accepted")
    told = "\n".join(weakenings.words(each) for each in seen.notices[: weakenings.MAX_SHOWN])
    more = len(seen.notices) - weakenings.MAX_SHOWN
    fix = f"{subject.command(*weakenings.COMMAND.split())} if you meant it; else put the setting back"
    return Check(ID, "warn", told + (f"\nand {more} more" if more > 0 else ""), fix, weakenings.data(seen))


def mend(subject: Subject) -> Iterator[Step]:
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
    return []


def _put_away(subject: Subject, path: Path) -> str:
    with lock(_place(subject)):
        stores.put_away(subject, path)
    return "what was accepted is not known any more; the next start of the gateway says so"


def _place(subject: Subject) -> Path:
    return own_folder(subject.places.state_dir) / accepted.NAME
