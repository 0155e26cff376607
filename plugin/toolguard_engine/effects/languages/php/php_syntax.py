"""How PHP is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

PHP = Syntax(
    r"//[^\n]*+|#(?!\[)[^\n]*+|/\*(?s:.)*?(?:\*/|\Z)|<\?(?:php|=)?|\?>", single="raw", double="fills", back="command",
    concat=frozenset({"."}), names=r"\$*+\\?[A-Za-z_\x80-\U0010ffff][\w\\\x80-\U0010ffff]*+",
    filled=r"(?:\{(?=\$)|\$\{|\$\w++(?:->\w++|\[[^\]\n]{1,40}\])?)",
    sigils=True, operators=frozenset({"and", "or", "xor", "instanceof"}),
)  # fmt: skip
