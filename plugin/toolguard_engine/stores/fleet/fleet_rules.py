"""The rules that an engine applies in a fleet: the person's own ones, and those of the team's signed policy behind them."""

from __future__ import annotations

import threading

from msgspec import Struct

from toolguard_engine.rules.rule_form import Rule
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy, SignedPolicy, Stamps
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import UserPolicy

WORDS = "the fleet's rules"
_FAULT = (
    "the fleet's policy that was in force cannot be verified: until a valid one is fetched, calls above SAFE are held and "
    "nothing can be approved: {0}"
)


class _Seen(Struct, frozen=True):
    stamp: Stamps
    signed: SignedPolicy | None = None
    fault: str = ""


class FleetRules:
    """`UserPolicy`. The first look waits for the signature to be verified, a few milliseconds; later ones never wait: a
    thread verifies what has changed, and a later look takes it over."""

    def __init__(self, own: UserPolicy, kept: LastGoodPolicy) -> None:
        self._own = own
        self._kept = kept
        self._seen: _Seen | None = None
        self._found: _Seen | None = None
        self._thread: threading.Thread | None = None
        self._known: SignedPolicy | None = None
        self._fleet_rules: tuple[Rule, ...] = ()
        self._parts: tuple[tuple[Rule, ...], tuple[Rule, ...]] = ((), ())
        self.rules: tuple[Rule, ...] = ()

    @property
    def unread(self) -> str:
        return self._own.unread or (WORDS if self._seen and self._seen.fault else "")

    @property
    def faults(self) -> list[str]:
        return [*self._own.faults, *([self._seen.fault] if self._seen and self._seen.fault else [])]

    def look(self) -> None:
        self._own.look()
        if self._seen is None:
            self._take(read(self._kept))
        elif self._thread is None or not self._thread.is_alive():
            self._follow(self._seen)
        parts = (self._own.rules, self._fleet_rules)
        if parts[0] is not self._parts[0] or parts[1] is not self._parts[1]:
            self._parts, self.rules = parts, (*parts[0], *parts[1])

    def _follow(self, seen: _Seen) -> None:
        if self._found is not None:
            latest, self._found = self._found, None
            self._take(latest)
            return
        try:
            is_same = self._kept.stamp() == seen.stamp
        except StoreError:
            is_same = False
        if not is_same:
            self._thread = threading.Thread(target=self._verify, name="fleet-policy", daemon=True)
            self._thread.start()

    def _verify(self) -> None:
        self._found = read(self._kept, self._known)

    def _take(self, seen: _Seen) -> None:
        """The rules that were in force stay while their file cannot be verified, or is gone: it is fetched again."""
        self._seen = seen
        if seen.signed is not None:
            self._known, self._fleet_rules = seen.signed, seen.signed.policy.rules


def read(kept: LastGoodPolicy, known: SignedPolicy | None = None) -> _Seen:
    """`known`: what is in force. Never raises."""
    stamp: Stamps = ()
    try:
        stamp = kept.stamp()
        return _Seen(stamp, kept.load_after(known))
    except StoreError as error:
        return _Seen(stamp, fault=_FAULT.format(error))
