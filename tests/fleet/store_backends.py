"""The two stores of held calls behind one face, for the laws that hold for both."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

import pytest

from fleet_database import FleetDatabase
from fleet_desk import WINDOW, Approver, FleetDesk
from ssh_signers import SshRoom
from toolguard_engine.approvals.binding import bind
from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.model.call import Call
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.stores.values import Presented
from toolguard_fleet.person_access import PersonSession

ANNA = Decision("anna", "cli", "")


class Backend(Protocol):
    """One gateway and a person. `decide` and `revive` raise `RefusedError`."""

    calls: HeldCallStore

    def another(self) -> HeldCallStore:
        """As another engine of the same gateway opens it."""

    def decide(self, nonce: str, verdict: str) -> None: ...

    def revive(self, nonce: str) -> None: ...

    def events(self) -> list[str]: ...

    def close(self) -> None: ...


def request(store: HeldCallStore, call: str, wait: float = 300.0) -> HeldCall:
    now = time.time()
    binding = bind(Call("exec", {"command": call}, agent="main", session="s"), gateway=store.gateway_id())
    return HeldCall(
        nonce="", binding=binding, tool="exec", agent="main", session="s", run="r", code="tool.exec", reason="exec asks",
        shown=call, created=now, expires=now + wait,
    )  # fmt: skip


def present(store: HeldCallStore, call: str, wait: float = 300.0) -> Presented:
    return store.present(request(store, call, wait), time.time())


class FileBackend:
    def __init__(self, state: Path) -> None:
        self._state = state
        self.calls = stores.held_calls(state)

    def another(self) -> HeldCallStore:
        return stores.held_calls(self._state)

    def decide(self, nonce: str, verdict: str) -> None:
        if verdict == "approved":
            self.calls.approve(nonce, ANNA, time.time(), WINDOW)
        else:
            self.calls.deny(nonce, ANNA, time.time(), 300)

    def revive(self, nonce: str) -> None:
        self.calls.revive(nonce, ANNA, time.time())

    def events(self) -> list[str]:
        return [event["event"] for event in stores.audit_log(self._state).events()]

    def close(self) -> None: ...


class FleetBackend:
    def __init__(self, database: FleetDatabase, folder: Path) -> None:
        room = SshRoom(folder / "trust")
        self._desk = FleetDesk(database, folder / "gateway", room)
        self._anna = Approver(database, room, "anna")
        self._others: list[Any] = []
        self._session = PersonSession(self._anna.connection)

    @property
    def calls(self) -> HeldCallStore:
        return self._desk.calls

    def another(self) -> HeldCallStore:
        client = stores.fleet(self._desk.state, "gw", self._desk.config, WINDOW)
        self._others.append(client)
        return client.calls

    def decide(self, nonce: str, verdict: str) -> None:
        rows = [row for row in self._anna.waiting() if row["nonce"] == nonce]
        if verdict == "approved" and rows and rows[0]["status"] == "pending":
            self._anna.approve(nonce)
        elif verdict == "approved" and rows:
            raise RefusedError("approved")
        else:
            self._session.decide(self._desk.gateway.id, nonce, verdict, b"", b"", "")

    def revive(self, nonce: str) -> None:
        self._session.revive(self._desk.gateway.id, nonce, "")

    def events(self) -> list[str]:
        return self._desk.events()

    def close(self) -> None:
        for each in [self._desk, *self._others]:
            each.close()


def made(kind: str, folder: Path, ask: pytest.FixtureRequest) -> Backend:
    return FileBackend(folder / "state") if kind == "files" else FleetBackend(ask.getfixturevalue("database"), folder)
