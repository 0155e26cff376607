"""One answer for changes in the same area: the files of a service in `/etc`, a unit, a program that the agent writes.

A later call is covered if each thing that its rules say is a change in the area that the person answered about, and links
lead out of it nowhere. Writing a unit covers that it is enabled, but not the other way round. Pure.
"""

from __future__ import annotations

from toolguard_engine.approvals.call_meaning import SHARED, Meaning, MeantEffect, is_comparable
from toolguard_engine.model.call_world import NAMES
from toolguard_engine.model.held_details import HeldAlike

_CHANGES = frozenset({"write", "link"})
_OF_AREA = _CHANGES | {"enable", NAMES}


def covers(before: tuple[HeldAlike, ...], now: tuple[HeldAlike, ...], meaning: Meaning) -> bool:
    """Whether calls of which the one was approved are alike by their area. `meaning`: of the later call."""
    areas = {key.area for key in (*before, *now)}
    if not before or not now or len(areas) != 1 or "" in areas:
        return False
    is_written = not _CHANGES.isdisjoint(key.kind for key in before)
    if not is_written and any(key.kind in _CHANGES for key in now):
        return False
    return _stays(meaning, areas.pop())


def _stays(meaning: Meaning, area: str) -> bool:
    """A file that is copied into the area may be another one, as the text that is written may be. What runs may not."""
    if meaning.gap or not is_comparable(meaning) or any(file.code for file in meaning.files):
        return False
    changes = [effect for effect in meaning.effects if effect.kind != "elevate"]
    return bool(changes) and all(_is_inside(effect, area) for effect in changes)


def _is_inside(effect: MeantEffect, area: str) -> bool:
    is_plain = not (effect.wild or effect.beyond or effect.listing or effect.from_file or SHARED in effect.dangers)
    is_there = effect.path.startswith(area) if area.endswith("/") else effect.path == area
    return is_plain and is_there and effect.kind in _OF_AREA


def describe(keys: tuple[HeldAlike, ...]) -> str:
    """What else is covered, in words; empty where nothing is."""
    areas = {key.area for key in keys}
    if len(areas) != 1 or not (area := areas.pop()):
        return ""
    if area.endswith("/"):
        return f"other settings in {area.rstrip('/')}"
    is_written = not _CHANGES.isdisjoint(key.kind for key in keys)
    return f"other changes of {area}" if is_written else f"enabling {area}"
