"""Commands that are searched in code of a language that is not parsed: texts in quotes that read as commands, rows of words
(`"rm", "-rf", "x"`), and lines of longer texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.syntax.project_files import Lines

_MAX_CODE = 65_536
_MAX_WORDS = 24
_MAX_BETWEEN = 60
_SHORTEST = 5
_QUOTED = lazy_re.compile(
    r"\"(?P<a>(?>(?:[^\"\\\n]|\\.){0,60000}))\"|'(?P<b>(?>(?:[^'\\\n]|\\.){0,60000}))'|`(?P<c>[^`'\n]{0,60000}+)[`']"
)
_STARTS = program_catalogue.programs("command_like_word", "shell", "elevator")
_COMMAND = lazy_re.compile(r"(?:\A|[;&|(\n]|\b(?:sudo|env|exec|nohup|then|do)\s)\s{0,9}([\w./~-]{1,60})(?=\s)")
_LINE = lazy_re.compile(r"^[ \t]{0,80}([\w./~-]{1,60})[ \t]{1,9}(?=[-/~.$]|[\w.]{1,60}[ \t]{1,9}[-/~.$])(.+)$", re.MULTILINE)
_SAME_LIST = lazy_re.compile(r"[\s,\[\]()]{0,50}(?:\w{1,20}\s{0,4}[:=(]{0,2}\s{0,4}[\[(]?)?\s{0,9}")


_DELETES = lazy_re.compile(
    r"\bdelete\s{0,4}\(?\s{0,4}(?:dir:\s{0,4})?(?:project\.)?(?:files?|fileTree)?\s{0,4}\(?\s{0,4}[\"']([^\"'\n]{1,2000})[\"']"
)
"""Of Gradle."""
_HOME = lazy_re.compile(
    r"\$\{(?:System\.getProperty\(['\"]user\.home['\"]\)|System\.getenv\(['\"]HOME['\"]\)|user\.home|HOME)\}|\$HOME\b"
)
_HOME_AND = lazy_re.compile(
    r"(?:System\.(?:getProperty\(['\"]user\.home['\"]\)|getenv\(['\"]HOME['\"]\))|os\.environ\[['\"]HOME['\"]\])"
    r"\s{0,9}\+\s{0,9}(['\"])"
)
_JOINED = lazy_re.compile(r"\"\s{0,9}\+\s{0,9}\"|'\s{0,9}\+\s{0,9}'")
_DELETES_ANY = lazy_re.compile(
    r"\b(?:project\.)?delete\s{0,4}\(?\s{0,4}[A-Za-z_]\w{0,60}\b|\.(?:deleteDir|deleteRecursively)\(\)|\(delete-(?:directory|file)\b|\bFiles(?:::|\.)delete(?:IfExists)?\b"
)
"""A deletion of what a variable holds: of every path in the home folder that the code names."""
_OF_HOME = ("~/", "/home/", "/Users/", "/root/")
_GIVEN = lazy_re.compile(r"-[a-z]{0,3}c\s{1,9}(?=[\"'])")


def commands(text: str) -> Lines:
    """Yields the commands in the order of their kinds, each with its position."""
    text = _HOME_AND.sub(r"\1~", text[:_MAX_CODE])
    text = _HOME.sub("~", _JOINED.sub("", text))
    rows: Lines = []
    row: list[tuple[int, str]] = []
    end = 0
    for at, plain, stop in _texts(text):
        if row and not (at - 1 - end < _MAX_BETWEEN and _SAME_LIST.fullmatch(text, end, at - 1)):
            rows += _read(row)
            row = []
        row.append((at, plain))
        end = stop
    lines = (match for match in _LINE.finditer(text) if is_start(match[1]))
    rows += [(match.start() + 1, f"rm -rf {match[1]}") for match in _DELETES.finditer(text) if match[1][:1] in "~/"]
    if _DELETES_ANY.search(text):
        own = (text_row for text_row in _texts(text) if text_row[1].startswith(_OF_HOME))
        rows += [(at, f"rm -rf {plain}") for at, plain, _ in own]
    return [*rows, *_read(row), *((line.start(1) + 1, line[0].strip()) for line in lines)]


def _texts(text: str) -> Iterator[tuple[int, str, int]]:
    for match in _QUOTED.finditer(text):
        plain = next((group for group in match.groups() if group is not None), "")
        yield match.start() + 1, plain.replace('\\"', '"').replace("\\'", "'"), match.end()


def _read(row: list[tuple[int, str]]) -> Lines:
    lines = [(at, plain) for at, plain in row if reads_as_command(plain)]
    lines += [(at, f"sh {plain}") for at, plain in row if _GIVEN.match(plain)]
    starts = (start for start, (_, plain) in enumerate(row[:-1]) if is_start(plain))
    if (start := next(starts, None)) is not None:
        if " " in row[start + 1][1] and row[start + 1][1][:1] in "-/~":  # the second text has all arguments
            lines.append((row[start][0], f"{row[start][1]} {row[start + 1][1]}"))
        lines.append((row[start][0], " ".join(quote(word) for _, word in row[start : start + _MAX_WORDS])))
    return lines


def is_start(word: str) -> bool:
    """Whether a word is a program that is known to do something."""
    return word.rpartition("/")[2] in _STARTS


def reads_as_command(text: str) -> bool:
    """Whether a text has a program that is known to do something, where a shell would look for one, and a word behind it."""
    return len(text) >= _SHORTEST and any(is_start(match[1]) for match in _COMMAND.finditer(text))
