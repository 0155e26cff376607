"""Which role a refused function needs, and who asked for it."""

from __future__ import annotations

import re
from typing import Any

import psycopg

_FUNCTION = re.compile(r"\bfleet\.([a-z_]{1,63})\(")
_MAY = (
    "SELECT has_function_privilege('toolguard_approver', p.oid, 'EXECUTE'),"
    " has_function_privilege('toolguard_admin', p.oid, 'EXECUTE'),"
    " has_function_privilege('toolguard_gateway', p.oid, 'EXECUTE')"
    " FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'fleet'::regnamespace AND p.proname = %s LIMIT 1"
)
_WHO = (
    "SELECT f->>'id', f->>'role', array_to_string(ARRAY(SELECT jsonb_array_elements_text(f->'teams')), ', ')"
    " FROM fleet.whoami() f"
)
_NEEDED = ("only a registered person may do that", "only an admin may do that", "that needs the gateways' login")


def describe(connection: psycopg.Connection[Any], statement: str) -> str:
    """`only an admin may do that; you are vic, viewer of ops`. The connection must be in autocommit mode."""
    return f"{_needed(connection, statement)}; you are {_who(connection)}"


def _needed(connection: psycopg.Connection[Any], statement: str) -> str:
    named = _FUNCTION.search(statement)
    try:
        rights = connection.execute(_MAY, (named[1],)).fetchone() if named else None
    except psycopg.Error:
        rights = None
    return next((text for text, may in zip(_NEEDED, rights or (), strict=False) if may), "that needs the owner's login")


def _who(connection: psycopg.Connection[Any]) -> str:
    try:
        row = connection.execute(_WHO).fetchone()
    except psycopg.Error:
        row = None
    return f"{row[0]}, {row[1]} of {row[2]}" if row else f"logged in as {connection.info.user}"
