"""Which programs of a command are known to be what their names say: pure."""

from __future__ import annotations

from functools import cache
from typing import Final

from toolguard_engine.containment import credential_doors, room_tables
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.program_catalogue import programs
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.host.plugin_state import PLUGIN_ID

NEED_RIGHTS: Final = programs("rights_changer")
LOOK_OUTSIDE: Final = programs("process_inspector", "gateway_cli") | {PLUGIN_ID}
"""What they show or ask lies outside of the room."""


def is_known(run: ProgramRun) -> bool:
    """Whether toolguard has the program in one of its lists, and it is found where the system has it."""
    called, tables = run.argv[0], room_tables.load()
    if "/" in called and not called.startswith(tables.system.programs):
        return False
    return run.name in _known_programs() and run.name not in tables.shell.renaming and not _sets_path(run)


def _sets_path(run: ProgramRun) -> bool:
    given = run.argv[1:] if run.name in room_tables.load().shell.setting else ()
    return any(name == "PATH" for name, _ in run.assigns) or any(word.startswith("PATH") for word in given)


@cache
def _known_programs() -> frozenset[str]:
    return (
        programs("understood", "bus_client", "machine_manager", "task_starter")
        | manual_catalogue.movers()
        | credential_doors.owners()
        | LOOK_OUTSIDE
    )
