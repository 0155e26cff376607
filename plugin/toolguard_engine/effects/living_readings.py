"""Programs that run on, read for the files that they may run later, and read again with what a later call writes to these.

The second reading is that of the same command on other files, so whatever the command makes of them is judged: a script that
it sources, a recipe, a module that a module imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import islice
from posixpath import basename, dirname
from shlex import quote
from typing import Any, NamedTuple

from toolguard_engine.effects.arriving_files import arriving
from toolguard_engine.effects.made_files import MadeFile, is_known
from toolguard_engine.effects.reading import CallReading
from toolguard_engine.effects.shell import in_place_edits, made_then_run
from toolguard_engine.effects.shell.command import UNKNOWN
from toolguard_engine.effects.shell.made_then_run import UnknownChange
from toolguard_engine.effects.shell.place_globs import GLOB
from toolguard_engine.effects.shell.watchers import BY_ENDING
from toolguard_engine.model.call import Call
from toolguard_engine.model.files import FileMemory, FileRecord, FileSource, FileText, Unread
from toolguard_engine.model.living_programs import MAX_PATHS, LivingProgram

MAX_CHANGED = 40
"""Files that one call changes, and files of one program that it changes."""

MAX_FOLDERS = 8
"""Folders that are looked at for links."""

MAX_MOVES = 4
"""Moves of one file by one call."""

MAX_TEXT = 262_144
WORK = 30_000
"""Steps for reading one program again."""


def program_of(reading: CallReading) -> LivingProgram | None:
    """What a call starts, with what it may run as long as it runs; None if it runs no file."""
    if not reading.commands:
        return None
    _, running = reading.command_readings, reading.running
    if not running.may_run_files:
        return None
    call, where = reading.call, reading.command_where
    known = [
        path for path in (*running.asked, *running.ran, *running.later.fed, *running.later.sought) if not _is_open(path)
    ]
    patterns = {path: running.runners.get(path) for path in running.ran if _is_open(path)}
    return LivingProgram(
        reading.commands,
        where.cwd,
        call.cwd,
        call.agent,
        call.session,
        call.call_id,
        call.at,
        dict(islice(_aliases(list(dict.fromkeys(known)), reading), MAX_PATHS)),
        frozenset(running.later.late),
        frozenset(running.later.lines),
        running.later.fed,
        dict(islice({**dict.fromkeys(running.patterns), **patterns, **running.later.loaded}.items(), MAX_PATHS)),
        tuple(running.named)[:MAX_PATHS],
        running.later.goes_on,
    )


def _is_open(path: str) -> bool:
    return UNKNOWN in path or bool(GLOB.search(path))


def _aliases(known: list[str], reading: CallReading) -> Iterator[tuple[str, str]]:
    """The names of files, and the other paths at which the same files lie."""
    yield from ((name, name) for name in known)
    for name, file in reading.running.judged.items():
        yield file.path, name
    folders = {folder: reading.files.resolve(folder) for folder in list(dict.fromkeys(map(dirname, known)))[:MAX_FOLDERS]}
    for name in known:
        if (record := reading.made.exactly(name)) is not None and record.link:
            yield record.link, name
        real = folders.get(dirname(name), "")
        if real and real != dirname(name):
            yield f"{real}/{basename(name)}", name


class Arrivals:
    """What a call may do to files, for those that may run later."""

    def __init__(self, reading: CallReading) -> None:
        self._reading = reading
        self._changes = [(each, tuple(self._paths(each)) if is_known(each.path) else ()) for each in arriving(reading)]
        self._unknown = list(_unknown(reading))

    def __bool__(self) -> bool:
        return bool(self._changes or self._unknown)

    def at(self, program: LivingProgram) -> dict[str, str | None]:
        """The files of a program that are changed, by the names that it knows: their texts, None where not known."""
        found: dict[str, str | None] = {}
        for change, paths in self._changes:
            for name, inside in self._meant(change, paths, program):
                if (text := self._text(change, inside, found.get(name) or self._current(name))) is not None:
                    found[name] = text[-MAX_TEXT:]
                elif change.kind == "wrote" and change.text is None and not self._reading.commands:
                    found[name] = None
        for name in self._names(program):
            for each in self._unknown:
                if each.covers(name) and (name not in found or found[name] is not None):
                    self._change(name, each, program, found)
        return dict(islice(found.items(), MAX_CHANGED))

    def _names(self, program: LivingProgram) -> Iterator[str]:
        """Its files that may be changed in an unknown way."""
        if self._unknown:
            yield from dict.fromkeys(program.files.values())
            changed = (each.path for each in self._unknown if each.path not in program.files)
            yield from (path for path in changed if _is_among(path, program))

    def _change(self, name: str, change: UnknownChange, program: LivingProgram, found: dict[str, str | None]) -> None:
        """What an edit in place makes of a file, or that it is not known.

        What Git brings back is ordinary for code under development, but not for scripts that a shell reads as it runs them.
        """
        text = in_place_edits.edited(change.run, found.get(name) or self._current(name)) if change.run is not None else None
        if text is not None:
            found[name] = text
        elif change.run is None or change.run.name != "git" or name in program.lines:
            found[name] = None

    def _meant(self, change: MadeFile, paths: tuple[str, ...], program: LivingProgram) -> Iterator[tuple[str, str]]:
        """The names of files that a change is about, with the part of each that lies in a folder that is brought along."""
        if not paths:
            names = program.late if not change.path.strip(_NOTHING_KNOWN) else dict.fromkeys(program.files.values())
            yield from ((name, "") for name in names if _may_be(change.path, name))
            return
        for path in paths:
            if (name := program.files.get(path)) is not None:
                yield name, ""
            elif _is_among(path, program):
                yield path, ""
            if change.many:
                yield from ((name, f"/{basename(known)}") for known, name in program.files.items() if dirname(known) == path)
            elif change.kind != "wrote":
                inside = f"{path}/"
                yield from ((name, known[len(path) :]) for known, name in program.files.items() if known.startswith(inside))

    def _paths(self, change: MadeFile) -> Iterator[str]:
        """Where it lands: also behind links, and in the folder that may be there."""
        paths = [change.path]
        if change.kind != "wrote" and change.source and not change.many:
            paths.append(f"{change.path}/{basename(change.source)}")
        for path in paths:
            record = self._reading.made.exactly(path)
            yield from dict.fromkeys(
                (path, self._reading.files.resolve(path), record.link if record and record.link else path)
            )

    def _text(self, change: MadeFile, inside: str, before: str) -> str | None:
        """The text of a file after a change; None where it is not known or nothing arrives."""
        if change.kind == "wrote":
            if change.text is not None:
                return _changed(change, before, self._reading)
            source = dict(self._reading.running.changed_files().copies).get(change.path) if self._reading.commands else None
            return self._content(source) if source else None
        source = f"{dirname(change.source)}{inside}" if change.many else change.source + inside
        return self._content(source)

    def _content(self, path: str, depth: int = 0) -> str | None:
        """The text of a file that arrives elsewhere: as this call writes it or brings it there, or as it lies there."""
        own = [each for each, _ in self._changes if each.path == path and each.text]
        if own:
            return "\n".join([*([] if own[0].whole else [self._current(path)]), *(each.text or "" for each in own)])
        for each, _ in self._changes if depth < MAX_MOVES else ():
            if each.kind != "wrote" and not each.many and f"{path}/".startswith(f"{each.path}/") and each.source != path:
                found = self._content(each.source + path[len(each.path) :], depth + 1)
                if found:
                    return found
        if not is_known(path):
            found = self._reading.made.matching(path.replace(UNKNOWN, "*"), MAX_FOLDERS) if path.startswith("/") else []
            return "\n".join(filter(None, map(self._current, found))) or None
        return self._current(path) or None

    def _current(self, path: str) -> str:
        """The text of a file before the call, with what other calls are writing to it."""
        found = self._reading.files.read(path)
        text = found.text if isinstance(found, FileText) else ""
        expected = self._reading.made.expected(path)
        if expected is None or expected.call == self._reading.call.call_id:
            return text
        return expected.text if expected.whole else f"{text}\n{expected.text}"


def _unknown(reading: CallReading) -> Iterator[UnknownChange]:
    """The files that commands change in an unknown way."""
    if reading.commands:
        scripts = reading.running.changed_files()
        for seen, effects in zip(reading.command_readings, reading.command_effects, strict=True):
            yield from made_then_run.unknown_changes(seen, scripts, effects, reading.command_where)


def _may_be(path: str, name: str) -> bool:
    """Whether a path that is known in part may be this file."""
    return bool(path) and fnmatchcase(name, path.replace(UNKNOWN, "*"))


_NOTHING_KNOWN = f"/*?{UNKNOWN}"


def _changed(change: MadeFile, before: str, reading: CallReading) -> str:
    text = change.text or ""
    if change.whole:
        return text
    edits = list(_edits(reading.params)) if not reading.executes else []
    if edits and all(old in before for old, _ in edits):
        for old, new in edits:
            before = before.replace(old, new, 1)
        return before
    return f"{before}\n{text}" if before else text


def _edits(params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What an edit replaces by what, in the order of its parameters."""
    given = params.get("edits")
    for edit in islice(given, MAX_CHANGED) if isinstance(given, list) else (params,):
        for old, new in (("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str")):
            if isinstance(edit, dict) and isinstance(edit.get(old), str) and isinstance(edit.get(new), str) and edit[old]:
                yield edit[old], edit[new]


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


