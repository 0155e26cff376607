"""Grants as the commands show and log them."""

from __future__ import annotations

import secrets
import time
from math import ceil
from typing import Any

import msgspec

from toolguard_cli import stores, tables
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.layers.grants import Grant, is_expired, meaning
from toolguard_engine.stores import audit


def public(grant: Grant, now: float) -> dict[str, Any]:
    """For scripts: all fields but the proof, and whether its time is over."""
    fields = {name: value for name, value in msgspec.to_builtins(grant).items() if name != "mac"}
    return {**fields, "expired": is_expired(grant, now)}


def details(grant: Grant, now: float) -> list[str]:
    """All that it says, uncut: what a person reads before accepting what somebody wrote."""
    rows = [
        ("tool", grant.tool),
        ("pattern", grant.pattern),
        ("agent", grant.agent or "any"),
        ("folder", grant.cwd or "any"),
        *(("param", f"{name} like {glob}") for name, glob in grant.params.items()),
        ("time", ends(grant, now)),
        ("by", grant.by),
        ("reason", grant.reason),
    ]
    covers = f"{grant.id} is not signed. It would let these calls through without asking; * stands for {meaning(grant.tool)}"
    return [covers, *(f"  {name:<8} {answers.plain(value) or '-'}" for name, value in rows)]


def words(grant: Grant) -> str:
    """What it covers, for a person."""
    who = f"agent {grant.agent}" if grant.agent else "any agent"
    limits = [f"{name} like {glob}" for name, glob in grant.params.items()] + ([f"in {grant.cwd}"] if grant.cwd else [])
    more = f" with {', '.join(limits)}" if limits else ""
    return answers.cut(f"{who} may call {grant.tool} like `{grant.pattern}`{more}, without asking", 600)


def missing(grant_id: str) -> UserError:
    return UserError(f"there is no grant {answers.cut(grant_id, 40)}", "toolguard grants --all lists those that there are")


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


def log(places: Places, grant: Grant, event: str, why: str, said: str = "") -> None:
    """The line in the audit log; `said` is the first word of its reason. Raises `StoreError`."""
    until = f"{grant.id}, until {audit.when(grant.expires) if grant.expires else 'revoked'}"
    line = audit.Event(
        id=f"{grant.id}-{event}-{secrets.token_hex(4)}",
        time=audit.when(time.time()),
        event=event,
        tool=answers.plain(grant.tool),
        agent=answers.plain(grant.agent),
        by=stores.who(),
        where="cli",
        why=why,
        reason=f"{said}: {until}" if said else until,
        shown=words(grant),
    )
    audit.AuditLog(places.state_dir).append([line])
