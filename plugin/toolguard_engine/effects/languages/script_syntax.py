"""How a language of scripts is written. The folder of each language has its own."""

from __future__ import annotations

import msgspec


class Syntax(msgspec.Struct, frozen=True):
    """How a language is written. `single`, `double`, `back`: what these quotes mean: `raw`, `text` (escapes), `fills`
    (values are filled in), `command`, or empty; `lines`: whether a line end ends a statement; `concat`: the signs that join
    texts; `patterns`: whether `/` may begin a regular expression; `quotes`: words that do; `ends`: whether `end` closes
    blocks; `bare`: whether arguments need no parentheses; `filled`: how what is filled into a text begins; `operators`:
    names that are operators; `function`: the word that begins one."""

    comment: str
    single: str = "text"
    double: str = "text"
    back: str = ""
    lines: bool = False
    concat: frozenset[str] = frozenset({"+"})
    patterns: bool = False
    quotes: str = ""
    ends: bool = False
    bare: bool = False
    escape: str = "\\"
    marks: str = "\"'`"
    filled: str = ""
    operators: frozenset[str] = frozenset()
    function: str = "function"
    names: str = r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+"
