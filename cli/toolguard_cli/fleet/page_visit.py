"""The context of a request to the fleet dashboard: who asks, and the database that knows what this person may see."""

from __future__ import annotations

import logging
import secrets
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Any, LiteralString, TypeVar

from toolguard_cli.dashboard.invalid_attempts import InvalidAttempts
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.security import AccessPolicy
from toolguard_cli.fleet import page_refusals
from toolguard_cli.fleet.page_metrics import FleetMetrics
from toolguard_fleet.fleet_errors import FleetError, UnreachableError
from toolguard_fleet.page_database import PageDatabase

T = TypeVar("T")
HALF_BYTES = 16
MAX_PROXIED = 10_000
NOT_LOGGED_IN = "TG030"
LOG = logging.getLogger("toolguard.fleet")


@dataclass
class FleetSite:
    """Shared by all requests. `proxied`: the session of each person whom a reverse proxy has logged in."""

    database: PageDatabase
    door: AccessPolicy
    attempts: InvalidAttempts = field(default_factory=InvalidAttempts)
    proxied: dict[str, bytes] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    last_error: str = ""

    def log(self, error: FleetError) -> None:
        """Visitors are not told why the database cannot be reached. The same reason is logged once."""
        if isinstance(error, UnreachableError) and str(error) != self.last_error:
            self.last_error = str(error)
            LOG.error("%s", error)


@dataclass(frozen=True)
class FleetVisit:
    """One request. `session`: the secret that it brought, empty without one; `user`: whom a reverse proxy vouches for."""

    site: FleetSite
    scope: MutableMapping[str, Any]
    session: bytes = b""
    user: str = ""

    def ask(self, statement: LiteralString, arguments: tuple[Any, ...], kind: type[T]) -> T:
        """Calls a function `page_*`, whose first argument is the session. Raises `ApiError`."""
        try:
            return self._ask(statement, arguments, kind)
        except FleetError as error:
            self.site.log(error)
            raise page_refusals.explain(error) from error

    def _ask(self, statement: LiteralString, arguments: tuple[Any, ...], kind: type[T]) -> T:
        database = self.site.database
        try:
            answer = database.ask(statement, (self.session or self._proxied(), *arguments), kind)
        except FleetError as error:
            if self.session or error.code != NOT_LOGGED_IN:
                raise
            answer = database.ask(statement, (self._proxied(again=True), *arguments), kind)  # its session was over
        self.scope["trusted"] = True
        return answer

    def _proxied(self, *, again: bool = False) -> bytes:
        """The session of the person whom the proxy names. Raises `FleetError`."""
        with self.site.lock:
            known = self.site.proxied.get(self.user)
        if known and not again:
            return known
        session = "".join(new_halves()).encode()
        self.site.database.ask("SELECT fleet.page_enter(%s, %s)", (self.user, sha256(session).digest()), str)
        with self.site.lock:
            while len(self.site.proxied) >= MAX_PROXIED:
                self.site.proxied.pop(next(iter(self.site.proxied)))
            self.site.proxied[self.user] = session
        return session

    def log_in(self, token: str) -> tuple[str, str]:
        """The halves of a new session's secret: for the cookie, and for the page. Raises `ApiError`."""
        halves = new_halves()
        hashed = sha256("".join(halves).encode()).digest()
        try:
            self.site.database.ask("SELECT fleet.page_login(%s, %s)", (token.encode(), hashed), str)
        except FleetError as error:
            self.site.log(error)
            if error.code != NOT_LOGGED_IN:
                raise page_refusals.explain(error) from error
            raise self._invalid() from error
        return halves

    def measured(self, token: str) -> FleetMetrics:
        """What the person of the token may know of the fleet. Raises `ApiError`."""
        try:
            return self.site.database.ask("SELECT fleet.page_metrics(%s)", (token.encode(),), FleetMetrics)
        except FleetError as error:
            self.site.log(error)
            if token and error.code != NOT_LOGGED_IN:
                raise page_refusals.explain(error) from error
            raise self._invalid() from error

    def _invalid(self) -> ApiError:
        if self.site.attempts.is_limited():
            return ApiError(429, "limit", "too many invalid tokens; try again in a minute")
        self.site.attempts.note()
        return ApiError(401, "token", "this token is invalid or no longer valid", "ask an admin of the fleet for a new one")


def new_halves() -> tuple[str, str]:
    return secrets.token_hex(HALF_BYTES), secrets.token_hex(HALF_BYTES)
