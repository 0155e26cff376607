"""Calls that only look: they change nothing anywhere, so that what failed before them fails behind them as well."""

from __future__ import annotations

from typing import Any


def only_looks(tool: str, params: Any) -> bool:
    """Whether this call surely changes nothing; False where that cannot be known."""
    raise NotImplementedError
