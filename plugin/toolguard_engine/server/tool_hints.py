"""Reads the tool hints (`toolguard_manifests/tool_hints.toml`) into values. The one place in the engine's core that does
I/O, called once at start-up."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from toolguard_engine.wording.correction import Hint, Hints


def load() -> Hints:
    """The hints by tool name."""
    data = tomllib.loads(files("toolguard_manifests").joinpath("tool_hints.toml").read_text("utf-8"))
    return {
        tool: Hint(entry["example"], entry.get("notes", ""), frozenset(entry.get("instead_of", ())))
        for tool, entry in data.items()
    }
