"""What a call changes of the files that programs of earlier calls may still run, and what these files contain then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from posixpath import basename, dirname
from typing import Any

from toolguard_engine.effects.calls.arriving_files import arriving
from toolguard_engine.effects.calls.made_files import MadeFile, is_known
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands import in_place_edits, made_then_run, scripted_edits, unknown_landings
from toolguard_engine.effects.commands.made_then_run import UnknownChange
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.model.lazy import kept
from toolguard_engine.model.living_programs import LivingProgram, LivingPrograms
from toolguard_engine.model.path_index import PathPattern

MAX_CHANGED = 40
"""Files of one program that a call changes, and edits of one call."""

MAX_LANDED = 60
"""Places where a call puts what is not known."""

MAX_MEANT = 8
"""Files that a pattern means."""

MAX_MOVES = 8
"""Places through which one file comes to another."""

MAX_TEXT = 262_144
MAX_LOST = 65_536
"""Characters of lines that a file has only between two changes of a call."""

EDITED = 4_000
"""Characters that a word of an editor's command goes through in one step of work."""

TEXT, FILE = 5, 30
"""Steps of work for each file that is changed, and for each that is read for that."""

_NOTHING_KNOWN = f"/*?{UNKNOWN}"


class Arrivals:
    """What a call may do to files, for those that may run later."""

    def __init__(self, reading: CallReading) -> None:
        self._reading = reading
        self._lands: dict[str, tuple[str, ...]] = {}
        self._changes = [(file, tuple(self._paths(file)) if is_known(file.path) else ()) for file in arriving(reading)]
        landed = (
            unknown_landings.unknown_landings(reading.command_readings, reading.command_where) if reading.commands else ()
        )
        self._unknown = [*unknown_changes(reading), *islice(landed, MAX_LANDED)]
        self._appended = set(_appended(reading))
        self._texts: dict[str, str] = {}
        self._contents: dict[str, str | None] = {}
        self._unreadable: set[str] = set()
        self._edited: dict[tuple[int, str], str | None] = {}
        self._paths_changed = {path for _, paths in self._changes for path in paths}
        self._paths_changed.update(change.path for change in self._unknown if not change.below)
        self._folders = {path for change, paths in self._changes if change.kind != "wrote" for path in paths}
        self._folders.update(change.path for change in self._unknown if change.below)
        """Where all that is in a folder may be replaced."""
        names_all = all(paths for _, paths in self._changes)
        self._is_open = not names_all or any(UNKNOWN in change.path and not change.below for change in self._unknown)
        """Whether it may change files whose paths are not known."""

    def __bool__(self) -> bool:
        return bool(self._changes or self._unknown)

    def concerned(self, living: LivingPrograms) -> list[LivingProgram]:
        """The programs of which files may be changed, the last ones first."""
        self._reading.work.spend(len(self._paths_changed) + len(self._folders))
        return list(living)[::-1] if self._is_open else living.concerned(self._paths_changed, self._folders)

    def forgotten(self, living: LivingPrograms) -> LivingProgram | None:
        """The programs that there was no room for, if files of theirs may be changed."""
        return living.forgotten if self._is_open else living.forgotten_among(self._paths_changed, self._folders)

    def collect(self, program: LivingProgram) -> dict[str, str | None]:
        """The files of a program that are changed, by the names that it knows: their texts, None where not known."""
        self._spend(program)
        texts: dict[str, str | None] = {}
        lost: dict[str, dict[str, None]] = {}
        for change, paths in self._changes:
            for name, inside in self._meant(change, paths, program):
                if len(texts) >= MAX_CHANGED and name not in texts:
                    continue
                before = texts.get(name)
                if (text := self._text(change, inside, name, before)) is not None:
                    texts[name] = text[-MAX_TEXT:]  # the end: what is appended last is what a running program reads next
                    if before and not text.startswith(before):
                        lost.setdefault(name, {}).update(dict.fromkeys(before.split("\n")))
                elif self._is_unknown(change, inside, fresh=name in program.again):
                    texts[name] = None
        for unknown in self._unknown:
            for name in self._covered(unknown, program):
                if name not in texts or texts[name] is not None:
                    self._change(name, unknown, program, texts, lost.setdefault(name, {}))
        return {name: text and self._with_lost(text, name, lost.get(name)) for name, text in texts.items()}

    def _with_lost(self, text: str, name: str, lost: dict[str, None] | None) -> str | None:
        """A program may read a file between two changes of a call, and the later one may not happen: with the lines that
        the file had only in between."""
        if not lost:
            return text
        there = {*text.split("\n"), *self._current(name).split("\n")}
        between = "\n".join(line for line in lost if line not in there)
        if len(between) > MAX_LOST:
            return None
        return f"{text}\n{between}" if between else text

    def _is_unknown(self, change: MadeFile, inside: str, *, fresh: bool) -> bool:
        """Whether something arrives that cannot be read. `fresh`: what an archive or a repository brings counts, too."""
        if change.kind == "wrote":
            return change.text is None and not self._reading.commands
        source = change.source + inside
        return source in self._unreadable or (fresh and self._has_landed(source))

    def _has_landed(self, path: str) -> bool:
        """Whether the call itself puts something unknown there before it brings it elsewhere."""
        return any(
            change.covers(path) or (UNKNOWN in change.path and any(_fitting(change.path, (path,))))
            for change in self._unknown
        )

    def _spend(self, program: LivingProgram) -> None:
        """What comparing the changes with the files of a program costs."""
        folders = sum(change.kind != "wrote" or not paths for change, paths in self._changes)
        folders += sum(change.below for change in self._unknown)
        patterns = len(program.patterns) + len(program.named)
        compared = (len(self._changes) + len(self._unknown)) * (1 + patterns) / 2 + folders * len(program.files) / 4
        self._reading.work.spend(compared)

    @staticmethod
    def _covered(change: UnknownChange, program: LivingProgram) -> Iterator[str]:
        """The files of a program that are changed in an unknown way."""
        if change.below:
            inside = f"{change.path}/"
            yield from dict.fromkeys(name for path, name in program.files.items() if path.startswith(inside))
        elif UNKNOWN in change.path:
            yield from (program.files[path] for path in _fitting(change.path, program.files))
        elif (name := program.files.get(change.path)) is not None:
            yield name
        elif program.is_among(change.path):
            yield change.path

    def _change(
        self,
        name: str,
        change: UnknownChange,
        program: LivingProgram,
        texts: dict[str, str | None],
        lost: dict[str, None],
    ) -> None:
        """What an edit in place makes of a file, or that it is not known.

        What Git or an archive brings is ordinary for code under development, but not for scripts that a shell reads as it
        runs them. Archives and repositories put new files in their places: a script that has begun stays what it is.
        """
        if change.landed and (name not in program.again or self._is_persons(name)):
            return
        before = texts.get(name) or self._current(name)
        text = self._after_edit(change, before)
        if text is not None:
            texts[name] = text
            if lost and (others := self._after_edit(change, "\n".join(lost))):
                lost.update(dict.fromkeys(others.split("\n")))
            lost.update(dict.fromkeys(before.split("\n")))
        elif change.program is None or change.program.name != "git" or name in program.lines:
            texts[name] = None

    def _is_persons(self, name: str) -> bool:
        """Whether a file is there that no agent has made."""
        return bool(self._current(name)) and self._reading.made.recall(name) is None

    def _after_edit(self, change: UnknownChange, text: str) -> str | None:
        """The same for all programs."""
        if change.program is None:
            return None
        if (key := (id(change), text)) not in self._edited:
            self._reading.work.spend(TEXT + len(text) * len(change.program.argv) / EDITED)
            edited = in_place_edits.edited(change.program, text)
            if edited is None:
                edited = scripted_edits.edited(change.program, text, change.path)
            self._edited[key] = self._joined(change.program) if edited is None else edited
        return self._edited[key]

    def _joined(self, program: ProgramRun) -> str | None:
        """What `cat` puts together."""
        paths = program.words.texts
        if program.name != "cat" or not paths or program.words.given or any(UNKNOWN in path for path in paths):
            return None
        texts = [self._content(normal(path, self._reading.command_where, program.cwd)) for path in paths]
        return "\n".join(text for text in texts if text) if all(texts) else None

    def _meant(self, change: MadeFile, paths: tuple[str, ...], program: LivingProgram) -> Iterator[tuple[str, str]]:
        """The names of files that a change is about, with the part of each that lies in a folder that is brought along."""
        if not paths:
            names = program.late if not change.path.strip(_NOTHING_KNOWN) else dict.fromkeys(program.files.values())
            yield from ((name, "") for name in _fitting(change.path, names))
            return
        for path in paths:
            if (name := program.files.get(path)) is not None:
                yield name, ""
            elif program.is_among(path):
                yield path, ""
            if path not in program.folders:
                continue
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
            if path not in self._lands:
                names = (path, self._reading.files.resolve(path), self._reading.made.was(path))
                self._lands[path] = tuple(dict.fromkeys(names))
            yield from self._lands[path]

    def _text(self, change: MadeFile, inside: str, name: str, before: str | None) -> str | None:
        """The text of a file after a change; None where it is not known or nothing arrives."""
        self._reading.work.spend(TEXT + len(self._changes) / 2)
        if change.kind == "wrote":
            if change.text is not None:
                return _changed(change, before or self._current(name), self._reading, appends=change.path in self._appended)
            source = dict(self._reading.running.changed_files().copies).get(change.path) if self._reading.commands else None
            return self._content(source) if source else None
        source = f"{dirname(change.source)}{inside}" if change.many else change.source + inside
        return self._content(source)

    def _content(self, path: str) -> str | None:
        """The text of a file that arrives elsewhere, which is the same for all programs."""
        if path not in self._contents:
            self._contents[path] = self._found_content(path)
        return self._contents[path]

    def _found_content(self, path: str) -> str | None:
        """The content as this call writes it or brings it there, or as it lies there."""
        waiting, seen, parts = [path], set[str](), list[str]()
        while waiting and len(seen) <= MAX_MOVES:
            if (at := waiting.pop()) in seen:
                continue
            seen.add(at)
            if own := [file for file, _ in self._changes if file.path == at and file.text]:
                parts += [*([] if own[0].whole else [self._current(at)]), *(file.text or "" for file in own)]
            elif sources := list(self._sources(at)):
                waiting += sources
            else:
                parts.append(self._lying_at(at))
        text = "\n".join(filter(None, parts))
        return text or (self._lying_at(path) if len(seen) > 1 else "") or None

    def _sources(self, path: str) -> Iterator[str]:
        """Where the call itself brings the content of a path from, perhaps with a folder around it."""
        for file, _ in self._changes:
            if file.kind != "wrote" and not file.many and f"{path}/".startswith(f"{file.path}/"):
                yield file.source + path[len(file.path) :]

    def _lying_at(self, path: str) -> str:
        if is_known(path):
            return self._current(path)
        meant = self._reading.made.matching(path.replace(UNKNOWN, "*"), MAX_MEANT) if path.startswith("/") else []
        return "\n".join(filter(None, map(self._current, meant)))

    def _current(self, path: str) -> str:
        """The text of a file before the call, with what other calls are writing to it."""
        if path not in self._texts:
            self._reading.work.spend(FILE)
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str:
        file = self._reading.files.read(path)
        if isinstance(file, Unread) and file.reason not in ("absent", "not-regular"):
            self._unreadable.add(path)
        text = file.text if isinstance(file, FileText) else ""
        expected = self._reading.made.expected(path)
        if expected is None or expected.call == self._reading.call.call_id:
            return text
        return expected.text if expected.whole else f"{text}\n{expected.text}"


