"""What `toolguard status` says about calls, grants, budgets and the audit log. A damaged store is a line, not an error."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from toolguard_cli import stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line
from toolguard_engine import answers
from toolguard_engine.layers.grants import active
from toolguard_engine.ledger import Entry
from toolguard_engine.standing import Standing
from toolguard_engine.stores.audit import AuditLog
from toolguard_engine.stores.killswitch import KillSwitch, Thrown
from toolguard_engine.stores.policy import Policies
from toolguard_engine.stores.standings import FileStandings
from toolguard_engine.stores.userconstraints import UserConstraints
from toolguard_engine.stores.userrules import UserRules

NEWEST_FILES = 2


@dataclass(frozen=True)
class Overview:
    """`damaged`: what is wrong with a store, and its mend. `standings`: None where it is not known."""

    waiting: list[Entry] = field(default_factory=list)
    grants: int = 0
    damaged: list[tuple[str, str]] = field(default_factory=list)
    today: dict[str, int] = field(default_factory=dict)
    standings: list[Standing] | None = None
    thrown: Thrown | None = None


def look(places: Places, now: float) -> Overview:
    damaged: list[tuple[str, str]] = []
    waiting: list[Entry] = []
    grants = 0
    try:
        with stores.told():
            waiting = answers.waiting(stores.nonces(places).entries(), now)
    except UserError as error:
        damaged.append((error.message, error.fix))
    try:
        with stores.told():
            grants = len(active(Policies(places.state_dir).grants(), now))
            UserRules(places.state_dir).rules()
            UserConstraints(places.state_dir).constraints()
    except UserError as error:
        damaged.append((f"policy.toml is faulty (toolguard check --rules): {error.message}", error.fix))
    standings: list[Standing] | None = None
    try:
        with stores.told(), closing(FileStandings(places.state_dir, patient=True)) as store:
            standings = store.look()
    except UserError as error:
        damaged.append((error.message, error.fix))
    return Overview(waiting, grants, damaged, _today(places, now), standings, KillSwitch(places.state_dir).thrown())


def _today(places: Places, now: float) -> dict[str, int]:
    """How many lines of each event since midnight here; only the newest files are read."""
    midnight = datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    since = midnight.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    days = {f'"time":"{day:%Y-%m-%d}'.encode() for day in (midnight.astimezone(UTC), datetime.fromtimestamp(now, UTC))}
    counted: Counter[str] = Counter()
    with suppress(OSError):
        for path in AuditLog(places.state_dir).files()[-NEWEST_FILES:]:
            with path.open("rb") as file:
                counted.update(_event(line, since) for line in file if any(day in line for day in days))
    counted.pop("", None)
    return dict(sorted(counted.items()))


def _event(line: bytes, since: str) -> str:
    """The event of a line that is not older than this; else empty."""
    try:
        value = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return answers.cut(str(value.get("event", "")), 20) if str(value.get("time", "")) >= since else ""


def data(found: Overview) -> dict[str, Any]:
    pending = [entry for entry in found.waiting if entry.status == "pending"]
    return {
        "pending": len(pending),
        "approvedUnused": len(found.waiting) - len(pending),
        "oldest": pending[0].nonce if pending else None,
        "grants": found.grants,
        "damaged": [message for message, _ in found.damaged],
        "auditToday": found.today,
    }


def lines(found: Overview) -> list[Line]:
    told = [_waiting(found)]
    if found.grants:
        told.append(Line("info", f"{found.grants} grant{'' if found.grants == 1 else 's'} in force (toolguard grants)"))
    if found.today:
        events = ", ".join(f"{count} {event}" for event, count in found.today.items())
        told.append(Line("info", f"audit log today: {events}"))
    for message, fix in found.damaged:
        told += [Line("error", message), Line("info", f"-> {fix}")]
    return told


def _waiting(found: Overview) -> Line:
    pending = [entry for entry in found.waiting if entry.status == "pending"]
    if not pending:
        return Line("info", "no call is waiting for a person")
    many = f"{len(pending)} calls wait" if len(pending) > 1 else "1 call waits"
    left = answers.state(pending[0], time.time())
    return Line("warn", f"{many} for a person, the oldest is {pending[0].nonce}, {left} (toolguard pending)")
