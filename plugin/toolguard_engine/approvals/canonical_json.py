"""Canonical JSON (RFC 8785): one text for each value. A held call is written several times, however large it is."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import rfc8785

EXACT = 2**53 - 1
"""Beyond this JavaScript has no exact integers, so the gateway itself holds a float there (RFC 8785, section 3.2.2.3)."""

MAX_DEPTH = 200

_encoded = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False).encode


def dumps(value: Any) -> bytes:
    """Raises as `rfc8785.dumps` does. Where Python's own encoder writes the same, it takes a tenth of the time."""
    return _simply(value) or bytes(rfc8785.dumps(value))


def dumps_exactly(value: Any) -> bytes:
    """The same of params as a gateway sends them: integers beyond `EXACT` are floats there, and names are texts."""
    return _simply(value) or bytes(rfc8785.dumps(_exact(value)))


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        return float(value)
    return value


def _simply(value: Any) -> bytes:
    """Empty where the two may differ."""
    if _is_simple(value):
        with suppress(UnicodeEncodeError):
            return _encoded(value).encode()
    return b""


def _is_simple(value: Any) -> bool:
    """Whether there is nothing in it that the two write differently: numbers with a fraction, large ones, names that UTF-16
    sorts in another order, and what is nested so deeply that only one of them may write it."""
    parts = [value]
    for _ in range(MAX_DEPTH):
        inner = list[Any]()
        for part in parts:
            kind = type(part)
            if kind is dict:
                if not all(type(name) is str and name.isascii() for name in part):
                    return False
                inner += part.values()
            elif kind is list:
                inner += part
            elif kind is int:
                if not -EXACT <= part <= EXACT:
                    return False
            elif kind is not str and kind is not bool and part is not None:
                return False
        if not inner:
            return True
        parts = inner
    return False
