"""Whether the dashboard responds at its address, and who can reach it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.dashboard import discovery, token
from toolguard_cli.dashboard.discovery import Running
from toolguard_cli.doctor.check_types import RESTART, Check, DoctorSubject, Fix, shown
from toolguard_cli.system import extras, tcp_ports
from toolguard_cli.system.tcp_ports import is_loopback
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import open as stores

ID = "dashboard"
PORT, BIND, ENABLED = "metrics.dashboard.port", "metrics.dashboard.bind", "metrics.dashboard.enabled"


def served(subject: DoctorSubject) -> Check:
    """Raises `UserError` if its token is not secret or cannot be used."""
    db, own = _db(subject), subject.settings.metrics.dashboard
    token.known(db)
    running = discovery.running(db)
    if not own.enabled:
        return Check(ID, "ok", f"it is off; one runs at {running.url} (process {running.pid})" if running else "it is off")
    if not extras.DASHBOARD.is_installed():
        fix = extras.install_command(extras.DASHBOARD)
        return Check(ID, "error", f"it is on, but {extras.DASHBOARD.lack}", fix, _data(subject, running))
    if running is None:
        return _silent(subject)
    if not is_loopback(own.bind):
        text = (
            f"running at {running.url}: anyone with the token who can reach {own.bind} can approve, and nothing is encrypted"
        )
        return Check(ID, "warn", text, subject.set_command(BIND, "127.0.0.1"), _data(subject, running))
    return Check(ID, "ok", f"running at {running.url} (process {running.pid})", data=_data(subject, running))


def _silent(subject: DoctorSubject) -> Check:
    own = subject.settings.metrics.dashboard
    where, data = f"{own.bind}:{own.port}", _data(subject)
    problem = tcp_ports.bound(own.bind, own.port)
    if problem is None:
        if stores.engines(subject.places.state_dir).running():
            text = f"{where} is free: the gateway has not started the dashboard; see the gateway's log"
            return Check(ID, "warn", text, RESTART, data)
        return Check(ID, "ok", f"{where} is free; the dashboard starts with the gateway", data=data)
    if problem != errno.EADDRINUSE:
        reason = os.strerror(problem) if problem > 0 else "no such address"
        return Check(ID, "error", f"{where}: {reason}", subject.set_command(BIND, "127.0.0.1"), data)
    free = tcp_ports.free(own.bind, own.port)
    fix = subject.set_command(PORT, str(free)) if free else "end that program"
    return Check(ID, "error", f"{where} is taken by {discovery.taker(own.port)}", fix, data)


def _data(subject: DoctorSubject, running: Running | None = None) -> dict[str, object]:
    own = subject.settings.metrics.dashboard
    return {"bind": own.bind, "port": own.port} | ({"url": running.url, "pid": running.pid} if running else {})


def _db(subject: DoctorSubject) -> Path:
    return metrics_path.resolve(subject.settings.metrics.db_path)


def fix(subject: DoctorSubject) -> Iterator[Fix]:
    """Replaces a token that others could read: changing its mode would not make it secret again."""
    path = metrics_path.token_path(_db(subject))
    info = path.lstat()
    if info.st_mode & token.OTHERS and os.geteuid() in (0, info.st_uid):
        yield Fix(f"replace the token {shown(path)}, which others could read", partial(_renewed, _db(subject)))


def _renewed(db: Path) -> str:
    """A running dashboard picks up the new token by itself."""
    metrics_path.token_path(db).unlink()
    token.obtain(db)
    return "toolguard dashboard prints the address with the new token"
