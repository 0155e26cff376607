"""How PHP is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

PHP = Syntax(
    r"//[^\n]*+|#(?!\[)[^\n]*+|/\*(?s:.)*?(?:\*/|\Z)|<\?(?:php|=)?|\?>", single="raw", double="fills", back="command",
    here="<<<", concat=frozenset({"."}), names=r"\$*+\\?[A-Za-z_\x80-\U0010ffff][\w\\\x80-\U0010ffff]*+",
    filled=r"(?:\{(?=\$)|\$\{|\$\w++(?:->\w++|\[[^\]\n]{1,40}\])?)",
    sigils=True, operators=frozenset({"and", "or", "xor", "instanceof"}),
    keywords=Keywords(
        functions="function fn", classes="class", spaces="namespace", types="interface", loops="for foreach",
        declares="const", uses="use",
        passed="if while switch elseif catch do else try finally default case declare",
        prefixes="new return echo print yield throw and or global static public private protected readonly abstract final"
        " var const case default if while else do try declare clone",
    ),
)  # fmt: skip
