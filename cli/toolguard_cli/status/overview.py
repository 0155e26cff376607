"""Held calls, grants, budgets and the audit log, for `toolguard status`. A damaged store is reported, not raised."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores, signed_grants
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import HeldCall, is_lapsed
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.config.settings import Config
from toolguard_engine.stores import atomic
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.notifications import TargetHealth
from toolguard_engine.stores.values import KillSwitchState
from toolguard_engine.wording import printable

NEWEST_FILES = 2
DAY = 86_400.0


@dataclass(frozen=True)
class StatusOverview:
    """`damaged`: (message, fix) by store. `standings`: None if unknown."""

    waiting: list[HeldCall] = field(default_factory=list)
    missed: list[HeldCall] = field(default_factory=list)
    grants: int = 0
    sessions: int = 0
    damaged: list[tuple[str, str]] = field(default_factory=list)
    today: dict[str, int] = field(default_factory=dict)
    standings: list[Standing] | None = None
    thrown: KillSwitchState | None = None
    failing: list[TargetHealth] = field(default_factory=list)


def look(places: Places, now: float) -> StatusOverview:
    damaged: list[tuple[str, str]] = []
    waiting, missed = list[HeldCall](), list[HeldCall]()
    grants = sessions = 0
    config: Config | None = None
    try:
        with gateway_stores.user_errors():
            config = gateway_stores.settings(places)
            entries = gateway_stores.nonces(places, config).entries()
            waiting, missed = replies.waiting(entries, now), replies.missed(entries, now, DAY)
    except UserError as error:
        damaged.append((error.message, error.fix))
    try:
        with gateway_stores.user_errors():
            active = stores.grants(places.state_dir).active(now)
            grants = len(signed_grants.counting(places, config, active) if config else active)
            sessions = len(stores.session_grants(places.state_dir).active(now))
            stores.user_rules(places.state_dir).rules()
    except UserError as error:
        if error.message not in (message for message, _ in damaged):  # else it is the config, and reported already
            damaged.append((f"policy.toml is invalid (toolguard check --rules): {error.message}", error.fix))
    standings: list[Standing] | None = None
    try:
        with gateway_stores.user_errors(), closing(stores.standings(places.state_dir, patient=True)) as store:
            standings = store.look()
    except UserError as error:
        damaged.append((error.message, error.fix))
    failing: list[TargetHealth] = []
    try:
        with gateway_stores.user_errors(), closing(stores.notifications(places.state_dir)) as outbox:
            failing = [health for health in outbox.health() if health.error or health.lost]
    except UserError as error:
        damaged.append((error.message, error.fix))
    return StatusOverview(
        waiting,
        missed,
        grants,
        sessions,
        damaged,
        _today(places, now),
        standings,
        stores.kill_switch(places.state_dir).thrown(),
        failing,
    )


def _today(places: Places, now: float) -> dict[str, int]:
    """The number of audit lines by event since local midnight; reads only the newest files."""
    midnight = datetime.fromtimestamp(now).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    since = midnight.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    days = {f'"time":"{day:%Y-%m-%d}'.encode() for day in (midnight.astimezone(UTC), datetime.fromtimestamp(now, UTC))}
    counted: Counter[str] = Counter()
    with suppress(OSError):
        for path in stores.audit_log(places.state_dir).files()[-NEWEST_FILES:]:
            with atomic.opened(path) as file:
                counted.update(_event(line, since) for line in file if any(day in line for day in days))
    counted.pop("", None)
    return dict(sorted(counted.items()))


def _event(line: bytes, since: str) -> str:
    """The event of a line; empty if it is older than `since`."""
    try:
        value = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return printable.cut(str(value.get("event", "")), 20) if str(value.get("time", "")) >= since else ""


def data(overview: StatusOverview) -> dict[str, Any]:
    pending = [entry for entry in overview.waiting if entry.status == "pending"]
    lapsed = [entry for entry in overview.missed if is_lapsed(entry)]
    return {
        "pending": len(pending),
        "approvedUnused": len(overview.waiting) - len(pending),
        "oldest": pending[0].nonce if pending else None,
        "missed": len(overview.missed) - len(lapsed),
        "lapsed": len(lapsed),
        "grants": overview.grants,
        "sessionGrants": overview.sessions,
        "damaged": [message for message, _ in overview.damaged],
        "auditToday": overview.today,
        "notificationsFailing": [health.target for health in overview.failing],
    }


def lines(overview: StatusOverview) -> list[Line]:
    shown = [] if _waiting(overview) else [Line("info", "no call is waiting for approval")]
    if overview.grants:
        shown.append(
            Line("info", f"{overview.grants} grant{'' if overview.grants == 1 else 's'} in force (toolguard grants)")
        )
    if overview.sessions:
        one = overview.sessions == 1
        text = f"{overview.sessions} answer{'' if one else 's'} for the rest of a session in force (toolguard grants)"
        shown.append(Line("info", text))
    if overview.today:
        events = ", ".join(f"{event} {count}" for event, count in overview.today.items())
        shown.append(Line("info", f"audit log today: {events}"))
    for health in overview.failing:
        why = f"failing: {printable.plain(health.error)}" if health.error else f"{health.lost} were not delivered"
        shown.append(Line("warn", f"notifications to {printable.plain(health.target)}: {why} (toolguard notify status)"))
    for message, fix in overview.damaged:
        shown += [Line("error", message), Line("info", f"-> {fix}")]
    return shown


def first_lines(overview: StatusOverview) -> list[Line]:
    """What waits for an answer, and what nobody answered in the last day."""
    return [*_waiting(overview), *_missed(overview)]


def _missed(overview: StatusOverview) -> list[Line]:
    lapsed = [entry for entry in overview.missed if is_lapsed(entry)]
    unanswered = [entry for entry in overview.missed if not is_lapsed(entry)]
    return [
        *_of_last_day(unanswered, "1 call expired", f"{len(unanswered)} calls expired", "unanswered"),
        *_of_last_day(lapsed, "1 approval lapsed", f"{len(lapsed)} approvals lapsed", "unused"),
    ]


def _of_last_day(calls: list[HeldCall], one: str, many: str, how: str) -> list[Line]:
    if not calls:
        return []
    text = f"{many if len(calls) > 1 else one} {how} in the last 24 hours; the latest is {calls[0].nonce}"
    return [Line("warn", f"{text} (toolguard pending --missed)")]


def _waiting(overview: StatusOverview) -> list[Line]:
    pending = [entry for entry in overview.waiting if entry.status == "pending"]
    if not pending:
        return []
    many = f"{len(pending)} calls are waiting" if len(pending) > 1 else "1 call is waiting"
    left = replies.state(pending[0], time.time())
    return [Line("warn", f"{many} for approval; the oldest is {pending[0].nonce}, {left} (toolguard pending)")]
