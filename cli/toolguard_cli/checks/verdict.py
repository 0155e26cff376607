"""What all checks together mean: is this gateway guarded.

The law: one error in what the guard stands on, and nothing is guarded; every other error, and every warning about what the
guard lets through, leaves it guarded in part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolguard_cli.checks.check import Check

STANDS_ON = frozenset(
    {
        "hooks", "hook-order", "plugin", "plugin-files", "manifest", "enabled", "allowed", "config", "settings",
        "whole-config", "python", "engine",
    }
)  # fmt: skip
"""Their errors; and all that `--live` has seen to fail."""
LIVE = "live-"
SWITCHES = frozenset({"enabled", "enforced", "agents"})
"""They say in their data, `guards`, what their warning means."""
LETS_THROUGH = frozenset({"self-approval"})
PLUGIN_AFTER = "hook-order"
SHOWN = 3

Guards = Literal["yes", "partly", "no"]


@dataclass(frozen=True)
class Verdict:
    """`why`: the checks that say so, the gravest first; empty where everything is guarded."""

    guarded: Guards
    why: tuple[Check, ...]
    proved: bool = False

    @property
    def words(self) -> str:
        if self.guarded == "yes" and self.proved:
            return "GUARDED, and proved on a throw-away gateway"
        if self.guarded == "yes":
            return "GUARDED, as far as can be told without a run: toolguard doctor --live proves it"
        told = "; ".join(f"{check.id}: {check.detail.partition(chr(10))[0]}" for check in self.why[:SHOWN])
        more = f" (and {len(self.why) - SHOWN} more)" if len(self.why) > SHOWN else ""
        return f"{'NOT guarded' if self.guarded == 'no' else 'partly guarded'}: {told}{more}"


def of(checks: Sequence[Check]) -> Verdict:
    said = [(check, _says(check)) for check in checks]
    lost, part = (tuple(check for check, guards in said if guards == wanted) for wanted in ("no", "partly"))
    return Verdict("no" if lost else "partly" if part else "yes", (*lost, *part), any(map(_is_live, checks)))


def _says(check: Check) -> Guards:
    if check.status == "error":
        return "no" if check.id in STANDS_ON or _is_live(check) else "partly"
    if check.status == "ok":
        return "yes"
    if check.id in SWITCHES:
        guards: Guards = check.data.get("guards", "yes")
        return guards
    return "partly" if check.id in LETS_THROUGH or (check.id == PLUGIN_AFTER and check.data) else "yes"


def _is_live(check: Check) -> bool:
    return check.id.startswith(LIVE)
