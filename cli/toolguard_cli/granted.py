"""Grants as the commands show and log them."""

from __future__ import annotations

import secrets
import time
from math import ceil
from typing import Any

import msgspec

from toolguard_cli import stores, tables
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.layers.grants import Grant, is_expired
from toolguard_engine.stores import audit


def public(grant: Grant, now: float) -> dict[str, Any]:
    """For scripts: all fields, and whether it still counts."""
    return {**msgspec.to_builtins(grant), "expired": is_expired(grant, now)}


def words(grant: Grant) -> str:
    """What it covers, for a person."""
    who = f"agent {grant.agent}" if grant.agent else "any agent"
    limits = [f"{name} like {glob}" for name, glob in grant.params.items()] + ([f"in {grant.cwd}"] if grant.cwd else [])
    more = f" with {', '.join(limits)}" if limits else ""
    return answers.cut(f"{who} may call {grant.tool} like `{grant.pattern}`{more}, without asking", 600)


def ends(grant: Grant, now: float) -> str:
    if not grant.expires:
        return "it never ends"
    if is_expired(grant, now):
        return f"it ended {tables.local(grant.expires)}"
    return f"it ends {tables.local(grant.expires)} (in {left(grant, now)})"


def left(grant: Grant, now: float) -> str:
    """For a table: `6d23h`, `never ends`, `expired`."""
    if not grant.expires:
        return "never ends"
    return "expired" if is_expired(grant, now) else answers.duration(ceil(grant.expires - now))


def log(places: Places, grant: Grant, event: str, why: str) -> None:
    """The line in the audit log. Raises `StoreError`."""
    line = audit.Event(
        id=f"{grant.id}-{event}-{secrets.token_hex(4)}",
        time=audit.when(time.time()),
        event=event,
        tool=answers.plain(grant.tool),
        agent=answers.plain(grant.agent),
        by=stores.who(),
        where="cli",
        why=why,
        reason=f"{grant.id}, until {audit.when(grant.expires) if grant.expires else 'revoked'}",
        shown=words(grant),
    )
    audit.AuditLog(places.state_dir).append([line])
