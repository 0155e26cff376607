"""Whether the calls of a gateway are judged, since when, and what to do if they are not."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from toolguard_cli.dashboard.api_types import Protection, Switch
from toolguard_cli.operations.guard_proof import GuardProof, State
from toolguard_cli.system.gateway_processes import GatewayProcess, ThisMachine

LATEST = 1e11
"""Seconds since 1970; a later time is invalid."""

Shown = Literal["guarded", "stopped", "observing", "off", "partly", "idle", "unproven"]
_SHOWN: dict[State, Shown] = {
    "guarded": "guarded",
    "observing": "observing",
    "disabled": "off",
    "not-loaded": "off",
    "engine-away": "off",
    "old-version": "partly",
    "old-settings": "partly",
    "installed": "idle",
    "port-taken": "idle",
    "not-installed": "idle",
}
"""Any other state is unproven."""


class MachineSnapshot(ThisMachine):
    """The machine as it is during one request: its processes are listed once for all gateways."""

    def gateways(self) -> list[GatewayProcess]:
        return self._found

    @cached_property
    def _found(self) -> list[GatewayProcess]:
        return super().gateways()


def since(seconds: float) -> int:
    return int(seconds * 1_000) if 0 < seconds < LATEST else 0


def describe(proof: GuardProof, thrown: Switch | None) -> Protection:
    """`thrown`: the kill switch, which counts where the plugin is loaded."""
    shown = _SHOWN.get(proof.state, "unproven")
    if thrown is not None and (shown in ("guarded", "observing", "partly") or proof.state == "disabled"):
        return Protection("stopped", thrown.at, "the kill switch is on: every tool call is blocked")
    return Protection(shown, since(proof.since), proof.text, proof.fix)
