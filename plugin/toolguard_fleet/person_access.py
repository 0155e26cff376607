"""The fleet's database as a person uses it, with a login of the person's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from toolguard_fleet import schema
from toolguard_fleet.audit_trail import AuditTrail
from toolguard_fleet.blocking_connection import Connection, column, connected, first
from toolguard_fleet.registry_rows import FleetApprover, FleetCall, FleetGateway, FleetPerson, MaintenanceReport


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

    def revive(self, gateway: str, nonce: str, why: str) -> FleetCall:
        return first(self._connection, "SELECT fleet.revive(%s, %s, %s)", (gateway, nonce, why), FleetCall)

    def gateways(self) -> list[FleetGateway]:
        return column(self._connection, "SELECT fleet.gateways()", (), FleetGateway)

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
