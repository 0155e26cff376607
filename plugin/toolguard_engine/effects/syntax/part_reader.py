"""Reads the parts of simple commands: assignments, redirections and here-documents."""

from __future__ import annotations

import re

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import FilePlace
from toolguard_engine.effects.syntax.syntax_tree import (
    SUBSCRIPT,
    Literal,
    Redirection,
    Simple,
    Word,
)
from toolguard_engine.effects.syntax.word_parts import (
    DYNAMIC,
    MAX_DEPTH,
    WordReader,
    subscript,
)
from toolguard_engine.model.work_limit import WorkLimit

_DECLARING = program_catalogue.programs("declaration")
MAX_ENDLESS = 20
"""Here-documents without an end; a text with more of them is not a command."""

MAX_STRAYS = 20
"""Misplaced tokens; a text with more of them is not a command."""

DELIMITED = r"(?=[\s;|&()<>]|\Z)(?<![@?*+!](?=\())"
TOKEN = lazy_re.compile(
    rf"""[ \t\r\f\v]*+(?:
    (?P<redirect>(?P<fd>\d{{0,9}})(?P<op><<<|<<-?|<>|<&|>>|>\||>&|<(?!\()|>(?!\())|&>>?)
    |(?P<word>(?!\#)[^\s;|&()<>\\'"`$]++){DELIMITED}
    |'(?P<single>[^']*+)'{DELIMITED}
    |"(?P<double>[^"\\$`]*+)"{DELIMITED}
    |(?P<operator>\n|;;&|;;|;&|;|&&|\|\||\|&|\||&|\(|\))
    |(?P<comment>\#[^\n]*+)
    |(?P<joined>\\\r?\n)
    |(?P<end>\Z)
    |(?P<complex>)
    )""",
    re.VERBOSE,
)
_DELIMITER = lazy_re.compile(r"""[ \t]*+((?>(?:[^\s;|&()<>'"\\]|'[^'\n]*+'|"[^"\n]*+"|\\.|\\\n)+))""")
_DOLLAR_QUOTE = lazy_re.compile(r"\$(?=['\"])")
_QUOTES = str.maketrans("", "", "\\'\"")
_LEADING_TABS = lazy_re.compile(r"^\t++", re.MULTILINE)


def _spaced(word: Word) -> Word:
    """A further word of an array, which is kept as one text."""
    return f" {word}" if isinstance(word, str) else (Literal(" ", quoted=True), *word)


def _element(name: str, value: Word) -> Word:
    """A word that sets a variable."""
    if isinstance(value, str):
        return name + value
    return (
        Literal(name, quoted=True),
        *(part if isinstance(part, Literal) else replace(part, quoted=True) for part in value),
    )


def _add_element(command: Simple, array: str, which: str, value: Word, *, append: bool = False) -> None:
    """Sets an element of an array, and of the array as a whole one more. `append`: to that element, or, where its number is
    not known, a new one."""
    command.assigns += ((array + which, value, append), (array, _spaced(value), True))


