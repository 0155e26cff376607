"""Whether a person can be at the other end of a terminal. No I/O."""

from __future__ import annotations

from toolguard_cli.person import origin, program_roles
from toolguard_cli.person.system_facts import Agents, ProcessInfo, System

DEEPEST = 5
"""Nested terminals, such as tmux in ssh in a terminal emulator, with `script` around it."""
_PSEUDO = ("pts/", "ttys")


def refusal(system: System, pid: int, agents: Agents) -> str:
    """Why the question cannot be asked on the terminal of this process; empty if it can."""
    process = system.process(pid)
    return _of(system, process, agents, DEEPEST) if process else "this system does not show its own processes"


def _of(system: System, process: ProcessInfo, agents: Agents, depth: int) -> str:
    if not process.tty:
        return "there is no terminal"
    if not process.tty.startswith(_PSEUDO):
        return ""  # a screen or a serial line
    if depth == 0:
        return "its terminal is nested too deeply"
    ends = _ends(system, process)
    if ends is None:
        return ""
    if not ends:
        return f"the program that holds its terminal {process.tty} is unknown"
    problems = (_held(system, end, process, agents, depth) for end in ends)
    return next(filter(None, problems), "")


def _ends(system: System, process: ProcessInfo) -> list[ProcessInfo] | None:
    """The processes at the other end. If they are hidden (a login's are hidden from its user), the parent of the session's
    leader instead; None if that is hidden as well or outside of this container."""
    seen = [holder for pid in system.holders(process.tty) or () if (holder := system.process(pid))]
    leader = system.process(process.sid)
    if seen or leader is None or leader.tty != process.tty:
        return seen
    if leader.ppid == origin.INIT:
        return []
    parent = system.process(leader.ppid)
    return [parent] if parent else None


def _held(system: System, end: ProcessInfo, process: ProcessInfo, agents: Agents, depth: int) -> str:
    holder = origin.trace(system, end.pid, agents)
    if holder.kind == "agent":
        return f"its terminal {process.tty} is held by {program_roles.title(end)}, which was started {holder.why}"
    if program_roles.is_multiplexer(end):
        return _watched(system, end, agents, depth)
    if holder.kind == "person" or program_roles.is_terminal(end) or _is_roots(end):
        return ""
    if end.tty and end.tty != process.tty:
        return _of(system, end, agents, depth - 1)
    return f"its terminal {process.tty} is held by {program_roles.title(end)}, which was started {holder.why}"


def _is_roots(end: ProcessInfo) -> bool:
    """A hidden program of root: a login, `su`, the other end of WSL. An attacker with root could do anything anyway."""
    return end.trusted and not end.program


def _watched(system: System, server: ProcessInfo, agents: Agents, depth: int) -> str:
    """Why no person is attached to this multiplexer; empty if one is."""
    clients = [process for pid in system.clients(server) if (process := system.process(pid))]
    fit = (
        origin.trace(system, client.pid, agents).kind != "agent" and not _of(system, client, agents, depth - 1)
        for client in clients
    )
    return "" if any(fit) else f"no person is attached to {program_roles.title(server)}"
