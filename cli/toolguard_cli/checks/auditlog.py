"""Is the audit log whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Step, Subject, shown
from toolguard_cli.checks.keyfile import RENEWED
from toolguard_engine import answers
from toolguard_engine.stores import audit, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import StoreError


def logged(subject: Subject) -> Check:
    log, mend = _log(subject), subject.command("doctor", "--fix")
    if odd := log.odd():
        return Check("audit", "error", f"{odd[0]} is no file: nothing can be written down", mend)
    if stores.is_logged(subject) and not key.path(subject.places.state_dir).exists():
        return Check("audit", "warn", "cannot be told without the key", "mend `key` first")
    try:
        found = log.verify()
        gaps = _unexplained(log) if found.gaps else 0
    except key.BadKey:
        return Check("audit", "warn", "cannot be told without the key", "mend `key` first")
    except (StoreError, OSError) as error:
        place = shown(own_folder(subject.places.state_dir))
        return Check("audit", "error", answers.plain(str(error)), f"mend its owner and mode: ls -l {place}")
    where = f"{found.file} line {found.line}: " if found.line else ""
    if found.error == audit.TORN:
        told = f"{where}{found.error}, as a killed engine leaves it; the next line heals it"
        return Check("audit", "warn", told, mend)
    if found.error:
        return Check("audit", "error", f"{where}{found.error}", _away(subject))
    if gaps > 0:
        fix = subject.command("audit", "show", "--event", audit.LOST)
        return Check("audit", "warn", f"lines may be missing before an event `{audit.LOST}`", fix)
    return Check("audit", "ok", f"{found.lines} lines, whole", data={"lines": found.lines})


def _log(subject: Subject) -> audit.AuditLog:
    return audit.AuditLog(subject.places.state_dir)


def _unexplained(log: audit.AuditLog) -> int:
    """The gaps that no new key explains: it is told right after the one that it caused."""
    events = pairwise([*((event.get("event"), event.get("code")) for event in log.events()), ("", "")])
    return sum(event == audit.LOST and after != RENEWED for (event, _), (_, after) in events)


def _away(subject: Subject) -> str:
    """A lock stays where it is, and what was put away before as well."""
    own = own_folder(subject.places.state_dir)
    names = ["audit-broken", *(f"audit-broken.{number}" for number in range(1, 1_000))]
    away = shown(next(own / name for name in names if not (own / name).exists()))
    head = f" {shown(own / audit.HEAD)}" if (own / audit.HEAD).exists() else ""
    return f"look at it, then put it away to begin a new one: mkdir {away} && mv {shown(own)}/audit.*jsonl{head} {away}"


def mend(subject: Subject) -> Iterator[Step]:
    """Nothing that was written is thrown away."""
    log = _log(subject)
    for path in log.odd():
        yield Step(f"move {path} to {stores.kept_in(subject)}", partial(stores.put_odd_away, subject, path))
    if not log.odd() and log.verify().error == audit.TORN:
        yield Step(f"close the line of {log.path} that is cut off", partial(_closed, log))


def _closed(log: audit.AuditLog) -> str:
    log.mend()
    return ""
