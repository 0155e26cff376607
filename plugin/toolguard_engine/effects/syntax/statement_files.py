"""Which files with statements a client of databases reads: `psql -f x`, `.read x`, and those that such files name.

Nothing is read here. `Walk` judges each file as if it stood at the client's standard input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun

MAX_FILES, MAX_NAMES = 8, 64
_MAX_WORDS = 400
_NAMES = "file|queries-file|init|input-file|script|sql-file"
_OPTION = lazy_re.compile(rf"--?(?:{_NAMES})(?:=(?P<value>.{{1,400}}))?|-(?!-)[A-Za-z0-9]{{0,8}}?[fi](?P<joined>.{{0,400}})")
_TAKEN_IN = lazy_re.compile(
    r"(?:^|[;'\"\s])(?:\\(?:ir?|include|include_relative|\.)|source|\.\s?read|@{1,2}|start)[ \t]{0,9}"
    r"['\"]?([^\s;'\"]{1,400})",
    re.MULTILINE,
)
"""psql, mysql, sqlite3 and SQL*Plus."""


def named(program: ProgramRun) -> Iterator[str]:
    """The files that options name."""
    words = iter(program.argv[1:_MAX_WORDS])
    for word in words:
        if match := _OPTION.fullmatch(word):
            yield match["value"] or match["joined"] or next(words, "")


def taken_in(texts: Iterable[str]) -> list[str]:
    """The files that statements name."""
    return [match[1] for text in texts for match in islice(_TAKEN_IN.finditer(text), MAX_FILES)]
