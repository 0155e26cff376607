"""The rooms of a gateway's commands, made by the command line as the engine makes them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import contained_lines
from toolguard_cli.policy import offline_guard
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment import unknown_code
from toolguard_engine.containment.doors import doors
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call
from toolguard_engine.server import room_causes, room_surroundings
from toolguard_engine.server.command_rooms import PROFILES
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.rehearsed_commands import RehearsedCommands
from toolguard_engine.server.room_causes import RoomCause
from toolguard_engine.server.rooms import Rooms

TRIALS = "trials"
"""The folder of what people rehearse, apart from that of agents."""


@dataclass(frozen=True)
class Containment:
    """What contains the commands of one gateway."""

    judging: Judging
    around: RoomPlaces
    rooms: Rooms
    entry: Any = None
    """The plugin's entry in the gateway's config."""

    def settings(self, agent: str) -> ContainmentConfig:
        return self.judging.config.for_agent(agent).containment

    def doors(self, call: Call) -> frozenset[str]:
        host = self.judging.host
        return doors(CallReading(call, host), lambda name: room_surroundings.is_trusted(name, host))

    def rehearsed(self, call: Call, room: int, shell: list[str]) -> list[str]:
        """What rehearses a command whose code cannot be read; empty if it runs as any other. Raises `UserError`."""
        settings, host = self.settings(call.agent), self.judging.host
        is_trusted = partial(room_surroundings.is_trusted, host=host)
        reading = CallReading(call, host, files=FileReader())
        if settings.unknown != "rehearse" or room <= 0 or not unknown_code.why(reading, is_trusted):
            return []
        commands = RehearsedCommands(self.around, self.entry, is_trusted, TRIALS)
        commands.begin()
        if commands.error and settings.when_unavailable == "hold":
            why = f"it did not run, because it cannot be rehearsed: {commands.error}"
            raise UserError(why, contained_lines.WITHOUT_COPIES)
        if commands.error:
            return []
        way = commands.way(call, profile(settings, self.around, call.agent), approved=False)
        return [*commands.command, str(room), f"{call.agent}+{way}", *shell]

    @property
    def cause(self) -> RoomCause:
        """Why there is no room, after one was asked for."""
        return self.rooms.cause or room_causes.identify("")


def load(places: Places) -> Containment:
    """Raises `UserError` for settings that cannot be read. The caller closes the rooms."""
    judging = offline_guard.load(places)
    around = room_surroundings.look(judging.host, os.environ)
    folder = places.state_dir.joinpath(*PROFILES)
    rooms = Rooms(lambda agent: profile(judging.config.for_agent(agent).containment, around, agent), folder)
    return Containment(judging, around, rooms, gateway_stores.entry(places) or {})
