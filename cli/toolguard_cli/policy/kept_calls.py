"""What is kept from commands in their rooms, as the command line sees it: no room is made for it."""

from __future__ import annotations

import os
from collections.abc import Callable

from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import NOTHING_KEPT, Host, Kept
from toolguard_engine.server.command_rooms import is_wanted, runs_here
from toolguard_engine.stores import open as stores

SHELL_SEAM = "commandShell"
KeptFrom = Callable[[CallReading], Kept]


def kept_from(places: Places, config: Config, host: Host) -> KeptFrom | None:
    """None if no gateway that runs says that it contains commands and was seen to do so."""
    running = stores.engines(places.state_dir).running()
    if not any(info.contained and info.seams.get(SHELL_SEAM) == "works" for info in running):
        return None
    from toolguard_engine.containment import kept_places  # noqa: PLC0415 - without rooms nothing of it is imported
    from toolguard_engine.containment.profile import profile  # noqa: PLC0415
    from toolguard_engine.server import room_surroundings  # noqa: PLC0415

    around = room_surroundings.look(host, os.environ)

    def kept(reading: CallReading) -> Kept:
        own = config.for_agent(reading.call.agent)
        if around.runs_elsewhere or own.containment.unknown == "rehearse" or not (is_wanted(own) and runs_here(reading)):
            return NOTHING_KEPT
        return kept_places.kept(reading, profile(own.containment, around), os.path.exists)

    return kept
