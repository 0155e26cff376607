"""Whether a person can be at the other side of a terminal. No I/O."""

from __future__ import annotations

from toolguard_cli.person import origin, programs
from toolguard_cli.person.system import Agents, Process, System

DEEPEST = 5
"""Terminals inside of terminals: tmux in ssh in a terminal emulator, with `script` around it."""
_PSEUDO = ("pts/", "ttys")


def refusal(system: System, pid: int, agents: Agents) -> str:
    """Why the question cannot be asked on the terminal of this process; empty if it can."""
    process = system.process(pid)
    return _of(system, process, agents, DEEPEST) if process else "this system does not show its own processes"


def _of(system: System, process: Process, agents: Agents, depth: int) -> str:
    if not process.tty:
        return "there is no terminal"
    if not process.tty.startswith(_PSEUDO):
        return ""  # a screen or a serial line
    if depth == 0:
        return "its terminal is inside of too many others"
    ends = _ends(system, process)
    if ends is None:
        return ""
    if not ends:
        return f"nobody can tell who holds its terminal {process.tty}"
    told = (_held(system, end, process, agents, depth) for end in ends)
    return next(filter(None, told), "")


def _ends(system: System, process: Process) -> list[Process] | None:
    """The processes at the other side, or instead of them the one that began the session: a login's are hidden from its
    user. None if that is hidden as well, or outside of this container."""
    seen = [found for pid in system.holders(process.tty) or () if (found := system.process(pid))]
    leader = system.process(process.sid)
    if seen or leader is None or leader.tty != process.tty:
        return seen
    if leader.ppid == origin.INIT:
        return []
    parent = system.process(leader.ppid)
    return [parent] if parent else None


def _held(system: System, end: Process, process: Process, agents: Agents, depth: int) -> str:
    found = origin.of(system, end.pid, agents)
    if found.kind == "agent":
        return f"its terminal {process.tty} is held by {programs.title(end)}, which was started {found.why}"
    if programs.is_multiplexer(end):
        return _watched(system, end, agents, depth)
    if found.kind == "person" or programs.is_terminal(end) or _is_roots(end):
        return ""
    if end.tty and end.tty != process.tty:
        return _of(system, end, agents, depth - 1)
    return f"its terminal {process.tty} is held by {programs.title(end)}, which was started {found.why}"


def _is_roots(end: Process) -> bool:
    """A program of root's that is hidden from us: a login, `su`, the other side of WSL. Whoever has it has everything."""
    return end.trusted and not end.program


def _watched(system: System, server: Process, agents: Agents, depth: int) -> str:
    """A multiplexer shows its terminals to whoever is attached."""
    clients = [found for pid in system.clients(server) if (found := system.process(pid))]
    fit = (
        origin.of(system, each.pid, agents).kind != "agent" and not _of(system, each, agents, depth - 1) for each in clients
    )
    return "" if any(fit) else f"no person is attached to {programs.title(server)}"
