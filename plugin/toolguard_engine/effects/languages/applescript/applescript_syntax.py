"""How AppleScript is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

APPLESCRIPT = Syntax(r"--[^\n]*+|#[^\n]*+", marks='"', lines=True, concat=frozenset({"&"}), bare=True,
    operators=frozenset({"and", "or", "contains", "is", "mod"}),
    keywords=Keywords(
        functions="", loops="", sets="set", passed="if then else end tell try with",
        prefixes="set to not return my local global if then else",
    ),
)  # fmt: skip
