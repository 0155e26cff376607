"""Finds a running dashboard. It has to prove that it knows the token, which is never sent to it."""

from __future__ import annotations

import http.client
import re
import secrets
from contextlib import closing
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import msgspec

from toolguard_cli.dashboard import token
from toolguard_cli.system import tcp_ports
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics.result_types import Shape
from toolguard_engine.stores import atomic

SECONDS = 2.0
MAX_BYTES = 4_096
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses that mean all of them

_OURS = re.compile(r"toolguard_cli\.dashboard|toolguard(?:_cli)? dashboard")


class Running(Shape, frozen=True):
    """The file that a dashboard writes beside the metrics file. `started`: milliseconds since 1970; `owned`: a gateway runs
    it."""

    pid: int
    url: str
    started: int
    version: str
    owned: bool = False


class _Hello(msgspec.Struct):
    name: str
    proof: str


def running(db: Path) -> Running | None:
    """The dashboard that serves this metrics file. Raises `UserError` if its token cannot be used."""
    gateway, own = known(db), token.known(db)
    if gateway is None or not own:
        return None
    try:
        address = urlsplit(gateway.url)
        host, port = address.hostname or "", address.port or 0
    except ValueError:
        return None
    return gateway if is_ours(host, port, own) else None


def known(db: Path) -> Running | None:
    """The last dashboard that did not remove its file; it may be gone."""
    try:
        return msgspec.json.decode(atomic.read_bounded(metrics_path.server_path(db), MAX_BYTES), type=Running)
    except (OSError, ValueError, RecursionError):
        return None


def taker(port: int) -> str:
    pid, command = next(tcp_ports.listeners(port), (0, ""))
    return f"a dashboard for another metrics file (process {pid})" if _OURS.search(command) else tcp_ports.owner(port)


def url(address: str, port: int) -> str:
    """The URL under which a server bound to this address can be opened."""
    reached = EVERYWHERE.get(address, address)
    return f"http://{f'[{reached}]' if ':' in reached else reached}:{port}"


def is_ours(host: str, port: int, own: str) -> bool:
    """Whether the program that listens there knows this token."""
    nonce, answered = secrets.token_hex(16), list[bytes]()
    thread = Thread(target=_ask, args=(EVERYWHERE.get(host, host), port, nonce, answered), daemon=True)
    thread.start()
    thread.join(SECONDS)  # a foreign program may answer slowly
    try:
        hello = msgspec.json.decode(answered[0], type=_Hello) if answered else _Hello("", "")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    proof = hello.proof.encode("utf-8", "replace")
    return hello.name == "toolguard" and token.is_same(proof, token.proof(own, port, nonce))


def _ask(host: str, port: int, nonce: str, answered: list[bytes]) -> None:
    try:
        with closing(http.client.HTTPConnection(host, port, timeout=SECONDS)) as connection:
            connection.request("GET", f"/api/hello?nonce={nonce}")
            answered.append(connection.getresponse().read(MAX_BYTES))
    except (OSError, http.client.HTTPException, ValueError):
        return
