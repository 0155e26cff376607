"""The rooms of a gateway's commands, made by the command line as the engine makes them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from toolguard_cli.policy import offline_guard
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.system.paths import Places
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment.doors import doors
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call
from toolguard_engine.server import room_causes, room_surroundings
from toolguard_engine.server.room_causes import RoomCause
from toolguard_engine.server.rooms import Rooms


@dataclass(frozen=True)
class Containment:
    """What contains the commands of one gateway."""

    judging: Judging
    around: RoomPlaces
    rooms: Rooms

    def settings(self, agent: str) -> ContainmentConfig:
        return self.judging.config.for_agent(agent).containment

    def doors(self, call: Call) -> frozenset[str]:
        host = self.judging.host
        return doors(CallReading(call, host), lambda name: room_surroundings.is_trusted(name, host))

    @property
    def cause(self) -> RoomCause:
        """Why there is no room, after one was asked for."""
        return self.rooms.cause or room_causes.of("")


def load(places: Places) -> Containment:
    """Raises `UserError` for settings that cannot be read. The caller closes the rooms."""
    judging = offline_guard.load(places)
    around = room_surroundings.look(judging.host, os.environ)
    rooms = Rooms(lambda agent: profile(judging.config.for_agent(agent).containment, around, agent))
    return Containment(judging, around, rooms)
