"""The tokens of JSON5, by the specification at spec.json5.org (which takes identifiers from ECMAScript 5.1).

Every function takes the text and an offset and returns what it read and the offset behind it. No function looks at a
character more than a fixed number of times, so that hostile text takes linear time: all that repeats in a pattern is
possessive.

`PLAIN_MEMBER` and `PLAIN_ELEMENT` are for speed only: one match for a whole item whose key and value are plain. What they
do not match is read token by token, and only there are errors found.
"""

from __future__ import annotations

import re
import unicodedata
from types import MappingProxyType

from toolguard_cli.hostconfig.json5_edit.syntax_errors import found_at, syntax_error

BLANKS = "\t\v\f \xa0\ufeff\u1680\u2000-\u200a\u202f\u205f\u3000"
NEWLINES = "\n\r\u2028\u2029"

_TRIVIA = rf"(?>(?:[{BLANKS}{NEWLINES}]++|//[^{NEWLINES}]*+|/\*[^*]*+(?>(?:\*(?!/)[^*]*+)*)\*/)*)"
_STRINGS = "|".join(rf"{quote}[^{quote}\\\x00-\x08\x0a-\x1f\ud800-\udfff]*+{quote}" for quote in "\"'")
_DECIMAL = r"(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_NUMBERS = rf"[+-]?(?:0[xX][0-9a-fA-F]++|Infinity|NaN|{_DECIMAL})(?![\w$.\\])"
_VALUE = rf"({_STRINGS}|{_NUMBERS}|(?:true|false|null)(?![\w$\\]))"
_KEY = rf"({_STRINGS}|[A-Za-z_$][A-Za-z0-9_$]*+)"
PLAIN_MEMBER = re.compile(rf"{_TRIVIA}{_KEY}{_TRIVIA}:{_TRIVIA}(?:{_VALUE}{_TRIVIA}(?:(,)|(?=}}))|(?=[{{\[]))")
PLAIN_ELEMENT = re.compile(rf"{_TRIVIA}(?:{_VALUE}{_TRIVIA}(?:(,)|(?=]))|(?=[{{\[]))")

_SKIPPED = re.compile(_TRIVIA)
_LINE_REST = re.compile(f"[^{NEWLINES}]*")
_NUMBER = re.compile(_NUMBERS)
_WORD = re.compile(r"[\w$]+")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*+(?![^\x00-\x7f]|\\)")
_KEY_CHAR = re.compile(r"\\u([0-9a-fA-F]{4})|([\w$\u200c\u200d]|[^\x00-\x7f])")
# Raw control characters in strings are legal in JSON5; but for the tab they are refused here: they are accidents.
_PLAIN = {quote: re.compile(rf"[^{quote}\\\x00-\x08\x0a-\x1f]*") for quote in "\"'"}
_SIMPLE = re.compile(_STRINGS)
SURROGATE = re.compile("[\ud800-\udfff]")
_HEX_ESCAPE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")
_ESCAPED = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|(?s:.))")
_DIGIT = re.compile("[0-9]")
_NEEDED = MappingProxyType(
    {
        "x": r"\x needs two hexadecimal digits, as in \x41",
        "u": r"\u needs four hexadecimal digits, as in \u00e9",
        "0": r"\0 must not be followed by a digit, write \x00",
    }
)
_CONTINUATION = re.compile(f"\r\n|[{NEWLINES}]")
_SIMPLE_ESCAPES = MappingProxyType({"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"})
_WORDS = MappingProxyType({"null": None, "true": True, "false": False})
_MAX_INTEGER = 4_300  # digits; Python refuses to convert longer ones, JavaScript reads them as Infinity

_START = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_PART = _START | {"Mn", "Mc", "Nd", "Pc"}


def skip_trivia(text: str, at: int) -> int:
    """The offset of the next token behind white space and comments."""
    skipped = _SKIPPED.match(text, at)
    at = skipped.end() if skipped else at
    if text.startswith("/*", at):
        raise syntax_error(text, at, "this comment is never closed, expected '*/'")
    return at


def comment_end(text: str, at: int) -> int:
    """The offset behind the comment that starts at `at`; the line break behind a `//` comment is not part of it."""
    if text[at + 1] == "*":
        return text.index("*/", at + 2) + 2
    rest = _LINE_REST.match(text, at)
    return rest.end() if rest else at


def plain_value(raw: str) -> bool | int | float | str | None:
    """The value that `PLAIN_MEMBER` or `PLAIN_ELEMENT` matched."""
    if raw[0] in "\"'":
        return raw[1:-1]
    return _WORDS[raw] if raw in _WORDS else _number(raw)


def read_scalar(text: str, at: int) -> tuple[bool | int | float | str | None, int]:
    if text[at : at + 1] in {'"', "'"}:
        return read_string(text, at)
    number = _NUMBER.match(text, at)
    if number:
        return _number(number[0]), number.end()
    word = _WORD.match(text, at)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    kind = "a number" if text[at : at + 1] in {"+", "-", "."} or text[at : at + 1].isdigit() else "a value"
    hint = "; a string needs quotes" if word and kind == "a value" else ""
    raise syntax_error(text, at, f"expected {kind}, {found_at(text, at)}{hint}")


