"""What a call would do, in words for a person: `delete ~/important (recursive)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from toolguard_engine import answers
from toolguard_engine.redact import redact_text
from toolguard_engine.shell.model import UNKNOWN, Effect

ROOM = 200
"""Characters of an effect."""

MAX_IN_LINE, ROOM_IN_LINE, MAX_LOOKED_AT = 3, 60, 20
"""Of a sentence that has to fit where a person is asked."""


def text(effect: Effect, room: int = ROOM) -> str:
    target = f" {effect.target}" if effect.target else ""
    flags = f" ({', '.join(sorted(effect.flags))})" if effect.flags else ""
    left = max(20, room - len(effect.kind) - len(flags))
    return f"{effect.kind}{answers.cut(target.replace(UNKNOWN, '?'), left)}{flags}"


def each(effects: Iterable[Effect], room: int = ROOM) -> list[str]:
    """Each once, in their order."""
    return list(dict.fromkeys(text(effect, room) for effect in effects))


def in_line(effects: Sequence[Effect]) -> str:
    """The first of them, without secrets; empty where there are none."""
    hidden = (structs.replace(one, target=redact_text(one.target)) for one in effects[:MAX_LOOKED_AT])
    found = each(hidden, ROOM_IN_LINE)
    more = len(found) > MAX_IN_LINE or len(effects) > MAX_LOOKED_AT
    return ", ".join(found[:MAX_IN_LINE]) + " and more" * more
