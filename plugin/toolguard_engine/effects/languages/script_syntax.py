"""How a language of scripts is written. The folder of each language has its own."""

from __future__ import annotations

import msgspec


class Syntax(msgspec.Struct, frozen=True):
    """How a language is written. `single`, `double`, `back`: what these quotes mean: `raw`, `text` (escapes), `fills`
    (values are filled in), `command`, or empty; `marks`: which of them begin a text at all, so an apostrophe that does not
    is left out; `doubles`: whether a quote that is written twice stands for itself; `lines`: whether a line end ends a
    statement; `concat`: the signs that join texts; `patterns`: whether `/` may begin a regular expression; `quotes`: words
    that do; `ends`: whether `end` closes blocks; `bare`: whether arguments need no parentheses; `operators`: names that are
    operators; `members`: the signs in front of a member; `keys`: whether `for (x in y)` takes keys instead of elements;
    `function`: the word that begins one.

    `filled`: how what is filled into a text begins: with a bracket that goes on to its closing one, or a whole name; what
    is escaped needs no care. `flat`: whether a text ends at the first quote, even within what is filled in; `sigils`:
    whether `${name}` is `$name`."""

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
    flat: bool = False
    sigils: bool = False
    doubles: bool = False
    operators: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset({".", "?.", "->", "::"})
    keys: bool = False
    function: str = "function"
    names: str = r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+"

    @property
    def modes(self) -> dict[str, str]:
        """What each quote means."""
        return {"'": self.single, '"': self.double, "`": self.back}
