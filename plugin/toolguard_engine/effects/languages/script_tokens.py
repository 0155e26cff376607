"""The tokens of scripting languages: names, numbers, strings with what is filled into them, signs, line ends.

Every expression of a `Syntax` takes linear time. What cannot be a token (a string without an end) ends the text, and the
reading is not whole.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.languages import filled_texts
from toolguard_engine.effects.languages.filled_texts import NO_SIGN, PAIRS, Ends
from toolguard_engine.effects.languages.go.go_syntax import GO
from toolguard_engine.effects.languages.lua.lua_syntax import LUA
from toolguard_engine.effects.languages.perl.perl_syntax import PERL
from toolguard_engine.effects.languages.php.php_syntax import PHP
from toolguard_engine.effects.languages.powershell.powershell_syntax import POWERSHELL
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY
from toolguard_engine.effects.languages.script_syntax import Syntax

Kind = Literal["name", "number", "string", "command", "pattern", "words", "sign", "end"]
"""`command`: a text that a shell runs (`qx`, backticks); `pattern`: a regular expression; `words`: `qw(a b)`."""

MAX_TOKENS = 24_000
_MAX_UNENDED = 8
"""Texts in which a value has no end. Each of them is searched for it to the end of the code."""

_MAX_PATTERN = 400
MAX_FILLED = 6
"""How deep texts are filled into texts."""


class Token(msgspec.Struct):
    """`text`: the name or sign, or the text of a string as written; `fills`: whether other values are filled into that;
    `match`: for an opening bracket the index of the closing one; `spaced`: whether white space is before it; `ends`: those
    in its text."""

    kind: Kind
    text: str
    fills: bool = False
    match: int = -1
    spaced: bool = False
    ends: Ends | None = None


_SIGN = (
    r"=>|->|\?\.(?!\d)|::|\?\?=?|\|\|=?|&&=?|\.\.\.|\.\.|\*\*=?|<<~?|=~|!~|===|!==|==|!=|<=>|<=|>=|\+\+|--"
    r"|[+\-*/.%|&^]=(?!=)|[^\w\s]"
)
_BLANK = lazy_re.compile(r"(?:[^\S\n]|\\\n)*")
_SPACES = frozenset({"", " ", "\n", "\t", "\r"})
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_CALLING = ("(", "[")
_GOING_ON = frozenset({*_CALLING, ",", "=", "&&", "||", "."})
"""Signs behind which a statement has more, though its line ends."""

_TO_HANDLE = frozenset({"print", "printf", "say", "system", "exec"})
"""Words of Perl behind which a handle or a program may stand in front of the arguments."""

_GIVES = frozenset({"=", "+=", "||=", "|", ",", ")", "=>"})
"""Signs behind a variable where it gets a value: an assignment, a parameter."""
MAX_HANDLE = 40
_MAX_EITHER = 16
"""Here-documents that may be none."""

_KINDS_BY_LETTER: dict[str, Kind] = {
    **dict.fromkeys(("qx", "x"), "command"),
    **dict.fromkeys(("qw", "w", "W", "i", "I"), "words"),
    **dict.fromkeys(("m", "qr", "s", "tr", "y", "r"), "pattern"),
}
"""What the letters before a text mean; any other begins a text."""

_PATTERN = lazy_re.compile(
    rf"/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){{0,{_MAX_PATTERN}}}+\]){{1,{_MAX_PATTERN}}}+/[A-Za-z]{{0,8}}+"
)
_HERE = lazy_re.compile(r"""(<<<?)[-~]?\s?(?:"(\w{1,40})"|'(\w{1,40})'|([A-Z_]\w{0,40}))""")
_CALLS = lazy_re.compile(r"\b(?:system|exec|qx|unlink|eval|open|rm\w*)\b|`")
_ANGLES = lazy_re.compile(r"<([^\s<>=;()]{0,200}[*?/~.][^\s<>=;()]{0,200})>")
_VALUE_WORDS = frozenset(
    {
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "and",
        "or",
        "not",
        "if",
        "unless",
        "split",
        "grep",
        "when",
        "unlink",
        "map",
        "push",
        "for",
        "foreach",
        "print",
    }
)
_TABLES: dict[int, re.Pattern[str]] = {}


def _table(syntax: Syntax) -> re.Pattern[str]:
    pattern = _TABLES.get(id(syntax))
    if pattern is None:
        own = [re.escape(sign) for sign in sorted(syntax.concat | syntax.members, key=len, reverse=True) if sign[1:]]
        parts = [r"(?P<line>\n\s*+)", rf"(?P<comment>{syntax.comment})"]
        parts += [rf"(?P<quoted>{syntax.quotes})"] if syntax.quotes else []
        parts += [
            rf"(?P<name>{syntax.names})",
            r"(?P<number>\d[\w.]*+)",
            rf"(?P<quote>[{syntax.marks}])",
            rf"(?P<sign>{'|'.join((*own, _SIGN))})",
        ]
        pattern = _TABLES[id(syntax)] = re.compile(rf"{_BLANK.pattern}(?:{'|'.join(parts)})", re.MULTILINE)
    return pattern


class Tokens:
    """The tokens of a text. `whole`: whether all of it was read."""

    def __init__(self, text: str, syntax: Syntax, ends: Ends | None = None) -> None:
        self.text, self.syntax, self.whole = text, syntax, True
        self._ends = ends or Ends()
        self.found: list[Token] = []
        self._here: list[tuple[str, Token]] = []
        self._missing: set[str] = set()
        self._variables: set[str] = set()
        self._unended = self._either = 0
        self._open: list[int] = []
        self._read()

    def _read(self) -> None:
        text, match, tokens, at = self.text, _table(self.syntax).match, self.found, 0
        while at < len(text) and self.whole:
            if len(tokens) >= MAX_TOKENS:
                self.whole = False
                break
            one = match(text, at)
            if one is None:
                blank = _BLANK.match(text, at)
                at = (blank.end() if blank else at) + 1
                continue
            kind, start = one.lastgroup, one.start(one.lastindex or 0)
            at = one.end()
            if kind == "name" or kind == "number":  # noqa: PLR1714 - this is most of the time
                tokens.append(
                    Token("name" if kind == "name" else "number", text[start:at], spaced=text[start - 1 : start] in _SPACES)
                )
            elif kind == "sign":
                if text[start] not in "/<[@" or (after := self._rare(start, text[start])) <= start:
                    self._sign(text[start:at], start)
                else:
                    at, tokens[-1].spaced = after, text[start - 1 : start] in _SPACES
            elif kind == "quote":
                at = self._quoted(start, text[start])
                tokens[-1].spaced = text[start - 1 : start] in _SPACES
            elif kind == "line":
                at = self._line(at, start)
            elif kind == "quoted":
                at = self._between_signs(text[start:at], start, at)
        if self._open or self._here or self._unended:
            self.whole = False
        for index in self._open:
            tokens[index].match = len(tokens)

    def _between_signs(self, word: str, start: int, at: int) -> int:
        if self.syntax is RUBY and not word[1:] and self._operand():
            self._sign(word, start)
            return at
        return self._by_letter(word, at, spaced=self._before(start))

    def _rare(self, at: int, char: str) -> int:
        """The end of a text that begins with a sign; -1 if it is only the sign."""
        text, syntax = self.text, self.syntax
        if char == "/" and syntax.patterns and not self._operand() and (pattern := _PATTERN.match(text, at)):
            self._add("pattern", pattern.group(), False)  # noqa: FBT003 - who asks sets it
            return pattern.end()
        if char == "<" and syntax.here and (match := _HERE.match(text, at)) and match[1] == syntax.here:
            return self._document(match)
        if char == "<" and syntax is PERL and not self._operand() and (match := _ANGLES.match(text, at)):
            self._add("string", match[1], False, fills=True)  # noqa: FBT003 - as above
            return match.end()
        if char == "[" and syntax is LUA and text[at + 1 : at + 2] == "[":
            return self._until("]]", at + 2)
        if char == "@" and syntax is POWERSHELL and text[at + 1 : at + 2] in ("'", '"'):
            return self._until("\n" + text[at + 1] + "@", at + 2, fills=text[at + 1] == '"')
        return -1

    def _before(self, at: int) -> bool:
        return at == 0 or self.text[at - 1].isspace()

    def _add(self, kind: Kind, text: str, spaced: bool, *, fills: bool = False) -> None:  # noqa: FBT001 - a part of the token
        self.found.append(Token(kind, text, fills, -1, spaced))

    def _sign(self, sign: str, at: int) -> None:
        if sign in _OPEN:
            self._open.append(len(self.found))
        elif sign in _CLOSE:
            if sign != "}" and self.found and self.found[-1].kind == "end" and self.found[-1].text == "\n":
                self.found.pop()  # a line end in front of it ends nothing
            if self._open and _OPEN[self.found[self._open[-1]].text] == sign:
                self.found[self._open.pop()].match = len(self.found)
            else:
                self.whole = False
        elif sign == "." and self.found and self.found[-1].kind == "end" and self.syntax is not POWERSHELL:
            self.found.pop()  # the rest of a chain of calls; in PowerShell, a dot begins a command
        if sign in _GIVES and self.found and self.found[-1].kind == "name":
            self._variables.add(self.found[-1].text)
        self._add("sign", sign, self._before(at))

    def _line(self, at: int, start: int) -> int:
        """A line end; the texts of here-documents begin after it."""
        if self._here:
            at = start + 1
        for word, token in self._here:
            end = re.compile(rf"^[ \t]*+{word}\b", re.MULTILINE).search(self.text, at)
            if end is None:
                self.whole = False
                return len(self.text)
            token.text = self.text[at : end.start()]
            at = end.end()
        self._here.clear()
        if self.syntax.lines and self.found and self.found[-1].kind != "end" and not self._goes_on():
            self._add("end", "\n", True)  # noqa: FBT003
        return at

    def _goes_on(self) -> bool:
        """Whether a line end ends no statement: between brackets in Go, behind a sign that needs more elsewhere."""
        last = self.found[-1]
        if last.kind == "sign" and (last.text in _GOING_ON or last.text in self.syntax.concat):
            return True
        if last.kind == "sign" and last.text == "|":  # in Ruby it ends the parameters of a block
            return self.syntax is not RUBY
        return self.syntax is GO and bool(self._open) and self.found[self._open[-1]].text in _CALLING

    def _operand(self) -> bool:
        """Whether the last token ends a value, so that a slash divides."""
        if not self.found:
            return False
        last = self.found[-1]
        if last.kind == "name":
            return last.text not in _VALUE_WORDS
        return last.kind not in ("sign", "end") or last.text in (")", "]", "}")

    def _shifts(self, at: int) -> bool | None:
        """Whether a value stands in front of `<<`, so that no here-document begins; None if it may be either, since a name
        is both a variable and a function, or a block may be an argument."""
        if self.syntax is PHP or not self._operand():
            return False
        last, begins = self.found[-1], len(self.found) - 1
        if last.text == "}":
            begins = next((n for n in range(begins, max(begins - MAX_HANDLE, -1), -1) if self.found[n].match == begins), 0)
        if self.syntax is PERL and begins and self.found[begins - 1].text in _TO_HANDLE:
            return False
        if last.text == "}":
            return None
        if last.kind != "name" or last.text[0] in "$@%" or (self.syntax is RUBY and not self._before(at)):
            return True
        return None if last.text in self._variables else False

    def _quoted(self, at: int, quote: str) -> int:
        mode = self.syntax.modes[quote]
        end = self._filled(at + 1, quote, quote) if mode in ("fills", "command") else -1
        if end < 0:
            end = self._closing(at + 1, quote)
        if end < 0:
            self.whole = False
            self._add("end", ";", False)  # noqa: FBT003 - no space before it
            return len(self.text)
        self._string(mode, self.text[at + 1 : end], quote)
        self.found[-1].ends = self._ends.behind(at + 1)
        return end + 1

    def _string(self, mode: str, text: str, quote: str) -> None:
        kind: Kind = "command" if mode == "command" else "string"
        if mode == "raw" and not self.syntax.doubles:
            text = _undone(text, quote)
        elif mode == "text" and self.syntax.escape in text:
            text = unescaped(text, self.syntax.escape)
        self._add(kind, text, False, fills=mode in ("fills", "command"))  # noqa: FBT003

    def _filled(self, at: int, opening: str, closing: str) -> int:
        """The position of the sign that ends a text, past the texts in what is filled into it; -1 if it is looked for as
        in any other text."""
        if self.syntax.flat or not self.syntax.filled or self._unended >= _MAX_UNENDED:
            return -1
        end = filled_texts.text_end(self.syntax, self.text, at, (opening, closing), self._ends)
        self._unended += end < 0
        return end

    def _closing(self, at: int, quote: str) -> int:
        """The position of the quote that ends a string; -1 if there is none."""
        escape, text, doubled = self.syntax.escape, self.text, self.syntax.doubles
        plain = self.syntax.modes.get(quote) == "plain"
        end = text.find(quote, at)
        while end >= 0:
            before = end
            while not doubled and not plain and before > at and text[before - 1] == escape:
                before -= 1
            if doubled and text[end + 1 : end + 2] == quote:
                end += 1
            elif (end - before) % 2 == 0 and not (doubled and quote == '"' and text[end - 1] == escape):
                return end
            end = text.find(quote, end + 1)
        return -1

    def _until(self, end: str, at: int, *, fills: bool = False) -> int:
        after = self.text.find(end, at)
        if after < 0:
            self.whole = False
            return -1
        self._add("string", self.text[at:after], False, fills=fills)  # noqa: FBT003
        return after + len(end)

    def _document(self, match: re.Match[str]) -> int:
        """`<<EOT`: its text follows after this line."""
        word, shifts = match[2] or match[3] or match[4], self._shifts(match.start())
        if shifts or word in self._missing:
            return -1
        end = re.compile(rf"^[ \t]*+{word}\b", re.MULTILINE).search(self.text, match.end())
        self._either += shifts is None
        if end is None or self._either > _MAX_EITHER:
            self._missing.add(word)
            self.whole = self.whole and self._either <= _MAX_EITHER
            return -1
        self._add("string", "", False, fills=not match[3])  # noqa: FBT003
        if shifts is None:  # its lines are read as code as well
            self.found[-1].text = self.text[match.end() : end.start()].partition("\n")[2]
        else:
            self._here.append((word, self.found[-1]))
        return match.end()

    def _by_letter(self, word: str, at: int, *, spaced: bool) -> int:
        """`qx{...}`, `%w[...]`: text between any signs; a substitution has two."""
        letter, after = word.lstrip("%") or "Q", at
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        sign = self.text[at : at + 1]
        if not sign or sign.isalnum() or sign in NO_SIGN:
            self._add("name", word, spaced)
            return after
        fills = letter in ("qq", "qx", "Q", "x")
        end = self._filled(at + 1, sign, PAIRS.get(sign, sign)) if fills else -1
        if end < 0:
            end = filled_texts.sign_end(self.text, at)
        if end < 0:
            self.whole = False
            return len(self.text)
        body = self.text[at + 1 : end]
        if letter in ("s", "tr", "y"):
            begin = end if PAIRS.get(sign, sign) == sign else self._skip(end + 1)
            rest = filled_texts.sign_end(self.text, begin, sign)
            end = rest if rest > 0 else end
            if (
                letter == "s"
                and "e" in self.text[end + 1 : end + 6].partition(" ")[0]
                and _CALLS.search(self.text, begin, end)
            ):
                self.whole = False  # the replacement is code
        if letter == "q":
            body = _undone(body, sign + PAIRS.get(sign, sign))
        self._add(_KINDS_BY_LETTER.get(letter, "string"), body, spaced, fills=fills)
        self.found[-1].ends = self._ends.behind(at + 1)
        return end + 1

    def _skip(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at


_BEGINNING = frozenset({"then", "do", "else", "begin", "ensure", "not"})
"""Words behind which a statement or a value begins."""


_NONE = Token("end", "")


def is_key(tokens: list[Token], at: int, syntax: Syntax) -> bool:
    """Whether a word is the name of something and no keyword: `x.end`, `:end`, `end: 1`. One that may open a block, as in
    `if:a` and `x ?1:if a`, is no such name."""
    before, after = tokens[at - 1] if at else _NONE, tokens[at + 1] if at + 1 < len(tokens) else _NONE
    opens = tokens[at].text != syntax.closes
    if before.kind == "sign" and before.text in syntax.members:
        return True
    if before.text == ":" and not tokens[at].spaced:
        return not opens or begins_value(tokens, at - 1, syntax)
    return after.text == ":" and not after.spaced and (not opens or (at + 2 < len(tokens) and tokens[at + 2].spaced))


def begins_value(tokens: list[Token], at: int, syntax: Syntax) -> bool:
    """Whether a statement or a value begins here, so that `if` opens a block instead of belonging to what is before it."""
    if not at:
        return True
    before = tokens[at - 1]
    if before.kind == "sign":
        return before.text not in _CLOSE
    return before.kind == "end" or (before.kind == "name" and before.text in _BEGINNING | syntax.operators)


_ESCAPE = lazy_re.compile(r"\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{4,6})\}?|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "\n": ""}
_MAX_RUNE = 0x10FFFF


def unescaped(text: str, escape: str = "\\") -> str:
    if escape not in text:
        return text
    if escape != "\\":
        return re.sub(rf"{re.escape(escape)}(.)", lambda match: _ESCAPED.get(match[1], match[1]), text, flags=re.DOTALL)
    return _ESCAPE.sub(_character, text)


def _undone(text: str, quotes: str) -> str:
    """A raw text without the escapes in front of its quotes and of escapes."""
    return re.sub(rf"\\([{re.escape(quotes)}\\])", r"\1", text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    two, more, octal, other = match.groups()
    if two or more:
        return chr(min(int(two or more, 16), _MAX_RUNE)) if int(two or more, 16) else ""
    if octal:
        return chr(int(octal, 8)) if int(octal, 8) else ""
    return _ESCAPED.get(other, other)
