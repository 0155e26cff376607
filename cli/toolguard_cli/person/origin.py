"""Who started a process, judged by its parents, session, control group and audit session. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from toolguard_cli.person import program_roles
from toolguard_cli.person.system_facts import Agents, ProcessInfo, System

Kind = Literal["agent", "person", "unknown"]
MAX_ANCESTORS = 200
MAX_TRACERS = 5
INIT = 1
_SHARED = re.compile(r"user@[0-9]+\.service\Z")
NO_AUDIT_SESSION = 2**32 - 1


@dataclass(frozen=True)
class Origin:
    """`why`: completes the sentence "was started ..."."""

    kind: Kind
    why: str = ""


PERSON = Origin("person")
MARKED = Origin("agent", "by an agent's exec")


def trace(system: System, pid: int, agents: Agents) -> Origin:
    """Who started this process."""
    return _Chain(system, pid, agents).origin()


def descends(system: System, pid: int, ancestor: int) -> bool:
    """Whether `ancestor` is a parent of this process, or of one of its parents."""
    return any(process.ppid == ancestor for process in _chain(system, pid))


class _Chain:
    """A process and its ancestors, up to the first process of this system or the first that is hidden."""

    def __init__(self, system: System, pid: int, agents: Agents) -> None:
        self._system = system
        self._known = agents
        self._pid = pid
        self._chain = list(_chain(system, pid))
        processes = map(system.process, sorted(agents.gateways | agents.engines))
        self._seen = [process for process in processes if process]

    def origin(self) -> Origin:
        if why := self.agents():
            return Origin("agent", why)
        return self._controlled() or self._from_parents()

    def agents(self) -> str:
        """Why it is an agent's; empty if nothing says so."""
        return self._agents_mark() or self._agents_session() or self._agents_group()

    def _controlled(self) -> Origin | None:
        """A debugger can have a program start others."""
        tracers = [process.tracer for process in self._chain if process.tracer and process.tracer != process.ppid]
        if any(_Chain(self._system, pid, self._known).agents() for pid in tracers[:MAX_TRACERS]):
            return Origin("agent", "by a program that an agent's debugger controls")
        return Origin("unknown", "by a program that a debugger controls") if tracers else None

    def _agents_mark(self) -> str:
        if any(process.marked for process in self._chain):
            return MARKED.why
        theirs = self._known.gateways | self._known.engines
        below = any(process.pid in theirs or program_roles.role(process) == "agent" for process in self._chain)
        return "by the gateway" if below else ""

    def _agents_session(self) -> str:
        """A session that was started by a program of the gateway, even if the parents have ended."""
        theirs = self._known.gateways | self._known.engines
        sessions = {process.sid for process in self._chain if process.sid > 0}
        begun = any(theirs & {process.pid for process in _chain(self._system, sid)} for sid in sessions)
        return "in a session of the gateway" if begun or sessions & theirs else ""

    def _agents_group(self) -> str:
        """The gateway's own control group. A group shared with older processes, such as a container's, does not count."""
        groups = {process.group for process in self._seen if _is_own(process.group)}
        inside = [process for process in self._chain if any(_is_within(process.group, group) for group in groups)]
        if not inside or any(self._is_old(process) for process in inside):
            return ""
        return "in the gateway's control group"

    def _from_parents(self) -> Origin:
        if not self._chain:
            return Origin("unknown", "by a process that this system does not show")
        for at, process in enumerate(self._chain):
            if origin := self._by(process, self._chain[at + 1 :]):
                return origin
        return Origin("unknown", "by a process that this system does not show")

    def _by(self, process: ProcessInfo, parents: list[ProcessInfo]) -> Origin | None:
        """The origin if this process or its parents decide it; None if the next process has to."""
        role = program_roles.role(process)
        if process.pid != self._pid and role in ("service", "multiplexer", "terminal"):
            return _runs_others(process)
        if process.pid != self._pid and role == "ssh" and (origin := self._by_ssh(process)):
            return origin
        if self._is_old(process):
            typed = role == "shell" and any(program_roles.role(parent) == "multiplexer" for parent in parents)
            return _TYPED if typed else PERSON
        if process.ppid == 0:
            return self._from_outside()
        if role == "login" and program_roles.is_login(process) and process.ppid == INIT:
            return PERSON
        return self._orphaned(process, parents) if process.ppid in self._system.adopters() else None

    def _by_ssh(self, server: ProcessInfo) -> Origin | None:
        below = self._chain[: self._chain.index(server)]
        if any(process.local_login for process in below) or self._system.local_logins():
            return Origin("unknown", "by a login from this machine")
        return PERSON if program_roles.is_login(server) else None

    def _from_outside(self) -> Origin:
        """No parent in this system: it entered the container from outside, or is the first in a container of an agent."""
        if self._seen or self._known.since == float("inf"):
            return PERSON
        return Origin("unknown", "in a container in which the gateway does not run")

    def _orphaned(self, process: ProcessInfo, parents: list[ProcessInfo]) -> Origin:
        """Judged by the sessions that it inherited. Session 1 is that of a whole container."""
        sessions = {ancestor.sid for ancestor in self._seen if ancestor.sid > INIT}
        if any(ancestor.sid in sessions for ancestor in self._chain[: self._chain.index(process) + 1]):
            return Origin("agent", "in the gateway's session")
        theirs = {seen.audit for seen in self._seen if _is_real(seen.audit) and not _is_own(seen.group)}
        if process.audit in theirs and not program_roles.is_terminal(process):
            return Origin("agent", "in the gateway's audit session")
        return _runs_others(parents[0]) if parents and program_roles.role(parents[0]) == "service" else _ORPHAN

    def _is_old(self, process: ProcessInfo) -> bool:
        return process.started < self._known.since


_ORPHAN = Origin("unknown", "by a process that has ended, so its origin is unknown")
_TYPED = Origin("unknown", "in tmux or screen, where any program can type")


def _runs_others(process: ProcessInfo) -> Origin:
    return Origin("unknown", f"by {program_roles.title(process)}, which runs programs for any caller")


def _chain(system: System, pid: int) -> Iterator[ProcessInfo]:
    for _ in range(MAX_ANCESTORS):
        process = system.process(pid)
        if process is None:
            return
        yield process
        if process.ppid in (0, INIT):
            return
        pid = process.ppid


def _is_own(group: str) -> bool:
    """Whether it is the group of a service. The group of a login or user also contains the user's own programs."""
    last = group.rpartition("/")[2]
    return last.endswith(".service") and not _SHARED.match(last)


def _is_within(group: str, outer: str) -> bool:
    return group == outer or group.startswith(f"{outer}/")


def _is_real(audit: int | None) -> bool:
    return audit is not None and audit != NO_AUDIT_SESSION
