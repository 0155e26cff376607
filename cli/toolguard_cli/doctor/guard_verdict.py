"""Combines all checks into one verdict: whether this gateway is guarded.

Guarded needs the proof that a running gateway has loaded toolguard (the check `loaded`). An error of an essential or live
check means that nothing is guarded, unless its data has a value for `guards`; any other error leaves the gateway partly
guarded. Other checks change the verdict only by such a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolguard_cli.doctor.check_list import TABLE
from toolguard_cli.doctor.check_types import Check, Guards
from toolguard_cli.doctor.checks import gateway_check

ESSENTIAL = frozenset(row.id for row in TABLE if row.essential)
LIVE = "live-"
SHOWN = 3

LOADED = gateway_check.ID
_WORST_FIRST: tuple[Guards, ...] = ("no", "observes", "partly", "unknown")
_WORDS: dict[Guards, str] = {
    "yes": "GUARDED",
    "installed": "INSTALLED",
    "unknown": "unproven",
    "partly": "partly guarded",
    "observes": "OBSERVING, nothing is held or blocked",
    "no": "NOT guarded",
}


@dataclass(frozen=True)
class GuardStatus:
    """`loaded`: what is known about the running gateway. `why`: the checks behind the verdict, the most severe first; empty
    if everything is guarded."""

    guarded: Guards
    why: tuple[Check, ...]
    proved: bool = False
    loaded: str = ""

    @property
    def words(self) -> str:
        proved = ", and proved on a temporary gateway" if self.proved else ""
        reasons = "; ".join(f"{check.id}: {check.detail.partition(chr(10))[0]}" for check in self.why[:SHOWN])
        more = f" (and {len(self.why) - SHOWN} more)" if len(self.why) > SHOWN else ""
        if self.guarded not in ("yes", "installed"):
            return f"{_WORDS[self.guarded]}: {reasons}{more}"
        return f"{_WORDS[self.guarded]}{proved}: {self.loaded}{reasons and '; but '}{reasons}{more}"


def draw(checks: Sequence[Check]) -> GuardStatus:
    """Draws the verdict from the checks; without `loaded`, nothing is proved."""
    judged = [(check, _guards(check)) for check in checks]
    why = [(check, wanted) for wanted in _WORST_FIRST for check, guards in judged if guards == wanted]
    loaded = next((check for check in checks if check.id == LOADED), None)
    guarded = why[0][1] if why else "yes" if loaded else "unknown"
    if guarded != "no" and loaded and _guards(loaded) == "installed":
        guarded = "installed"
    return GuardStatus(
        guarded, tuple(check for check, _ in why), any(map(_is_live, checks)), loaded.detail if loaded else ""
    )


def _guards(check: Check) -> Guards:
    usual: Guards = "yes"
    if check.status == "error":
        usual = "no" if check.id in ESSENTIAL or _is_live(check) else "partly"
    elif check.status == "ok" and check.id != LOADED:
        return "yes"
    guards: Guards = check.data.get("guards", usual)
    return guards


def _is_live(check: Check) -> bool:
    return check.id.startswith(LIVE)
