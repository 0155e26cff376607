"""The gateways that run on this machine: as processes, and as what answers on a port.

Lock files are not read, because a dead gateway leaves them behind. What a gateway has open and who started an engine can
only be true of processes that run.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from toolguard_cli.system import paths, tcp_ports

if TYPE_CHECKING:
    import ssl

    import psutil

TITLE, SHORT_TITLE = "openclaw-gateway", "openclaw"
"""What a gateway calls its process (its first argument). Some releases use the second one for all their commands."""
ENGINE = "toolguard_engine"
DATABASE = Path("state", "openclaw.sqlite")
HOST = "127.0.0.1"
LIMIT_SECONDS = 2.0
MAX_ANSWER = 4_096
MAX_ASKED = 4
LIVE = "/healthz"

PortAnswer = Literal["gateway", "other", "nothing"]


@dataclass(frozen=True)
class GatewayProcess:
    """`address`: where it listens, such as `127.0.0.1:18789`; empty if it does not, or if the system does not reveal it.
    `state_dir`: None likewise. `started`: seconds since 1970. `others`: its further addresses, those of its servers for
    agents and browsers."""

    pid: int
    started: float
    address: str = ""
    state_dir: Path | None = None
    others: tuple[str, ...] = ()

    def on_port(self, port: int) -> GatewayProcess:
        """The same one with this port as its own, if it listens there."""
        address = next((other for other in self.others if other.endswith(f":{port}")), "")
        if not address or self.address.endswith(f":{port}"):
            return self
        rest = (self.address, *(other for other in self.others if other != address))
        return replace(self, address=address, others=rest)

    def __str__(self) -> str:
        return f"on {self.address}" if self.address else f"of process {self.pid}"


@dataclass(frozen=True)
class EngineProcess:
    """`parents`: the processes that it descends from. `works`: it is an engine, neither stopped nor ended."""

    parents: tuple[int, ...]
    started: float
    works: bool = True


class MachineView(Protocol):
    """What is known about this machine; tests give facts of their own."""

    def gateways(self) -> list[GatewayProcess]: ...
    def engine(self, pid: int) -> EngineProcess | None: ...
    def answer(self, port: int, *, tls: bool) -> PortAnswer: ...
    def owner(self, port: int) -> str: ...


class ThisMachine:
    def gateways(self) -> list[GatewayProcess]:
        import psutil  # noqa: PLC0415 - takes 15 ms

        processes = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):  # it has ended
                title = Path((process.cmdline() or [""])[0]).name
                if title.startswith(TITLE) or (title == SHORT_TITLE and self._answers(process)):
                    processes.append(_described(process))
        return processes

    def _answers(self, process: psutil.Process) -> bool:
        ports = [int(address.rpartition(":")[2]) for address in _addresses(process)[:MAX_ASKED]]
        return any(self.answer(port, tls=False) == "gateway" for port in ports)

    def engine(self, pid: int) -> EngineProcess | None:
        import psutil  # noqa: PLC0415 - as above

        try:
            process = psutil.Process(pid)
            works = process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD, psutil.STATUS_STOPPED)
            parents = tuple(parent.pid for parent in process.parents())
            return EngineProcess(parents, process.create_time(), works and ENGINE in " ".join(process.cmdline()))
        except (psutil.Error, OSError, ValueError, OverflowError):
            return None

    def answer(self, port: int, *, tls: bool) -> PortAnswer:
        if tls:  # whose certificate it is does not matter: nothing is sent
            connection: HTTPConnection = HTTPSConnection(HOST, port, timeout=LIMIT_SECONDS, context=_unchecked())
        else:
            connection = HTTPConnection(HOST, port, timeout=LIMIT_SECONDS)
        try:
            connection.request("GET", LIVE)
            parsed = json.loads(connection.getresponse().read(MAX_ANSWER))
        except ConnectionRefusedError:
            return "nothing"
        except (OSError, HTTPException, ValueError, RecursionError):
            return "other"
        finally:
            connection.close()
        return "gateway" if isinstance(parsed, dict) and parsed.get("ok") is True and "status" in parsed else "other"

    def owner(self, port: int) -> str:
        return tcp_ports.owner(port)


def _unchecked() -> ssl.SSLContext:
    import ssl  # noqa: PLC0415 - takes 20 ms

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _described(process: psutil.Process) -> GatewayProcess:
    first, *others = _addresses(process) or [""]
    return GatewayProcess(process.pid, process.create_time(), first, _state_dir(process), tuple(others))


def _addresses(process: psutil.Process) -> list[str]:
    """Where it listens, one address for each port. The lowest is usually the gateway's own; loopback is preferred."""
    import psutil  # noqa: PLC0415 - as above

    addresses: list[tuple[str, int]] = []
    with suppress(psutil.Error, OSError):  # another user's process
        opened = process.net_connections("tcp")
        addresses = [
            (connection.laddr.ip, connection.laddr.port) for connection in opened if connection.status == psutil.CONN_LISTEN
        ]
    preferred: dict[int, str] = {}
    for ip, port in sorted(addresses, key=lambda address: (address[1], address[0] != HOST)):
        host = {"0.0.0.0": HOST, "::": HOST, "::1": "[::1]"}.get(ip, ip)  # noqa: S104 - not bound here
        preferred.setdefault(port, f"{host}:{port}")
    return list(preferred.values())


def _state_dir(process: psutil.Process) -> Path | None:
    """Its folder: of the database that it has open, else (older releases) according to its environment."""
    import psutil  # noqa: PLC0415 - as above

    with suppress(psutil.Error, OSError):
        opened = (Path(file.path) for file in process.open_files())
        if database := next((path for path in opened if path.parts[-2:] == DATABASE.parts), None):
            return database.parent.parent
    with suppress(psutil.Error, OSError):
        env = {name: value for name, value in process.environ().items() if not name.startswith("TOOLGUARD_")}
        return paths.find(None, None, env).state_dir
    return None
