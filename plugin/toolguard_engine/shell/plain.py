"""The plainest command lines: programs with their words, joined by pipes, `&&`, `||`, `;` and newlines, and nothing else.

What shells agree on and what is easily told: quotes, wildcards, `$name`. A text with anything else in it (a substitution,
a loop, a function, arithmetic, a here-document, a redirection to a file, something in the background) is not plain, and
nothing is said about it. Unlike `shell.parse` this keeps for each word whether the shell makes others of it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["sure", "below", "one", "open"]


class Word(NamedTuple):
    """`sure`: what the program gets is `text`. `below`: names of files that begin as `text` does, which is no dash.

    `one`: a single word that cannot be known, from a quoted variable. `open`: any number of words that cannot be known.
    """

    text: str
    kind: Kind = "sure"


_NAME = r"\$(?:[A-Za-z_][A-Za-z0-9_]*+|\{[A-Za-z_][A-Za-z0-9_]*+\}|\?)(?![\[(:])"
_PLAIN = r"[A-Za-z0-9_./:=,@%+~^-]"
_ENDS = r"(?=[ \t\n;|&]|\Z)"
_PIECE = re.compile(
    rf"""(?P<space>[ \t]++)
    |(?P<redirect>[12]?>>?[ \t]*+/dev/null{_ENDS}|&>>?[ \t]*+/dev/null{_ENDS}|[12]?>&[12]{_ENDS}
        |<[ \t]*+(?P<source>{_PLAIN}++){_ENDS})
    |(?P<sign>&&|\|\||[;|\n])
    |(?P<plain>{_PLAIN}++|\{{[0-9]*+\}}|!=?(?=[ \t]))
    |(?P<wild>[*?\[\]]++)
    |'(?P<single>[^']*+)'
    |"(?P<double>(?>(?:[^"\\$`]|\\[^`\n]|\$(?=")|{_NAME})*))"
    |\\(?P<escaped>[^\s])
    |(?P<variable>{_NAME})""",
    re.VERBOSE,
)
_IN_DOUBLE = re.compile(r'\\([$"\\])')
_VARIABLE = re.compile(rf"(?>(?:[^\\$]|\\.|\$(?=\Z))*){_NAME}", re.DOTALL)
_BRACKETS = frozenset({"[", "[[", "]", "]]"})
_FIRST = re.compile(r"[A-Za-z0-9_./~]")


def plain(command: str) -> tuple[list[list[Word]], list[str]] | None:
    """The words of each program in the order of the text, and the files that are read by `<`; None where it is not plain."""
    reader = _Reader()
    at = 0
    while at < len(command):
        piece = _PIECE.match(command, at)
        if piece is None or not reader.take(piece):
            return None
        at = piece.end()
    reader.end_command()
    return reader.commands, reader.sources


class _Reader:
    def __init__(self) -> None:
        self.commands: list[list[Word]] = []
        self.sources: list[str] = []
        self._words: list[Word] = []
        self._text = ""
        self._kind: Kind = "sure"
        self._begun = False

    def take(self, piece: re.Match[str]) -> bool:
        """Whether the piece may stand where it does."""
        kind = piece.lastgroup
        if kind == "space":
            self._end_word()
        elif kind == "sign":
            self.end_command()
        elif kind in ("redirect", "source"):
            if piece["source"]:
                self.sources.append(piece["source"])
            return not self._begun
        elif kind is not None:
            self._add(kind, piece[kind])
        return True

    def end_command(self) -> None:
        self._end_word()
        if self._words:
            self.commands.append(self._words)
        self._words = []

    def _add(self, kind: str, text: str) -> None:
        self._begun = True
        if kind == "variable":
            self._kind = "open"
        elif kind == "wild":
            begins = self._kind in ("sure", "below") and _FIRST.match(self._text)
            self._kind = "below" if begins else "open"
        elif kind == "double":
            if self._kind != "open" and _VARIABLE.match(text):
                self._kind = "one" if self._kind == "sure" else "open"
            text = _IN_DOUBLE.sub(r"\1", text)
        self._text += text

    def _end_word(self) -> None:
        if self._begun:
            alone = self._kind == "open" and self._text in _BRACKETS
            self._words.append(Word(self._text, "sure" if alone else self._kind))
        self._text, self._kind, self._begun = "", "sure", False
