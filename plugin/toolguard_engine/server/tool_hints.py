"""Reads the tool hints (`toolguard_manifests/tool_hints.toml`) into values. The one place in the engine's core that does
I/O, called once at start-up."""

from __future__ import annotations

from toolguard_engine import packaged
from toolguard_engine.wording.correction import Hint, Hints


def load() -> Hints:
    """The hints by tool name."""
    data = packaged.table("tool_hints.toml")
    return {
        tool: Hint(entry["example"], entry.get("notes", ""), frozenset(entry.get("instead_of", ())))
        for tool, entry in data.items()
    }
