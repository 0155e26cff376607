"""What can be read of a line of the protocol that is no message: its first members."""

from __future__ import annotations

import re

import msgspec

from toolguard_engine import lazy_re

MAX_ID = 2**53
_PLACED = ("type", "tool", "agent", "session", "run")
_ESCAPE = lazy_re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_MEMBER = lazy_re.compile(rb'\s*[{,]\s*"(\w{1,20})"\s*:\s*(\d{1,16}(?=\s*[,}])|"(?:[^"\\]|\\.){0,512}")')
LEADING = 2048
"""Bytes at the beginning of a line in which the members are looked for that say what it was."""


class Leading(msgspec.Struct, frozen=True):
    """What the first members of a line say that cannot be read as a whole. `id` is None where that could not be read."""

    id: int | None = None
    type: str = ""
    tool: str = ""
    agent: str = ""
    session: str = ""
    run: str = ""


class ProtocolError(Exception):
    """A line that is no message. `leading`: what could be read of it."""

    def __init__(self, message: str, leading: Leading) -> None:
        super().__init__(message)
        self.leading = leading


def without_halves(line: bytes) -> bytes | None:
    """JavaScript writes half a surrogate pair as an escape, which is no text. The line with U+FFFD there; None if none."""
    repaired = _ESCAPE.sub(lambda match: b"\\ufffd" if match["half"] else match[0], line)
    return repaired if repaired != line else None


def leading(line: bytes) -> Leading:
    """The members before the first one that is neither a number nor a short text. The first of two with one name counts."""
    start, at = line[:LEADING], 0
    members: dict[str, int | str] = {}
    while match := _MEMBER.match(start, at):
        at = match.end()
        members.setdefault(match[1].decode(), _value(match[2]))
    given = members.get("id")
    number = given if isinstance(given, int) and given <= MAX_ID else None
    texts = {name: value for name in _PLACED if isinstance(value := members.get(name), str)}
    return Leading(number, **texts)


def _value(text: bytes) -> int | str:
    if text[:1] != b'"':
        return int(text)
    try:
        return msgspec.json.decode(without_halves(text) or text, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text[1:-1].decode("utf-8", "replace")
