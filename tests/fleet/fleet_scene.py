"""A fleet to look at: teams, gateways, held calls, decisions, costs and audit lines."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from audit_logs import Chain
from fleet_database import FleetDatabase, Gateway
from held_calls_at_database import Caller, decide
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import HeldDetails, HeldEffect, HeldRule

PERSONS = (
    ("anna", "approver", ("ops",)),
    ("bert", "approver", ("ops",)),
    ("carla", "viewer", ("web",)),
    ("root", "admin", ("*",)),
)


def entry(tool: str, shown: str, **changed: Any) -> bytes:
    """The JSON of a held call, as a gateway's engine makes it."""
    values: dict[str, Any] = {
        "nonce": "00000000", "binding": "b", "tool": tool, "agent": "main", "session": "agent:main:main", "run": "r",
        "code": "approval.required", "reason": "deletes files outside of the workspace", "shown": shown,
        "created": time.time(), "expires": time.time() + 600,
    }  # fmt: skip
    return msgspec.json.encode(HeldCall(**values | changed))


DELETES = HeldDetails(
    effects=(HeldEffect("delete", "/srv/releases/*", flags=("recursive",)), HeldEffect("write", "/srv/current")),
    rules=(HeldRule("files.delete-recursive", "deletes a folder with all that is in it", 6),),
)


class FleetScene:
    """`persons`: registered in the database; `gateways`: with a connection of the gateways' login."""

    def __init__(self, database: FleetDatabase) -> None:
        self.database = database
        self.owner = database.owner()
        self.persons = {name: database.person(name, role, teams) for name, role, teams in PERSONS}
        self.login = database.gateway_login()
        self.gateways = {team: database.gateway(team) for team in ("ops", "web")}

    def caller(self, team: str) -> Caller:
        return Caller(self.login, self.gateways[team])

    def hold(self, team: str, tool: str, shown: str, *, binding: str = "", **changed: Any) -> str:
        """The nonce of a new held call. What `HeldCall` knows goes into its entry."""
        names = set(HeldCall.__struct_fields__) - {"requester", "session"}
        inside = {name: changed.pop(name) for name in list(changed) if name in names}
        row = self.caller(team).present(binding or shown, entry=entry(tool, shown, **inside), **changed)
        return str(row["nonce"])

    def decide(self, person: str, team: str, nonce: str, verdict: str = "approved", why: str = "") -> None:
        decide(self.persons[person], self.gateways[team], nonce, verdict, why)

    def use(self, team: str, binding: str) -> None:
        """The gateway uses the approval."""
        self.caller(team).present(binding)

    def spend(self, team: str, usd: float, *, days: int = 0, agent: str = "main", model: str = "large-1") -> None:
        """A day's sums, as the leader writes them."""
        for table in ("day", "hour"):
            self.owner.execute(
                f"INSERT INTO fleet.{table} "
                f"SELECT date_trunc('{table}', clock_timestamp() - make_interval(days => %s), 'UTC'),"
                " %s, %s, 'provider', %s, 120, 3, 90000, 20000, 0, 0, 110000, 118, %s, 0, 118, 40000",
                (days, self.gateways[team].id, agent, model, usd),
            )

    def log(self, team: str, *lines: dict[str, str]) -> None:
        """A new audit log of the gateway with these lines."""
        gateway, chain = self.gateways[team], Chain()
        made = [line for fields in lines for line in chain.add(1, **fields)]
        self.login.execute(
            "SELECT fleet.audit_append(%s, %s, %s, 1, %s)", (gateway.id, gateway.token, chain.name_of(made), made)
        )

    def other_gateway(self, team: str, state: str) -> Gateway:
        made = self.database.gateway(team)
        self.owner.execute("UPDATE fleet.gateway SET state = %s WHERE id = %s", (state, made.id))
        return made
