"""How awk is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

AWK = Syntax(r"#[^\n]*+", marks='"', lines=True, concat=frozenset(), patterns=True, bare=True, keys=True)
