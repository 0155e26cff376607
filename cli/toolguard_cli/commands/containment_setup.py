"""`toolguard containment setup`: what a person can do where commands cannot be contained. Changes nothing."""

from __future__ import annotations

import os
import sys

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.operations import containment
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.server import room_causes

app = command_app()

PROFILE_FILE = "/etc/apparmor.d/toolguard-room"


@command(app, "toolguard containment setup", "toolguard containment setup --json")
def setup(places: Places) -> Result:
    """Print what to do where commands cannot be contained.

    Nothing is changed: the commands that it prints are for you to run, most of them as root.
    """
    held = containment.load(places)
    try:
        is_made = held.rooms.entrance("") != 0
    finally:
        held.rooms.close()
    if is_made:
        return Result("containment setup", {"needed": False, "reason": "", "steps": []}, (Line("ok", "nothing to do"),))
    cause = held.cause
    steps = _apparmor() if cause == room_causes.APPARMOR else [cause.fix]
    lines = [Line("warn", f"commands are not contained: {cause.text}"), *(Line("next", step) for step in steps)]
    return Result("containment setup", {"needed": True, "reason": cause.text, "steps": steps}, tuple(lines))


def _apparmor() -> list[str]:
    text = room_causes.apparmor_profile(os.path.realpath(sys.executable))
    return [
        f"sudo tee {PROFILE_FILE} > /dev/null <<'END'\n{text}END",
        f"sudo apparmor_parser -r {PROFILE_FILE}",
        "toolguard containment probe",
    ]
