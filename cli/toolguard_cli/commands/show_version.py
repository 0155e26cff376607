"""`toolguard version`: the versions of toolguard and of what it runs on."""

from __future__ import annotations

import platform
import sys

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine import __version__

app = command_app()


@command(app, "toolguard version", "toolguard version --json")
def run() -> Result:
    """Show the versions of toolguard and Python."""
    versions = {"toolguard": __version__, "python": platform.python_version(), "interpreter": sys.executable}
    runs_on = f"Python {versions['python']} ({versions['interpreter']})"
    return Result("version", versions, (Line("info", f"toolguard {__version__}"), Line("info", runs_on)))
