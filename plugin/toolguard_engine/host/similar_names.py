"""The names that OpenClaw's `read` tries if there is no file of the name that it was given."""

from __future__ import annotations

import re
from unicodedata import normalize

from toolguard_engine import lazy_re

_SPACES = lazy_re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_BEFORE_NOON = lazy_re.compile(r" (?=(?:AM|PM)(?:\b|\.))", re.IGNORECASE | re.ASCII)
_NARROW_SPACE = "\u202f"
_STRAIGHT = lazy_re.compile(r"[\u2018\u2019]")
_CURLY = lazy_re.compile(r"['\u2018]")


def collect(path: str) -> list[str]:
    """The path itself and those with a similar last part."""
    above, slash, name = path.rpartition("/")
    plain = _SPACES.sub(" ", name)
    spellings = [path, normalize("NFC", path), normalize("NFD", path)]
    for spaced in (plain, _BEFORE_NOON.sub(_NARROW_SPACE, plain)):
        for quoted in (_STRAIGHT.sub("'", spaced), _CURLY.sub("\u2019", spaced)):
            spellings += [f"{above}{slash}{normalize('NFC', quoted)}", f"{above}{slash}{normalize('NFD', quoted)}"]
    return list(dict.fromkeys(spellings))
