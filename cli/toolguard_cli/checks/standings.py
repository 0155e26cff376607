"""How the agents stand: can it be read, and has a person stopped them all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Step, Subject, shown
from toolguard_cli.commands import killswitch
from toolguard_engine import answers
from toolguard_engine.stores.killswitch import KillSwitch
from toolguard_engine.stores.locked import Busy, Damaged, StoreError, corrupt_files
from toolguard_engine.stores.standings import BESIDE, FileStandings


def thrown(subject: Subject) -> Check:
    """Nothing runs while it is on: no fault, but nobody should wonder for long."""
    switch = KillSwitch(subject.places.state_dir)
    found = switch.thrown()
    if found is None:
        return Check("kill-switch", "ok", "off", data={"on": False})
    by_hand = f"look at it, then: rm -r {shown(switch.path)}"
    fix = by_hand if switch.path.is_dir() else subject.command("kill-switch", "off")
    return Check("kill-switch", "warn", f"on: {killswitch.words(found)}; no tool call of any agent runs", fix, {"on": True})


def whole(subject: Subject) -> Check:
    mend = subject.command("doctor", "--fix")
    try:
        with closing(_store(subject)) as store:
            known = store.look()
    except Busy:
        return Check("standings", "ok", "in use by another process just now")
    except Damaged as error:
        told = answers.plain(str(error).partition("; ")[0])
        modes = [subject.settings, *(subject.settings.for_agent(name) for name in subject.settings.agents)]
        if {mode.active_budget_mode for mode in modes} & {"enforce", "soft"}:
            told += "; a new engine does not know what was spent, so it asks for every call that costs"
        return Check("standings", "error", told, mend)
    except StoreError as error:
        odd = not stores_file(subject).is_file() and os.path.lexists(stores_file(subject))
        said, _, hand = answers.plain(str(error)).rpartition("; ")
        return Check("standings", "error", said or hand, mend if odd else hand if said else "check its owner and mode")
    used = sum(each.spent > 0 for each in known)
    return Check("standings", "ok", f"{len(known)} known, {used} with a budget that was used", data={"known": len(known)})


def mend_whole(subject: Subject) -> Iterator[Step]:
    """Puts what is left of a damaged store out of the way; nothing is thrown away."""
    for path in _damaged(subject):
        yield Step(f"move {path} to {stores.kept_in(subject)}", partial(_cleared, subject, path))


def stores_file(subject: Subject) -> Path:
    return _store(subject).path


def _store(subject: Subject) -> FileStandings:
    return FileStandings(subject.places.state_dir)


def _damaged(subject: Subject) -> list[Path]:
    """What was put aside before, or what would be now."""
    path = stores_file(subject)
    if kept := corrupt_files(path):
        return kept
    try:
        with closing(_store(subject)) as store:
            store.look()
    except Damaged:
        return [path.with_name(path.name + end) for end in ("", *BESIDE) if path.with_name(path.name + end).exists()]
    except StoreError:
        return [path] if os.path.lexists(path) and not path.is_file() else []
    return []


def _cleared(subject: Subject, path: Path) -> str:
    if os.path.lexists(path):  # an engine may have put it aside under another name meanwhile
        stores.put_away(subject, path)
    return "every agent begins with a full budget"
