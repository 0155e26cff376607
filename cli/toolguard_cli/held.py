"""Held calls as the commands show them."""

from __future__ import annotations

from typing import Any

import msgspec

from toolguard_engine import answers
from toolguard_engine.ledger import Entry, Ledger, Refused

SECRET = ("mac", "binding")
"""What proves an entry, and what it is bound to: of no use to anybody who reads."""


def now_known(entries: list[Entry], now: float) -> Ledger:
    """The ledger as it would be if it were written now: what is over is closed."""
    ledger = Ledger(entries)
    ledger.sweep(now)
    return ledger


def find(entries: list[Entry], prefix: str, now: float, *statuses: str) -> Entry:
    """The one entry that is meant, in one of these states. Raises `Refused`."""
    entry = now_known(entries, now).find(prefix)
    if entry.status not in statuses:
        raise Refused(entry.status, entry)
    return entry


def public(entry: Entry, now: float) -> dict[str, Any]:
    """For scripts: all fields but those that are secret, and the seconds that are `left`."""
    fields = {name: value for name, value in msgspec.to_builtins(entry).items() if name not in SECRET}
    return {**fields, "left": round(max(0.0, entry.expires - now), 1) if entry.status in ("pending", "approved") else 0}


def details(entry: Entry, now: float) -> list[str]:
    """What a person reads before saying yes."""
    rows = [
        ("tool", entry.tool),
        ("agent", entry.agent),
        ("session", entry.session),
        ("call", entry.shown),
        ("held", f"{entry.reason} ({entry.code})" if entry.code else entry.reason),
    ]
    head = f"{entry.nonce} waits for a person, {answers.state(entry, now)}"
    return [head, *(f"  {name:<8} {answers.plain(value) or '-'}" for name, value in rows)]
