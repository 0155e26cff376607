"""The result of a command and how it is shown: lines for the user, or one JSON envelope for scripts.

The envelope is `{"schema": 1, "command", "ok", "data", "messages", "errors"}` for every command.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import typer

from toolguard_engine.wording.visible_text import visible

SCHEMA = 1
MARK = 6
"""The width of a line's mark."""

_PARTS = re.compile(r"[^\n\t]+")
_LABEL = re.compile(r" *(?:\S{1,12}(?: \S{1,12})? {2,})?")
_VALUE = r"\w+://\S+|[0-9a-f]{4,64}|\d\w*|'[^']*'|\"[^\"]*\"|[\w-]*\.[\w.]*\w(?: \S+)?|/\S+|[A-Z]{3,9}"
_TO_BE_COPIED = re.compile(
    rf"`[^`]+`|/?\btoolguard(?: [a-z][a-z-]*(?![\w.])){{1,3}}(?: (?:--?[\w-]+(?:[= ]\S+)?|{_VALUE}))*"
    r"|openclaw(?: [a-z-]+){1,2}"
)
"""Of a command that is not in backticks, the end can only be guessed: a word too many may stay in its line."""

_COMMAND = re.compile(r"[`$|=~/]| -")
_ARROW = re.compile(" *-> ")
_TIED = "\0"
Kind = Literal["ok", "warn", "error", "info", "next", "allow", "hold", "block"]
_MARKS: dict[Kind, tuple[str, str]] = {
    "ok": ("ok   ", "green"),
    "warn": ("warn ", "yellow"),
    "error": ("error", "red"),
    "info": ("     ", ""),
    "next": ("next ", "cyan"),
    "allow": ("allow", "green"),
    "hold": ("hold ", "yellow"),
    "block": ("block", "red"),
}


@dataclass(frozen=True)
class Line:
    """One line for the user. `next` lines give the next command; the last three kinds are verdicts on a call."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Result:
    """What happened: `data` for scripts, `lines` for people; both say the same. `printed` stands in the place of the lines
    where the answer is a text to be piped on."""

    command: str
    data: dict[str, Any] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    exit_code: int = 0
    printed: str | None = None

    def envelope(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "command": self.command,
            "ok": self.exit_code == 0,
            "data": self.data,
            "messages": [line.text for line in self.lines if line.kind != "error"],
            "errors": [line.text for line in self.lines if line.kind == "error"],
        }


def dated(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields, and those of them that count seconds since 1970 also as ISO 8601 in UTC, as `<name>At`; None: never."""
    return fields | {f"{name}At": _iso(fields[name]) for name in names}


def _iso(seconds: float) -> str | None:
    try:
        return (
            datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            if seconds > 0
            else None
        )
    except (OverflowError, ValueError, OSError):
        return None


def show(result: Result, *, as_json: bool, failed: bool = False) -> None:
    """Prints a result to standard output, or to standard error if `failed`."""
    if as_json:
        print(json.dumps(result.envelope(), ensure_ascii=False))  # noqa: T201 - the command's output
        return
    if result.printed is not None:
        print(result.printed)  # noqa: T201 - the command's output
        return
    stream = sys.stderr if failed else sys.stdout
    for line in result.lines:
        typer.echo(_styled(line, wrap=stream.isatty()), file=stream)


def _styled(line: Line, *, wrap: bool) -> str:
    mark, colour = _MARKS[line.kind]
    shown = typer.style(mark, fg=colour) if colour and not os.environ.get("NO_COLOR") else mark
    text = _harmless(line.text)
    return f"{shown} {wrapped(text, MARK) if wrap else text}"


def wrapped(text: str, margin: int) -> str:
    """A line for a terminal, after `margin` columns, broken between words; what follows a label stays beside it.

    What a user may copy stays in one piece: long words such as paths, commands of toolguard or in backticks, other commands
    behind an arrow, and lines that have several lines of their own.
    """
    room = shutil.get_terminal_size().columns - margin
    if len(text) <= room or "\n" in text or (_ARROW.match(text) and "toolguard " not in text and _COMMAND.search(text)):
        return text
    label = _ARROW.match(text) or _LABEL.match(text)
    hang = " " * (label.end() if label and label.end() < room // 2 else 0)
    tied = _TO_BE_COPIED.sub(lambda part: part[0].replace(" ", _TIED), text).replace("-> ", f"->{_TIED}", 1)
    lines = textwrap.wrap(tied, max(1, room), subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * margin}".join(lines).replace(_TIED, " ")


def _harmless(text: str) -> str:
    """Writes out what cannot be seen, except line breaks and tabs, because texts come from files and models."""
    return _PARTS.sub(lambda part: visible(part[0]), text)
