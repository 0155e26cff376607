"""Whether gateways can record metrics, and when they last did."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from toolguard_cli.doctor.check_types import RESTART, Check, DoctorSubject, account, owner_name, shown
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics import database
from toolguard_engine.metrics.database import MetricsError, Missing
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

ID = "metrics"
DB = "metrics.dbPath"


def recorded(subject: DoctorSubject) -> Check:
    path = metrics_path.resolve(subject.settings.metrics.db_path)
    if not subject.settings.is_measured:
        return Check(ID, "ok", "metrics are off")
    data = {"path": str(path)}
    try:
        ours = database.examine(path)
    except Missing:
        return _missing(subject, path)
    except MetricsError as error:
        return Check(
            ID, "error", printable.plain(str(error)), f"fix it, or {subject.command('config', 'set', DB)} PATH", data
        )
    if problem := _closed(subject, path):
        return Check(ID, "error", *problem, data)
    if not ours:
        return Check(ID, "ok", f"{path} contains no data from toolguard yet", data=data)
    written, size = _state(path)
    return Check(
        ID, "ok", f"{path}, last written {printable.moment(written)}", data={**data, "written": written, "bytes": size}
    )


def _missing(subject: DoctorSubject, path: Path) -> Check:
    data = {"path": str(path)}
    if stores.engines(subject.places.state_dir).running():
        text = f"{path} is missing although a gateway is running; see the gateway's log"
        return Check(ID, "warn", text, RESTART, data)
    return Check(ID, "ok", f"{path} is created when a gateway first records something", data=data)


def _closed(subject: DoctorSubject, path: Path) -> tuple[str, str] | None:
    info = path.stat()
    if subject.user not in (info.st_uid, 0) and not info.st_mode & stat.S_IWOTH:
        who, fix = account(subject.user), f"sudo chown {owner_name(subject.user)} {shown(path)}*"
        return f"{path} belongs to {account(info.st_uid)}, but the gateway runs as {who}", fix
    if not subject.is_anothers and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return f"{path} or its folder is not writable", f"chmod u+w {shown(path)} {shown(path.parent)}"
    return None


def _state(path: Path) -> tuple[float, int]:
    """The time of its last change (seconds since 1970), and its size in bytes with its journal."""
    status = []
    for end in ("", "-wal"):
        with suppress(OSError):
            status.append(path.with_name(path.name + end).stat())
    return max(info.st_mtime for info in status), sum(info.st_size for info in status)
