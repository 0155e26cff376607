"""The interface to the system's processes and terminals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

MARK = "OPENCLAW_SHELL"
AGENT_MARKS = frozenset({"exec", "acp", "acp-client"})
"""Its values for programs of an agent. `tui-local` is a user's command in the terminal interface."""


@dataclass(frozen=True)
class ProcessInfo:
    """One process. Fields that the system does not reveal keep their defaults.

    `started`: seconds since 1970. `tty`: its controlling terminal, like `pts/3`. `program`: the file that it runs.
    `trusted`: that file belongs to the system, or the process to root while we are not. `group`: its control group.
    `local_login`: its environment names a login by ssh from this same machine. `tracer`: the debugger that controls
    it, or 0.
    """

    pid: int
    ppid: int
    started: float = math.inf
    sid: int = 0
    tty: str = ""
    uid: int = 0
    name: str = ""
    program: str = ""
    trusted: bool = False
    group: str = ""
    audit: int | None = None
    marked: bool = False
    local_login: bool = False
    tracer: int = 0


@dataclass(frozen=True)
class Agents:
    """The processes that run agents. `since`: when the guard first ran, in seconds since 1970; infinite if it never did."""

    gateways: frozenset[int] = frozenset()
    engines: frozenset[int] = frozenset()
    since: float = math.inf


class System(Protocol):
    def process(self, pid: int) -> ProcessInfo | None:
        """None if it does not exist or is hidden."""

    def adopters(self) -> frozenset[int]:
        """The ancestors of the current process that may adopt orphans, including process 1."""

    def local_logins(self) -> bool:
        """Whether there is an ssh login from this same machine."""

    def holders(self, tty: str) -> list[int] | None:
        """The visible processes at the other end of a pseudo-terminal; None if this system cannot list them."""

    def clients(self, server: ProcessInfo) -> list[int]:
        """The client processes attached to this terminal multiplexer."""


def is_marked(env: Mapping[str, str]) -> bool:
    return env.get(MARK, "") in AGENT_MARKS


def is_local(connection: str) -> bool:
    """Whether an `SSH_CONNECTION` ("client port server port") comes from this machine."""
    client, _, server = [*connection.split(), "", "", ""][:3]
    plain = client.removeprefix("::ffff:")
    return bool(client) and (plain.startswith("127.") or plain == "::1" or client == server)
