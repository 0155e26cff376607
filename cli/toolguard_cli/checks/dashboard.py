"""Does the dashboard answer where it should, and who could reach it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli import ports
from toolguard_cli.checks.check import RESTART, Check, Step, Subject, shown
from toolguard_cli.commands.dashboard import is_loopback
from toolguard_cli.dashboard import asking, token
from toolguard_cli.dashboard.asking import Running
from toolguard_engine.metrics import place
from toolguard_engine.stores import engines

ID = "dashboard"
PORT, BIND, ENABLED = "metrics.dashboard.port", "metrics.dashboard.bind", "metrics.dashboard.enabled"


def served(subject: Subject) -> Check:
    """Raises `UserError` where its token is no secret, or cannot be used."""
    db, own = _db(subject), subject.settings.metrics.dashboard
    token.known(db)
    found = asking.running(db)
    if not own.enabled:
        return Check(ID, "ok", f"it is off; one runs at {found.url} (process {found.pid})" if found else "it is off")
    if found is None:
        return _silent(subject)
    if not is_loopback(own.bind):
        told = (
            f"it answers at {found.url}; whoever reaches {own.bind} and has the token may approve, and nothing is encrypted"
        )
        return Check(ID, "warn", told, subject.set_command(BIND, "127.0.0.1"), _data(subject, found))
    return Check(ID, "ok", f"it answers at {found.url} (process {found.pid})", data=_data(subject, found))


def _silent(subject: Subject) -> Check:
    """It is on, and does not answer."""
    own = subject.settings.metrics.dashboard
    where, data = f"{own.bind}:{own.port}", _data(subject)
    problem = ports.bound(own.bind, own.port)
    if problem is None:
        if engines.running(subject.places.state_dir):
            told = f"{where} is free: the gateway has not started it; the gateway's log says why"
            return Check(ID, "warn", told, RESTART, data)
        return Check(ID, "ok", f"{where} is free; it starts with the gateway", data=data)
    if problem != errno.EADDRINUSE:
        said = os.strerror(problem) if problem > 0 else "there is no such address"
        return Check(ID, "error", f"{where}: {said}", subject.set_command(BIND, "127.0.0.1"), data)
    free = ports.free(own.bind, own.port)
    mend = subject.set_command(PORT, str(free)) if free else "end that program"
    return Check(ID, "error", f"{where} is taken by {asking.taker(own.port)}", mend, data)


def _data(subject: Subject, found: Running | None = None) -> dict[str, object]:
    own = subject.settings.metrics.dashboard
    return {"bind": own.bind, "port": own.port} | ({"url": found.url, "pid": found.pid} if found else {})


def _db(subject: Subject) -> Path:
    return place.resolve(subject.settings.metrics.db_path)


def mend(subject: Subject) -> Iterator[Step]:
    """A token that others could read is a secret no more, whatever its mode is afterwards."""
    path = place.token_path(_db(subject))
    info = path.lstat()
    if info.st_mode & token.OTHERS and os.geteuid() in (0, info.st_uid):
        yield Step(f"take {shown(path)} away, which others could read", partial(_renewed, _db(subject)))


def _renewed(db: Path) -> str:
    """A dashboard that runs takes the new one in by itself."""
    place.token_path(db).unlink()
    token.of(db)
    return "toolguard dashboard tells the address with the new one"
