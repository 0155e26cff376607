"""Checks that every request has to pass.

A page of another site in the user's browser can send requests here, and can point its own host name at this machine (DNS
rebinding). So the Host must be one of our addresses, an Origin must be ours, and a request that the browser marks as
cross-site is refused. Changes need the token, which no other site knows and no browser adds by itself. If the server can be
reached from other machines, also through a proxy (`metrics.dashboard.hosts`), everything except the page itself needs it.
What proxies report about a request (`X-Forwarded-*`) is ignored. Instead of the token, the two paths of answer links take a
link, and only from a page of ours.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolguard_cli.dashboard import problems, token
from toolguard_cli.dashboard.problems import UNAUTHORIZED, ApiError
from toolguard_cli.operations import answer_links
from toolguard_engine.config import public_hosts

MAX_BODY = 64 * 1024
MAX_DRAINED = 16 * MAX_BODY
BODY_SECONDS = 10.0
DRAIN_SECONDS = 1.0
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
HOST = "host"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
NOWHERE = {"", "0.0.0.0", "[::]"}  # noqa: S104 - addresses that are not valid hosts
READS = ("GET", "HEAD")
OPEN = ("/", "/api/hello", "/ws", answer_links.PATH)
"""Paths that need no token; `/ws` checks it in its first message."""

LINKED = ("/api/link", "/api/link/answer")
"""Changes that need an answer link instead of the token."""

STATIC = "/static/"
_BEARER = b"bearer "
_FOREIGN = "open the dashboard at the address that `toolguard dashboard` prints"
_HTTP_PORT = 80


@dataclass(frozen=True)
class AccessPolicy:
    """The hosts of this dashboard and its secret (empty if unusable). `names`: valid hosts, besides the address that a
    request arrived at. `public`: the origins under which a proxy or a tunnel serves it. `local`: only programs of this
    machine can reach it, so reading needs no token."""

    secret: Callable[[], str]
    port: int
    names: frozenset[str]
    local: bool
    public: frozenset[str] = frozenset()

    @classmethod
    def make(
        cls, address: str, port: int, secret: Callable[[], str], named: str = "", hosts: Iterable[str] = ()
    ) -> AccessPolicy:
        """`address`: what the server is bound to; `named`: the same as the user wrote it; `hosts`: the setting."""
        names = {*LOOPBACK, _bracketed(address), _bracketed(named)} - NOWHERE
        public = frozenset(map(public_hosts.origin, hosts))
        local = ipaddress.ip_address(address.partition("%")[0]).is_loopback and not public
        return cls(secret, port, frozenset(map(str.lower, names)), local, public)

    def origins(self, host: str, reached: str) -> set[str]:
        """The origins of pages that may send requests to this host; none if it is not ours. `reached`: our address that the
        request arrived at."""
        host = host.lower()
        own = {f"http://{host}"} if self._is_own(host, reached) else set()
        return own | (self.public & {f"http://{host}", f"https://{host}"})

    def _is_own(self, host: str, reached: str) -> bool:
        """Loopback names may have any port: it may be a tunnel's."""
        name, port = _split(host)
        if name in LOOPBACK:
            return True
        return port == str(self.port) and name in {*self.names, _bracketed(_unmapped(reached)).lower()}

    @property
    def fix(self) -> str:
        known = [*sorted(self.public), *(f"http://{name}:{self.port}" for name in sorted(self.names))]
        return (
            f"open it as {', '.join(known)} or by its IP address. To use another name, add it to metrics.dashboard.hosts: "
            "docs/phone.md shows how"
        )

    def opens(self, given: bytes) -> bool:
        own = self.secret()
        return bool(own) and token.is_same(given, own)


class Security:
    """Middleware around the app. Sets `scope["trusted"]` (whether the token was given) and `scope["body"]`."""

    def __init__(self, app: ASGIApp, door: AccessPolicy) -> None:
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
        except ApiError as wrong:
            await self._refuse(wrong, scope, receive, answering)
            return
        await self._app(scope, receive, answering)

    async def _refuse(self, wrong: ApiError, scope: Scope, receive: Receive, answering: _Answering) -> None:
        if scope["type"] == "websocket":
            await receive()
            await answering({"type": "websocket.close", "code": 1008})  # before it is accepted: status 403
            return
        await _drain(receive)
        is_opened = wrong.problem.code == HOST and "text/html" in Headers(scope=scope).get("accept", "")
        shown = problems.page(wrong) if is_opened else problems.answer(wrong)
        await shown(scope, receive, answering)

    def _check(self, scope: Scope) -> None:
        """Raises `ApiError`."""
        headers = Headers(scope=scope)
        reading = scope["type"] == "websocket" or scope["method"] in READS
        self._check_place(scope, headers, reading=reading)
        self.check_person(scope, headers, reading=reading)
        if _brings(scope):
            _check_body(headers)

    def check_person(self, scope: Scope, headers: Headers, *, reading: bool) -> None:
        """Sets `scope["trusted"]`. Raises `ApiError` if the request is not permitted."""
        given = headers.get("authorization")
        scope["trusted"] = given is not None and self._door.opens(_bearer(given))
        if given is not None and not scope["trusted"]:
            raise ApiError(401, "token", "that is not the dashboard's token", problems.OPEN_PAGE)
        if not scope["trusted"] and not self._is_permitted(str(scope["path"]), headers, reading=reading):
            raise UNAUTHORIZED

    def _is_permitted(self, path: str, headers: Headers, *, reading: bool) -> bool:
        """Checks all but the token. Raises `ApiError`."""
        if reading:
            return self._door.local or _is_open(path)
        if path in LINKED and not headers.getlist("origin"):  # checked by `_check_place`
            raise ApiError(
                403, "origin", "an answer link can only be answered on its own page", "open the link in a browser"
            )
        return path in LINKED

    def _check_place(self, scope: Scope, headers: Headers, *, reading: bool) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        reached = (scope.get("server") or ("",))[0] or ""
        own = self._door.origins(hosts[0], reached) if len(hosts) == 1 else set()
        if not own:
            raise ApiError(403, HOST, "this dashboard is not known by that name", self._door.fix)
        if any(origin.lower() not in own for origin in origins):
            raise ApiError(403, "origin", "requests from other sites are refused", _FOREIGN)
        navigates = reading and scope["type"] == "http" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not navigates:
            raise ApiError(403, "site", "requests from other sites are refused", _FOREIGN)


class _Answering:
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
    """Whether the request has a body that is read."""
    return bool(scope["type"] == "http" and scope["method"] == "POST")


async def _whole(receive: Receive) -> bytes:
    """The whole body, at most `MAX_BODY` bytes. Raises `ApiError`."""
    parts = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ApiError(400, "incomplete", "the request ended before its body did")
                parts += message.get("body", b"")
                if len(parts) > MAX_BODY:
                    raise _too_large()
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise ApiError(400, "incomplete", "the body did not arrive in time") from error
    return bytes(parts)


async def _drain(receive: Receive) -> None:
    """Reads on briefly: a client that is still sending when the connection closes would miss the answer."""
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
    """Raises `ApiError`."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != problems.JSON:
        raise ApiError(415, "content-type", "the body must be application/json")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BODY:
        raise _too_large()


def _too_large() -> ApiError:
    return ApiError(413, "too-large", f"the body is larger than {MAX_BODY} bytes")


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
    """The address without the prefix that a dual-stack socket adds to an IPv4 address."""
    return address.lower().removeprefix("::ffff:") if "." in address else address


def _split(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, str(_HTTP_PORT))
