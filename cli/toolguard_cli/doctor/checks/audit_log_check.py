"""Whether the audit log is complete and unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, shown, unused
from toolguard_cli.doctor.checks import stores_check
from toolguard_cli.doctor.checks.key_check import RENEWED
from toolguard_cli.hostconfig import gateway_stores
from toolguard_engine.stores import audit_log, signing_key, state_files
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.atomic import own_folder
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import AuditLogStore
from toolguard_engine.wording import printable

SIGNED = "doctor.log-signed"


def logged(subject: DoctorSubject) -> Check:
    log, fix = _log(subject), subject.command("doctor", "--fix")
    if odd := log.odd():
        return Check("audit", "error", f"{odd[0]} is not a file: nothing can be logged", fix)
    if stores_check.is_logged(subject) and not stores.signing_key(subject.places.state_dir).path.exists():
        return Check("audit", "warn", "unknown without the key", "fix `key` first")
    try:
        verification = log.verify()
        gaps = _unexplained(log) if verification.gaps else 0
    except signing_key.SigningKeyError:
        return Check("audit", "warn", "unknown without the key", "fix `key` first")
    except (StoreError, OSError) as error:
        place = shown(own_folder(subject.places.state_dir))
        return Check("audit", "error", printable.plain(str(error)), f"check its owner and mode: ls -l {place}")
    where = f"{verification.file} line {verification.line}: " if verification.line else ""
    if verification.error == audit_log.TORN:
        text = f"{where}{verification.error}, as happens when an engine is killed; the next event repairs it"
        return Check("audit", "warn", text, fix)
    if verification.error == audit_log.UNSIGNED:
        return Check("audit", "error", f"{where}{verification.error}, so lines may be missing", fix)
    if verification.error:
        return Check("audit", "error", f"{where}{verification.error}", _away(subject))
    if gaps > 0:
        fix = subject.command("audit", "show", "--event", audit_log.LOST)
        return Check("audit", "warn", f"lines may be missing before a `{audit_log.LOST}` event", fix)
    return Check("audit", "ok", f"{verification.lines} lines, complete", data={"lines": verification.lines})


def _log(subject: DoctorSubject) -> AuditLogStore:
    return stores.audit_log(subject.places.state_dir)


def _unexplained(log: AuditLogStore) -> int:
    """The number of gaps that are not followed by the event of a renewed key, which causes one."""
    events = pairwise([*((event.get("event"), event.get("code")) for event in log.events()), ("", "")])
    return sum(event == audit_log.LOST and after != RENEWED for (event, _), (_, after) in events)


def _away(subject: DoctorSubject) -> str:
    """The command that moves the log, but not its locks, to an unused folder."""
    own = own_folder(subject.places.state_dir)
    away = shown(unused(own / "audit-broken", "."))
    head = f" {shown(own / state_files.AUDIT_HEAD)}" if (own / state_files.AUDIT_HEAD).exists() else ""
    return f"inspect it, then move it away to begin a new one: mkdir {away} && mv {shown(own)}/audit.*jsonl{head} {away}"


def fix(subject: DoctorSubject) -> Iterator[Fix]:
    log = _log(subject)
    for path in log.odd():
        yield Fix(f"move {path} to {stores_check.kept_in(subject)}", partial(stores_check.put_odd_away, subject, path))
    error = "" if log.odd() else log.verify().error
    if error == audit_log.TORN:
        yield Fix(f"terminate the truncated line of {log.path}", partial(_closed, log))
    if error == audit_log.UNSIGNED:
        yield Fix(f"sign the end of {log.path}, and note in it that lines may be missing", partial(_signed, log))


def _closed(log: AuditLogStore) -> str:
    log.close_torn_line()
    return ""


def _signed(log: AuditLogStore) -> str:
    reason = "the end of the log was signed again by `toolguard doctor --fix`"
    log.append([gateway_stores.event("security", code=SIGNED, reason=reason)])
    return ""
