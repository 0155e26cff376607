"""Reads Python."""

from __future__ import annotations

from toolguard_engine.effects.code.code_deeds import CodeReading


def read(code: str) -> CodeReading | None:  # noqa: ARG001 - not written yet
    return None
