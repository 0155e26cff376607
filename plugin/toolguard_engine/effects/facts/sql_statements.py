"""Statements of databases as text: one by one, and what each of them changes.

Flags of a statement: `drop`, `database` (a whole database or schema), `truncate`, `unfiltered` (changes or deletes rows
without a condition, or with one that is always true), `delete`, `alter` (drops a column, constraint or partition), `grant`,
`user`, `program` (the server runs a program or writes a file).

Text in quotes or comments is data; a statement that only queries or explains has no flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re

MAX_TEXT = 40_000
MAX_STATEMENTS = 200
MAX_MARKS = 20

_NOISE = lazy_re.compile(
    r"'(?>(?:[^'\\]|\\.|''){0,40000})'|\$(\w{0,20}+)\$.{0,400}?\$\1\$|--[^\n]{0,4000}+|/\*.{0,400}?\*/", re.DOTALL
)
_DELIMITER = lazy_re.compile(
    r"^[ \t]{0,20}(?:delimiter[ \t]{1,20}(\S{1,20})|\\d[ \t]{1,20}([^\w\s]{1,20}))[^\n]{0,400}", re.IGNORECASE | re.MULTILINE
)
_SPACE = lazy_re.compile(r"\s{1,1000}+")
_CHANGES = lazy_re.compile(
    r"\b(?:drop|truncate|delete|update|alter|grant|revoke|pg_terminate_backend|create|set|flush|purge|reset|shutdown|kill|detach|copy|into|xp_cmdshell|sys_exec|lo_export|load_extension"
    r"|load|replace|vacuum|optimize|system|exec|execute|pragma|attach|deactivate|remove|undrop|rename|dbcc|restore)\b"
)
_ALWAYS = lazy_re.compile(
    r"\bwhere\s(?:\(\s?)?(?:1\s?=\s?1|true|''\s?=\s?''|1|0\s?=\s?0|not\sfalse|1\s?<>\s?0|2\s?>\s?1)\s?\)?(?:$|\s(?:limit|returning|order|or)\b)"
)
_TABLES = r"(?:only\s)?[\w.\"`\[\]$*@#-]{1,200}"

_TEST_NAME = r"(?:[\w-]{1,60}[_-](?:test|tests|testing|ci|tmp|scratch|sandbox)|test[_-][\w-]{1,60})"
_FLAGS: tuple[tuple[str, re.Pattern[str]], ...] = (
    # a statement that matches gets these flags; patterns see lower-case text without strings and comments
    (
        "drop database",
        lazy_re.compile(r"^drop\s(?:database|schema|catalog|keyspace|tablespace|cluster|owned|dataset)\b|^dropdatabase\b"),
    ),
    ("drop user", lazy_re.compile(r"^drop\s(?:user|role|login|group)\b")),
    (
        "drop",
        lazy_re.compile(
            r"^drop\s(?!(?:temporary|temp)\s)(?:if\sexists\s)?(?:foreign\s|external\s|materialized\s|unique\s|columnfamily\b|or\sreplace\s)?\w"
        ),
    ),
    ("truncate", lazy_re.compile(r"^truncate\s")),
    ("alter drop", lazy_re.compile(r"^alter\s.{1,400}?\sdrop\s(?!default\b|not\snull\b|identity\b|expression\b)")),
    (
        "alter",
        lazy_re.compile(
            r"^alter\s(?:database|schema|system|keyspace|cluster|role|user|login|account)\s|^alter\stable\s.{1,200}?\s(?:rename|set\sschema|detach\spartition|disable\srow|delete|clear|freeze|remove)\b"
            r"|^rename\s(?:database|schema)\s|^rename\stable\s.{1,400}?\sto\s[\"`]?" + _TEST_NAME + r"[\"`]?\."
        ),
    ),
    ("grant", lazy_re.compile(r"^(?:grant|revoke|reassign|deny)\s")),
    ("user", lazy_re.compile(r"^(?:create|alter)\s(?:or\sreplace\s)?(?:user|role|login)\s|^set\spassword\b")),
    (
        "program",
        lazy_re.compile(
            r"\s(?:to|from)\sprogram\b|\binto\s(?:out|dump)file\b|\bxp_cmdshell\b|\bsys_exec\b|\blo_export\(|\bload_extension\("
            r"|^create\s(?:or\sreplace\s)?(?:function|procedure)\s.{1,400}?\blanguage\s'?(?:c|plpythonu|plpython3u|plperlu|plsh)\b"
        ),
    ),
    ("shutdown", lazy_re.compile(r"^(?:shutdown|kill)\b|\bpg_terminate_backend\(")),
    (
        "logs",
        lazy_re.compile(
            r"^(?:reset\s(?:master|slave|replica)|purge\s(?:binary|master|recyclebin|dba_recyclebin))\b|^flush\slogs"
        ),
    ),
    (
        "settings",
        lazy_re.compile(
            r"^set\s(?:global|persist)\s|^system\s(?:stop|drop|shutdown|kill)\b|^pragma\swritable_schema\s?=\s?(?:1|on)"
        ),
    ),
)
_REWRITES = lazy_re.compile(
    r"\b(?P<delete>delete\s(?:low_priority\s|quick\s|ignore\s)*?from\s|delete\s(?=\w{1,60}+\s(?:where|from)\b|\w{1,60}+$))|\b(?P<update>update)\s"
    + _TABLES
    + r"(?:\s(?:as\s)?\w{1,60})?\sset\s"
)


_SCRATCH = lazy_re.compile(r"drop\s(?:temporary\s)?table\s(?:if\sexists\s)?(?:\w{1,60}\.)?[\"`]?(?:tmp|temp)_\w{1,60}[\"`]?")
"""One table whose name says that it is temporary."""

_TEST_DATABASE = lazy_re.compile(
    rf"drop\s(?:database|schema)\s(?:if\sexists\s)?[\"`]?{_TEST_NAME}[\"`]?(?:\scascade|\swith\s\(\s?force\s?\))?"
)
"""One database whose name says that it is for tests, as with `dropdb`."""

_ANALYSED = lazy_re.compile(
    r"explain\s(?:\([^()]{0,80}\banaly[sz]e\b(?!\s(?:off|false))[^()]{0,80}\)|analy[sz]e)\s(?:verbose\s)?"
)
"""`analyze` executes the statement that it explains."""


def statements(text: str) -> Iterator[str]:
    """The statements of a text that may change something: white space collapsed to single spaces, strings replaced by `''`,
    comments removed."""
    text = text[:MAX_TEXT]
    yield from _between(text)
    if "delimiter" in text.lower() or "\\d" in text:
        yield from _between(_undelimited(text))


def _undelimited(text: str) -> str:
    """The text with a semicolon in place of each mark that mysql's `delimiter` defines."""
    marks = dict.fromkeys(mark for match in _DELIMITER.finditer(text) for mark in match.groups() if mark)
    text = _DELIMITER.sub(";", text)
    for mark in list(marks)[:MAX_MARKS]:
        text = text.replace(mark, ";")
    return text


