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


def gateway_lines(found: list[FleetGateway]) -> list[Line]:
    if not found:
        return [Line("info", "no gateway has joined")]
    rows = [_gateway_row(each) for each in found]
    copied = [
        Line("error", f"{each.id}: a copy of it ran, or its audit log was rewritten; find out which, then admit it again")
        for each in found
        if each.state == "quarantined"
    ]
    waiting = [each.id for each in found if each.state == "new"]
    return [
        *tables.table(GATEWAY_HEAD, rows),
        *copied,
        *(Line("next", f"toolguard fleet admit {each}") for each in waiting[:3]),
    ]


def camel_case(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with names as in the JSON of all commands: `decidedBy`."""
    return {_WORD.sub(lambda found: found[1].upper(), name): value for name, value in fields.items()}


def gateway_data(each: FleetGateway) -> dict[str, Any]:
    return dated(camel_case(msgspec.to_builtins(each)), "joined", "seen")


def person_lines(found: list[FleetApprover]) -> list[Line]:
    if not found:
        return [
            Line("info", "nobody is registered"),
            Line("next", "toolguard fleet approvers add NAME --role admin --team '*'"),
        ]
    rows = [_person_row(each) for each in found]
    return tables.table(PERSON_HEAD, rows)


def person_data(each: FleetApprover) -> dict[str, Any]:
    return dated({**camel_case(msgspec.to_builtins(each)), "revoked": each.revoked or 0.0}, "added", "revoked")


def _gateway_row(each: FleetGateway) -> tuple[str, ...]:
    cells = (each.id, each.state, each.team, each.host, each.version)
    return (*map(printable.plain, cells), f"{printable.duration(max(each.silent, 0))} ago", each.fingerprint)


def _person_row(each: FleetApprover) -> tuple[str, ...]:
    cells = (each.id, each.login, each.role, ", ".join(each.teams))
    return (*map(printable.plain, cells), "revoked" if each.revoked else "active")
