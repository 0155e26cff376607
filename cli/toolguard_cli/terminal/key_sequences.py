"""What a terminal sends for the keys that are pressed, and which keys those are."""

from __future__ import annotations

import re
from typing import NamedTuple

ESCAPE = "\x1b"
"""Begins what special keys send, and is the Esc key if nothing follows."""

INTRODUCERS = ("[", "O")
"""What follows it where a sequence of several characters begins."""

_KEY = re.compile(r"\x1b\[\[?[0-?]*[ -/]*[@-~]|\x1bO[0-9;]*[@-~]|\x1b[^\x1b]|.", re.DOTALL)
_BEGUN = re.compile(r"\x1b(?:\[\[?[0-?]*[ -/]*|O[0-9;]*)?\Z")
_LONGEST = 64
"""More of a sequence than any key sends."""

_NAMES = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x03": "q", "\x04": "q"}
_NAMES |= {"\x1b[5~": "pageup", "\x1b[6~": "pagedown", "\r": "enter", "\n": "enter", ESCAPE: "esc"}


class Received(NamedTuple):
    """The keys of what was received, and the sequence at its end that is not complete yet."""

    keys: list[str]
    begun: str


def received(data: str) -> Received:
    """Splits what was received, because the letters of a sequence's second half would count as keys of their own."""
    begun = _BEGUN.search(data)
    return Received(keys(data[: begun.start()]), begun[0][:_LONGEST]) if begun else Received(keys(data), "")


def keys(data: str) -> list[str]:
    """The pressed keys: `up`, `pagedown` and so on, or the character. Other sequences and Alt with a key are none."""
    return [name for key in _KEY.findall(data) if (name := _NAMES.get(key) or (key.lower() if key.isprintable() else ""))]
