"""Gateways and people of the fleet as users see them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, dated
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import FleetApprover, FleetGateway

GATEWAY_HEAD = ("ID", "STATE", "TEAM", "HOST", "VERSION", "SEEN", "FINGERPRINT")
_WORD = re.compile("_([a-z])")
PERSON_HEAD = ("ID", "LOGIN", "ROLE", "TEAMS", "STATE")


def gateway_lines(gateways: list[FleetGateway]) -> list[Line]:
    if not gateways:
        return [Line("info", "no gateway has joined")]
    rows = [_gateway_row(gateway) for gateway in gateways]
    copied = [
        Line("error", f"{gateway.id}: a copy of it ran, or its audit log was rewritten; find out which, then admit it again")
        for gateway in gateways
        if gateway.state == "quarantined"
    ]
    waiting = [gateway.id for gateway in gateways if gateway.state == "new"]
    return [
        *tables.table(GATEWAY_HEAD, rows),
        *copied,
        *(Line("next", f"toolguard fleet admit {gateway}") for gateway in waiting[:3]),
    ]


def camel_case(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with names as in the JSON of all commands: `decidedBy`."""
    return {_WORD.sub(lambda match: match[1].upper(), name): value for name, value in fields.items()}


def gateway_data(gateway: FleetGateway) -> dict[str, Any]:
    return dated(camel_case(msgspec.to_builtins(gateway)), "joined", "seen")


def person_lines(approvers: list[FleetApprover]) -> list[Line]:
    if not approvers:
        return [
            Line("info", "nobody is registered"),
            Line("next", "toolguard fleet approvers add NAME --role admin --team '*'"),
        ]
    rows = [_person_row(approver) for approver in approvers]
    return tables.table(PERSON_HEAD, rows)


def person_data(approver: FleetApprover) -> dict[str, Any]:
    return dated({**camel_case(msgspec.to_builtins(approver)), "revoked": approver.revoked or 0.0}, "added", "revoked")


def _gateway_row(gateway: FleetGateway) -> tuple[str, ...]:
    cells = (gateway.id, gateway.state, gateway.team, gateway.host, gateway.version)
    return (*map(printable.plain, cells), f"{printable.duration(max(gateway.silent, 0))} ago", gateway.fingerprint)


def _person_row(approver: FleetApprover) -> tuple[str, ...]:
    cells = (approver.id, approver.login, approver.role, ", ".join(approver.teams))
    return (*map(printable.plain, cells), "revoked" if approver.revoked else "active")
