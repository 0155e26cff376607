"""Commands of agents as they are judged where they are contained, and where they are not."""

from __future__ import annotations

from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.config.settings import Config
from toolguard_engine.containment import kept_places
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host, Kept
from toolguard_engine.rules import packs
from toolguard_engine.rules.judgement import Judgement

HOME = "/home/u"
STATE = f"{HOME}/.openclaw"
HOST = Host(HOME, STATE, f"{STATE}/openclaw.json", metrics=f"{STATE}/metrics.db")
PLACES = RoomPlaces(HOST, (f"{STATE}/workspace",), ("main",))
RULES: tuple[RoomRule, ...] = profile(ContainmentConfig(), PLACES)


def exists(path: str) -> bool:
    """Of what there is on this machine."""
    return path.startswith((STATE, "/usr")) or path == HOME


def kept_from(reading: CallReading) -> Kept:
    return kept_places.kept(reading, RULES, exists)


def with_secrets(reading: CallReading) -> Kept:
    """With the profile that also hides credentials."""
    return kept_places.kept(reading, profile(ContainmentConfig(profile="secrets"), PLACES), exists)


def exec_call(command: str, cwd: str = f"{STATE}/workspace") -> Call:
    return Call("exec", {"command": command}, agent="main", session="s", cwd=cwd)


class Both:
    """The same guard without a room and with one."""

    def __init__(self) -> None:
        self.outside, self.inside = (Guard(Config(), {}, HOST, packs.load()) for _ in range(2))
        self.inside.kept_from = kept_from

    def judge(self, call: Call) -> tuple[Judgement, Judgement]:
        return self.outside.weigh(call), self.inside.weigh(call)
