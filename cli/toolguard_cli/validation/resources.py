"""What the settings need of this machine: files that can be written, the interpreter, and a free port."""

from __future__ import annotations

import errno
import ipaddress
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.configtree import Steps
from toolguard_cli.validation.finding import Finding, finding
from toolguard_cli.validation.subject import OWN, Subject
from toolguard_engine.stores import calllog

Names = tuple[str, ...]

FILES: tuple[tuple[Names, Names], ...] = (
    (("logPath",), ()),
    (("storePath",), ()),
    (("metrics", "dbPath"), ("metrics", "enabled")),
)
"""Settings that name a file to write, and the switch without which it is not used."""

DASHBOARD: Names = ("metrics", "dashboard")
GATEWAY_PORT = ("gateway", "port")
USUAL_PORT = 18789
PORT_VARIABLE = "OPENCLAW_GATEWAY_PORT"
MAX_PORT = 65_535


def can_be_written(subject: Subject) -> Iterator[Finding]:
    for steps, switch in FILES:
        named = _text(subject, steps)
        if named and (not switch or subject.setting(*switch) is True) and (said := _unwritable(subject, named)):
            yield finding(subject.tree, (*OWN, *steps), "error", said, "mend that place, or name another one")


def _text(subject: Subject, steps: Names) -> str:
    """A setting that is a text, with all its variables known; else empty: other checks tell why."""
    value = subject.setting(*steps)
    return value if isinstance(value, str) and not subject.is_open(steps) else ""


def _unwritable(subject: Subject, named: str) -> str:
    """Why nothing can be written there; empty where it can. Nothing is made."""
    if "\0" in named:
        return "it is no path"
    try:
        path = calllog.resolve(named, subject.places.state_dir)
        if path.is_dir():
            return f"{path} is a folder"
        if path.exists():
            return "" if os.access(path, os.W_OK) else f"{path} may not be written"
        around = next(folder for folder in path.parents if folder.exists())
        if not around.is_dir():
            return f"{path} cannot be made: {around} is no folder"
        return "" if os.access(around, os.W_OK | os.X_OK) else f"{path} cannot be made: {around} may not be written"
    except OSError as error:
        return f"it cannot be written: {error.strerror}"


def can_run(subject: Subject) -> Iterator[Finding]:
    """The interpreter, where a setting names one; the gateway starts it as it is written, without `~`."""
    named = _text(subject, ("python",))
    if named and (said := _no_program(named)):
        fix = f"name one that has toolguard, or {subject.mend('config', 'unset', 'python')}"
        yield finding(subject.tree, (*OWN, "python"), "error", said, fix)


def _no_program(named: str) -> str:
    if "\0" in named:
        return "it is no path"
    if "/" not in named:
        return "" if shutil.which(named) else f"{named} is not on PATH"
    path = Path(named)
    if not path.is_absolute():
        return f"{named} is no whole path"
    if not path.is_file():
        return f"{path} is not there"
    return "" if os.access(path, os.X_OK) else f"{path} may not be executed"


def is_free(subject: Subject) -> Iterator[Finding]:
    """The port of the dashboard, where it is switched on."""
    port, bind = subject.setting(*DASHBOARD, "port"), subject.setting(*DASHBOARD, "bind")
    if subject.setting(*DASHBOARD, "enabled") is not True or not isinstance(bind, str) or not _is_port(port):
        return
    steps: Steps = (*OWN, *DASHBOARD, "port")
    if port == _gateway_port(subject):
        yield finding(subject.tree, steps, "error", f"{port} is the gateway's own port", "choose another one")
    elif said := _taken(bind, port):
        yield finding(subject.tree, steps, "warn", said, "choose another one, unless it is toolguard's own dashboard")


def _is_port(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_PORT


def _gateway_port(subject: Subject) -> int:
    named = subject.env.get(PORT_VARIABLE, "")
    written = subject.tree.get(*GATEWAY_PORT)
    return int(named) if named.isdecimal() else written if isinstance(written, int) else USUAL_PORT


def _taken(bind: str, port: int) -> str:
    """Why nothing can listen there; empty where something can. Other names than localhost are not looked up."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if bind == "localhost" else bind)
    except ValueError:
        return ""
    family = socket.AF_INET6 if isinstance(address, ipaddress.IPv6Address) else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((str(address), port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return f"port {port} of {bind} is in use"
            return f"nothing can listen on port {port} of {bind}: {error.strerror}"
    return ""
