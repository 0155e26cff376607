"""Gateways and persons as callers of the functions of held calls."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Any

import psycopg

from fleet_database import Connection, Gateway

PRESENT = """SELECT fleet.present(p_gateway => %(id)s, p_token => %(token)s, p_attempt => %(attempt)s, p_nonce => %(nonce)s,
    p_binding => %(binding)s, p_session => %(session)s, p_requester => %(requester)s, p_digest => %(digest)s,
    p_entry => %(entry)s, p_wait => %(wait)s, p_need => %(need)s, p_need_teams => %(need_teams)s, p_window => %(window)s)"""


class Caller:
    """A gateway that asks. Every method is one function of the database."""

    def __init__(self, connection: Connection, gateway: Gateway) -> None:
        self.connection = connection
        self.gateway = gateway

    def _one(self, query: str, values: dict[str, Any] | tuple[Any, ...]) -> Any:
        row = self.connection.execute(query, values).fetchone()
        assert row
        return row[0]

    def present(self, binding: str | None = "a call", **changed: Any) -> Any:
        values = {
            "id": self.gateway.id, "token": self.gateway.token, "attempt": secrets.token_bytes(16),
            "nonce": secrets.token_hex(6), "binding": binding, "session": "main", "requester": "",
            "digest": sha256((binding or "").encode()).digest(), "entry": b"{}", "wait": 3600.0, "need": 1, "need_teams": [],
            "window": 600.0,
        }  # fmt: skip
        return self._one(PRESENT, values | changed)

    def close(self, nonce: str, status: str, by: str = "native", where: str = "native", why: str = "") -> Any:
        return self._one(
            "SELECT fleet.close(%s, %s, %s, %s, %s, %s, %s)",
            (self.gateway.id, self.gateway.token, nonce, status, by, where, why),
        )

    def give_back(self, nonce: str, attempt: bytes) -> Any:
        return self._one("SELECT fleet.give_back(%s, %s, %s, %s)", (self.gateway.id, self.gateway.token, nonce, attempt))

    def move_end(self, nonce: str, left: float) -> Any:
        return self._one("SELECT fleet.move_end(%s, %s, %s, %s)", (self.gateway.id, self.gateway.token, nonce, left))

    def entries(self) -> Any:
        return self._one("SELECT fleet.entries(%s, %s)", (self.gateway.id, self.gateway.token))

    def sync(self, waiting: list[str] | None = None) -> Any:
        return self._one("SELECT fleet.sync(%s, %s, %s, %s)", (self.gateway.id, self.gateway.token, waiting or [], "1.0"))


def decide(connection: Connection, gateway: Gateway, nonce: str, verdict: str = "approved", why: str = "") -> Any:
    """A decision with a body and a signature that the database does not read."""
    values = (gateway.id, nonce, verdict, b"body", b"signature", why)
    row = connection.execute("SELECT fleet.decide(%s, %s, %s, %s, %s, %s)", values).fetchone()
    assert row
    return row[0]


def revive(connection: Connection, gateway: Gateway, nonce: str) -> Any:
    row = connection.execute("SELECT fleet.revive(%s, %s, '')", (gateway.id, nonce)).fetchone()
    assert row
    return row[0]


def cause(error: psycopg.Error) -> tuple[str | None, str | None]:
    """The SQLSTATE and, of a refusal, its cause."""
    return error.diag.sqlstate, error.diag.message_detail
