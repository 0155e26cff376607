"""The fleet's database as a person uses it, with a login of the person's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, LiteralString

import psycopg
from psycopg.types.json import Jsonb

from toolguard_fleet import schema
from toolguard_fleet.audit_trail import AuditTrail
from toolguard_fleet.blocking_connection import Connection, column, connected, first
from toolguard_fleet.registry_rows import (
    FleetApprover,
    FleetCall,
    FleetEvent,
    FleetGateway,
    FleetPerson,
    MaintenanceReport,
    PageToken,
    PushedPolicy,
    TeamSwitch,
)

CHANNEL: LiteralString = "toolguard_fleet"


class PersonSession:
    """Every method is one function of the database. All raise `FleetError`; `decide` and `revive` also the ledger's
    `RefusedError`, with the causes unknown, used, denied, expired, approved, requester, again."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def whoami(self) -> FleetPerson:
        return first(self._connection, "SELECT fleet.whoami()", (), FleetPerson)

    def waiting(self) -> list[FleetCall]:
        """What waits in the person's teams, the oldest first."""
        return column(self._connection, "SELECT fleet.waiting()", (), FleetCall)

    def closed(self, hours: float = 24.0) -> list[FleetCall]:
        """What was closed in these hours, the latest first."""
        return column(self._connection, "SELECT fleet.closed(%s::double precision)", (hours,), FleetCall)

    def decide(self, gateway: str, nonce: str, verdict: str, body: bytes, signature: bytes, why: str) -> FleetCall:
        """`verdict`: approved or denied; a denial needs no body and signature. The call as it is then, without its entry."""
        values = (gateway, nonce, verdict, body, signature, why)
        return first(self._connection, "SELECT fleet.decide(%s, %s, %s, %s, %s, %s)", values, FleetCall)

    def announce(self) -> None:
        """A hint for couriers that listen (`fleet.listen`), in a statement of its own. Nothing depends on it."""
        with suppress(psycopg.Error):
            self._connection.execute(f"NOTIFY {CHANNEL}")

    def revive(self, gateway: str, nonce: str, why: str) -> FleetCall:
        return first(self._connection, "SELECT fleet.revive(%s, %s, %s)", (gateway, nonce, why), FleetCall)

    def gateways(self) -> list[FleetGateway]:
        return column(self._connection, "SELECT fleet.gateways()", (), FleetGateway)

    def events(self, filters: dict[str, object], before: int | None = None, limit: int = 100) -> list[FleetEvent]:
        """The latest first. `filters`: see `fleet.events`; `before`: the id of the last one that was shown."""
        values = (Jsonb(filters), before, limit)
        return column(self._connection, "SELECT fleet.events(%s, %s, %s)", values, FleetEvent)

    def approvers(self) -> list[FleetApprover]:
        return column(self._connection, "SELECT fleet.approvers()", (), FleetApprover)

    def admit(self, gateway: str) -> FleetGateway:
        return first(self._connection, "SELECT fleet.admit(%s)", (gateway,), FleetGateway)

    def revoke_gateway(self, gateway: str, why: str) -> FleetGateway:
        return first(self._connection, "SELECT fleet.revoke_gateway(%s, %s)", (gateway, why), FleetGateway)

    def add_approver(
        self, person: str, login: str, role: str, teams: Sequence[str], verifier: str | None = None
    ) -> FleetApprover:
        """`verifier`: creates the login, with the password that this SCRAM verifier was made of."""
        values = (person, login, role, list(teams), verifier)
        return first(self._connection, "SELECT fleet.add_approver(%s, %s, %s, %s, %s)", values, FleetApprover)

    def revoke_approver(self, person: str) -> FleetApprover:
        return first(self._connection, "SELECT fleet.revoke_approver(%s)", (person,), FleetApprover)

    def policy(self, team: str, version: int | None = None) -> PushedPolicy | None:
        """The latest of the team without `version`; `*`: for teams without one of their own."""
        kind: Any = PushedPolicy | None
        pushed: PushedPolicy | None = first(self._connection, "SELECT fleet.policy_at(%s, %s)", (team, version), kind)
        return pushed

    def push_policy(self, team: str, version: int, toml: bytes, signature: bytes) -> None:
        first(self._connection, "SELECT fleet.push_policy(%s, %s, %s, %s)", (team, version, toml, signature), object)

    def kill_switches(self) -> list[TeamSwitch]:
        """Returns the kill switches of the whole fleet (`*`), then of the person's teams."""
        return column(self._connection, "SELECT fleet.kill_switches()", (), TeamSwitch)

    def kill(self, team: str, why: str, *, on: bool) -> TeamSwitch:
        """Gateways that listen are told at once; the others ask within seconds."""
        switched = first(self._connection, "SELECT fleet.kill(%s, %s, %s)", (team, on, why), TeamSwitch)
        self.announce()
        return switched

    def add_page_token(self, person: str, digest: bytes, days: int) -> PageToken:
        """`digest`: SHA-256 of the token, which the database never gets."""
        return first(self._connection, "SELECT fleet.add_page_token(%s, %s, %s)", (person, digest, days), PageToken)

    def revoke_page_token(self, token: str) -> PageToken:
        """`token`: its id."""
        return first(self._connection, "SELECT fleet.revoke_page_token(%s)", (token,), PageToken)

    def page_tokens(self) -> list[PageToken]:
        return column(self._connection, "SELECT fleet.page_tokens()", (), PageToken)

    def set_page_proxy(self, on: bool) -> None:  # noqa: FBT001 - one switch
        first(self._connection, "SELECT fleet.set_page_proxy(%s)", (on,), object)

    def set_quota(self, gateway: str, megabytes: int) -> None:
        """How much a gateway may store in a day; `*`: each that has no quota of its own. Raises `FleetError`."""
        first(self._connection, "SELECT fleet.set_quota(%s, %s)", (gateway, megabytes), object)

    def set_retention(self, table: str, days: int) -> None:
        first(self._connection, "SELECT fleet.set_retention(%s, %s)", (table, days), object)

    def maintain(self) -> MaintenanceReport:
        return first(self._connection, "SELECT fleet.maintain()", (), MaintenanceReport)

    def audit_trail(self) -> AuditTrail:
        return AuditTrail(self._connection)

    def verifier(self, login: str, password: str) -> str:
        """Computed here: the server, and its log, never get the password."""
        made = self._connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256")
        return made.decode()


@contextmanager
def open_session(dsn: str) -> Iterator[PersonSession]:
    """Raises `FleetError`: also `SchemaError` if this toolguard cannot work with the database."""
    with connected(dsn, "toolguard person") as connection:
        schema.check_version(connection)
        yield PersonSession(connection)
