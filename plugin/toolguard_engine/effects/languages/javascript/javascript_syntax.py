"""How JavaScript and TypeScript are written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

JAVASCRIPT = Syntax(
    r"//[^\n]*+|/\*(?s:.)*?(?:\*/|\Z)", back="fills", patterns=True,
    names=r"[#A-Za-z_$\x80-\U0010ffff][\w$\x80-\U0010ffff]*+",
    filled=r"\$\{", keys=True, operators=frozenset({"instanceof", "in"}),
)  # fmt: skip