def made_by_agents(made: FileMemory, names: Iterable[str]) -> FileMemory:
    """The memory of files as it will be when an agent has changed these."""
    after = FileMemory()
    after.restore(made.records)
    for name in names:
        after.wrote(name, FileRecord("agent"))
    return after


def again(program: LivingProgram, reading: CallReading, texts: dict[str, str], made: FileMemory) -> CallReading:
    """The program's command, read with these texts in its files. `made`: which files the agents made."""
    params = {"command": program.commands[0], "workdir": program.folder}
    call = Call("exec", params, agent=program.agent, session=program.session, cwd=program.workspace)
    found = CallReading(call, reading.host, reading.work.beside(WORK), _Foreseen(reading.files, texts), made)
    found.__dict__["commands"] = (*program.commands, *_apart(program, texts))
    return found


def in_general(reading: CallReading, texts: dict[str, str], made: FileMemory) -> CallReading:
    """The files, run by what usually runs such files, with words that are not known."""
    found = CallReading(
        Call("exec", {"command": ":"}, cwd=reading.call.cwd), reading.host, reading.work.beside(WORK),
        _Foreseen(reading.files, texts), made,
    )  # fmt: skip
    runners = {name: ("sh", BY_ENDING.get(f".{name.rpartition('.')[2]}", "sh")) for name in texts}
    commands = (
        f'{each} {quote(name)} "$toolguard_unknown"' for name, given in runners.items() for each in dict.fromkeys(given)
    )
    found.__dict__["commands"] = tuple(commands)
    return found


