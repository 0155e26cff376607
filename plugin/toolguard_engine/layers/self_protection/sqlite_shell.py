"""Whether SQLite's shell only reads, and which other files queries of database shells open.

It only reads if its arguments hold one plain query and harmless options. Anything else counts as writing: the shell has
commands (`.shell`, `.output`) and functions that write any file, and without a query it reads commands from its input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords

NAMES = program_catalogue.programs("sqlite")
_QUERY = lazy_re.compile(r"\s*(?:select\b[^;]*;?|\.(?:tables|schema|indexes|databases)(?:\s+[\w%]+)?)\s*", re.IGNORECASE)
SHELLS = program_catalogue.programs("database_shell")
"""Programs whose queries can open files."""

_FILES = lazy_re.compile(r"\b(?:readfile|fsdir|zipfile|writefile|edit|load_extension|fts3_tokenizer)\b", re.IGNORECASE)
_OPENS = lazy_re.compile(rf"(?im){_FILES.pattern}|\b(?:attach|vacuum|copy|read_\w{{2,20}})\b|^[^\S\n]*\.\w")
_JOINS = lazy_re.compile(r"(['\"])\s*+\|\|\s*+\1")
_NAMED = lazy_re.compile(r"'([^'\n]{1,2000})'|\"([^\"\n]{1,2000})\"|(?<!\S)([^\s'\"]{0,2000}/[^\s'\"]{1,2000})")
_FOLDER = lazy_re.compile(r"\bfsdir\s*\(\s*['\"]([^'\"\n]{1,2000})", re.IGNORECASE)
_MAX_NAMED = 200


def only_reads(words: CommandWords) -> bool:
    """Whether there are two operands, a file and a query, and only harmless options."""
    if words.unknown or not all("harmless" in option.entry.traits for option in words.given) or len(words.operands) != 2:  # noqa: PLR2004
        return False
    query = words.texts[1]
    return _QUERY.fullmatch(query) is not None and not _FILES.search(query)


def opens(text: str) -> bool:
    """Whether a query may open other files."""
    return _OPENS.search(text) is not None


def opened(texts: Iterable[str]) -> Iterator[str]:
    """Names in queries that may be files which the shell opens."""
    for text in texts:
        if opens(text):
            matches = _NAMED.finditer(_JOINS.sub("", text))
            yield from (match[1] or match[2] or match[3] for match, _ in zip(matches, range(_MAX_NAMED), strict=False))


def walked(texts: Iterable[str]) -> Iterator[str]:
    """Folders of which queries read all files."""
    return (match[1] for text in texts for match in _FOLDER.finditer(_JOINS.sub("", text)))
