"""What a gateway and its engine spend on a command, with containment and without: two gateways, round by round."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from figures import Figure

import unprivileged
from gateway_stage import Stage, configure, counting, put_in
from shared_gateway import QUIET
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_engine.stores import open as stores

ROUNDS, CALLS = 12, 20
TICKS_PER_MS = os.sysconf("SC_CLK_TCK") / 1000


class OfPerson(Home):
    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SHELL": "/bin/bash"}


def figures() -> Iterator[Figure]:
    with ExitStack() as kept:
        real = downloads.ensure(downloads.OPENCLAW_VERSION)
        server = kept.enter_context(scripted_model.ScriptedModel(scripted_model.sequence([])))
        ways = {profile: _gateway(kept, real, server, profile) for profile in ("protect", "off")}
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(ROUNDS):
            for name in sorted(ways, reverse=bool(number % 2)):
                used = _round(ways[name])
                if number:  # the first one loads what is used for the first time
                    spent[name].append(used)
    inside, plain = (statistics.median(spent[name]) for name in ways)
    differences = [each / other for each, other in zip(*spent.values(), strict=True)]
    spread = f"off: {plain:.1f}; rounds: {min(differences):.2f} to {max(differences):.2f} times that"
    yield Figure("a command's step of gateway and engine", inside, "ms", spread)


def _gateway(kept: ExitStack, real: downloads.Runtime, server: scripted_model.ScriptedModel, profile: str) -> Stage:
    home = kept.enter_context(OfPerson(server.base_url, extra=QUIET))
    put_in(home)
    configure(home, containment={"profile": profile})
    runtime = unprivileged.Unprivileged(real, home)
    runtime.own()
    kept.callback(runtime.tidy)
    stage = Stage(kept.enter_context(Gateway(runtime, home)), server)
    stage.play(counting(_call, most=2))
    (info,) = stores.engines(home.state_dir).running()
    if info.contained is not (profile != "off"):
        raise RuntimeError(f"{profile}: {info.uncontained or 'contained'}")
    return stage


def _call(number: int) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": f": {number}"})


def _round(stage: Stage) -> float:
    """Milliseconds of processor time for each command."""
    (info,) = stores.engines(stage.home.state_dir).running()
    gateway = int(Path(f"/proc/{info.pid}/status").read_text().partition("PPid:")[2].split()[0])
    before = _spent(gateway) + _spent(info.pid)
    results = stage.play(counting(_call, most=CALLS)).results
    if len(results) != CALLS:
        raise RuntimeError(f"{len(results)} of {CALLS} commands ran")
    return (_spent(gateway) + _spent(info.pid) - before) / CALLS


def _spent(pid: int) -> float:
    """The time that the process itself has spent, without what it has started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_MS
