"""Can gateways record what their agents did and cost, and when did one do so last."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from toolguard_cli import tables
from toolguard_cli.checks.check import RESTART, Check, Subject, account, shown
from toolguard_engine import answers
from toolguard_engine.metrics import database, place
from toolguard_engine.metrics.database import MetricsError, Missing
from toolguard_engine.stores import engines

ID = "metrics"
DB = "metrics.dbPath"


def recorded(subject: Subject) -> Check:
    path = place.resolve(subject.settings.metrics.db_path)
    if not subject.settings.metrics.enabled:
        return Check(ID, "ok", "they are off")
    data = {"path": str(path)}
    try:
        ours = database.examine(path)
    except Missing:
        return _missing(subject, path)
    except MetricsError as error:
        return Check(
            ID, "error", answers.plain(str(error)), f"mend it, or {subject.command('config', 'set', DB)} PATH", data
        )
    if problem := _closed(subject, path):
        return Check(ID, "error", *problem, data)
    if not ours:
        return Check(ID, "ok", f"{path} has none of ours yet", data=data)
    written, size = _state(path)
    return Check(ID, "ok", f"{path}, last written {tables.local(written)}", data={**data, "written": written, "bytes": size})


def _missing(subject: Subject, path: Path) -> Check:
    data = {"path": str(path)}
    if engines.running(subject.places.state_dir):
        told = f"{path} is missing though a gateway runs; the gateway's log says why"
        return Check(ID, "warn", told, RESTART, data)
    return Check(ID, "ok", f"{path} is made when a gateway records", data=data)


def _closed(subject: Subject, path: Path) -> tuple[str, str] | None:
    """Why the gateway cannot write it, and what to do."""
    info = path.stat()
    if subject.user not in (info.st_uid, 0) and not info.st_mode & stat.S_IWOTH:
        who = account(subject.user)
        return f"{path} belongs to {account(info.st_uid)}, and the gateway runs as {who}", f"sudo chown {who} {shown(path)}*"
    if not subject.is_anothers and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return f"{path} or its folder cannot be written", f"chmod u+w {shown(path)} {shown(path.parent)}"
    return None


def _state(path: Path) -> tuple[float, int]:
    """When it was written last (seconds since 1970), and its size with what lies beside it."""
    found = []
    for end in ("", "-wal"):
        with suppress(OSError):
            found.append(path.with_name(path.name + end).stat())
    return max(info.st_mtime for info in found), sum(info.st_size for info in found)
