"""The endpoints of the fleet dashboard. Each is one function of the database, which checks person, team and role."""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from typing import Any

import msgspec

from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import Endpoint, Query
from toolguard_cli.fleet import page_calls, page_passkeys, page_types
from toolguard_cli.fleet.page_calls import CallOfFleet, milliseconds
from toolguard_cli.fleet.page_visit import FleetVisit
from toolguard_engine import __version__
from toolguard_engine.wording import printable
from toolguard_fleet import schema

EVERY_TEAM = "*"
MAX_REASON = 300
MILLISECONDS = 1_000


class PersonOfPage(msgspec.Struct, frozen=True):
    id: str
    role: str
    teams: list[str]
    server_time: float


class WaitingOfFleet(msgspec.Struct, frozen=True):
    all: int
    server_time: float
    calls: list[CallOfFleet]


def me(visit: FleetVisit, asked: Query) -> page_types.FleetVisitor:
    del asked
    page = _person(visit)
    return page_types.FleetVisitor(
        page.id, page.role, page.teams, milliseconds(page.server_time), __version__, proxied=bool(visit.user)
    )


def calls(visit: FleetVisit, asked: Query) -> page_types.FleetCalls:
    del asked
    role = _person(visit).role
    fleet = visit.ask("SELECT fleet.page_waiting(%s)", (), WaitingOfFleet)
    views = [page_calls.view(call, role) for call in fleet.calls]
    return page_types.FleetCalls(milliseconds(fleet.server_time), fleet.all, views)


def history(visit: FleetVisit, asked: page_types.HistoryQuery) -> page_types.FleetHistory:
    before = (asked.before + 1) / MILLISECONDS if asked.before else None  # calls of the same millisecond are given again
    fleets = visit.ask("SELECT fleet.page_closed(%s, %s, %s)", (asked.hours, before), list[CallOfFleet])
    rejected = _rejected(visit, asked.hours) if any(fleet.status == "used" for fleet in fleets) else {}
    return page_types.FleetHistory([_closed(fleet, rejected) for fleet in fleets])


def _closed(row: CallOfFleet, rejected: dict[tuple[str, str], str]) -> page_types.FleetCallView:
    why = rejected.get((row.gateway, row.nonce), "") if row.status == "used" else ""
    return msgspec.structs.replace(page_calls.view(row, "viewer"), rejected=why)


class _Rejection(msgspec.Struct, frozen=True):
    nonce: str = ""
    why: str = ""


def _rejected(visit: FleetVisit, hours: int) -> dict[tuple[str, str], str]:
    """Why gateways did not count an approval, by gateway and nonce, from the last of their audit lines about this."""
    views = audit(visit, page_types.AuditQuery(event="forged", hours=hours)).lines
    made = {}
    for view in reversed(views):
        with suppress(msgspec.DecodeError):
            line = msgspec.json.decode(view.line.encode(), type=_Rejection)
            made[view.gateway, line.nonce] = printable.cut(line.why, MAX_REASON) or "no reason given"
    return made


def teams(visit: FleetVisit, asked: Query) -> page_types.TeamStates:
    del asked
    answer = visit.ask("SELECT fleet.page_teams(%s)", (), list[dict[str, Any]])
    rows = [_named(team, "kill_at") for team in answer]
    return page_types.TeamStates(_converted(rows, list[page_types.TeamState]))


def gateways(visit: FleetVisit, asked: Query) -> page_types.FleetGatewayStates:
    del asked
    answer = visit.ask("SELECT fleet.page_gateways(%s)", (), dict[str, Any])
    rows = [{**gateway, "state": "left" if gateway["has_left"] else gateway["state"]} for gateway in answer["gateways"]]
    return page_types.FleetGatewayStates(answer["all"], _converted(map(_named, rows), list[page_types.FleetGatewayState]))


def costs(visit: FleetVisit, asked: page_types.CostQuery) -> page_types.FleetCosts:
    answer = visit.ask("SELECT fleet.page_costs(%s, %s, %s)", (asked.hours, asked.by), dict[str, Any])
    scale = 1_000 if asked.by in ("day", "hour") else None
    rows = [{**cost, "name": str(int(cost["name"]) * scale) if scale else cost["name"]} for cost in answer["rows"]]
    rows = sorted(rows, key=lambda row: int(row["name"])) if scale else rows
    totals = {**answer["totals"], "rows": [_named(total) for total in rows]}
    made: page_types.FleetCosts = _converted(_named(totals), page_types.FleetCosts)
    return made


