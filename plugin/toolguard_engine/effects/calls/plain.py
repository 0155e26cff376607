"""A strict reader for the plainest command lines: programs joined by pipes, `&&`, `||`, `;` and newlines, and nothing else.

It accepts quotes, wildcards and `$name`, on which all shells agree. For any other text (with a substitution, a loop, a
function, arithmetic, a here-document, a redirection to a file, a background job) it returns None. Unlike `syntax.parse` it
records for each word whether the shell expands it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.manuals import option_parser

Kind = Literal["sure", "below", "one", "open"]


class PlainWord(NamedTuple):
    """`sure`: the program gets exactly `text`. `below`: file names that begin with `text`, which does not begin with a dash.

    `one`: a single unknown word, from a quoted variable. `open`: any number of unknown words.
    """

    text: str
    kind: Kind = "sure"


_NAME = r"\$(?:[A-Za-z_][A-Za-z0-9_]*+|\{[A-Za-z_][A-Za-z0-9_]*+\}|\?)(?![\[(:])"
_PLAIN = r"[A-Za-z0-9_./:=,@%+~^-]"
_ENDS = r"(?=[ \t\n;|&]|\Z)"
_PIECE = lazy_re.compile(
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
_IN_DOUBLE = lazy_re.compile(r'\\([$"\\])')
_VARIABLE = lazy_re.compile(rf"(?>(?:[^\\$]|\\.|\$(?=\Z))*){_NAME}", re.DOTALL)
_BRACKETS = frozenset({"[", "[[", "]", "]]"})
_FIRST = lazy_re.compile(r"[A-Za-z0-9_./~]")


def plain(command: str) -> tuple[list[list[PlainWord]], list[str]] | None:
    """The words of each program in order, and the files read by `<`; None if the command is not plain."""
    reader = _Reader()
    at = 0
    while at < len(command):
        piece = _PIECE.match(command, at)
        if piece is None or not reader.take(piece):
            return None
        at = piece.end()
    reader.end_command()
    return reader.commands, reader.sources


class SplitWords(NamedTuple):
    """The words of a program by how they look. `has_end`: `--` ends the options, and is neither."""

    options: list[PlainWord]
    operands: list[PlainWord]
    has_end: bool


def split(argv: Sequence[PlainWord]) -> SplitWords:
    """Options and operands; a value that is not attached counts as an operand."""
    read = option_parser.plain(("", *(word.text for word in argv)))
    options = [argv[option.word - 1] for option in read.given]
    return SplitWords(options, [argv[word.at - 1] for word in read.operands], read.end > 0)


class _Reader:
    def __init__(self) -> None:
        self.commands: list[list[PlainWord]] = []
        self.sources: list[str] = []
        self._words: list[PlainWord] = []
        self._text = ""
        self._kind: Kind = "sure"
        self._begun = False

    def take(self, piece: re.Match[str]) -> bool:
        """Whether the piece is allowed at this position."""
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
            self._words.append(PlainWord(self._text, "sure" if alone else self._kind))
        self._text, self._kind, self._begun = "", "sure", False
