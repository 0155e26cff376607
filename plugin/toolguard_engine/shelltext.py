"""What a shell command line may really say: a textual net, not a parser.

A reading is a text; `spellings` are the readings in which quotes still stand, `readings` adds those without. Both begin
with the text as it was written. Whatever is sent, they cost little: lengths, counts and depth are limited.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

MAX_CHARS = 16_384
"""Of a longer command only so much is read: it is held whatever it says (`layers.risky`), or hostile text could keep the
engine busy for seconds."""

MAX_SPELLINGS = 20
MAX_READINGS = 2 * MAX_SPELLINGS
MAX_TOTAL = 8 * MAX_CHARS
MAX_DEPTH = 3

_MAX_ALTERNATIVES = 16

_QUOTES = str.maketrans("", "", "\\'\"")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|[uU]\{?([0-9A-Fa-f]{1,8})\}?|(0?[0-7]{1,3})|([abeEfnrtv]))")
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_IFS = re.compile(r"\$(?:IFS\b|\{IFS[^}\s]{0,20}\})(?:\$\d)?")
_ASSIGNED = re.compile(r"""(?<![\w$])([A-Za-z_]\w{0,63})\+?=("[^"]*+"|'[^']*+'|[^\s;&|()<>`]*+)""")
_LOOPED = re.compile(r"\bfor\s++(\w{1,64})\s++in\s++([^\s;]++)")
_VARIABLE = re.compile(r"\$(?:(\w{1,64})|\{(\w{1,64})(?::?[-=+]([^{}]{0,256}))?\})")
_BRACES = re.compile(r"(?<![^\s;&|(`])([^\s{}]{0,64}+)\{([^{}\s,]{0,256}+,[^{}\s]{0,256}+)\}([^\s{};&|)]{0,64}+)")
_TOKEN = re.compile(r"[A-Za-z0-9+/_-]{12,}+={0,2}")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+")
_SPACED_HEX = re.compile(r"(?:\b[0-9A-Fa-f]{2}[ ,:]){5,}[0-9A-Fa-f]{2}\b")
_BACKWARDS = re.compile(r"\brev\b|\[::-1\]|\breverse\b")
_PIECE = re.compile(r"\"[^\"]{4,2000}\"|'[^']{4,2000}'|(?:echo|<<<)\s+([^|;&'\"]{4,2000})")


def readings(command: str) -> tuple[str, ...]:
    """The texts that `command` may stand for, at most `MAX_READINGS`, the first one as it was written."""
    found: dict[str, None] = {}
    for text in spellings(command):
        found[text] = None
        found[text.translate(_QUOTES)] = None
    return tuple(islice(found, MAX_READINGS))


def spellings(command: str) -> tuple[str, ...]:
    """The readings whose quotes still tell a word from a command."""
    return _spelled(command)[0]


def all_spelled(command: str) -> bool:
    """Whether `spellings` holds all that was found: no limit was hit."""
    return _spelled(command)[1]


@lru_cache(maxsize=4)
def _spelled(command: str) -> tuple[tuple[str, ...], bool]:
    first = command[:MAX_CHARS]
    found, wave, total, whole = {first: None}, [first], len(first), len(command) <= MAX_CHARS
    for depth in range(MAX_DEPTH + 1):
        fresh = []
        for text in (text for origin in wave for text in _derived(origin)):
            if text in found or not text:
                continue
            if depth == MAX_DEPTH or len(found) == MAX_SPELLINGS or total + len(text) > MAX_TOTAL or len(text) > MAX_CHARS:
                whole = False
                break
            found[text] = None
            fresh.append(text)
            total += len(text)
        if not fresh:
            break
        wave = fresh
    return tuple(found), whole


def _derived(text: str) -> Iterator[str]:
    """Other texts that `text` may stand for, one step away."""
    if "\\" in text or "$" in text:
        yield _plain(text)
    if "$" in text:
        yield _assigned(text)
    if "{" in text and "," in text:
        yield _braces(text)
    if "\\" in text:
        yield _escapes(text)
    yield _decoded(text)
    if "rev" in text or "::-1" in text:
        yield _reversed(text)


