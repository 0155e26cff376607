"""`toolguard containment probe`: tries from inside of a room whether the rules hold."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.containment_status import Agent
from toolguard_cli.operations import containment
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result

app = command_app()


@command(app, "toolguard containment probe", "toolguard containment probe --agent main")
def probe(places: Places, *, agent: Agent = "") -> Result:
    """Try from inside whether commands are kept from what they should not reach.

    A command in a room of its own tries to read what is hidden and to write to what is read-only. Nothing is changed. Exits
    with 1 if it could, or if there is no room.
    """
    held = containment.load(places)
    try:
        fault = held.rooms.probe(agent)
    finally:
        held.rooms.close()
    cause = held.rooms.cause
    data = {"contained": not fault, "reason": fault, "fix": cause.fix if cause else ""}
    if not fault:
        return Result("containment probe", data, (Line("ok", "a command could reach nothing that it should not"),))
    lines = [Line("error", fault), *([Line("next", cause.fix)] if cause else [])]
    return Result("containment probe", data, tuple(lines), 1)
