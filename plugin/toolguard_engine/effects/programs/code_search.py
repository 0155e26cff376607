"""How code that is not parsed is searched: in linear time, for a limited number of places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine.model.kept_patterns import compiled

MAX_FOUND = 64
MAX_SHOWN = 120


def text_of(match: re.Match[str]) -> str:
    """The string that a pattern with `STRING` found; `~` for the home folder."""
    groups = match.groupdict()
    if groups.get("home"):
        return f"~/{groups['tail'].lstrip('/')}" if groups.get("tail") else "~"
    return next((group for group in _strings(match) if group), "")


def _strings(match: re.Match[str]) -> list[str | None]:
    named = set(match.re.groupindex.values())
    return [match.group(i) for i in range(1, match.re.groups + 1) if i not in named]


def found_in(pattern: str, code: str) -> Iterator[re.Match[str]]:
    for count, match in enumerate(compiled(pattern).finditer(code)):
        if count >= MAX_FOUND:
            return
        yield match


def any_of(words: tuple[str, ...], code: str) -> bool:
    for word in words:  # noqa: SIM110 - a generator is 50% slower
        if word in code:
            return True
    return False


def clip(code: str) -> str:
    return code if len(code) <= MAX_SHOWN else code[: MAX_SHOWN - 1] + "…"
