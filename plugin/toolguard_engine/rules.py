"""Reads the rules for risky commands (`toolguard_manifests/risky.toml`) into values, once at start-up."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

from toolguard_engine.layers.risky import Rule


def load() -> tuple[Rule, ...]:
    """The rules in the order of the file: the first that matches names the verdict."""
    data = tomllib.loads(files("toolguard_manifests").joinpath("risky.toml").read_text("utf-8"))
    return tuple(
        Rule(
            entry["id"], frozenset(entry["tools"]), re.compile(entry["pattern"]), entry["reason"],
            tuple(entry["matches"]), tuple(entry["passes"]),
        )
        for entry in data["rule"]
    )  # fmt: skip