@kept
def arrivals(reading: CallReading) -> Arrivals:
    """Those of a call: asked for when it is judged, and when it may run."""
    return Arrivals(reading)


@kept
def unknown_changes(reading: CallReading) -> list[UnknownChange]:
    """The files that commands change in an unknown way."""
    if not reading.commands:
        return []
    changes, scripts = list[UnknownChange](), reading.running.changed_files()
    for seen, effects in zip(reading.command_readings, reading.command_effects, strict=True):
        for change in made_then_run.unknown_changes(seen, scripts, effects, reading.command_where):
            changes.append(change._replace(program=_script_around(change, seen)) if change.program is not None else change)
    return changes


def _script_around(change: UnknownChange, seen: Reading) -> ProgramRun | None:
    """The program that changes the file; what code writes is shown as a `cat` that the interpreter starts."""
    program = change.program
    if program is None or program.argv != ("cat",) or not program.via:
        return program
    started = (run for run in reversed(seen.runs[: change.at]) if run.name == program.via[-1])
    return next(started, program)


def _appended(reading: CallReading) -> Iterator[str]:
    """The files to whose end something is added."""
    for effects in reading.command_effects if reading.commands else ():
        for effect in effects:
            if effect.kind == "write" and "append" in effect.flags and effect.program is not None:
                yield normal(effect.target, reading.command_where, effect.program.cwd)


def _fitting(path: str, names: Iterable[str]) -> Iterator[str]:
    """The files that a path which is known in part may be."""
    return PathPattern(path.replace(UNKNOWN, "*")).fitting(names) if path else iter(())


def _changed(change: MadeFile, before: str, reading: CallReading, *, appends: bool) -> str:
    text = change.text or ""
    if change.whole:
        return text
    edits = list(_edits(reading.params)) if not reading.executes else []
    if edits and all(old in before for old, _ in edits):
        for old, new in edits:
            before = before.replace(old, new, 1)
        return before
    if not before or before.endswith("\n") or appends:
        return before + text
    return f"{before}\n{text}"


def _edits(params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What an edit replaces by what, in the order of its parameters."""
    given = params.get("edits")
    for edit in islice(given, MAX_CHANGED) if isinstance(given, list) else (params,):
        for old, new in (("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str")):
            if isinstance(edit, dict) and isinstance(edit.get(old), str) and isinstance(edit.get(new), str) and edit[old]:
                yield edit[old], edit[new]
