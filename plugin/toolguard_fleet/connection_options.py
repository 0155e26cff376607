"""What a connection string becomes before it is used: encrypted and verified, unless the server is on this machine."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo

from toolguard_fleet.fleet_errors import FleetError

CONNECT_SECONDS = 5
VERIFIED = "verify-full"
NOT_A_DSN = "not a connection string such as host=db.example dbname=fleet"
_BAD_OPTION = re.compile(r'invalid connection option "([a-z_]{1,40})"')
_LOGIN = frozenset({"user", "password", "passfile", "sslcert", "sslkey", "sslpassword"})
SYSTEM_CERTIFICATES = 160_000
"""The libpq from which `sslrootcert=system` exists."""


def options(dsn: str, name: str = "toolguard", patience: int = CONNECT_SECONDS) -> dict[str, Any]:
    """Arguments for `psycopg.connect`. `name`: the application name that the server shows. `patience`: seconds for a
    connection, unless the string says it or names several hosts. Raises `FleetError`."""
    try:
        params: dict[str, Any] = conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        raise FleetError(_problem(error)) from error
    has_others = "," in str(params.get("host", "")) + str(params.get("hostaddr", ""))
    params.setdefault("connect_timeout", CONNECT_SECONDS if has_others else patience)
    params["application_name"] = name[:63]
    return params if is_local(params) else _verified(params)


def _problem(error: psycopg.ProgrammingError) -> str:
    """libpq names the option that it does not know; its other errors may repeat a password and are not shown."""
    named = _BAD_OPTION.match(str(error))
    return f'{NOT_A_DSN}: there is no option "{named[1]}"' if named else NOT_A_DSN


def is_local(params: dict[str, Any]) -> bool:
    """Whether all hosts are Unix sockets or loopback. What a service file names counts as remote."""
    if params.get("service") or os.environ.get("PGSERVICE"):
        return False
    hosts = [str(params.get(name) or os.environ.get(variable, "")) for name, variable in _PLACES]
    return all(_is_here(host) for value in hosts for host in value.split(","))


_PLACES = (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"))


def _is_here(host: str) -> bool:
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _verified(params: dict[str, Any]) -> dict[str, Any]:
    """GSS encryption is off: where it is possible, libpq would prefer it and not check the certificate."""
    if (mode := params.get("sslmode", VERIFIED)) != VERIFIED:
        raise FleetError(f"the connection string has sslmode={mode}: a server on another machine needs sslmode={VERIFIED}")
    params |= {"sslmode": VERIFIED, "gssencmode": "disable"}
    own = Path("~/.postgresql/root.crt").expanduser()
    has_own = params.get("sslrootcert") or os.environ.get("PGSSLROOTCERT") or own.exists()
    if not has_own and psycopg.pq.version() >= SYSTEM_CERTIFICATES:
        params["sslrootcert"] = "system"
    return params


def without_login(dsn: str) -> str:
    """The same server and database, for the login and password of whoever connects. Raises `FleetError`."""
    try:
        params = conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        raise FleetError(_problem(error)) from error
    return conninfo.make_conninfo("", **{name: value for name, value in params.items() if name not in _LOGIN})
