"""Parses the words of a command line: quotes, variables, substitutions. `parse` combines them into commands."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, Flaw
from toolguard_engine.effects.syntax.syntax_tree import SUBSCRIPT, Literal, Part, Script, Substitution, Variable, Word
from toolguard_engine.model.work_limit import WorkLimit

MAX_DEPTH = 40
MAX_COMMANDS = 2_000
MAX_ARITHMETIC = 1_000

_PLAIN = lazy_re.compile(r"""[^\s;|&()<>\\'"`$]++""")
_IN_DOUBLE = lazy_re.compile(r'[^"\\$`]++')
_IN_TEXT = lazy_re.compile(r"[^\\$`]++")
_IN_BRACES = lazy_re.compile(r"""[^}'"\\$`]++""")
_IN_QUOTED_BRACES = lazy_re.compile(r"""[^}"\\$`]++""")
_NAME = lazy_re.compile(r"[A-Za-z_]\w*+|[0-9@*#?$!_-]")
_PARAMETER = lazy_re.compile(r"([!#]?)([A-Za-z_]\w*+|\d++|[@*#?$!-])(\[[^\]}]*+\])?(:?[-=+?]|##?|%%?|//?|\^\^?|,,?|:|@)?")
_ANSI = lazy_re.compile(r"'((?>(?:[^'\\]|\\.)*))'?", re.DOTALL)
_TO_BACKTICK = lazy_re.compile(r"((?>(?:[^`\\]|\\.)*))(`?)", re.DOTALL)
_ESCAPE = lazy_re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|[uU]\{?((?<=u)[0-9A-Fa-f]{1,4}|(?<=[U{])[0-9A-Fa-f]{1,8})\}?|0?([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LAST_CODE_POINT = 0x10FFFF
_PARENTHESES = lazy_re.compile(r"[()]")
_BACKTICK_ESCAPES = lazy_re.compile(r"\\([\\`$])")
_EXTENDED = frozenset("@?*+!")
NO_STOPS = frozenset[str]()
SUBSHELL = frozenset({")"})
DYNAMIC = lazy_re.compile(r"[$`]|\\[\n$`\\]")


def subscript(text: str) -> str:
    """What of a subscript is part of the variable's name: a known number, or that it is one of the elements."""
    inner = text[1:-1]
    return text if inner.isdigit() else SUBSCRIPT if inner and inner not in "@*" else ""


class Enough(Exception):  # noqa: N818 - not an error: the text exceeds a limit
    pass


def escaped(text: str) -> str:
    """Text with the backslash escapes of `$'...'` and `printf` resolved."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    if match[5]:
        return _LETTERS.get(match[5], match[5])
    if match[4]:
        return chr(ord(match[4]) & 31).replace(UNKNOWN, "")
    if match[3]:
        return chr(int(match[3], 8) & 0xFF).replace(UNKNOWN, "")
    code = int(match[1] or match[2], 16)
    return chr(code).replace(UNKNOWN, "") if code <= _LAST_CODE_POINT else match[0]


class WordReader:
    """One pass over a text. `at` is the current position, `commands` the number of commands read so far."""

    def __init__(self, text: str, work: WorkLimit) -> None:
        self.text = text
        self.work = work
        self.at = 0
        self.flaws: set[Flaw] = set()
        self.commands = 0

    def read(self, script: Script, stops: frozenset[str], depth: int) -> str:
        """Reads pipelines: see `parse`."""
        raise NotImplementedError

    def _body(self, stops: frozenset[str], depth: int) -> tuple[Script, str]:
        script: Script = []
        body = self.read(script, stops, depth + 1)
        if not body:
            self.flaws.add("broken")
        return script, body

    def _word(self, depth: int) -> Word:  # noqa: PLR0912 - one branch per character
        """A word of several pieces, from here to the next delimiter."""
        if depth > MAX_DEPTH:
            self.flaws.add("deep")
            raise Enough
        parts: list[Part] = []
        text, end = self.text, len(self.text)
        while self.at < end:
            plain = _PLAIN.match(text, self.at)
            if plain:
                self.at = plain.end()
                parts.append(Literal(plain[0]))
                continue
            sign = text[self.at]
            if sign == "'":
                close = text.find("'", self.at + 1)
                if close < 0:
                    self.flaws.add("broken")
                    close = end
                parts.append(Literal(text[self.at + 1 : close], quoted=True))
                self.at = close + 1
            elif sign == '"':
                self.at += 1
                parts += self.quoted_parts(_IN_DOUBLE, '"', depth)
            elif sign == "$":
                parts += self._dollar(depth, quoted=False)
            elif sign == "`":
                parts.append(self._backticks(depth, quoted=False))
            elif sign == "\\":
                taken = text[self.at + 1 : self.at + 2]
                if taken != "\n":  # the shell joins the two lines
                    parts.append(Literal(taken, quoted=True))
                self.at += 2
            elif sign in "<>" and not parts and text.startswith("(", self.at + 1):
                self.at += 2
                script, _ = self._body(SUBSHELL, depth)
                parts.append(Substitution(script, "<(" if sign == "<" else ">("))
            elif sign == "(" and parts and isinstance(last := parts[-1], Literal) and last.text[-1:] in _EXTENDED:
                self._skip_pattern()
                parts.append(Literal("*"))
            else:
                break
        self.at = min(self.at, end)
        self.work.spend(2 + len(parts))
        return word_of(parts)

    def _skip_pattern(self) -> None:
        """Skips an extended pattern such as `!(a|b)`."""
        nested = 0
        for sign in _PARENTHESES.finditer(self.text, self.at):
            nested += 1 if sign[0] == "(" else -1
            if not nested:
                self.at = sign.end()
                return
        self.flaws.add("broken")
        self.at = len(self.text)

    def quoted_parts(self, plain: re.Pattern[str], close: str, depth: int) -> list[Part]:
        """Text in which only `$`, backticks and backslashes are special, up to `close`, or to the end if that is empty."""
        parts: list[Part] = []
        text, end = self.text, len(self.text)
        while self.at < end:
            match = plain.match(text, self.at)
            if match:
                self.at = match.end()
                parts.append(Literal(match[0], quoted=True))
                continue
            sign = text[self.at]
            if sign == close:
                self.at += 1
                self.work.spend(len(parts))
                return parts
            if sign == "$":
                parts += self._dollar(depth, quoted=True)
            elif sign == "`":
                parts.append(self._backticks(depth, quoted=True))
            elif sign == "\\":
                taken = text[self.at + 1 : self.at + 2]
                if taken != "\n":
                    parts.append(Literal(taken if taken in '$`"\\' else "\\" + taken, quoted=True))
                self.at += 2
            else:  # a quote inside the braces of a parameter
                self.at += 1
                if sign == "'":
                    till = text.find("'", self.at)
                    till = end if till < 0 else till
                    parts.append(Literal(text[self.at : till], quoted=True))
                    self.at = till + 1
                elif depth < MAX_DEPTH:
                    parts += self.quoted_parts(_IN_DOUBLE, '"', depth + 1)
        self.at = min(self.at, end)
        self.work.spend(len(parts))
        if close:
            self.flaws.add("broken")
        return parts

    def _dollar(self, depth: int, *, quoted: bool) -> list[Part]:
        """The part that begins with a dollar sign."""
        text, at = self.text, self.at + 1
        sign = text[at : at + 1]
        if sign == "(":
            if text.startswith("(", at + 1) and (end := self._arithmetic_end(at + 2)):
                self.at = end
                return list(self._arithmetic(text[at + 2 : end - 2], depth, quoted=quoted))
            self.at = at + 1
            script, _ = self._body(SUBSHELL, depth)
            return [Substitution(script, "$(", quoted)]
        if sign == "{":
            return [self._parameter(at + 1, depth, quoted=quoted)]
        if sign == "'" and not quoted:
            match = _ANSI.match(text, at)
            assert match is not None  # noqa: S101 - the text begins with the quote
            self.at = match.end()
            return [Literal(escaped(match[1]), quoted=True)]
        if sign == '"' and not quoted:
            self.at = at + 1
            return self.quoted_parts(_IN_DOUBLE, '"', depth)
        name = _NAME.match(text, at)
        if name:
            self.at = name.end()
            return [Variable(name[0], quoted)]
        self.at = at
        return [Literal("$", quoted=True)]

    def _parameter(self, at: int, depth: int, *, quoted: bool) -> Part:
        """`${...}`; `at` is after the brace."""
        self._count()
        if depth > MAX_DEPTH:
            self.flaws.add("deep")
            raise Enough
        match = _PARAMETER.match(self.text, at)
        if match is None:
            self.flaws.add("broken")
            self.at = at
            return Literal("${", quoted=True)
        self.at = match.end()
        parts = self.quoted_parts(_IN_QUOTED_BRACES if quoted else _IN_BRACES, "}", depth + 1)
        operator = match[4] or ""
        if match[3] and DYNAMIC.search(match[3]):  # subscripts can run commands
            inner = self._inner(match[3], depth)
            parts += [] if isinstance(inner, str) else list(inner)
            operator = operator or SUBSCRIPT
        operand = word_of(parts)
        name = match[2] + subscript(match[3] or "")
        if match[1] == "#":
            operator = "len"
        words, every = "[@]" in match[0], match[3] is not None
        return Variable(("!" if match[1] == "!" else "") + name, quoted and not words, operator, operand, every)

    def _arithmetic_end(self, at: int) -> int:
        """The end of a `((...))` whose content begins at `at`; 0 if it is something else."""
        nested = 2
        for sign in _PARENTHESES.finditer(self.text, at, at + MAX_ARITHMETIC):
            nested += 1 if sign[0] == "(" else -1
            if nested == 1 and not self.text.startswith(")", sign.end()):
                return 0
            if not nested:
                return sign.end()
        return 0

    def _arithmetic(self, content: str, depth: int, *, quoted: bool) -> tuple[Part, ...]:
        """A number that is not evaluated; substitutions inside it are collected."""
        word = self._inner(content, depth) if DYNAMIC.search(content) else ""
        scripts = [part.script for part in word if isinstance(part, Substitution)] if not isinstance(word, str) else []
        return (Substitution([pipeline for script in scripts for pipeline in script], "$((", quoted),)

    def _backticks(self, depth: int, *, quoted: bool) -> Part:
        self._count()
        match = _TO_BACKTICK.match(self.text, self.at + 1)
        assert match is not None  # noqa: S101 - it always matches
        if not match[2]:
            self.flaws.add("broken")
        self.at = max(match.end(), self.at + 1)
        inner = _BACKTICK_ESCAPES.sub(r"\1", match[1])
        self.work.spend(2 + len(inner) / 64)
        reader = type(self)(inner, self.work)
        reader.commands = self.commands
        script: Script = []
        try:
            reader.read(script, NO_STOPS, depth + 1)
            if reader.at < len(inner):
                self.flaws.add("broken")
        finally:
            self.commands = reader.commands
            self.flaws |= reader.flaws
        return Substitution(script, "$(", quoted)

    def _inner(self, text: str, depth: int) -> Word:
        """A text in which variables and substitutions are special and quotes are not."""
        self.work.spend(2 + len(text) / 64)
        reader = type(self)(text, self.work)
        reader.commands = self.commands
        try:
            return word_of(reader.quoted_parts(_IN_TEXT, "", depth + 1))
        finally:
            self.commands = reader.commands
            self.flaws |= reader.flaws

    def _count(self) -> None:
        self.commands += 1
        if self.commands > MAX_COMMANDS:
            self.flaws.add("long")
            raise Enough


def word_of(parts: list[Part]) -> Word:
    """The parts as plain text if none of them needs expansion."""
    texts = [part.text for part in parts if isinstance(part, Literal)]
    if len(texts) < len(parts) or any("{" in part.text and not part.quoted for part in parts if isinstance(part, Literal)):
        return tuple(parts)
    return "".join(texts)
