"""Programs that run on, read for the files that they may run later, and read again with what a later call writes to these.

The second reading is that of the same command on other files, so whatever the command makes of them is judged: a script that
it sources, a recipe, a module that a module imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from posixpath import basename, dirname
from shlex import quote
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.arrivals import unknown_changes
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.commands.watchers import BY_ENDING
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.model.call import Call
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import FileSource, FileText, Unread
from toolguard_engine.model.living_programs import MAX_PATHS, MAX_PATTERNS, LivingProgram
from toolguard_engine.model.path_index import PathPattern
from toolguard_engine.wording.redact import HALVES

MAX_FOLDERS = 8
"""Folders that are looked at for links."""

WORK = 30_000
"""Steps for reading one program again."""

_DATA = (".json", ".css", ".html", ".md", ".csv", ".txt", ".svg")
_MAIN = lazy_re.compile(
    r"^if __name__ ?== ?['\"]__main__['\"] ?:[^\n]*(?:\n(?:[ \t][^\n]*|#[^\n]*)?(?=\n|\Z))*", re.MULTILINE
)
"""What a module of Python does only if it is started by itself."""

_DETACHES = lazy_re.compile(r"--(?:daemon|detach|background|bg|fork)")
"""An option, of any program, by which it goes on behind the command."""


def program_of(reading: CallReading) -> LivingProgram | None:
    """What a call starts, with what it may run as long as it runs; None if that is no file, and it changes none."""
    if not reading.commands:
        return None
    _, running, call = reading.command_readings, reading.running, reading.call
    made = frozenset(islice(_made(reading), MAX_PATHS))
    if not (made or running.may_run_files):
        return None
    known = [path for path in run_by(running) if not (_is_open(path) or HALVES.search(path))]
    patterns = {path.replace(UNKNOWN, "*"): runner for path, runner in running.later.named.items() if _is_open(path)}
    all_patterns: dict[str, str | None] = {**dict.fromkeys(running.patterns), **patterns, **running.later.loaded}
    known_patterns = {path: runner for path, runner in all_patterns.items() if not HALVES.search(path)}
    return LivingProgram(
        commands=tuple(HALVES.sub("\ufffd", command) for command in reading.commands),
        folder=HALVES.sub("\ufffd", reading.command_where.cwd),
        workspace=call.cwd,
        agent=call.agent,
        session=call.session,
        call=call.call_id,
        at=call.at,
        files=dict(islice(_aliases(list(dict.fromkeys(known)), reading), MAX_PATHS)),
        late=frozenset(path for path in running.later.late.keys() & known if not _is_data(path, running)),
        lines=frozenset(running.later.lines.keys() & known),
        again=frozenset((running.later.lines.keys() & running.later.again.keys()).intersection(known)),
        fed={path: runner for path, runner in running.later.fed.items() if path in known},
        patterns=dict(islice(known_patterns.items(), MAX_PATTERNS)),
        named=tuple(each for each in running.named if not HALVES.search(each[1]))[:MAX_PATTERNS],
        makes=made,
        goes_on=running.later.goes_on or any(_DETACHES.match(word) for program in reading.runs for word in program.argv[1:]),
    )


def _is_data(path: str, running: RunFiles) -> bool:
    """Whether code takes it in as data, which runs nothing: `require("./data.json")`."""
    return path.endswith(_DATA) and path not in running.later.named and path not in running.later.fed


def _made(reading: CallReading) -> Iterator[str]:
    yield from (each.path for each in unknown_changes(reading) if not (each.below or HALVES.search(each.path)))


def run_by(running: RunFiles) -> Iterator[str]:
    """The paths of files that a command may run."""
    yield from running.asked
    yield from running.later.named
    yield from running.later.fed
    yield from running.later.sought


def _is_open(path: str) -> bool:
    return UNKNOWN in path or bool(GLOB.search(path))


def _aliases(known: list[str], reading: CallReading) -> Iterator[tuple[str, str]]:
    """The names of files, and the other paths at which the same files lie."""
    yield from ((name, name) for name in known)
    for name, file in reading.running.judged.items():
        yield file.path, name
    folders = {folder: reading.files.resolve(folder) for folder in list(dict.fromkeys(map(dirname, known)))[:MAX_FOLDERS]}
    for name in known:
        is_made = reading.running.made_asked.get(name, name not in reading.running.untouched)
        if is_made and (record := reading.made.exactly(name)) is not None and record.link:
            yield record.link, name
        real = folders.get(dirname(name), "")
        if real and real != dirname(name):
            yield f"{real}/{basename(name)}", name


class _Foreseen(NamedTuple):
    """The files of this machine, some of them with other texts."""

    source: FileSource
    texts: dict[str, str]

    def read(self, path: str) -> FileText | Unread:
        if (text := self.texts.get(path)) is None:
            return self.source.read(path)
        return FileText(path, text, sha256(text.encode("utf-8", "replace")).hexdigest(), (0, 0, 0, 0))

    def resolve(self, path: str) -> str:
        return self.source.resolve(path)

    def is_unchanged(self, path: str) -> bool:
        return path not in self.texts and self.source.is_unchanged(path)


class MadeByAgents:
    """The memory of files as it will be when an agent has changed some of them."""

    def __init__(self, made: FileMemory) -> None:
        self._before = made
        self._after: FileMemory | None = None

    def also(self, names: Iterable[str]) -> FileMemory:
        """Returns the memory with these files as well."""
        if self._after is None:
            self._after = self._before.fork()
        for name in names:
            self._after.wrote(name, FileRecord("agent"))
        return self._after


def again(program: LivingProgram, reading: CallReading, texts: dict[str, str], made: FileMemory) -> CallReading:
    """The program's command, read with these texts in its files. `made`: which files the agents made."""
    params = {"command": program.commands[0], "workdir": program.folder}
    call = Call("exec", params, agent=program.agent, session=program.session, cwd=program.workspace)
    texts = {name: _MAIN.sub("", text) if _only_loads(program, name) else text for name, text in texts.items()}
    found = CallReading(call, reading.host, reading.work.beside(WORK), _Foreseen(reading.files, texts), made, reading.config)
    found.__dict__["commands"] = (*program.commands, *_apart(program, texts))
    return found


