"""Who asks the fleet dashboard: a session that a token began, or a person whom a reverse proxy vouches for.

The secret of a session has two halves. One is a cookie that no script can read (HttpOnly, SameSite=Strict), the other is
kept by the page and sent as a header. Cookies of a host are sent to all its ports; a program on another one gets a half that
opens nothing. A page of another site cannot send the header.

The name that a proxy gives counts on a Unix socket only, where file permissions decide who may connect. Over TCP it is
ignored.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Scope

from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.security import STATIC, AccessPolicy, Security
from toolguard_cli.fleet import page_refusals

COOKIE = "toolguard_fleet"
SECURE_COOKIE = f"__Host-{COOKIE}"
KEY_HEADER = "x-toolguard-key"
OPEN = ("/", "/healthz", "/metrics", "/api/session")
"""Paths that need no session: the page itself, whether it works, what takes a token, and logging in."""

PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")
HALF = re.compile(r"[0-9a-f]{32}")


class FleetSecurity(Security):
    """`user_header`: the header in which the proxy behind a Unix socket names the person; empty over TCP."""

    def __init__(self, app: ASGIApp, door: AccessPolicy, user_header: str = "") -> None:
        super().__init__(app, door)
        self._user_header = user_header

    def check_person(self, scope: Scope, headers: Headers, *, reading: bool) -> None:
        """Sets `scope["session"]` or `scope["user"]`; the database decides whether they are valid. Raises `ApiError`."""
        path = str(scope["path"])
        scope["trusted"] = False
        scope["user"] = self._user(headers)
        scope["session"] = b"" if scope["user"] else session(headers)
        if scope["user"] and not reading and not headers.getlist("origin"):
            raise ApiError(403, "origin", "changes can only be made on the page")
        if not (scope["session"] or scope["user"] or path in OPEN or path.startswith(STATIC)):
            raise ApiError(401, "login", "not logged in", page_refusals.LOGIN)

    def _user(self, headers: Headers) -> str:
        """Whom the proxy names; empty where nobody is believed. Raises `ApiError`."""
        given = headers.getlist(self._user_header) if self._user_header else []
        if not given:
            return ""
        if len(given) > 1 or not PERSON.fullmatch(given[0]):
            raise ApiError(403, "person", "the proxy did not name a valid person")
        return given[0]


def session(headers: Headers) -> bytes:
    """Both halves of the secret; empty without one of them."""
    keys, cookies = headers.getlist(KEY_HEADER), _cookies(headers)
    if len(keys) != 1 or len(cookies) != 1 or not (HALF.fullmatch(keys[0]) and HALF.fullmatch(cookies[0])):
        return b""
    return (cookies[0] + keys[0]).encode()


def _cookies(headers: Headers) -> list[str]:
    """The values of ours; the one that only this host can have set comes before others."""
    pairs = [part.strip().partition("=") for header in headers.getlist("cookie") for part in header.split(";")]
    cookies = {name: [value for given, _, value in pairs if given == name] for name in (SECURE_COOKIE, COOKIE)}
    return cookies[SECURE_COOKIE] or cookies[COOKIE]


def cookie(value: str, seconds: int, *, secure: bool) -> dict[str, Any]:
    """Arguments for `Response.set_cookie`."""
    return {
        "key": SECURE_COOKIE if secure else COOKIE,
        "value": value,
        "max_age": seconds,
        "path": "/",
        "secure": secure,
        "httponly": True,
        "samesite": "strict",
    }