def _between(text: str) -> Iterator[str]:
    spaced = (statement.strip() for statement in bare(text).split(";"))
    yield from islice((statement for statement in spaced if may_change(statement.lower())), MAX_STATEMENTS)


def bare(text: str) -> str:
    """The text with `''` for strings and without comments, its white space collapsed."""
    return _SPACE.sub(" ", _NOISE.sub(lambda match: "''" if match.group()[0] in "'$" else " ", text))


def may_change(statement: str) -> bool:
    """Whether a statement in lower-case letters has a word that may change something."""
    return _CHANGES.search(statement) is not None


def flags(statement: str) -> frozenset[str]:
    """What a statement from `statements` would change; empty if it queries, adds, or changes only named rows."""
    text = statement.lower().removeprefix("begin ")
    if text.startswith(("select ", "show ", "describe ", "insert ", "\\d")) and "into " not in text and "(" not in text:
        return frozenset()
    if not _CHANGES.search(text):
        return frozenset()
    if text.startswith("explain "):
        analysed = _ANALYSED.match(text)
        if analysed is None:
            return frozenset()
        text = text[analysed.end() :]
    marks: set[str] = set()
    for names, pattern in _FLAGS:
        if pattern.search(text):
            marks.update(names.split())
    if _SCRATCH.fullmatch(text):
        marks.discard("drop")
    if _TEST_DATABASE.fullmatch(text):
        marks -= {"drop", "database"}
    if text.startswith(("create ", "insert ", "comment ", "grant ", "revoke ")):
        return frozenset(marks)
    rewrite = _REWRITES.search(text)
    if rewrite is not None:
        marks.add("delete" if rewrite.group("delete") else "update")
        if not re.search(r"\swhere\s", text[rewrite.start() :]) or _ALWAYS.search(text):
            marks.add("unfiltered")
    return frozenset(marks)
