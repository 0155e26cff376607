"""The gateway's own config, read for one question: does it still load the plugin. JSON, and JSON5 as far as people write it.

The command line reads it exactly, with its includes; here nothing is known where that would be needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.stores import files

MAX_BYTES = 20 * 1024 * 1024
INCLUDE = "$include"
_TOKEN = re.compile(
    r"""(?P<text>"(?>(?:[^"\\\n]|\\.)*)"|'(?>(?:[^'\\\n]|\\.)*)')|(?P<gap>\s++|//[^\n]*+|/\*(?>(?:[^*]|\*(?!/))*)\*/)"""
    r"""|(?P<word>[\w$.+-]++)|(?P<sign>[{}\[\],:])""",
    re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
_CLOSING = "}]"


def plugins(path: str) -> dict[str, Any] | None:
    """What it says about plugins; None where that cannot be told."""
    try:
        value = _decoded(files.read_bounded(Path(path), MAX_BYTES))
    except (OSError, ValueError, RecursionError):  # ValueError: neither JSON nor the JSON5 that is known here
        return None
    if not isinstance(value, dict) or INCLUDE in value:
        return None
    found = value.get("plugins", {})
    known = isinstance(found, dict) and INCLUDE not in found and INCLUDE not in (found.get("entries") or {})
    return found if known else None


def _decoded(data: bytes) -> Any:
    """Raises `ValueError`."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads("".join(_as_json(data.decode())))


def _as_json(text: str) -> Iterator[str]:
    """Without comments and commas before a closing bracket, every name and text in double quotes."""
    comma, at = "", 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"character {at} is neither JSON nor JSON5")
        at = token.end()
        if token["gap"]:
            continue
        if token[0] == ",":
            comma = ","
            continue
        yield ("" if token[0] in _CLOSING else comma) + _json_of(token)
        comma = ""


def _json_of(token: re.Match[str]) -> str:
    found = token[0]
    if token["text"] and found[0] == "'":
        return '"' + found[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    if token["word"] and found not in ("true", "false", "null") and not _NUMBER.fullmatch(found):
        return json.dumps(found)
    return found
