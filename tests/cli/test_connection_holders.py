"""Whose a connection to the gateway is, on records of what systems report."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest
from test_person_origin import AGENTS, GATEWAY, ME, SHELL, SSHD_USER, Record, me, proc, record

from tables import each_row
from toolguard_cli.person.peers import Connection, Peer, Sockets, judged

PORT, THEIRS = 18789, 50_000
MINE = Connection("127.0.0.1", THEIRS, PORT)


def end(port: int, other: int, status: str = psutil.CONN_ESTABLISHED) -> SimpleNamespace:
    there = SimpleNamespace(ip="127.0.0.1", port=other) if other else ()
    return SimpleNamespace(laddr=SimpleNamespace(ip="127.0.0.1", port=port), raddr=there, status=status)


def listening(port: int) -> SimpleNamespace:
    return end(port, 0, psutil.CONN_LISTEN)


def found(system: Record, *holders: int, listens: tuple[int, ...] = ()) -> Peer:
    sockets = [(pid, end(THEIRS, PORT)) for pid in holders] + [(pid, listening(4000)) for pid in listens]
    return judged([MINE], system, AGENTS, GATEWAY, Sockets([*sockets, (GATEWAY, end(PORT, THEIRS))]))[0]


SSH = record(me(), proc(SHELL, 62))
OLD_SHELL = (proc(SHELL, 90, started=10.0), proc(90, 1, "gnome-terminal-"))

PERSONS = {
    "a program in a login by ssh": found(SSH, ME),
    "what ssh -L passes on": found(record(), SSHD_USER.pid),
    "a program of an older shell": found(record(me(), *OLD_SHELL), ME),
}

UNKNOWN = {
    "a desktop's browser": (
        found(record(proc(ME, 90, "firefox"), proc(90, 400, "gnome-shell", group="/x/app-gnome.scope"), reapers=(400,)), ME),
        "by systemd",
    ),
    "a browser that is older than the guard": (
        found(record(proc(ME, 90, "chrome", started=10.0), proc(90, 1, "gnome-shell", started=10.0)), ME),
        "opens pages and types for any caller",
    ),
    "a browser's network process": (
        found(record(proc(ME, SHELL, "MainThread", program="/usr/lib/firefox/firefox (deleted)"), *OLD_SHELL), ME),
        "opens pages and types for any caller",
    ),
    "systemd-run": (
        found(record(proc(ME, 400, "node", group="/user.slice/run-u3.service"), reapers=(400,)), ME),
        "by systemd, which runs programs for any caller",
    ),
    "a shell that systemd-run started": (
        found(record(me(), proc(SHELL, 400, "sh", group="/user.slice/run-u3.service"), reapers=(400,)), ME),
        "by systemd, which runs programs for any caller",
    ),
    "at": (found(record(me(), proc(SHELL, 90, "sh"), proc(90, 1, "atd", uid=0, started=10.0)), ME), "by atd"),
    "D-Bus": (found(record(me(90), proc(90, 400, "dbus-daemon", started=10.0)), ME), "by dbus-daemon"),
    "tmux": (
        found(record(me(), proc(SHELL, 90, started=10.0), proc(90, 1, "tmux: server", started=10.0)), ME),
        "in tmux or screen, where any program can type",
    ),
    "ssh localhost": (found(record(me(), proc(SHELL, 62, local_login=True)), ME), "by a login from this machine"),
    "a proxy": (
        found(record(proc(ME, 1, "nginx", started=10.0, uid=33)), ME, listens=(ME,)),
        "which takes connections from others",
    ),
    "a proxy that the system starts": (
        found(record(proc(ME, 1, "tailscaled", uid=0, group="/system.slice/tailscaled.service")), ME, listens=(ME,)),
        "its origin is unknown",
    ),
    "nobody that is shown": (found(record()), "by a process that this system does not show"),
}

AGENTS_HOLD = {
    "a program of the gateway": found(record(me(GATEWAY)), ME),
    "a node on the same machine": found(record(me(90), proc(90, 1, "openclaw-node", started=10.0)), ME),
    "a second gateway": found(record(proc(ME, 1, "openclaw-gatewa")), ME),
    "a person and an agent": found(record(me(), proc(SHELL, 62), proc(910, GATEWAY, "node")), ME, 910),
    "a browser that an agent starts": found(record(proc(ME, GATEWAY, "chromium")), ME),
}


@pytest.mark.parametrize("name", PERSONS)
def test_a_persons(name: str) -> None:
    assert PERSONS[name].kind == "person"


@each_row("name", UNKNOWN)
def test_it_cannot_be_told(name: str) -> None:
    peer, why = UNKNOWN[name]
    assert peer.kind == "unknown"
    assert why in peer.why


@each_row("name", AGENTS_HOLD)
def test_an_agents(name: str) -> None:
    assert AGENTS_HOLD[name].kind == "agent"


def test_the_gateways_own() -> None:
    sockets = Sockets([(GATEWAY, end(THEIRS, PORT)), (GATEWAY, end(PORT, THEIRS))])
    assert judged([MINE], record(), AGENTS, GATEWAY, sockets)[0].kind == "gateway"
