"""The store of the agents' standings, and the kill switch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, shown
from toolguard_cli.doctor.checks import stores_check
from toolguard_cli.operations import set_kill_switch
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import Busy, Damaged, StoreError, corrupt_files
from toolguard_engine.stores.ports import StandingsStore
from toolguard_engine.stores.state_files import STANDINGS_BESIDE as BESIDE
from toolguard_engine.wording import printable


def thrown(subject: DoctorSubject) -> Check:
    """No call runs while it is on: a warning, because that is easily forgotten."""
    switch = stores.kill_switch(subject.places.state_dir)
    state = switch.thrown()
    if state is None:
        return Check("kill-switch", "ok", "off", data={"on": False})
    by_hand = f"inspect it, then run: rm -r {shown(switch.path)}"
    fix = by_hand if switch.path.is_dir() else subject.command("kill-switch", "off")
    return Check(
        "kill-switch", "warn", f"on: {set_kill_switch.describe(state)}; no tool call by any agent runs", fix, {"on": True}
    )


def whole(subject: DoctorSubject) -> Check:
    fix = subject.command("doctor", "--fix")
    try:
        with closing(_store(subject)) as store:
            known = store.look()
    except Busy:
        return Check("standings", "ok", "currently in use by another process")
    except Damaged as error:
        text = printable.plain(str(error).partition("; ")[0])
        modes = [subject.settings, *(subject.settings.for_agent(name) for name in subject.settings.agents)]
        if {mode.active_budget_mode for mode in modes} & {"enforce", "soft"}:
            text += "; a new engine does not know what was spent, so every call with a cost needs an approval"
        return Check("standings", "error", text, fix)
    except StoreError as error:
        odd = not stores_file(subject).is_file() and os.path.lexists(stores_file(subject))
        text, _, hand = printable.plain(str(error)).rpartition("; ")
        return Check("standings", "error", text or hand, fix if odd else hand if text else "check its owner and mode")
    used = sum(standing.spent > 0 for standing in known)
    return Check("standings", "ok", f"agents with a budget: {len(known)}; partly spent: {used}", data={"known": len(known)})


def fix_whole(subject: DoctorSubject) -> Iterator[Fix]:
    """Moves a damaged store away; nothing is deleted."""
    for path in _damaged(subject):
        yield Fix(f"move {path} to {stores_check.kept_in(subject)}", partial(_cleared, subject, path))


def stores_file(subject: DoctorSubject) -> Path:
    return _store(subject).path


def _store(subject: DoctorSubject) -> StandingsStore:
    return stores.standings(subject.places.state_dir)


def _damaged(subject: DoctorSubject) -> list[Path]:
    """Damaged files that were put aside before, or else would be now."""
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


def _cleared(subject: DoctorSubject, path: Path) -> str:
    if os.path.lexists(path):  # an engine may have put it aside under another name in the meantime
        stores_check.put_away(subject, path)
    return "every agent starts with a full budget"
