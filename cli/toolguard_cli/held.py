"""Held calls as the commands show them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.ledger import Entry, Ledger, Refused

SECRET = ("mac", "binding")
"""What proves an entry, and what it is bound to: of no use to anybody who reads."""


def never_been(places: Places) -> bool:
    """Whether toolguard has left nothing in this state directory: most likely it is the wrong one."""
    try:
        places.own.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # the store says what is the matter
    return False


def nowhere(places: Places) -> str:
    return f"no toolguard in {answers.plain(str(places.state_dir))} (--state-dir, TOOLGUARD_STATE_DIR)"


@contextmanager
def looked_up(places: Places) -> Iterator[None]:
    """Around what decides on a nonce: where none is known by it, the `UserError` names where it was looked for."""
    if never_been(places):
        raise UserError(nowhere(places), "name the state directory of your gateway; toolguard doctor looks at it")
    try:
        yield
    except Refused as refused:
        if refused.cause != "unknown":
            raise
        answer = answers.explain(refused)
        raise UserError(f"{answer.text} in {answers.plain(str(places.state_dir))}", answer.fix) from refused


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
        ("folder", entry.cwd or "the agent's own"),
        ("held", f"{entry.reason} ({entry.code})" if entry.code else entry.reason),
    ]
    head = f"{entry.nonce} waits for a person, {answers.state(entry, now)}"
    return [head, *(f"  {name:<8} {answers.plain(value) or '-'}" for name, value in rows)]
