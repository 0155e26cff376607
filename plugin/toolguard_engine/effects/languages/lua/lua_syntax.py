"""How Lua is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

LUA = Syntax(r"--\[\[(?s:.)*?(?:\]\]|\Z)|--[^\n]*+", marks="\"'", concat=frozenset({".."}), ends=True, bare=True,
    operators=frozenset({"and", "or"}), members=frozenset({".", ":"}),
)  # fmt: skip
