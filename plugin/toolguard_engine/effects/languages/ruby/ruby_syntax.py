"""How Ruby is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

RUBY = Syntax(
    r"#[^\n]*+", single="raw", double="fills", back="command", lines=True, concat=frozenset({"+", "/", "<<"}),
    patterns=True, quotes=r"%[qQxwWiIr]?(?=[\[({<|!/])", ends=True, bare=True,
    names=r"[@$]{0,2}+[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+[?!]?(?!=)|[@$]{0,2}+[A-Za-z_]\w*+",
    filled=r"#\{", operators=frozenset({"and", "or"}), function="def",
)  # fmt: skip
