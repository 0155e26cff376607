"""Effects as text for users: `delete ~/important (recursive)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from toolguard_engine.effects.facts.command import UNKNOWN, Effect
from toolguard_engine.wording import printable
from toolguard_engine.wording.redact import redact_text

ROOM = 200
"""Maximum length of one effect, in characters."""

MAX_IN_LINE, ROOM_IN_LINE, MAX_LOOKED_AT = 3, 60, 20
"""Limits for the one-line summary in an approval request."""


def text(effect: Effect, room: int = ROOM) -> str:
    target = f" {effect.target}" if effect.target else ""
    flags = f" ({', '.join(sorted(effect.flags))})" if effect.flags else ""
    left = max(20, room - len(effect.kind) - len(flags))
    return f"{effect.kind}{printable.cut(target.replace(UNKNOWN, '?'), left)}{flags}"


def distinct_effects(effects: Iterable[Effect], room: int = ROOM) -> list[str]:
    """Each distinct effect once, in order."""
    return list(dict.fromkeys(text(effect, room) for effect in effects))


def in_line(effects: Sequence[Effect]) -> str:
    """The first effects, with secrets redacted; empty if there are none."""
    hidden = (structs.replace(one, target=redact_text(one.target)) for one in effects[:MAX_LOOKED_AT])
    acts = distinct_effects(hidden, ROOM_IN_LINE)
    more = len(acts) > MAX_IN_LINE or len(effects) > MAX_LOOKED_AT
    return ", ".join(acts[:MAX_IN_LINE]) + " and more" * more
