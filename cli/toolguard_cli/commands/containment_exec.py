"""`toolguard containment exec`: runs a command where an agent's `exec` would run it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.containment_status import Agent
from toolguard_cli.operations import containment
from toolguard_cli.operations.containment import Containment
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.model.call import Call

app = command_app()

SIGNALLED = 128
SHELL = "/bin/sh"


@command(
    app,
    "toolguard containment exec -- cat ~/.openclaw/openclaw.json",
    "toolguard containment exec -- 'git status && make test'",
    name="exec",
)
def execute(
    places: Places,
    words: Annotated[list[str], typer.Argument(metavar="COMMAND", help="The command; quote it, or put -- before it.")],
    *,
    agent: Agent = "",
) -> Result:
    """Run a command as an agent's command would run.

    In the same room, with the same doors, by the same shell; what is kept from agents is kept from it. It is not judged:
    toolguard check does that. Its output is printed as it comes, and its exit code is the exit code. With --json, the
    result follows the output. If its code cannot be read and containment.unknown is rehearse, it runs on a copy of the
    files; what a person has to see is printed, and not done.
    """
    text = words[0] if len(words) == 1 else shlex.join(words)
    held = containment.load(places)
    try:
        call = Call("exec", {"command": text}, agent=agent, cwd=str(Path.cwd()))
        room = held.rooms.entrance(agent, held.doors(call))
        shell = [os.environ.get("SHELL") or SHELL, "-c", text]
        argv = held.rehearsed(call, room, shell) or [*_entered(held, room, agent), *shell]
        code = subprocess.run(argv, check=False).returncode
    finally:
        held.rooms.close()
    where = {0: "none", -1: "outside"}.get(room, "room")
    return Result("containment exec", {"ran": where, "exit": code}, (), code if code >= 0 else SIGNALLED - code)


def _entered(held: Containment, room: int, agent: str) -> list[str]:
    if room == 0:
        cause = held.cause
        if held.settings(agent).when_unavailable == "hold":
            raise UserError(f"it did not run, because commands are not contained: {cause.text}", cause.fix)
        typer.echo(f"not contained: {cause.text}", err=True)
    return held.rooms.entering(room) if room > 0 else []
