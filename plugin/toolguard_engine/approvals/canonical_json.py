"""Canonical JSON (RFC 8785): one text for each value. A held call is written several times, however large it is."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import rfc8785

EXACT = 2**53 - 1
"""Beyond this JavaScript has no exact integers, so the gateway itself holds a float there (RFC 8785, section 3.2.2.3)."""

_encoded = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False).encode


def dumps(value: Any) -> bytes:
    """Raises as `rfc8785.dumps` does. Where Python's own encoder writes the same, it takes a tenth of the time."""
    if _is_simple(value):
        with suppress(UnicodeEncodeError):
            return _encoded(value).encode()
    return rfc8785.dumps(value)


def _is_simple(value: Any) -> bool:
    """Whether there is nothing in it that the two write differently: numbers with a fraction, large ones, and names that
    UTF-16 sorts in another order."""
    parts = [value]
    for part in parts:  # grows meanwhile
        kind = type(part)
        if kind is dict:
            if not all(type(name) is str and name.isascii() for name in part):
                return False
            parts += part.values()
        elif kind is list:
            parts += part
        elif kind is int:
            if not -EXACT <= part <= EXACT:
                return False
        elif kind is not str and kind is not bool and part is not None:
            return False
    return True
