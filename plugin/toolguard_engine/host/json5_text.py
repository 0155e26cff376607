"""The value of a text in JSON, or in the common subset of JSON5 in which the gateway's config is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from toolguard_engine import lazy_re

_TOKEN = lazy_re.compile(
    r"""(?P<text>"(?>(?:[^"\\\n]|\\.)*)"|'(?>(?:[^'\\\n]|\\.)*)')|(?P<gap>\s++|//[^\n]*+|/\*(?>(?:[^*]|\*(?!/))*)\*/)"""
    r"""|(?P<word>[\w$.+-]++)|(?P<sign>[{}\[\],:])""",
    re.DOTALL,
)
_NUMBER = lazy_re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
_COLON = lazy_re.compile(r"\s*+:")
_CLOSING = "}]"


def decoded(data: bytes) -> Any:
    """Raises `ValueError`."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads("".join(_as_json(data.decode())))


class Members(tuple[tuple[str, Any], ...]):
    """The names and values of an object, in their order. None hides another one of the same name."""

    __slots__ = ()


def as_written(text: str) -> Any:
    """The value of such a text with every character of it: objects as `Members`, numbers as they are written. Raises
    `ValueError`, also where there is a comment."""
    parts = list(_as_json(text, comments=False))
    return json.loads("".join(parts), object_pairs_hook=Members, parse_int=str, parse_float=str, strict=False)


def _as_json(text: str, *, comments: bool = True) -> Iterator[str]:
    """The text without comments and trailing commas, with all names and strings in double quotes."""
    comma, at = "", 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"character {at} is neither JSON nor JSON5")
        at = token.end()
        if token["gap"]:
            if not comments and not token["gap"].isspace():
                raise ValueError(f"there is a comment at character {at}")
            continue
        if token[0] == ",":
            comma = ","
            continue
        is_name = bool(token["word"]) and _COLON.match(text, at) is not None
        yield ("" if token[0] in _CLOSING else comma) + (json.dumps(token[0]) if is_name else _json_of(token))
        comma = ""


def _json_of(token: re.Match[str]) -> str:
    text = token[0]
    if token["text"] and text[0] == "'":
        return '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    if token["word"] and text not in ("true", "false", "null") and not _NUMBER.fullmatch(text):
        return json.dumps(text)
    return text


def encoded(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value)