def _substituted(pattern: re.Pattern[str], value: Callable[[re.Match[str]], str], text: str) -> str:
    """`pattern.sub`, given up where the result is longer than `MAX_CHARS`."""
    pieces, at, total = [], 0, 0
    for match in pattern.finditer(text):
        pieces += [text[at : match.start()], value(match)]
        total += len(pieces[-1]) + len(pieces[-2])
        at = match.end()
        if total > MAX_CHARS:
            break
    return "".join([*pieces, text[at:]])


def _plain(text: str) -> str:
    """Continued lines joined, `$IFS` a blank, ANSI-C quotes decoded."""
    text = _IFS.sub(" ", text.replace("\\\n", "").replace("\\\r\n", ""))
    return _ANSI.sub(lambda match: _quoted(_escapes(match[1]).replace("\\\\", "\\").replace("\\'", "")), text)


def _quoted(text: str) -> str:
    return text if text.isalnum() else "'" + text.replace("'", "") + "'"


def _escapes(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if match[4]:
        return _LETTERS[match[4]]
    if match[3]:
        return chr(int(match[3], 8) & 0xFF)
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= 0x10FFFF else match[0]  # noqa: PLR2004 - the last code point there is


def _assigned(text: str) -> str:
    """`text` with the variables that it sets itself put in, and with defaults where it does not."""
    values: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2], match[0] if match[3] is None else match[3].strip("'\""))

    for match in _ASSIGNED.finditer(text):
        name, given = match[1], match[2].strip("'\"")
        if "$" in given:
            given = _without(name, _substituted(_VARIABLE, value, given))
        appended = values.get(name, "") if match[0][len(name)] == "+" else ""
        values[name] = (appended + given)[: MAX_CHARS + 1]
    for match in _LOOPED.finditer(text):
        values[match[1]] = match[2]
    return _substituted(_VARIABLE, value, text)


def _without(name: str, given: str) -> str:
    """The value of a variable that is set to more than itself (`PATH=$PATH:x`): it must not grow with every reading."""
    return _VARIABLE.sub(lambda match: "" if name in (match[1], match[2]) else match[0], given)


def _braces(text: str) -> str:
    """Simple brace expansion, the outermost word by word: `{tool,x}guard` is `toolguard xguard`."""

    def words(match: re.Match[str]) -> str:
        return " ".join(f"{match[1]}{middle}{match[3]}" for middle in match[2].split(",")[:_MAX_ALTERNATIVES])

    return _substituted(_BRACES, words, text)


def _decoded(text: str) -> str:
    """What stands in `text` in base64 or as hexadecimal digits, one text a line."""
    found = [part for token in dict.fromkeys(_TOKEN.findall(text)) for part in _from_token(token)]
    if "xxd" in text or "hex" in text:
        for match in _SPACED_HEX.finditer(text):
            found += _printable(bytes.fromhex(re.sub(r"[ ,:]", "", match[0])))
    return "\n".join(found)


@lru_cache(maxsize=4096)
def _from_token(token: str) -> tuple[str, ...]:
    found = _printable(bytes.fromhex(token)) if _HEX.fullmatch(token) else ()
    digits = token.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return found + _printable(b64decode(digits + "=" * (-len(digits) % 4)))
    except Base64Error:
        return found


def _printable(data: bytes) -> tuple[str, ...]:
    text = data.decode("latin-1").rstrip("\n\0").replace("\t", " ").replace("\n", ";")
    return (text,) if text.isascii() and text.isprintable() else ()


def _reversed(text: str) -> str:
    """The quoted texts backwards, one a line, where something of the kind is done."""
    if not _BACKWARDS.search(text):
        return ""
    return "\n".join((match[1] or match[0][1:-1]).strip()[::-1].translate(_QUOTES) for match in _PIECE.finditer(text))
