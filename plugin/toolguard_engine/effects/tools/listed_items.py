"""How many things one call of an undescribed tool is about, by the lists among its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.tools.tool_values import Params, key_values

MOST = 10
"""More than so many at once are asked about."""

_ITEMS = lazy_re.compile(
    r"\w{0,40}(?:ids?|uids?|keys|messages|threads|emails|issues|tickets|files|paths|contacts|records|events|tasks|users|members|orders"
    r"|customers|invitees|attendees|recipients|accounts|devices|hosts)",
)
_LABELS = lazy_re.compile(r"\w{0,40}label\w{0,20}|mailbox|folder|destination|target_?folder")
_TRASH = frozenset(["trash", "spam", "deleted items", "bin"])
_CHOOSES = ("query", "q", "filter", "search", "criteria", "all")


def many(params: Params) -> str:
    """Says of what, and how many; empty where it is about few things."""
    for key, value in key_values(params, 0):
        if isinstance(value, list) and len(value) > MOST and _ITEMS.fullmatch(key.lower()) and _are_names(value):
            return f"{len(value)} {key}"
    if any(map(_is_trash, key_values(params, 0))) and (chosen := next(_chosen(params), "")):
        return f"the trash, {chosen}"
    return ""


def _are_names(value: list[object]) -> bool:
    return all(isinstance(item, str | int) for item in value[: MOST + 1])


def _is_trash(pair: tuple[str, object]) -> bool:
    key, value = pair
    texts = value if isinstance(value, list) else [value]
    return _LABELS.fullmatch(key.lower()) is not None and any(
        isinstance(text, str) and text.lower() in _TRASH for text in texts[:MOST]
    )


def _chosen(params: Params) -> Iterator[str]:
    """What chooses several things: a search, or a list with more than one."""
    for key, value in key_values(params, 0):
        plain = key.lower()
        if key in _CHOOSES and value:
            yield f"whatever {key} finds"
        elif isinstance(value, list) and len(value) > 1 and _ITEMS.fullmatch(plain) and "label" not in plain:
            yield f"{len(value)} {key}"
