"""Held calls of a gateway with `fleet.whenAway` "local": while the fleet's database is away, calls are held in the file of
this machine and approved here. What was held here is also answered here once the database is back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.ledger import OPEN, Decision, HeldCall, Ledger, RefusedError, Status
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores.fleet.courier_link import FleetAwayError
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.stores.values import Presented


class LocalFallback:
    """`HeldCallStore` of two: `fleet`, and `local` while that is away. Nonces of the fleet are longer."""

    def __init__(self, fleet: HeldCallStore, local: HeldCallStore, gateway_id: Callable[[], str]) -> None:
        self._fleet = fleet
        self._local = local
        self._gateway_id = gateway_id

    @property
    def path(self) -> Path:
        return self._fleet.path

    @property
    def is_behind(self) -> bool:
        return self._fleet.is_behind or self._local.is_behind

    def gateway_id(self) -> str:
        return self._gateway_id()

    def present(self, request: HeldCall, now: float, *, former: Collection[str] = (), log: bool = True) -> Presented:
        known = self._local.look()[0]
        waiting = Ledger(held for held in known if held.status in OPEN)
        if waiting.waiting(request.binding, now, meaning=request.meaning) is None:
            with suppress(FleetAwayError):
                return self._fleet.present(request, now, former=former, log=log)
        return self._local.present(request, now, former=former, log=log)

    def give_back(self, used: HeldCall, now: float) -> HeldCall | None:
        try:
            return self._of(used.nonce).give_back(used, now)
        except FleetAwayError:  # it would be tried again before each call that is held here; it is approved anew instead
            return None

    def move_ends(self, moves: Sequence[EndMove], now: float) -> None:
        self._local.move_ends(moves, now)
        with suppress(FleetAwayError):
            self._fleet.move_ends(moves, now)

    def write_log(self) -> None:
        self._local.write_log()
        self._fleet.write_log()

    def approve(
        self,
        prefix: str,
        decision: Decision,
        now: float,
        window: float,
        *,
        unseen: bool = False,
        signatures: tuple[SignedBody, ...] = (),
    ) -> HeldCall:
        return self._of(prefix).approve(prefix, decision, now, window, unseen=unseen, signatures=signatures)

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float, *, unanswered: bool = False) -> HeldCall:
        return self._of(prefix).deny(prefix, decision, now, lasts, unanswered=unanswered)

    def revive(self, prefix: str, decision: Decision, now: float) -> HeldCall:
        return self._of(prefix).revive(prefix, decision, now)

    def revive_approved(
        self,
        prefix: str,
        decision: Decision,
        now: float,
        window: float,
        *,
        unseen: bool = False,
    ) -> HeldCall:
        return self._of(prefix).revive_approved(prefix, decision, now, window, unseen=unseen)

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision, now: float) -> list[HeldCall]:
        return [*self._local.lapse(means, decision, now), *self._fleet.lapse(means, decision, now)]

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> HeldCall | None:
        return self._of(nonce).settle(nonce, status, decision, now)

    def is_decided(self, nonce: str, now: float) -> bool:
        return self._of(nonce).is_decided(nonce, now)

    def entries(self) -> list[HeldCall]:
        local = self._local.entries()
        try:
            return sorted([*local, *self._fleet.entries()], key=lambda entry: entry.created)
        except FleetAwayError:
            if not local:
                raise
            return local

    def look(self) -> tuple[list[HeldCall], list[HeldCall]]:
        trusted, others = self._local.look()
        with suppress(FleetAwayError):
            more, odd = self._fleet.look()
            return sorted([*trusted, *more], key=lambda entry: entry.created), [*others, *odd]
        return trusted, others

    def sweep(self, now: float) -> None:
        self._local.sweep(now)
        self._fleet.sweep(now)

    def _of(self, prefix: str) -> HeldCallStore:
        """The one that knows this nonce."""
        try:
            Ledger(self._local.look()[0]).find(prefix)
        except RefusedError:
            return self._fleet
        return self._local
