"""A gateway of a fleet with its courier, and persons who sign with real keys."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fleet_database import PASSWORD, Connection, FleetDatabase, Gateway
from ssh_signers import SshRoom, sign
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.binding import bind
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.signed_decision import Issuer
from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.model.call import Call
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.fleet import fleet_identity
from toolguard_engine.stores.fleet.courier_link import FleetAwayError
from toolguard_engine.stores.fleet.fleet_client import FleetClient
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_engine.stores.values import Presented

PATIENCE = 300.0
PATIENT_MS = 120_000
"""Of a question to the database: on a busy machine its answer may take longer than a gateway waits. Tests in which none
comes name a time of their own."""
WINDOW = 60.0
TEAM = "ops"


def wait_until(holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """The first true value. Fails if there is none in time."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)
    return found


def join(state: Path, gateway: Gateway) -> None:
    """Writes the identity file, as `toolguard fleet join` does."""
    place = fleet_identity.path(state)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(msgspec.json.encode(FleetIdentity(gateway.id, gateway.token, gateway.team)))
    place.chmod(0o600)


def passwordless(database: FleetDatabase, folder: Path, *, port: int | None = None) -> str:
    """A connection string of the gateways' login; the password is in a file."""
    passfile = folder / "pgpass"
    passfile.write_text(f"*:*:*:*:{PASSWORD}\n")
    passfile.chmod(0o600)
    server = database.server
    where = f"host=127.0.0.1 port={port or server.port}"
    return f"{where} dbname={database.name} user=toolguard_gateway passfile={passfile}"


class Approver:
    """A person with a login and a key that the machine of the gateway trusts."""

    def __init__(self, database: FleetDatabase, room: SshRoom, name: str, *, is_trusted: bool = True) -> None:
        self.connection: Connection = database.person(name)
        self.key = room.key(name)
        if is_trusted:
            room.allow(f"{name}@example.com", self.key)

    def waiting(self) -> list[dict[str, Any]]:
        return [row[0] for row in self.connection.execute("SELECT fleet.waiting()").fetchall()]

    def body(self, row: dict[str, Any], **changed: Any) -> bytes:
        entry = self.shown(row)
        values = {"until": time.time() + row["window"] + 600, "need": row["need"], **changed}
        return signed_decision.decision_body(entry, Issuer(row["gateway"], row["team"]), **values)

    def shown(self, row: dict[str, Any]) -> HeldCall:
        return msgspec.json.decode(base64.b64decode(row["entry"]), type=HeldCall)

    def approve(self, nonce: str, **changed: Any) -> dict[str, Any]:
        row = next(row for row in self.waiting() if row["nonce"] == nonce)
        body = self.body(row, **changed)
        return self.decide(row["gateway"], nonce, "approved", body, sign(body, self.key).encode())

    def deny(self, gateway: str, nonce: str, why: str = "") -> dict[str, Any]:
        return self.decide(gateway, nonce, "denied", b"", b"", why)

    def decide(self, gateway: str, nonce: str, verdict: str, body: bytes, signature: bytes, why: str = "") -> Any:
        values = (gateway, nonce, verdict, body, signature, why)
        row = self.connection.execute("SELECT fleet.decide(%s, %s, %s, %s, %s, %s)", values).fetchone()
        assert row
        return row[0]


class FleetDesk:
    """One gateway. `calls` is its store."""

    def __init__(self, database: FleetDatabase, folder: Path, room: SshRoom, **settings: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.database = database
        self.state = folder / "state"
        self.gateway = database.gateway(TEAM)
        self.room = room
        join(self.state, self.gateway)
        values: dict[str, Any] = {"trust": str(room.folder), "trust_writable": True, "deadline_ms": PATIENT_MS, **settings}
        values.setdefault("dsn", passwordless(database, folder))
        self.config = FleetConfig(enabled=True, team=TEAM, **values)
        self.client = self.start()

    def start(self) -> FleetClient:
        self.client = stores.fleet(self.state, "gw", self.config, WINDOW)
        self.calls = self.client.calls
        return self.client

    def request(self, command: str = "rm -rf build", session: str = "agent:main:main", wait: float = 300.0) -> HeldCall:
        now = time.time()
        call = Call("exec", {"command": command}, agent="main", session=session)
        return HeldCall(
            nonce="", binding=bind(call, gateway=self.gateway.id), tool="exec", agent="main", session=session, run="run-1",
            code="tool.exec", reason="exec asks a person", shown=command, created=now, expires=now + wait,
        )  # fmt: skip

    def present(self, command: str = "rm -rf build", **more: Any) -> Presented:
        return self.calls.present(self.request(command, **more), time.time())

    def answered(self, command: str = "rm -rf build", **more: Any) -> Presented:
        """As `present`; asked again for as long as the database is away, or the machine too slow for the deadline."""

        def ask() -> Presented | None:
            try:
                return self.present(command, **more)
            except FleetAwayError:
                return None

        found: Presented = wait_until(ask, 2 * PATIENCE)
        return found

    def events(self) -> list[str]:
        return [event["event"] for event in stores.audit_log(self.state).events()]

    def close(self) -> None:
        self.client.close()
