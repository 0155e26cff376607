"""Which processes hold connections to the gateway: `python -m toolguard_cli.person.peers --state-dir DIR --config FILE`.

Each line of standard input is a JSON array of connections, `{"address", "port", "local"}`: the address and port of the other
end, and the gateway's port. Each is answered by a line with an array of `{"kind", "why"}` in the same order. `kind`:
`gateway` for the gateway itself, else `person`, `agent` or `unknown` as in `origin`; `why` completes the sentence "a
connection is held ...". It ends with its input.

A process that itself accepts connections, such as a proxy, may pass on what others send: nobody is known to be behind it.
Nor is anybody behind a browser: it opens pages for any caller, and its extensions and other programs type in it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import psutil

from toolguard_cli.person import namespaces, origin, program_roles, require_human
from toolguard_cli.person.system_facts import Agents, System
from toolguard_cli.system import paths
from toolguard_cli.system.paths import Places
from toolguard_engine.wording import printable

MAX_LINE = 1024 * 1024


class Connection(msgspec.Struct, frozen=True):
    address: str
    port: int
    local: int


class Peer(msgspec.Struct, frozen=True):
    kind: str
    why: str = ""


UNSEEN = Peer("unknown", "by a process that this system does not show")
_ORDER = {"agent": 0, "unknown": 1, "person": 2, "gateway": 3}
"""Of several processes that hold one connection, the first kind counts."""


class Sockets:
    """The TCP sockets of this machine, as far as they are visible. A socket can have several holders."""

    def __init__(self, connections: Iterable[tuple[int, Any]]) -> None:
        self._holders: dict[tuple[str, int, int], set[int]] = defaultdict(set)
        self._servers = set[int]()
        for pid, peer in connections:
            if peer.raddr:
                self._holders[_plain(peer.laddr.ip), peer.laddr.port, peer.raddr.port].add(pid)
            if peer.status == psutil.CONN_LISTEN:
                self._servers.add(pid)

    def holders(self, connection: Connection) -> set[int]:
        return self._holders.get((_plain(connection.address), connection.port, connection.local), set())

    def accepts(self, pid: int) -> bool:
        """Whether others can connect to this process."""
        return pid in self._servers


def _sockets() -> Iterator[tuple[int, Any]]:
    """Some systems show all sockets to root only, and each process those of its own user."""
    try:
        yield from ((connection.pid, connection) for connection in psutil.net_connections(kind="tcp") if connection.pid)
    except psutil.AccessDenied:
        for process in psutil.process_iter():
            try:
                yield from ((process.pid, connection) for connection in process.net_connections(kind="tcp"))
            except psutil.Error:
                continue


def _plain(address: str) -> str:
    """An IPv4 address in one spelling: a socket of both families has it as an IPv6 address."""
    return address.removeprefix("::ffff:")


def judged(
    connections: list[Connection], system: System, agents: Agents, gateway: int, sockets: Sockets | None = None
) -> list[Peer]:
    """Whose each connection is. `gateway`: the process that they lead to."""
    sockets = sockets or Sockets(_sockets())

    def judge(connection: Connection) -> Peer:
        peers = (_peer(pid, sockets, system, agents, gateway) for pid in sockets.holders(connection))
        return min(peers, key=lambda peer: _ORDER[peer.kind], default=UNSEEN)

    return [judge(connection) for connection in connections]


def _peer(pid: int, sockets: Sockets, system: System, agents: Agents, gateway: int) -> Peer:
    if pid == gateway:
        return Peer("gateway")
    process = system.process(pid)
    if process is None:
        return UNSEEN
    named = f"by {printable.cut(process.name, 40) or 'a process'} (process {pid})"
    peer = origin.trace(system, pid, agents)
    if peer.kind != "person":
        return Peer(peer.kind, f"{named}, which was started {printable.plain(peer.why)}")
    if program_roles.is_browser(process):
        return Peer("unknown", f"{named}, which opens pages and types for any caller")
    if sockets.accepts(pid):
        return Peer("unknown", f"{named}, which takes connections from others")
    return Peer("person", named)


def _answer(line: bytes, places: Places) -> list[Peer]:
    connections = msgspec.json.decode(line, type=list[Connection])
    if why := namespaces.doubt(require_human.namespaces_of(places)):
        return [Peer("unknown", why) for _ in connections]
    system = require_human.this_system()
    return judged(connections, system, require_human.agents_of(places, system), os.getppid())


def main(arguments: list[str], given: BinaryIO) -> int:
    parser = argparse.ArgumentParser(prog="python -m toolguard_cli.person.peers")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    options = parser.parse_args(arguments)
    places = paths.find(options.state_dir, options.config)
    while line := given.readline(MAX_LINE):
        try:
            peers = _answer(line, places)
        except (msgspec.DecodeError, UnicodeError, RecursionError, OSError, psutil.Error) as error:
            print(f"cannot tell whose connections are: {error}", file=sys.stderr, flush=True)  # noqa: T201 - for the gateway
            peers = []
        sys.stdout.buffer.write(msgspec.json.encode(peers) + b"\n")
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer))
