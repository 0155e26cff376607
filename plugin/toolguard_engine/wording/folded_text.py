"""A text that is too long for where it is shown: its two ends and its dangerous parts, and how much is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from toolguard_engine.wording.visible_text import visible

MAX_PARTS = 200


class Margins(NamedTuple):
    """Characters shown of the two ends of a text, and before and behind each dangerous part."""

    head: int
    tail: int
    before: int
    behind: int


WIDE, NARROW = Margins(500, 300, 160, 100), Margins(60, 30, 60, 20)


def folded(text: str, parts: Iterable[Sequence[str]], room: int, margins: Margins = WIDE) -> str | None:
    """`text` in `room` characters: its ends, and each place where one of `parts` stands, each in one of its spellings. None
    if that is longer, if there are no parts, or if one is not found: then what is left out is not known to be harmless."""
    spans: list[tuple[int, int]] = []
    for spellings in parts:
        spots = next(filter(None, (places(text, spelling) for spelling in spellings)), [])
        if not 0 < len(spots) <= MAX_PARTS:
            return None
        spans += [(max(0, start - margins.before), min(len(text), end + margins.behind)) for start, end in spots]
    shown = _joined(text, [(0, margins.head), (len(text) - margins.tail, len(text)), *spans])
    return shown if spans and len(shown) <= room else None


def places(text: str, part: str) -> list[tuple[int, int]]:
    """Where this part stands as a word, or else within one; a call is written as JSON in which all can be seen."""
    as_json = json.dumps(part, ensure_ascii=False)[1:-1]
    for spelled in dict.fromkeys(map(visible, (part, as_json, part.rstrip("/").rpartition("/")[2]))):
        if not spelled.strip("./~"):
            pattern = rf"(?<![\w./~-]){re.escape(spelled)}(?![\w./~-])" if spelled else ""
        else:
            pattern = re.escape(spelled)
        if spans := [match.span() for match in _first(pattern, text)]:
            return spans
    return []


def _first(pattern: str, text: str) -> list[re.Match[str]]:
    matches: list[re.Match[str]] = []
    for match in re.finditer(pattern, text) if pattern else ():
        matches.append(match)
        if len(matches) > MAX_PARTS:
            break
    return matches


def _joined(text: str, spans: list[tuple[int, int]]) -> str:
    shown, at = "", 0
    for start, end in sorted(spans):
        if start > at:
            shown += f" ...[{start - at:,} characters not shown]... "
        shown += text[max(start, at) : end]
        at = max(at, end)
    return shown
