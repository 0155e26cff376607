"""What every request has to pass before anything is done for it.

The law, and why: a page of another site that is open in the person's browser can send requests here, and can give its own
name the address of this machine (DNS rebinding). So the Host must be an address of ours, an Origin must be ours, and a
browser that says that another site asks is refused. A change needs the token, which no other site knows and no browser adds
by itself; where not only this machine reaches us everything does, but for the page itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolguard_cli.dashboard import problems, token
from toolguard_cli.dashboard.problems import UNAUTHORIZED, Wrong

MAX_BODY = 64 * 1024
MAX_DRAINED = 16 * MAX_BODY
BODY_SECONDS = 10.0
DRAIN_SECONDS = 1.0
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
NOWHERE = {"", "0.0.0.0", "[::]"}  # noqa: S104 - what nobody can name as a host
READS = ("GET", "HEAD")
OPEN = ("/", "/api/hello", "/ws")
"""Paths that nobody needs the token for: `/ws` asks for it in its first message."""

STATIC = "/static/"
_BEARER = b"bearer "
_FOREIGN = "open the dashboard under the address that `toolguard dashboard` names"
_HTTP_PORT = 80


@dataclass(frozen=True)
class Door:
    """Where this dashboard is reached, and its secret; empty where that cannot be used. `names`: hosts that mean it, beside
    the address a request came to."""

    secret: Callable[[], str]
    port: int
    names: frozenset[str]
    loopback: bool

    @classmethod
    def at(cls, address: str, port: int, secret: Callable[[], str], named: str = "") -> Door:
        """`address`: what it is bound to; `named`: how the person wrote it."""
        names = {*LOOPBACK, _bracketed(address), _bracketed(named)} - NOWHERE
        return cls(
            secret, port, frozenset(map(str.lower, names)), ipaddress.ip_address(address.partition("%")[0]).is_loopback
        )

    def knows(self, host: str, reached: str) -> bool:
        """`reached`: the address of ours that the request came to. What leads here from this machine may have any port."""
        name, port = _split(host.lower())
        if name in LOOPBACK:
            return True
        return port == str(self.port) and name in {*self.names, _bracketed(_unmapped(reached)).lower()}

    @property
    def fix(self) -> str:
        """What to do where the Host is not taken."""
        return f"open it as {', '.join(f'http://{name}:{self.port}' for name in sorted(self.names))} or by its number"

    def opens(self, given: bytes) -> bool:
        own = self.secret()
        return bool(own) and token.is_same(given, own)


class Security:
    """Around the whole app. Sets `scope["trusted"]`: whether the token was given, and `scope["body"]`."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        answering = _Answering(send, str(scope["path"]))
        try:
            self._check(scope)
            if _brings(scope):
                scope["body"] = await _whole(receive)
        except Wrong as wrong:
            await self._refuse(wrong, scope, receive, answering)
            return
        await self._app(scope, receive, answering)

    async def _refuse(self, wrong: Wrong, scope: Scope, receive: Receive, answering: _Answering) -> None:
        if scope["type"] == "websocket":
            await receive()
            await answering({"type": "websocket.close", "code": 1008})  # before it is accepted: status 403
            return
        await _drain(receive)
        await problems.answer(wrong)(scope, receive, answering)

    def _check(self, scope: Scope) -> None:
        """Raises `Wrong`."""
        headers = Headers(scope=scope)
        reading = scope["type"] == "websocket" or scope["method"] in READS
        self._check_place(scope, headers, reading=reading)
        given = headers.get("authorization")
        scope["trusted"] = given is not None and self._door.opens(_bearer(given))
        if given is not None and not scope["trusted"]:
            raise Wrong(401, "token", "that is not the dashboard's token", problems.OPEN_PAGE)
        if not scope["trusted"] and (not reading or not (self._door.loopback or _is_open(str(scope["path"])))):
            raise UNAUTHORIZED
        if _brings(scope):
            _check_body(headers)

    def _check_place(self, scope: Scope, headers: Headers, *, reading: bool) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        reached = (scope.get("server") or ("",))[0] or ""
        if len(hosts) != 1 or not self._door.knows(hosts[0], reached):
            raise Wrong(403, "host", "this Host is not the dashboard's", self._door.fix)
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            raise Wrong(403, "origin", "another site asks; it may not", _FOREIGN)
        navigates = reading and scope["type"] == "http" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not navigates:
            raise Wrong(403, "site", "another site asks; it may not", _FOREIGN)


class _Answering:
    """Sends on what the app answers, with the headers that every answer has."""

    def __init__(self, send: Send, path: str) -> None:
        self._send = send
        self._cache = "no-cache" if _is_page(path) else "no-store"

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", self._cache)
        await self._send(message)


def _brings(scope: Scope) -> bool:
    """Whether it has a body that counts."""
    return bool(scope["type"] == "http" and scope["method"] == "POST")


async def _whole(receive: Receive) -> bytes:
    """The whole body of at most `MAX_BODY` bytes, however it comes. Raises `Wrong`."""
    parts = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Wrong(400, "incomplete", "the request ended before its body did")
                parts += message.get("body", b"")
                if len(parts) > MAX_BODY:
                    raise _too_large()
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise Wrong(400, "incomplete", "the body did not come in time") from error
    return bytes(parts)


async def _drain(receive: Receive) -> None:
    """Reads on for a little: a client that still sends when the connection is closed would not see the answer."""
    left, more = MAX_DRAINED, True
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while more and left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                more = message["type"] == "http.request" and message.get("more_body", False)
    except TimeoutError:
        return


def _check_body(headers: Headers) -> None:
    """Raises `Wrong`."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != problems.JSON:
        raise Wrong(415, "content-type", "the body must be application/json")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY:
        raise _too_large()


def _too_large() -> Wrong:
    return Wrong(413, "too-large", f"the body is larger than {MAX_BODY} bytes")


def _bearer(given: str) -> bytes:
    data = given.encode("latin-1", "replace")
    return data[len(_BEARER) :].strip() if data[: len(_BEARER)].lower() == _BEARER else b""


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(STATIC)


def _is_page(path: str) -> bool:
    return path == "/" or path.startswith(STATIC)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _unmapped(address: str) -> str:
    """An IPv4 address as a socket for both kinds has it."""
    return address.lower().removeprefix("::ffff:") if "." in address else address


def _split(host: str) -> tuple[str, str]:
    """Name and port of a Host header."""
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, str(_HTTP_PORT))
