"""Whether a dashboard of ours answers somewhere. It has to prove that it knows the token; nobody is ever sent it."""

from __future__ import annotations

import http.client
import re
import secrets
from contextlib import closing
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import msgspec

from toolguard_cli import ports
from toolguard_cli.dashboard import token
from toolguard_engine.metrics import place
from toolguard_engine.metrics.shapes import Shape
from toolguard_engine.stores import files

SECONDS = 2.0
MAX_BYTES = 4_096
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses that mean all of them

_OURS = re.compile(r"toolguard_cli\.dashboard|toolguard(?:_cli)? dashboard")


class Running(Shape, frozen=True):
    """What a dashboard says about itself, beside the metrics file. `started`: milliseconds since 1970; `owned`: a gateway
    runs it."""

    pid: int
    url: str
    started: int
    version: str
    owned: bool = False


class _Hello(msgspec.Struct):
    name: str
    proof: str


def running(db: Path) -> Running | None:
    """The dashboard that runs over this metrics file. Raises `UserError` where its token cannot be used."""
    found, own = known(db), token.known(db)
    if found is None or not own:
        return None
    try:
        address = urlsplit(found.url)
        host, port = address.hostname or "", address.port or 0
    except ValueError:
        return None
    return found if is_ours(host, port, own) else None


def known(db: Path) -> Running | None:
    """What the last one said that did not end by itself; it may be gone."""
    try:
        return msgspec.json.decode(files.read_bounded(place.server_path(db), MAX_BYTES), type=Running)
    except (OSError, ValueError, RecursionError):
        return None


def taker(port: int) -> str:
    """Who has a port that is not ours, for a person."""
    pid, command = next(ports.listeners(port), (0, ""))
    return f"a dashboard over another metrics file (process {pid})" if _OURS.search(command) else ports.owner(port)


def url(address: str, port: int) -> str:
    """Where a person finds what is bound to this address."""
    reached = EVERYWHERE.get(address, address)
    return f"http://{f'[{reached}]' if ':' in reached else reached}:{port}"


def is_ours(host: str, port: int, own: str) -> bool:
    """Whether who listens there knows this token."""
    nonce, answered = secrets.token_hex(16), list[bytes]()
    thread = Thread(target=_ask, args=(EVERYWHERE.get(host, host), port, nonce, answered), daemon=True)
    thread.start()
    thread.join(SECONDS)  # a foreign program may answer as slowly as it likes
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