def read_string(text: str, at: int) -> tuple[str, int]:
    simple = _SIMPLE.match(text, at)
    if simple:
        return simple[0][1:-1], simple.end()
    quote, opened, parts = text[at], at, []
    at += 1
    while True:
        plain = _PLAIN[quote].match(text, at)
        if plain:
            parts.append(plain[0])
            at = plain.end()
        following = text[at : at + 1]
        if following == quote:
            return _whole(text, opened, at + 1, "".join(parts)), at + 1
        if following != "\\":
            raise syntax_error(text, *_string_problem(text, opened, at))
        part, at = _escape(text, at, opened)
        parts.append(part)


def read_key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] in {'"', "'"}:
        return read_string(text, at)
    plain = _PLAIN_KEY.match(text, at)
    if plain:
        return plain[0], plain.end()
    return _unicode_key(text, at)


def is_identifier(name: str) -> bool:
    """Whether `name` may stand as a key without quotes.

    Judged by Unicode 3.2 and without astral characters, so that every reader's tables, however old, agree.
    """
    category = unicodedata.ucd_3_2_0.category
    first = name[:1]
    return (
        first != ""
        and (first in "$_" or category(first) in _START)
        and all(ch in "$\u200c\u200d" or (ch < "\U00010000" and category(ch) in _PART) for ch in name)
    )


def join_surrogates(value: str) -> str:
    """Surrogate pairs (from two `\\u` escapes) as the one character they mean; lone surrogates stay."""
    if not SURROGATE.search(value):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _number(raw: str) -> int | float:
    digits = raw.lstrip("+-")
    if digits.startswith(("0x", "0X")):
        return int(raw, 16)
    return int(raw) if digits.isdigit() and len(digits) <= _MAX_INTEGER else float(raw)


def _string_problem(text: str, opened: int, at: int) -> tuple[int, str]:
    if at >= len(text):
        return opened, "this string is never closed"
    if text[at] in "\n\r":
        return at, "the line ends inside a string; close it, or end the line with a backslash"
    return at, f"a control character (U+{ord(text[at]):04X}) inside a string; write it as \\u{ord(text[at]):04x}"


def _escape(text: str, at: int, opened: int) -> tuple[str, int]:
    """What the escape with its backslash at `at` stands for."""
    kind = text[at + 1 : at + 2]
    if kind == "":
        raise syntax_error(text, opened, "this string is never closed")
    continuation = _CONTINUATION.match(text, at + 1)
    if continuation:
        return "", continuation.end()
    coded = _HEX_ESCAPE.match(text, at + 1)
    if coded:
        return chr(int(coded[1] or coded[2], 16)), coded.end()
    if kind == "0" and not _DIGIT.match(text, at + 2):
        return "\0", at + 2
    if kind < " " and kind != "\t":
        raise syntax_error(text, *_string_problem(text, opened, at + 1))
    if kind in "xu" or _DIGIT.match(kind):
        needed = _NEEDED.get(kind, f"\\{kind} is not a valid escape")
        raise syntax_error(text, at, f"a bad escape in a string: {needed}; a backslash itself is written \\\\")
    return _SIMPLE_ESCAPES.get(kind, kind), at + 2


def _whole(text: str, opened: int, end: int, value: str) -> str:
    """The value of the string at `text[opened:end]`, unless it holds half of a character."""
    joined = join_surrogates(value)
    half = SURROGATE.search(joined)
    if half:
        code = f"\\u{ord(half[0]):04x}"
        at = next((match.start() for match in _ESCAPED.finditer(text, opened, end) if match[0].lower() == code), opened)
        other = "its second half, \\udc00 to \\udfff, must follow" if half[0] < "\udc00" else "its first half is missing"
        raise syntax_error(text, at, f"{code} is only half of a character: {other}")
    return joined


def _unicode_key(text: str, at: int) -> tuple[str, int]:
    name: list[str] = []
    start = at
    while char := _KEY_CHAR.match(text, at):
        letter = chr(int(char[1], 16)) if char[1] else char[2]
        if not _fits(letter, first=not name):
            if char[1]:
                raise syntax_error(text, at, "this escape is not a character that a key without quotes may have here")
            break
        name.append(letter)
        at = char.end()
    if text.startswith("\\", at):
        raise syntax_error(text, at, f"a bad escape in a key, {found_at(text, at)}")
    if not name:
        raise syntax_error(text, start, f"expected a key or '}}', {found_at(text, start)}")
    return join_surrogates("".join(name)), at


def _fits(letter: str, *, first: bool) -> bool:
    if letter in "$_" or (letter in "\u200c\u200d" and not first):
        return True
    return unicodedata.category(letter) in (_START if first else _PART)
