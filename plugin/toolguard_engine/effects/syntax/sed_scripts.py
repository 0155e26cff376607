"""Whether a script of GNU sed runs lines of its input as commands: by `e` without a command, or by `s/a/b/e`."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re

_PLAIN = lazy_re.compile(r"[\s;{}!,+~\d$dDgGhHIMnNpPxz=F]++")
"""What stands between commands, numbers of lines, and commands of one letter."""

_BRACKETS = lazy_re.compile(r"\[\^?\]?(?>(?:\[:[a-z]{1,10}:\]|[^\]\n]){0,60})\]")
_FLAGS = lazy_re.compile(r"[gpIiMme\d]*+")
_REST = lazy_re.compile(r"(?>(?:[^\\\n]|\\[\s\S])*)")
"""The rest of a line, and of the next one behind a backslash."""

_LABEL = lazy_re.compile(r"[^;\n]*+")
_COMMAND = lazy_re.compile(r"[ \t]*+[\w./~$\"']")
_TEXTS = frozenset("aicrRwW#")
_LABELS = frozenset(":btTqQlL")
_PARTS = {"s": 2, "y": 2, "/": 1}


def runs_lines(script: str) -> bool:
    """Whether a line of the input may be the command that runs, or its beginning. A mark in brackets (`s/[/]/x/`) ends a
    part only in some releases."""
    return "e" in script and (_runs_lines(script, skipped=False) or ("[" in script and _runs_lines(script, skipped=True)))


def _runs_lines(script: str, *, skipped: bool) -> bool:
    at = 0
    while at < len(script):
        sign = script[at]
        if sign == "e":
            end = _end(_REST, script, at)
            if not script[at + 1 : end].strip():
                return True
            at = end
        elif sign in _PARTS or sign == "\\":
            parts, at = _parts(script, at, skipped=skipped)
            if sign == "s":
                flags, at = script[at : _end(_FLAGS, script, at)], _end(_FLAGS, script, at)
                if "e" in flags and not _has_own_command(*parts):
                    return True
        else:
            at = _passed(script, at)
    return False


def _passed(script: str, at: int) -> int:
    """The position behind a command that runs nothing, or behind what stands between two."""
    if script[at] in _TEXTS:
        return max(_end(_REST, script, at), at + 1)
    if script[at] in _LABELS:
        return max(_end(_LABEL, script, at), at + 1)
    return max(_end(_PLAIN, script, at), at + 1)


def _end(pattern: re.Pattern[str], script: str, at: int) -> int:
    match = pattern.match(script, at)
    return match.end() if match else at


def _parts(script: str, at: int, *, skipped: bool) -> tuple[list[str], int]:
    """What stands between the marks of `s/a/b/`, `y/a/b/`, `/a/` and `\\,a,`, and the position behind the last mark."""
    sign = script[at]
    start = at + (sign != "/")
    mark = script[start : start + 1]
    parts: list[str] = []
    at = start + 1
    for count in range(_PARTS.get(sign, 1)):
        end = _marked(script, at, mark, skipped=skipped and sign != "y" and not count)
        parts.append(script[at:end])
        at = end + 1
    return parts, at


def _marked(script: str, at: int, mark: str, *, skipped: bool) -> int:
    """The position of the next mark. `skipped`: one in brackets does not count."""
    while at < len(script) and script[at] != mark:
        if skipped and script[at] == "[":
            at = max(_end(_BRACKETS, script, at), at + 1)
        else:
            at += 2 if script[at] == "\\" else 1
    return min(at, len(script))


def _has_own_command(pattern: str, new: str) -> bool:
    """Whether the line is replaced from its beginning on by a text that begins with a command."""
    return pattern.startswith(("^", ".*")) and _COMMAND.match(new) is not None
