"""How Lua is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

LUA = Syntax(r"--\[\[(?s:.)*?(?:\]\]|\Z)|--[^\n]*+", marks="\"'", concat=frozenset({".."}), closes="end", bare=True,
    operators=frozenset({"and", "or"}), members=frozenset({".", ":"}),
    keywords=Keywords(
        passed="if while until elseif do else then end repeat",
        prefixes="not local return print and or else then do if until while repeat",
        blocks="function if do repeat",
    ),
)  # fmt: skip
