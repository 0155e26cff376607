"""How much is at stake with a call, as one of five levels. The mapping is data (`toolguard_manifests/levels.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from toolguard_engine import packaged
from toolguard_engine.config.settings import Config, RiskLevel
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.tools import tools
from toolguard_engine.host.tool_names import named
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.risk_ranks import CRITICAL, LEVELS, RANKS, SAFE
from toolguard_engine.rules.scores import MOST


class Floor(Struct, frozen=True):
    """What an effect of one kind raises a call to. `flags`, `places`: one of them, where there are any."""

    rank: int
    outward: bool
    flags: frozenset[str]
    places: frozenset[str]
    not_flags: frozenset[str]
    not_places: frozenset[str]

    def fits(self, effect: Effect) -> bool:
        return (
            (not self.flags or not self.flags.isdisjoint(effect.flags))
            and (not self.places or effect.place in self.places)
            and self.not_flags.isdisjoint(effect.flags)
            and effect.place not in self.not_places
        )


class Mapped(Struct, frozen=True):
    """The data, in ranks. `by_stakes`: for each of 0 to `MOST`; `undescribed`: by deed; `floors`: by kind of effect."""

    by_stakes: tuple[int, ...]
    undescribed: Mapping[str, int]
    floors: Mapping[str, tuple[Floor, ...]]


def level(reading: CallReading, judgement: Judgement, config: Config) -> RiskLevel:
    return LEVELS[weigh(reading, judgement, config)[0]]


def weigh(reading: CallReading, judgement: Judgement, config: Config) -> tuple[int, bool]:
    """The rank of its level, and whether data or words leave this machine."""
    data = load()
    floor, outward = _floor(judgement.effects, data.floors) if judgement.effects else (SAFE, False)
    return _rank(reading, judgement, config, data, floor), outward


def _rank(reading: CallReading, judgement: Judgement, config: Config, data: Mapped, floor: int) -> int:
    tool = reading.tool
    if config.budget.tool_risk_map and (chosen := _by_tool(tuple(config.budget.tool_risk_map.items())).get(tool)):
        return RANKS[chosen]
    if judgement.decision == "block":
        return CRITICAL
    itself = data.by_stakes[min(judgement.stakes, MOST)]
    if tool not in tools.DESCRIBED:
        action = named(reading.call.tool).action
        itself = max(itself, data.undescribed[action if action in data.undescribed else "other"])
    if itself > floor and not judgement.matches and reading.reads_only:
        return floor
    return max(itself, floor)


def _floor(effects: tuple[Effect, ...], floors: Mapping[str, tuple[Floor, ...]]) -> tuple[int, bool]:
    highest, outward = SAFE, False
    for effect in effects:
        for floor in floors.get(effect.kind, ()):
            if (floor.rank > highest or floor.outward) and floor.fits(effect):
                highest = max(highest, floor.rank)
                outward = outward or floor.outward
    return highest, outward


@lru_cache(maxsize=100)
def _by_tool(chosen: tuple[tuple[str, RiskLevel], ...]) -> dict[str, RiskLevel]:
    """Names in the form in which they are compared; of two spellings of one tool the higher level counts."""
    return {tool_name(name): risk for name, risk in sorted(chosen, key=lambda item: RANKS[item[1]])}


@cache
def load() -> Mapped:
    """The mapping that comes with toolguard, read once."""
    return parse(packaged.table("levels.toml"))


def parse(data: Mapping[str, Any]) -> Mapped:
    starts = [(stakes, RANKS[name]) for name, stakes in data["stakes"].items()]
    by_stakes = tuple(max((rank for start, rank in starts if stakes >= start), default=SAFE) for stakes in range(MOST + 1))
    floors: dict[str, tuple[Floor, ...]] = {}
    for entry in data["floor"]:
        lists = (frozenset(entry.get(name, ())) for name in ("flags", "places", "not_flags", "not_places"))
        floor = Floor(RANKS[entry["level"]], entry.get("outward", False), *lists)
        for kind in entry["kinds"]:
            floors[kind] = (*floors.get(kind, ()), floor)
    return Mapped(by_stakes, {deed: RANKS[name] for deed, name in data["undescribed"].items()}, floors)
