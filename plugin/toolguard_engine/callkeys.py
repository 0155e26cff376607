"""When two calls are the same call: digests of a tool and its arguments, without what varies by itself."""

from __future__ import annotations

from typing import Any


def digests(tool: str, params: Any) -> tuple[int, int]:
    """`(call, family)`: equal for calls that differ only in volatile parts; equal for those that also differ in numbers."""
    raise NotImplementedError