class PartReader(WordReader):
    """Reads words, and what stands between them in a simple command; `at` is the current position."""

    def __init__(self, text: str, work: WorkLimit, file: FilePlace | None = None) -> None:
        super().__init__(text, work)
        self.file = file
        self._waiting: list[tuple[Redirection, str, bool, bool]] = []
        """The here-documents whose text follows in the next line."""
        self._endless = 0

    def stray(self) -> None:
        """Skips a misplaced token."""
        self.flaws.add("broken")
        token = TOKEN.match(self.text, self.at)
        self.at = max(token.end() if token else 0, self.at + 1)

    def _assign(self, command: Simple, match: re.Match[str], rest: str | None, depth: int) -> None:
        """One assignment. `rest`: its value if it is plain text, None if it is still to be parsed."""
        self.work.spend(1)
        if match[2] and DYNAMIC.search(match[2]):  # subscripts can run commands
            command.assigns.append(("_", self._inner(match[2], depth), False))
        if not rest and self.text.startswith("(", self.at):
            self.at += 1
            values = self._until_parenthesis(depth)
            if match[3]:
                for value in values:
                    _add_element(command, match[1], SUBSCRIPT, value, append=True)
                return
            command.assigns += (
                (match[1], _spaced(value) if position else value, position > 0) for position, value in enumerate(values)
            )
            return
        value = self._word(depth) if rest is None else rest
        name, append = match[1], bool(match[3])
        if match[2] is None:
            command.assigns.append((name, value, append))
        else:
            which = subscript(f"[{match[2]}]")
            _add_element(command, name, which, value, append=append and which != SUBSCRIPT)

    def _declared(self, words: list[Word], depth: int) -> bool:
        """Reads an array whose name is the last word of a declaration: `declare x=(a b)`. False if it is none."""
        first, last = words[0], words[-1]
        if not (isinstance(first, str) and first in _DECLARING and isinstance(last, str)):
            return False
        if last[-1:] != "=" or not self.text.startswith("=(", self.at - 1):
            return False
        self.at += 1
        name = last.removesuffix("=").removesuffix("+")
        values = self._until_parenthesis(depth)
        if values:
            words.pop()
        words += (_element(f"{name}+=" if at else last, _spaced(value) if at else value) for at, value in enumerate(values))
        return True

    def _until_parenthesis(self, depth: int) -> list[Word]:
        """The words of an array."""
        parts: list[Word] = []
        while token := TOKEN.match(self.text, self.at):
            kind = token.lastgroup
            if kind == "end" or (kind == "operator" and token["operator"] != "\n"):
                self.at = token.end()
                if kind == "end" or token["operator"] != ")":
                    self.flaws.add("broken")
                return parts
            self.work.spend(1)
            if kind in ("operator", "comment", "joined"):
                self.at = token.end()
                continue
            parts.append(self._next_word(depth))
        return parts

    def _next_word(self, depth: int) -> Word:
        """The word that begins here, whatever its form; empty if none does."""
        token = TOKEN.match(self.text, self.at)
        kind = token.lastgroup if token else "end"
        if token and kind in ("word", "single", "double"):
            self.at = token.end()
            text: str = token[kind]
            return (Literal(text),) if kind == "word" and "{" in text and ("," in text or ".." in text) else text
        if token and kind == "joined":
            self.at = token.end()
            return self._next_word(depth + 1) if depth < MAX_DEPTH else ""
        if token and kind == "complex":
            self.at = token.end()
            return self._word(depth)
        if token and kind == "redirect":
            self.stray()
        return ""

    def _redirection(self, token: re.Match[str], depth: int) -> Redirection:
        self._count()
        operator = token["op"] or token["redirect"]
        if operator not in ("<<", "<<-"):
            return Redirection(operator, self._next_word(depth), token["fd"] or "")
        redirection = Redirection(operator, "", token["fd"] or "")
        match = _DELIMITER.match(self.text, self.at)
        if match is None:
            self.flaws.add("broken")
            return redirection
        self.at = match.end()
        name = _DOLLAR_QUOTE.sub("", match[1].replace("\\\n", ""))
        plain = name.translate(_QUOTES)
        self._waiting.append((redirection, plain, plain != name, operator == "<<-"))
        return redirection

    def _redirections(self, depth: int) -> list[Redirection]:
        """The redirections after a compound command."""
        redirections = []
        while (token := TOKEN.match(self.text, self.at)) and token.lastgroup == "redirect":
            self.at = token.end()
            redirections.append(self._redirection(token, depth))
        return redirections

    def _bodies(self, depth: int) -> None:
        """The here-documents announced on the line that ends here."""
        waiting, self._waiting = self._waiting, []
        for redirection, name, quoted, tabs in waiting:
            body = self._document(name, tabs=tabs)
            if tabs:
                body = _LEADING_TABS.sub("", body)
            redirection.target = body if quoted or not DYNAMIC.search(body) else self._inner(body, depth)

    def _document(self, name: str, *, tabs: bool) -> str:
        """The text of the here-document that begins here."""
        end = self._body_end(name, tabs=tabs) if self._endless < MAX_ENDLESS else None
        if end is None:  # it may be commands: the first such text is read as both, later ones as commands
            self._endless += 1
            self.flaws.add("broken" if self._endless < MAX_ENDLESS else "long")
            return self.text[self.at :] if self._endless == 1 else ""
        body = self.text[self.at : end[0]]
        self.at = min(end[1] + 1, len(self.text))
        return body

    def _body_end(self, name: str, *, tabs: bool) -> tuple[int, int] | None:
        """Where the line that ends a here-document begins and ends; `tabs`: it may be indented with tabs."""
        text, line = self.text, self.at
        wanted = "\n" if tabs else f"\n{name}"
        while True:
            self.work.spend(1 / 4)
            start = line
            while tabs and text.startswith("\t", start):
                start += 1
            end = start + len(name)
            if text.startswith(name, start):
                end += text.startswith("\r", end)
                if end >= len(text) or text[end] == "\n":
                    return line, end
            line = text.find(wanted, line) + 1
            if not line:
                return None
