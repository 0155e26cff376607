"""What is asked about processes and terminals, and the form of the answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

MARK = "OPENCLAW_SHELL"
AGENT_MARKS = frozenset({"exec", "acp", "acp-client"})
"""What OpenClaw sets it to for programs of an agent. `tui-local` is a person's command in the terminal interface."""


@dataclass(frozen=True)
class Process:
    """One process. Fields that the system does not tell keep their defaults.

    `started`: seconds since 1970. `tty`: its controlling terminal, like `pts/3`. `program`: the file that it runs.
    `trusted`: that file belongs to the system, or the process to root while we are not. `group`: its control group.
    `local_login`: its environment names a login by ssh from this same machine.
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


@dataclass(frozen=True)
class Agents:
    """What runs agents here. `since`: when the guard first ran, in seconds since 1970; infinite if it never did."""

    gateways: frozenset[int] = frozenset()
    engines: frozenset[int] = frozenset()
    since: float = math.inf


class System(Protocol):
    def process(self, pid: int) -> Process | None:
        """None if there is none, or if it is hidden from us."""

    def adopters(self) -> frozenset[int]:
        """The ancestors of this very process that orphans may go to, process 1 among them."""

    def local_logins(self) -> bool:
        """Whether somebody is logged in by ssh from this same machine."""

    def holders(self, tty: str) -> list[int] | None:
        """The processes at the other side of a pseudo-terminal, as far as we may see; None if this system never tells."""

    def clients(self, server: Process) -> list[int]:
        """The processes through which people look at the sessions of this terminal multiplexer."""


def is_marked(env: Mapping[str, str]) -> bool:
    return env.get(MARK, "") in AGENT_MARKS


def is_local(connection: str) -> bool:
    """Whether an `SSH_CONNECTION` ("client port server port") begins on this machine."""
    client, _, server = [*connection.split(), "", "", ""][:3]
    plain = client.removeprefix("::ffff:")
    return bool(client) and (plain.startswith("127.") or plain == "::1" or client == server)
