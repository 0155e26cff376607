"""Ports of this machine: whether one is available, which process uses it, and which one near it is free."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TypeGuard

from toolguard_engine.wording import printable

GATEWAY_VARIABLE, USUAL_GATEWAY = "OPENCLAW_GATEWAY_PORT", 18_789
MAX_PORT = 65_535


def of_gateway(written: object, env: Mapping[str, str]) -> int:
    """The gateway's port. `written`: its setting `gateway.port`."""
    named = env.get(GATEWAY_VARIABLE, "")
    port = int(named) if named.isdecimal() and len(named) <= len(str(MAX_PORT)) else written
    return port if is_port(port) else USUAL_GATEWAY


def is_port(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_PORT


def owner(number: int) -> str:
    pid, command = next(listeners(number), (0, ""))
    return f"process {pid} ({printable.cut(command, 60)})" if pid else "another program"


def bound(address: str, number: int) -> int | None:
    """Why the port is not available, as an `errno`; None if it is. Never listens on it."""
    try:
        family, kind, protocol, _, name = socket.getaddrinfo(address, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(name)
    except socket.gaierror:
        return -1
    except OSError as error:
        return error.errno or -1
    return None


def free(address: str, taken: int) -> int:
    return next((number for number in range(taken + 1, min(taken + 100, 65_536)) if bound(address, number) is None), 0)


def listeners(number: int) -> Iterator[tuple[int, str]]:
    """Process id and command line of the listeners on this port, if the system reveals them."""
    import psutil  # noqa: PLC0415 - only where a port is taken

    for process in psutil.process_iter():
        with suppress(psutil.Error):  # another user's process, or one that has ended
            opened = [connection for connection in process.net_connections("tcp") if connection.status == psutil.CONN_LISTEN]
            if any(connection.laddr.port == number for connection in opened):
                yield process.pid, " ".join(process.cmdline())


def is_loopback(bind: str) -> bool:
    """Whether the address is reachable from this machine only. Host names other than `localhost` count as remote."""
    try:
        return ipaddress.ip_address(bind.partition("%")[0]).is_loopback
    except ValueError:
        return bind.lower() == "localhost"
