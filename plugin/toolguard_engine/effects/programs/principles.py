"""What the principles for programs that are not known, and for what goes to everybody, look at: words and patterns, which
stand beside their rules, each with its price."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from toolguard_engine import lazy_re, packaged

SOURCES = ("rules/publishing.toml", "rules/unknown.toml")
KEY = "principle"
_NAMED = lazy_re.compile(r"\$([a-z]++)")


class Principle(msgspec.Struct, frozen=True):
    """`price`: the calls that only it holds, of 4,000 honest commands; `hints`: texts in lower case, one of which must be
    among the name and the words before anything is searched; `patterns`: by what they are for."""

    price: float
    hints: tuple[str, ...]
    patterns: Mapping[str, str]


def hints(name: str) -> tuple[str, ...]:
    return principles()[name].hints


def pattern(name: str, *purposes: str) -> re.Pattern[str]:
    """What the principle `name` looks for with one of these purposes."""
    patterns = principles()[name].patterns
    return lazy_re.compile("|".join(f"(?:{patterns[purpose]})" for purpose in purposes))


@cache
def principles() -> Mapping[str, Principle]:
    """All of them, by the ids of their rules without the name of the pack."""
    return {
        rule["id"].partition(".")[2]: _principle(rule[KEY], table.get("words", {}))
        for table in map(packaged.table, SOURCES)
        for rule in table["rule"]
        if KEY in rule
    }


def _principle(row: Mapping[str, Any], words: Mapping[str, list[str]]) -> Principle:
    patterns = {name: text for name, text in row.items() if name not in ("price", "hints")}
    filled = {name: _NAMED.sub(lambda named: f"(?:{'|'.join(words[named[1]])})", text) for name, text in patterns.items()}
    return Principle(row["price"], tuple(row.get("hints", ())), filled)
