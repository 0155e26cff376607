"""Can the dashboard have its port."""

from __future__ import annotations

import errno
import os
import re

from toolguard_cli import ports
from toolguard_cli.checks.check import Check, Subject

ID = "dashboard"
PORT = "metrics.dashboard.port"
_OURS = re.compile(r"toolguard_(?:cli|engine)|/toolguard(?: |\Z)")


def port(subject: Subject) -> Check:
    own = subject.settings.metrics.dashboard
    if not (subject.settings.metrics.enabled and own.enabled):
        return Check(ID, "ok", "it is off")
    where, data = f"{own.bind}:{own.port}", {"bind": own.bind, "port": own.port}
    problem = ports.bound(own.bind, own.port)
    if problem is None:
        return Check(ID, "ok", f"{where} is free", data=data)
    if problem != errno.EADDRINUSE:
        said = os.strerror(problem) if problem > 0 else "there is no such address"
        return Check(ID, "error", f"{where}: {said}", subject.set_command("metrics.dashboard.bind", "127.0.0.1"), data)
    pid, command = next(ports.listeners(own.port), (0, ""))
    if _OURS.search(command):
        return Check(ID, "ok", f"it answers at {where} (process {pid})", data=data)
    free = ports.free(own.bind, own.port)
    mend = subject.set_command(PORT, str(free)) if free else "end that program"
    return Check(ID, "error", f"{where} is taken by {ports.owner(own.port)}", mend, data)
