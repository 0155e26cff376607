"""Commands that a database client passes to a shell: `.shell`, `\\!`, `system`, `pager`, and pipes for output and input.

sqlite3 accepts abbreviated and quoted dot commands; psql runs the text in backticks after one of its own commands.
"""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue

_STARTED = lazy_re.compile(
    r"""
    ^[ \t]{0,20}(?:
        \.[ \t]{0,9}['"]?(?:she?l{0,2}|sys?t?e?m?)\b['"]?
        |:?!{1,2}|(?:system|shell)\b(?![ \t]{0,20}=)
    )[ \t]{0,20}(?P<line>\S[^\n]{0,4000})
    |\\![ \t]{0,20}(?P<bang>\S[^\n]{0,4000})
    |^[ \t]{0,20}(?:
        \.[ \t]{0,9}['"]?(?:im?p?o?r?t?|onc?e?|o|ou?t?p?u?t?|rea?d?|exc?e?l?|lo?g?)
        |\\(?:o|out|g|gx|w|write|i|copy|s)
    )\b[^|\n]{0,400}\|(?P<pipe>[^\n]{1,4000})
    |\\(?:o|out|g|gx|w|write)[ \t]{0,20}(?:\([^()\n]{0,200}\)[ \t]{0,20})?\|(?P<middle>[^\n|][^\n]{0,4000})
    |\\(?:set|setenv|q?echo|warn|if|elif|prompt|cd|i|ir|include|include_relative|o|out|w|write|copy|c|connect|(?-i:gx?)|e|edit
        |pset|encoding|lo_\w{1,20}|dt?|l|x|a|t)\b[^`\n]{0,400}`(?P<backticks>[^`\n]{1,4000})`
    |\bprogram[ \t]{1,20}(?:e?'{1,4}|\$\w{0,20}\$)(?P<program>[^'\n$]{1,4000})(?:'|\$\w{0,20}\$)
    |(?<=;)[ \t]{0,20}(?-i:\\P)[ \t]{1,20}(?P<later>[^\s;][^\n]{0,4000})
    |^[ \t]{0,20}(?:pager\b(?![ \t]{0,20}=)|(?-i:\\P)|--pag(?:er?)?=)[ \t]{0,20}(?P<pager>[^\s;][^\n]{0,4000})
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_LOADS = lazy_re.compile(
    r"^[ \t]{0,20}\.[ \t]{0,9}['\"]?lo?a?d?\b['\"]?[ \t]{1,20}(?!off\b|stdout\b|stderr\b)\S|\bedit[ \t]{0,20}\(",
    re.IGNORECASE | re.MULTILINE,
)
"""sqlite3 loads code from a file, or runs an editor that the statement names."""

_PAGERS = program_catalogue.programs("pager")
_EXECUTED = lazy_re.compile(r"\\gexec\b|\bexecute\b", re.IGNORECASE)
_LITERAL = lazy_re.compile(r"'((?:[^'\n]|''){1,4000})'|\$(\w{0,20})\$([^\n$]{1,4000})\$\2\$")
"""Statements assembled from literals are executed: each literal may be one, or part of one."""

_PIPES = frozenset({"pipe", "middle"})
MAX_FOUND = 50


def started(text: str) -> list[str]:
    """The command lines in a text for such a client."""
    return [*(line for _, line in _found(text)), *_executed(text)]


def _executed(text: str) -> list[str]:
    """The content of literals that the text turns into statements, and the command lines in them."""
    if not _EXECUTED.search(text):
        return []
    literals = [
        (match[1] or match[3]).replace("''", "'")
        for match, _ in zip(_LITERAL.finditer(text), range(MAX_FOUND), strict=False)
    ]
    return [
        line for literal in literals for line in (*(line for _, line in _found(literal)), literal) if " " in line.strip()
    ][:MAX_FOUND]


def runs_programs(text: str, *, loads: bool = False) -> bool:
    """Whether a text makes the client run a program, other than one that shows its output. `loads`: the client is
    sqlite3."""
    if loads and _LOADS.search(text):
        return True
    return any(kind != "program" and not _shows(kind, line) for kind, line in _found(text))


def _found(text: str) -> list[tuple[str, str]]:
    commands = []
    for match, _ in zip(_STARTED.finditer(text), range(MAX_FOUND), strict=False):
        kind = match.lastgroup or ""
        line = match[kind].strip()
        line = line.rstrip("\"'").removesuffix(";") if kind in _PIPES else line.removesuffix(";")
        if line:
            commands.append((kind, line))
    return commands


def _shows(kind: str, line: str) -> bool:
    """Whether this only hands a result to a pager; other programs in its line are judged separately."""
    return kind in (*_PIPES, "pager", "later") and line.split(maxsplit=1)[0] in _PAGERS
