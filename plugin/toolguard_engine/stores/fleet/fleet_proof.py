"""Who may approve in a fleet, decided on this machine: the database is not believed."""

from __future__ import annotations

from hashlib import sha256

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores.fleet.pipe_messages import SignedVerdict


class NoProof:
    """Nobody may."""

    def need(self, request: HeldCall) -> tuple[int, tuple[str, ...]]:
        return 1, ()

    def digest(self, entry: HeldCall) -> bytes:
        return sha256(f"{entry.nonce} {entry.binding}".encode()).digest()

    def refusal(self, entry: HeldCall, decisions: tuple[SignedVerdict, ...], now: float) -> str:
        return "no signers are known"
