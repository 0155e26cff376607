"""How AppleScript is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

APPLESCRIPT = Syntax(r"--[^\n]*+|#[^\n]*+", marks='"', lines=True, concat=frozenset({"&"}), bare=True,
    operators=frozenset({"and", "or", "contains", "is", "mod"}),
)  # fmt: skip
