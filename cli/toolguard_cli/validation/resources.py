"""Resources that the settings need: writable files, the interpreter, and a free port."""

from __future__ import annotations

import errno
import ipaddress
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, finding
from toolguard_cli.system import tcp_ports
from toolguard_cli.validation.subject import OWN, ConfigSubject
from toolguard_engine.stores import call_log

Names = tuple[str, ...]

FILES: tuple[tuple[Names, Names], ...] = (
    (("logPath",), ()),
    (("storePath",), ()),
    (("metrics", "dbPath"), ("metrics", "enabled")),
)
"""Settings that name a file to write, and the switch that enables its use."""

DASHBOARD: Names = ("metrics", "dashboard")
GATEWAY_PORT = ("gateway", "port")


def can_be_written(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    for steps, switch in FILES:
        named = _text(subject, steps)
        if named and (not switch or subject.setting(*switch) is True) and (problem := _unwritable(subject, named)):
            yield finding(subject.tree, (*OWN, *steps), "error", problem, "make it writable, or choose another path")


def _text(subject: ConfigSubject, steps: Names) -> str:
    """A setting that is a string without unset variables; else empty, which other checks report."""
    value = subject.setting(*steps)
    return value if isinstance(value, str) and not subject.is_open(steps) else ""


def _unwritable(subject: ConfigSubject, named: str) -> str:
    """Why the file cannot be written; empty if it can. Creates nothing."""
    if "\0" in named:
        return "it is not a path"
    try:
        path = call_log.resolve(named, subject.places.state_dir)
        if path.is_dir():
            return f"{path} is a folder"
        if path.exists():
            return "" if os.access(path, os.W_OK) else f"{path} is not writable"
        around = next(folder for folder in path.parents if folder.exists())
        if not around.is_dir():
            return f"{path} cannot be created: {around} is not a folder"
        return "" if os.access(around, os.W_OK | os.X_OK) else f"{path} cannot be created: {around} is not writable"
    except OSError as error:
        return f"it cannot be written: {error.strerror}"


def can_run(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """The interpreter of the settings; the gateway does not expand `~`."""
    named = _text(subject, ("python",))
    if named and (problem := _no_program(named)):
        fix = f"name one that has toolguard, or {subject.command('config', 'unset', 'python')}"
        yield finding(subject.tree, (*OWN, "python"), "error", problem, fix)


def _no_program(named: str) -> str:
    if "\0" in named:
        return "it is not a path"
    if "/" not in named:
        return "" if shutil.which(named) else f"{named} is not on PATH"
    path = Path(named)
    if not path.is_absolute():
        return f"{named} is not an absolute path"
    if not path.is_file():
        return f"{path} does not exist"
    return "" if os.access(path, os.X_OK) else f"{path} is not executable"


def is_free(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """The port of the dashboard, if it is enabled."""
    port, bind = subject.setting(*DASHBOARD, "port"), subject.setting(*DASHBOARD, "bind")
    if subject.setting(*DASHBOARD, "enabled") is not True or not isinstance(bind, str) or not tcp_ports.is_port(port):
        return
    steps: Steps = (*OWN, *DASHBOARD, "port")
    if port == tcp_ports.of_gateway(subject.tree.get(*GATEWAY_PORT), subject.env):
        yield finding(subject.tree, steps, "error", f"{port} is the gateway's own port", "choose another one")
    elif problem := _taken(bind, port):
        yield finding(subject.tree, steps, "warn", problem, "choose another one, unless it is toolguard's own dashboard")


def _taken(bind: str, port: int) -> str:
    """Why the port cannot be used; empty if it can. Host names other than localhost are not resolved."""
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
            return f"port {port} of {bind} cannot be used: {error.strerror}"
    return ""
