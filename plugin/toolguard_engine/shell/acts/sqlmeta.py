"""Commands that a database's client hands to a shell: `.shell`, `\\!`, `system`, `pager`, and pipes for output and input.

sqlite3 takes the beginning of a dot command for the whole, and quotes around it; psql runs what stands in backticks
behind a command of its own.
"""

from __future__ import annotations

import re

_STARTED = re.compile(
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
    |\bprogram[ \t]{1,20}'(?P<program>[^'\n]{1,4000})'
    |^[ \t]{0,20}(?:pager\b(?![ \t]{0,20}=)|(?-i:\\P)|--pag(?:er?)?=)[ \t]{0,20}(?P<pager>[^\s;][^\n]{0,4000})
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_LOADS = re.compile(
    r"^[ \t]{0,20}\.[ \t]{0,9}['\"]?lo?a?d?\b['\"]?[ \t]{1,20}(?!off\b|stdout\b|stderr\b)\S|\bedit[ \t]{0,20}\(",
    re.IGNORECASE | re.MULTILINE,
)
"""sqlite3 loads code of a file, or runs an editor that the statement names."""

_PAGERS = frozenset({"less", "more", "most", "pspg", "cat", "head", "tail", "wc", "sort", "grep", "column"})
_PIPES = frozenset({"pipe", "middle"})
MAX_FOUND = 50


def started(text: str) -> list[str]:
    """The command lines in a text for such a client."""
    return [line for _, line in _found(text)]


def runs_programs(text: str, *, loads: bool = False) -> bool:
    """Whether a text makes the client run a program other than one that shows what it prints. `loads`: it is sqlite3."""
    if loads and _LOADS.search(text):
        return True
    return any(kind != "program" and not _shows(kind, line) for kind, line in _found(text))


def _found(text: str) -> list[tuple[str, str]]:
    found = []
    for match, _ in zip(_STARTED.finditer(text), range(MAX_FOUND), strict=False):
        kind = match.lastgroup or ""
        line = match[kind].strip()
        line = line.rstrip("\"'").removesuffix(";") if kind in _PIPES else line.removesuffix(";")
        if line:
            found.append((kind, line))
    return found


def _shows(kind: str, line: str) -> bool:
    """Whether it is a pager that a result is handed to; what its line runs besides is judged for itself."""
    return kind in (*_PIPES, "pager") and line.split(maxsplit=1)[0] in _PAGERS
