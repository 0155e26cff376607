"""Compares the files that the tools of a release open with those that the guard expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from toolguard_cli.rig.path_probe import Opened, PathProbe, Prober
from toolguard_cli.rig.path_spellings import PathSpelling, ProbePlace
from toolguard_engine.effects.calls import call_paths
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.host.repair_catalogue import PathRepair
from toolguard_engine.model.call import Call, Host

_VARIABLE = re.compile(r"\$(?:HOME|PWD|\{HOME\})(?!/\.\.)")
GuardPaths = Callable[[str, dict[str, Any]], set[str]]


def repairs(probe: PathProbe, prober: Prober, known: Iterable[PathRepair]) -> list[str]:
    """The names of the repairs that the tool makes: those whose probe opens their file."""
    tried = [repair for repair in known if repair.probe]
    spelled = [PathSpelling(repair.probe, repair.file) for repair in tried]
    opened = probe.tried(prober, spelled)
    made = []
    for repair, outcome in zip(tried, opened, strict=True):
        if outcome.path and outcome.path == probe.place.expected(outcome.spelling, outcome.name):
            made.append(repair.name)
    return made


def guard_paths(place: ProbePlace, state_dir: str, release: str) -> GuardPaths:
    """The paths that the guard judges for a call of a tool."""
    host = Host(home=str(place.home), state_dir=state_dir, release=release)

    def paths(tool: str, params: dict[str, Any]) -> set[str]:
        reading = CallReading(Call(tool, params, cwd=str(place.workspace)), host)
        if reading.executes:
            return {normal(".", reading.command_where)}
        return {normal(path, reading.where) for path in call_paths.of_params(reading.tool, reading.params)[0]}

    return paths


def differences(opened: Iterable[Opened], prober: Prober, guard: GuardPaths) -> list[str]:
    """One line for each spelling for which the tool opens a file that the guard does not judge. Names that contain a shell
    variable are left out: the guard expands it, the tools do not."""
    lines = []
    for outcome in opened:
        if _VARIABLE.search(outcome.text):
            continue
        judged = guard(prober.tool, prober.arguments(outcome.text, "m"))
        if outcome.path and outcome.path not in judged:
            lines.append(f"{outcome.text!r} opens {outcome.path}, the guard judges {', '.join(sorted(judged)) or 'nothing'}")
    return lines
