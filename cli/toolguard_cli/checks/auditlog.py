"""Is the audit log whole."""

from __future__ import annotations

from toolguard_cli.checks.check import Check, Subject, shown
from toolguard_cli.checks.keyfile import RENEWED
from toolguard_engine import answers
from toolguard_engine.stores import audit, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import StoreError


def logged(subject: Subject) -> Check:
    own, log = own_folder(subject.places.state_dir), audit.AuditLog(subject.places.state_dir)
    if log.files() and not key.path(subject.places.state_dir).exists():
        return Check("audit", "warn", "cannot be told without the key", "mend `key` first")
    try:
        found = log.verify()
        gaps = found.gaps - sum(event.get("code") == RENEWED for event in log.events()) if found.gaps else 0
    except key.BadKey:
        return Check("audit", "warn", "cannot be told without the key", "mend `key` first")
    except (StoreError, OSError) as error:
        return Check("audit", "error", answers.plain(str(error)), subject.command("doctor", "--fix"))
    if found.error:
        where = f"{found.file} line {found.line}: " if found.line else ""
        away = shown(own / "audit-broken")
        keep = f"look at it, then put it away to begin a new one: mkdir {away} && mv {shown(own)}/audit.* {away}"
        return Check("audit", "error", f"{where}{found.error}", keep)
    if gaps > 0:
        fix = subject.command("audit", "show", "--event", audit.LOST)
        return Check("audit", "warn", f"lines may be missing before an event `{audit.LOST}`", fix)
    return Check("audit", "ok", f"{found.lines} lines, whole", data={"lines": found.lines})
