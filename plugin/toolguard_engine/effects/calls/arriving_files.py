"""Which files a call may change, and with what, said generously: more than what `made_files` remembers of a call.

It is asked where a file counts that runs later. Besides the effects of a call it takes what lands where (`landings`), what
patches move and add, and any path that a tool is given which nobody has described.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from posixpath import basename

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.made_files import MadeFile, possible_changes
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.landings import Landing, landings
from toolguard_engine.effects.tools import tool_values, tools
from toolguard_engine.model.file_memory import MAX_EXPECTED_TEXT

MAX_ARRIVING = 60
MAX_TEXT = 65_536
_PATCHES = program_catalogue.tools("patches")
_MOVED = lazy_re.compile(r"^\*\*\* Update File:([^\n]{1,1000})\n\*\*\* Move to:([^\n]{1,1000})", re.MULTILINE)


def arriving(reading: CallReading) -> list[MadeFile]:
    """Yields the files in no particular order; paths may have wildcards or `UNKNOWN` in them."""
    files = [change for change in possible_changes(reading) if change.path and change.kind != "removed"]
    shown = {(file.path, file.text) for file in files}
    more = (
        command
        for command in (_of_commands(reading) if reading.commands else ())
        if command.text is None or (command.path, command.text[:MAX_EXPECTED_TEXT]) not in shown
    )
    files += islice(more, MAX_ARRIVING)
    files += islice(_of_tool(reading), MAX_ARRIVING)
    return list(dict.fromkeys(files))[:MAX_ARRIVING]


def _of_commands(reading: CallReading) -> Iterator[MadeFile]:
    where = reading.command_where
    for command in reading.command_readings:
        for path, text in command.written:
            yield MadeFile("wrote", normal(path, where), text=text[:MAX_TEXT])
        for at, program in enumerate(command.runs):
            for landing in islice(landings(program, command.runs[max(0, at - 1) : at]), MAX_ARRIVING):
                if landing.source and not landing.host:
                    yield _landed(landing, where, program.cwd)


def _landed(landing: Landing, where: Where, cwd: str) -> MadeFile:
    """A pattern, or a name that is not known, lands under the names that it means."""
    source = normal(landing.source, where, cwd)
    name = basename(landing.name)
    many = bool(name) and (UNKNOWN in name or "*" in name or "?" in name)
    path = normal(landing.folder if many else landing.path, where, cwd)
    return MadeFile("moved" if many else "copied", path, source, many=many)


def _of_tool(reading: CallReading) -> Iterator[MadeFile]:
    if reading.executes or not reading.has_params:
        return
    where = reading.where
    if reading.tool in _PATCHES:
        text = str(reading.params.get("input") or reading.params.get("patch") or "")[: 4 * MAX_TEXT]
        for match in _MOVED.finditer(text):
            yield MadeFile("copied", normal(match[2].strip(), where), normal(match[1].strip(), where))
    elif reading.tool not in tools.DESCRIBED:
        named = list(dict.fromkeys(text for text in tool_values.path_texts(reading.params) if text and "\n" not in text))
        paths = [normal(text, where) for text in named]
        others = [text for text in _texts(reading.params, 0) if text not in named]
        for path in paths:
            yield MadeFile("wrote", path, text="\n".join(others)[:MAX_TEXT])
            yield from (MadeFile("copied", path, other) for other in paths if other != path)


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < 4:  # noqa: PLR2004 - levels
        for item in islice(value.values() if isinstance(value, dict) else value, 50):
            yield from _texts(item, depth + 1)
