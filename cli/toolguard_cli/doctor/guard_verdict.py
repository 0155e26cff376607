"""Combines all checks into one verdict: whether this gateway is guarded.

An error of an essential or live check means that nothing is guarded; any other error leaves the gateway partly guarded.
A warning changes the verdict only if its data has a value for `guards`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolguard_cli.doctor.check_list import TABLE
from toolguard_cli.doctor.check_types import Check, Guards

ESSENTIAL = frozenset(row.id for row in TABLE if row.essential)
LIVE = "live-"
SHOWN = 3

_WORST_FIRST: tuple[Guards, ...] = ("no", "observes", "partly")
_WORDS: dict[Guards, str] = {
    "partly": "partly guarded",
    "observes": "OBSERVING, nothing is held or blocked",
    "no": "NOT guarded",
}


@dataclass(frozen=True)
class GuardStatus:
    """`why`: the checks behind the verdict, the most severe first; empty if everything is guarded."""

    guarded: Guards
    why: tuple[Check, ...]
    proved: bool = False

    @property
    def words(self) -> str:
        if self.guarded == "yes" and self.proved:
            return "GUARDED, and proved on a temporary gateway"
        if self.guarded == "yes":
            return "GUARDED, as far as static checks can show; run `toolguard doctor --live` to prove it"
        reasons = "; ".join(f"{check.id}: {check.detail.partition(chr(10))[0]}" for check in self.why[:SHOWN])
        more = f" (and {len(self.why) - SHOWN} more)" if len(self.why) > SHOWN else ""
        return f"{_WORDS[self.guarded]}: {reasons}{more}"


def of(checks: Sequence[Check]) -> GuardStatus:
    judged = [(check, _guards(check)) for check in checks]
    why = [(check, wanted) for wanted in _WORST_FIRST for check, guards in judged if guards == wanted]
    return GuardStatus(why[0][1] if why else "yes", tuple(check for check, _ in why), any(map(_is_live, checks)))


def _guards(check: Check) -> Guards:
    if check.status == "error":
        return "no" if check.id in ESSENTIAL or _is_live(check) else "partly"
    guards: Guards = check.data.get("guards", "yes") if check.status == "warn" else "yes"
    return guards


def _is_live(check: Check) -> bool:
    return check.id.startswith(LIVE)