def audit(visit: FleetVisit, asked: page_types.AuditQuery) -> page_types.AuditLineViews:
    filters = {name: value for name, value in msgspec.structs.asdict(asked).items() if value and name != "before"}
    arguments = (msgspec.json.encode(filters).decode(), asked.before or None)
    records = visit.ask("SELECT fleet.page_audit(%s, %s::jsonb, %s::bigint)", arguments, list[dict[str, Any]])
    rows = [{**_named(record, "stored"), "line": b64decode(record["line"]).decode("utf-8", "replace")} for record in records]
    return page_types.AuditLineViews(_converted(rows, list[page_types.AuditLineView]))


def health(visit: FleetVisit, asked: Query) -> page_types.FleetHealth:
    del asked
    answer = visit.ask("SELECT fleet.page_health(%s)", (), dict[str, Any])
    partitions = [_named(partition) for partition in answer["partitions"]]
    named = _named({**answer, "partitions": partitions, "known": schema.latest()})
    made: page_types.FleetHealth = _converted(named, page_types.FleetHealth)
    return made


def deny(visit: FleetVisit, asked: page_types.FleetDenial) -> page_types.Done:
    visit.ask("SELECT fleet.page_deny(%s, %s, %s, %s)", (asked.gateway, asked.nonce, asked.why), bool)
    return page_types.Done(f"Denied {asked.nonce}.")


def kill(visit: FleetVisit, asked: page_types.KillRequest) -> page_types.Done:
    visit.ask("SELECT fleet.page_kill(%s, %s, %s, %s)", (asked.team, asked.on, asked.why), bool)
    of = "the whole fleet" if asked.team == EVERY_TEAM else f"the team {asked.team}"
    return page_types.Done(f"The kill switch of {of} is {'on' if asked.on else 'off'}.")


def _person(visit: FleetVisit) -> PersonOfPage:
    return visit.ask("SELECT fleet.page_me(%s)", (), PersonOfPage)


def _named(row: dict[str, Any], *times: str) -> dict[str, Any]:
    """Its members in the names of the page; `times` in milliseconds."""
    changed = row | {name: milliseconds(row[name] or 0.0) for name in times}
    return {_camel(name): value for name, value in changed.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _converted(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value if isinstance(value, dict) else list(value), kind)
    except msgspec.ValidationError as error:
        raise ApiError(502, "database", f"the database returned an invalid answer: {error}") from error


DECIDES = (403, 409)
ENDPOINTS = (
    Endpoint("GET", "/api/me", me, "Who has logged in."),
    Endpoint("GET", "/api/calls", calls, "The waiting calls."),
    Endpoint("GET", "/api/history", history, "The calls that are closed."),
    Endpoint("GET", "/api/teams", teams, "The teams and their kill switches."),
    Endpoint("GET", "/api/gateways", gateways, "The gateways."),
    Endpoint("GET", "/api/costs", costs, "What model calls cost."),
    Endpoint("GET", "/api/audit", audit, "Lines of the audit logs."),
    Endpoint("GET", "/api/health", health, "The state of the database."),
    Endpoint("POST", "/api/deny", deny, "Denies a held call.", refusals=DECIDES),
    Endpoint("GET", "/api/passkeys", page_passkeys.listed, "The passkeys of the person who is logged in."),
    Endpoint("POST", "/api/passkeys/add", page_passkeys.add, "Registers a new passkey.", refusals=DECIDES),
    Endpoint("POST", "/api/passkeys/remove", page_passkeys.remove, "Removes a passkey.", refusals=DECIDES),
    Endpoint("POST", "/api/approve/begin", page_passkeys.begin, "What a passkey has to sign.", refusals=DECIDES),
    Endpoint("POST", "/api/approve", page_passkeys.approve, "An approval that a passkey has signed.", refusals=DECIDES),
    Endpoint("POST", "/api/kill", kill, "Turns a team's kill switch on or off.", refusals=DECIDES),
)