def in_general(reading: CallReading, texts: dict[str, str], made: FileMemory) -> CallReading:
    """The files, run by what usually runs such files, with words that are not known."""
    found = CallReading(
        Call("exec", {"command": ":"}, cwd=reading.call.cwd), reading.host, reading.work.beside(WORK),
        _Foreseen(reading.files, texts), made, reading.config,
    )  # fmt: skip
    runners = {name: ("sh", BY_ENDING.get(f".{name.rpartition('.')[2]}", "sh")) for name in texts}
    commands = (
        f'{each} {quote(name)} "$toolguard_unknown"' for name, given in runners.items() for each in dict.fromkeys(given)
    )
    found.__dict__["commands"] = tuple(commands)
    return found


def _only_loads(program: LivingProgram, name: str) -> bool:
    """Whether a file is a module that a server takes in, and no script that it starts."""
    if not name.endswith(".py") or name in program.files.values():
        return False
    return any(runner == "python3" and PathPattern(pattern).fits(name) for pattern, runner in program.patterns.items())


def _apart(program: LivingProgram, texts: dict[str, str]) -> Iterator[str]:
    """Commands that run files of which the program's own commands do not show what is run of them."""
    known = frozenset(program.files.values())
    for name, text in texts.items():
        if (runner := program.fed.get(name)) is not None:
            yield from (f"{each} < {quote(name)}" for each in dict.fromkeys((_runner(runner), "sh")))
            if text.lstrip()[:1] in ("{", "["):
                yield text.translate(_PARTED)
        elif name not in known:
            runner = next((each for pattern, each in program.patterns.items() if PathPattern(pattern).fits(name)), None)
            if runner is not None:
                yield f"{_runner(runner)} < {quote(name)}" if runner else quote(name)


def _runner(name: str) -> str:
    return quote(name) if name and UNKNOWN not in name and name != "eval" else "sh"


_PARTED = str.maketrans(dict.fromkeys('{}[],":', "\n"))
"""The values in JSON, each a line of its own."""