def _apart(program: LivingProgram, texts: dict[str, str]) -> Iterator[str]:
    """Commands that run files of which the program's own commands do not show what is run of them."""
    known = frozenset(program.files.values())
    for name, text in texts.items():
        if (runner := program.fed.get(name)) is not None:
            yield from (f"{each} < {quote(name)}" for each in dict.fromkeys((_runner(runner), "sh")))
            if text.lstrip()[:1] in ("{", "["):
                yield text.translate(_PARTED)
        elif name not in known:
            runner = next((each for pattern, each in program.patterns.items() if _fits(name, pattern)), None)
            if runner is not None:
                yield f"{_runner(runner)} < {quote(name)}" if runner else quote(name)


def _runner(name: str) -> str:
    return quote(name) if name and UNKNOWN not in name and name != "eval" else "sh"


_PARTED = str.maketrans(dict.fromkeys('{}[],":', "\n"))
"""The values in JSON, each a line of its own."""


def _is_among(path: str, program: LivingProgram) -> bool:
    """Whether it is one of the files that a program knows by a pattern."""
    if any(_fits(path, pattern) for pattern in program.patterns):
        return True
    inside = ((pattern, folder) for pattern, folder in program.named if path.startswith(f"{folder}/"))
    return any(re.compile(pattern).match(path, len(folder) + 1) for pattern, folder in inside)


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern.replace(UNKNOWN, "*"))
