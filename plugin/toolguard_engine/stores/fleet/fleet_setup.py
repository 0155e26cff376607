"""What the held calls of a gateway in a fleet are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores.fleet import pipe_messages as pipe
from toolguard_engine.stores.fleet.fleet_log import FleetLog
from toolguard_engine.stores.fleet.local_marks import LocalMarks


class FleetProof(Protocol):
    """Who may approve, according to this machine."""

    def need(self, request: HeldCall) -> tuple[int, tuple[str, ...]]:
        """How many people must approve this call, and of which teams; no teams: the gateway's."""

    def digest(self, entry: HeldCall) -> bytes:
        """Computes what approvers sign: a digest of all that is shown of the call, and its binding."""

    def refusal(
        self, entry: HeldCall, decisions: tuple[pipe.SignedVerdict, ...], now: float, request: HeldCall | None = None
    ) -> str:
        """Why these decisions do not approve this entry; empty where they do. `now`: by the server's clock. `request`: what
        the engine would enter for the call that is asked about."""


class Link(Protocol):
    """See `courier_link.CourierLink`."""

    def ask(self, make: Callable[[int, float], pipe.Question], seconds: float) -> pipe.Answer: ...

    def wait_for(self, nonces: tuple[str, ...]) -> None: ...


class FleetSetup(Struct, frozen=True):
    """`gateway_id` raises `StoreError` while the gateway cannot take part. `seconds`: the deadline of a question. `window`:
    for which an approval counts. `skew`: the server's clock minus ours."""

    state_dir: Path
    gateway_id: Callable[[], str]
    link: Link
    log: FleetLog
    proof: FleetProof
    marks: LocalMarks
    seconds: float
    window: float
    skew: Callable[[], float] = lambda: 0.0
