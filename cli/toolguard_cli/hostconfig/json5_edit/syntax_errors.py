"""What goes wrong: the text is not JSON5 (the person can fix it), or an edit was not what it should be (a bug)."""

from __future__ import annotations

import re

from toolguard_cli.hostconfig.json5_edit.key_places import excerpt, place
from toolguard_cli.system.errors import UserError

_NEWLINE = re.compile("\r\n|[\n\r\u2028\u2029]")
_TOKEN = re.compile(r"""[\w$+.-]+|"[^"\r\n]*"?|'[^'\r\n]*'?""")
_FOUND_WIDTH = 24


class Json5Error(UserError):
    """The text is not JSON5, or is JSON5 this package refuses.

    `line`, `column` and `excerpt` are those of `places`.
    """

    def __init__(self, problem: str, *, line: int, column: int, excerpt: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column
        self.excerpt = excerpt


class EditError(Exception):
    """The edited text does not hold the intended value: a bug here, and the text must not be used."""


def syntax_error(text: str, at: int, problem: str) -> Json5Error:
    """The error for `problem` at offset `at` of `text`."""
    line, column = place(text, at)
    return Json5Error(problem, line=line, column=column, excerpt=excerpt(text, line, column))


def found_at(text: str, at: int) -> str:
    """What is at offset `at`, for the end of a message."""
    if at >= len(text):
        return "found the end of the file"
    if _NEWLINE.match(text, at):
        return "found the end of the line"
    token = _TOKEN.match(text, at, at + _FOUND_WIDTH + 1)
    shown = token[0] if token else text[at]
    if len(shown) > _FOUND_WIDTH:
        shown = shown[:_FOUND_WIDTH] + "..."
    return f"found '{shown}'" if shown.isprintable() else f"found U+{ord(text[at]):04X}"


def path_name(path: tuple[str | int, ...]) -> str:
    """A path as people write it: `plugins.entries["a b"][0]`; the empty path is `the top level`."""
    name = ""
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_$][\w$-]*", step):
            name += f".{step}" if name else step
        else:
            name += '["' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]'
    return name or "the top level"
