"""Secrets that are known by their value, and the texts by which they are found in what tools return.

A value is used only if it is distinctive (`is_distinctive`): replacing `localhost` or `changeme` wherever it occurs would
garble results and hide nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from toolguard_engine import lazy_re

SHORTEST = 8
LONGEST = 4_096
MAX_TEXTS = 2_000
MAX_CHARACTERS = 400_000
"""Of all texts together."""

_LONG_WORDS = 20
"""Letters of a passphrase made of plain words."""
_LONG_NUMBER = 12
_FEWEST_DIFFERENT = 5
_KEY_LINE = 40
"""Characters of a line inside a private key; the last line may be shorter and gives nothing away."""

_PLACEHOLDER = lazy_re.compile(r"(.)\1{5}|\$\{|^<[^<>]*>$|(?i:your[-_ ]|changeme|redacted|placeholder|secretref-|example)")
_WORDS = lazy_re.compile(r"[^\W\d_]+(?:[-_. ][^\W\d_]+)*", re.ASCII)
_NUMBER = lazy_re.compile(r"[\d.,:/ +-]+")
_VARIABLE = lazy_re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PATH = lazy_re.compile(r"(?:~|\.{1,2})?/[\w./ @+-]*")
_ADDRESS = lazy_re.compile(
    r"[a-z][a-z0-9+.-]*://[^@\s]*|[\w.-]+:\d{1,5}|(?:[\w-]+\.)+[a-z]{2,6}|[\w.+-]+@[\w.-]+", re.IGNORECASE
)
_RANDOM_RUN = lazy_re.compile(r"[A-Za-z0-9+]{16,}")
_PRIVATE_KEY = lazy_re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_FIXED_BEGINNINGS = ("b3BlbnNzaC1rZXktdjE",)
"""How the first line of every private key of OpenSSH begins: it names the format and is no secret."""


class KnownSecret(NamedTuple):
    """`kind` is what replaces the value (`gateway token`); `name` is what the audit log calls it (`gateway.auth.token`)."""

    kind: str
    name: str
    value: str


class Replacement(NamedTuple):
    """A text that must not be shown, the text to show instead, and the name of the secret."""

    text: str
    mark: str
    name: str


def is_distinctive(value: str) -> bool:
    """Whether a value that a config declares to be a secret can only be that secret where it occurs."""
    if not SHORTEST <= len(value) <= LONGEST or len(set(value)) < _FEWEST_DIFFERENT or _PLACEHOLDER.search(value):
        return False
    if _WORDS.fullmatch(value):
        return len(value) >= _LONG_WORDS
    if _NUMBER.fullmatch(value):
        return len(value) >= _LONG_NUMBER and value.isdigit()
    return not any(form.fullmatch(value) for form in (_VARIABLE, _PATH, _ADDRESS))


def is_usable(value: str) -> bool:
    """Whether anything of a value can be replaced where it occurs."""
    return is_distinctive(value) or _PRIVATE_KEY.search(value) is not None


def is_random(value: str) -> bool:
    """Whether a value that nothing declares to be a secret can hardly be anything else: a long run without separators, of
    letters and several digits."""
    if not is_distinctive(value) or any(sign.isspace() for sign in value):
        return False
    runs = (run[0] for run in _RANDOM_RUN.finditer(value))
    return any(sum(sign.isdigit() for sign in run) > 1 and sum(sign.isalpha() for sign in run) > 1 for run in runs)


def replacements(secrets: Iterable[KnownSecret]) -> tuple[Replacement, ...]:
    """The texts to replace, each once: the first secret that has a text names it. Bounded in number and size."""
    replaced: dict[str, Replacement] = {}
    room = MAX_CHARACTERS
    for secret in secrets:
        for text in _texts(secret.value):
            if text in replaced or len(text) > room or len(replaced) >= MAX_TEXTS:
                continue
            room -= len(text)
            replaced[text] = Replacement(text, f"[redacted: {secret.kind}]", secret.name)
    return tuple(replaced.values())


def _texts(value: str) -> Iterator[str]:
    for part in _parts(value.strip()):
        if is_distinctive(part):
            yield from spellings(part)


def _parts(value: str) -> Iterator[str]:
    """A private key by its lines, because tools return any of them; other values whole."""
    if not _PRIVATE_KEY.search(value):
        yield value
        return
    for line in islice(value.splitlines(), MAX_TEXTS):
        if len(line) >= _KEY_LINE and not line.startswith(("-----", *_FIXED_BEGINNINGS)):
            yield line.strip()


def spellings(value: str) -> Iterator[str]:
    """A value as tools write it: plain, and escaped for JSON (also inside of JSON), URLs, HTML and the shell."""
    yield from dict.fromkeys(_spellings(value))


def _spellings(value: str) -> Iterator[str]:
    yield value
    for is_ascii in (True, False):
        once = _in_json(value, is_ascii=is_ascii)
        twice = _in_json(once, is_ascii=is_ascii)
        yield from (once, once.replace("/", "\\/"), twice, _in_json(twice, is_ascii=is_ascii))
    for encoded in (quote(value, safe=""), quote(value), quote_plus(value), quote(value, safe="!'()*")):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
    in_html = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield in_html.replace('"', "&quot;").replace("'", "&#x27;")
    yield in_html
    yield value.replace("'", "'\\''")
    yield value.replace("'", "''")
    yield value.replace("\\", "\\\\")


def _in_json(value: str, *, is_ascii: bool) -> str:
    return json.dumps(value, ensure_ascii=is_ascii)[1:-1]
