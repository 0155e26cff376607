"""`toolguard containment status`: whether commands are contained, and by which profile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.operations import containment
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.rules import RoomRule

app = command_app()

Agent = Annotated[str, typer.Option("--agent", metavar="ID", help="The agent whose settings count.", show_default=False)]


@command(app, "toolguard containment status", "toolguard containment status --agent main --json")
def status(places: Places, *, agent: Agent = "") -> Result:
    """Show whether commands are contained, and by which profile.

    A room is made and probed, as by toolguard containment probe. Exits with 1 if commands are not contained although
    containment.profile is not off.
    """
    held = containment.load(places)
    try:
        settings, fault = held.settings(agent), held.rooms.probe(agent)
        rules = [rule for rule in profile(settings, held.around, agent) if os.access(rule.path, os.F_OK)]
    finally:
        held.rooms.close()
    cause = held.rooms.cause
    is_off = settings.profile == "off"
    data = {
        "profile": settings.profile,
        "whenUnavailable": settings.when_unavailable,
        "unknown": settings.unknown,
        "contained": not fault,
        "reason": "" if is_off else fault,
        "fix": cause.fix if cause else "",
        "rules": [{"kind": rule.kind, "path": str(rule.path), "door": rule.door} for rule in rules],
    }
    lines = [_first(settings.profile, fault, is_off=is_off)]
    if fault and not is_off:
        lines += [Line("info", f"commands then {_without[settings.when_unavailable]} (containment.whenUnavailable)")]
        lines += [Line("next", cause.fix)] if cause else []
    lines += _counted(rules) if not fault else []
    lines += [Line("info", f"commands whose code cannot be read {_unknown[settings.unknown]} (containment.unknown)")]
    return Result("containment status", data, tuple(lines), int(bool(fault) and not is_off))


_without = {"run": "run as without containment", "hold": "wait for approval"}


_unknown = {
    "allow": "run like others",
    "rehearse": "run on a copy of the files first",
    "hold": "wait for approval",
}


def _first(profile_name: str, fault: str, *, is_off: bool) -> Line:
    if is_off:
        return Line("info", "commands are not contained: containment.profile is off")
    if fault:
        return Line("warn", f"commands are not contained: {fault}")
    return Line("ok", f"commands are contained, profile {profile_name}; the probe found nothing that they can reach")


def _counted(there: list[RoomRule]) -> Iterator[Line]:
    for kind, words in (("hide", "hidden"), ("read-only", "read-only"), ("write", "writable")):
        paths = [str(rule.path) for rule in there if rule.kind == kind and not rule.door]
        if paths:
            yield Line("info", f"{words}: {', '.join(paths)}")
    doors = sorted({rule.door for rule in there if rule.door})
    if doors:
        yield Line("info", f"hidden unless a command names a program that needs it: {', '.join(doors)}")
