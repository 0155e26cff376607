"""The scores that a call begins with, before any rule speaks: data (`toolguard_manifests/rubric.toml` has their law).

`layers.rubric` adds to them what the rules that match say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from toolguard_engine import lazy_re, packaged

MOST = 10
_MAX_SCANNED = 100_000
"""Characters of a parameter that are looked at."""

Scores = tuple[int, int]
"""Clarity and stakes, each 1 to `MOST`."""


class Addition(Struct, frozen=True):
    """What calls of a tool add where their parameters match."""

    params: tuple[tuple[str, re.Pattern[str]], ...]
    clarity: int
    stakes: int


class Rubric(Struct, frozen=True):
    """`always`: what every call of a tool scores; `sometimes`: what some of its calls add."""

    start: Scores
    always: Mapping[str, Scores]
    sometimes: Mapping[str, tuple[Addition, ...]]


def base(tool: str, params: Any) -> Scores:
    """Clarity and stakes of a call by its tool and its action. `tool`: in the form of `toolsearch.tool_name`."""
    return score(load(), tool, params)


def score(rubric: Rubric, tool: str, params: Any) -> Scores:
    clarity, stakes = rubric.always.get(tool, rubric.start)
    for addition in rubric.sometimes.get(tool, ()):
        if _fits(addition, params):
            clarity, stakes = clarity + addition.clarity, stakes + addition.stakes
    return min(clarity, MOST), min(stakes, MOST)


def _fits(addition: Addition, params: Any) -> bool:
    if not isinstance(params, dict):
        return False
    return all(
        isinstance(value := params.get(name), str) and pattern.search(value, 0, _MAX_SCANNED)
        for name, pattern in addition.params
    )


@cache
def load() -> Rubric:
    """The rubric that comes with toolguard, read once."""
    return parse(packaged.table("rubric.toml"))


def parse(data: Mapping[str, Any]) -> Rubric:
    start = (data["start"]["clarity"], data["start"]["stakes"])
    always: dict[str, Scores] = {}
    sometimes: dict[str, tuple[Addition, ...]] = {}
    for entry in data["add"]:
        clarity, stakes = entry.get("clarity", 0), entry.get("stakes", 0)
        asked = tuple((name, lazy_re.compile(pattern)) for name, pattern in entry.get("params", {}).items())
        for tool in entry["tools"]:
            if asked:
                sometimes[tool] = (*sometimes.get(tool, ()), Addition(asked, clarity, stakes))
            else:
                before = always.get(tool, start)
                always[tool] = (before[0] + clarity, before[1] + stakes)
    return Rubric(start, always, sometimes)
