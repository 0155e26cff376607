"""Programs that calls have started and that may still run, with the files that they may run later.

A call's program is remembered when the call may run, and forgotten when its result has come, unless it goes on: then when
the gateway reports its end, or `LASTS` after its start. At most `MAX_PROGRAMS`; of more, the oldest are forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator

import msgspec
from msgspec.structs import replace

from toolguard_engine.model.lazy import Lazy
from toolguard_engine.model.path_index import PathIndex, PathPattern, folders_of

MAX_PROGRAMS = 256
MAX_COMMAND = 65_536
"""Characters of its commands; longer ones are held in any case."""

MAX_FORGOTTEN = 4_000
"""Files of programs that there was no room for."""

MAX_STORED = 2_000_000
"""Characters of all programs that an engine after this one is told of."""

MAX_PATHS = 500
"""Files of one program."""

MAX_PATTERNS = 24

LASTS = 24 * 3600.0
"""Seconds after which a program counts as ended, if nothing was heard of it."""

MAKES = 600.0
"""Seconds after which a program that runs on is taken to have written what it writes."""


class LivingProgram(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """`commands` run in `folder`, started by a call of `agent` in `session` at `at`; `workspace`: the folder of the call;
    `call`: its id as long as it has no result.

    `files`: the absolute paths that it may run, with the names under which it knows them. `late`: those of these names that
    it may read at any time; what is behind the others was read when it began. `lines`: those that a shell reads as it runs
    them; `again`: those of these that it opens only then, so that a new file in their place counts. `fed`: names whose lines
    reach a program that runs them. `patterns`: what else it runs, with wildcards, and the program that runs it: empty if it
    is started by its own path, None if the commands show it. `named`: the same as regular expressions for paths from a
    folder on, each with that folder. `makes`: files that it changes in an unknown way. `goes_on`: it may outlive its call;
    `process`: the id under which the gateway keeps it.
    """

    commands: tuple[str, ...]
    folder: str = ""
    workspace: str = ""
    agent: str = ""
    session: str = ""
    call: str = ""
    at: float = 0.0
    files: dict[str, str] = {}
    late: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    fed: dict[str, str] = {}
    patterns: dict[str, str | None] = {}
    named: tuple[tuple[str, str], ...] = ()
    makes: frozenset[str] = frozenset()
    goes_on: bool = False
    process: str = ""

    @property
    def key(self) -> tuple[tuple[str, ...], str, str]:
        """Equal for programs that run the same files in the same way."""
        return self.commands, self.folder, self.workspace

    @Lazy
    def folders(self) -> set[str]:
        """All folders that any of its files is in."""
        return folders_of(self.files)

    @Lazy
    def path_patterns(self) -> list[PathPattern]:
        """What it knows files by whose paths are not known."""
        return [*map(PathPattern, self.patterns), *(PathPattern(*each) for each in self.named)]

    @property
    def size(self) -> int:
        """Characters of what is stored of it."""
        names = (
            *self.commands,
            *self.files,
            *self.files.values(),
            *self.late,
            *self.lines,
            *self.again,
            *self.fed,
            *self.patterns,
            *self.makes,
        )
        return sum(map(len, names)) + sum(len(pattern) + len(folder) for pattern, folder in self.named)

    @property
    def matters(self) -> bool:
        return bool(self.files or self.patterns or self.named or self.makes)

    def is_making(self, path: str, now: float) -> bool:
        """Whether it may not have written a file yet that it writes in an unknown way."""
        return path in self.makes and not (now and self.at and self.at + MAKES < now)

    @property
    def has_begun(self) -> bool:
        """Whether it is known to have read what it reads first: its call has a result."""
        return not self.call

    def may_read(self, name: str) -> bool:
        """Whether it may read this file from now on."""
        return not self.has_begun or name in self.late or name not in self.files.values()

    def is_among(self, path: str) -> bool:
        """Whether it is one of the files that the program knows by a pattern."""
        return any(pattern.fits(path) for pattern in self.path_patterns)

    def joined(self, later: LivingProgram) -> LivingProgram:
        """Returns the program with what it was found to run later."""
        files = dict(list({**self.files, **later.files}.items())[:MAX_PATHS])
        fed = dict(list({**self.fed, **later.fed}.items())[:MAX_PATHS])
        patterns = dict(list({**self.patterns, **later.patterns}.items())[:MAX_PATTERNS])
        return replace(
            self, files=files, late=self.late | later.late, lines=self.lines | later.lines, fed=fed, patterns=patterns
        )


class LivingPrograms:
    """All of one gateway."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, LivingProgram] = OrderedDict()
        self._number = 0
        self._index = PathIndex[int]()
        self._unindexed: dict[int, None] = {}
        """Programs that nothing has been looked up for yet: most have ended before that."""
        self._forgotten: OrderedDict[str, str] = OrderedDict()
        self._forgotten_index = PathIndex[str]()
        self.changes = 0
        """Of what an engine after this one should know."""

    def __iter__(self) -> Iterator[LivingProgram]:
        return iter(self._known.values())

    def concerned(self, paths: Collection[str], folders: Collection[str]) -> list[LivingProgram]:
        """Those that may run one of these paths, or what is below one of these folders; the last ones first."""
        for number in self._unindexed:
            self._index.add(number, self._known[number].files, self._known[number].path_patterns)
        self._unindexed.clear()
        return [self._known[number] for number in sorted(self._index.any(paths, folders), reverse=True)]

    def __len__(self) -> int:
        return len(self._known)

    @property
    def lasting(self) -> list[LivingProgram]:
        """Those that may outlive their calls, for an engine after this one; of too many, the last ones."""
        programs, room = list[LivingProgram](), MAX_STORED
        for program in reversed(self._known.values()):
            if (program.goes_on or program.process) and (room := room - program.size) >= 0:
                programs.append(program)
        return programs[::-1]

    def restore(self, programs: list[LivingProgram]) -> None:
        """What was known before; what is known now is newer."""
        newer = list(self)
        for number in list(self._known):
            self._drop(number)
        for program in (*programs, *newer):
            self._add(program)

    def started(self, program: LivingProgram) -> None:
        if sum(map(len, program.commands)) > MAX_COMMAND or not program.matters:
            return
        for number, known in self._known.items() if program.goes_on else ():
            if known.goes_on and known.key == program.key:
                self._change(number, replace(known.joined(program), at=program.at))
                return
        self._add(program)

    def _add(self, program: LivingProgram) -> None:
        self._number += 1
        self._known[self._number] = program
        self._unindexed[self._number] = None
        self.changes += program.goes_on
        while len(self._known) > MAX_PROGRAMS:
            self._forget(self._drop(next(iter(self._known))))

    def _drop(self, number: int) -> LivingProgram:
        program = self._known.pop(number)
        self._unindex(number, program)
        return program

    def _change(self, number: int, program: LivingProgram) -> None:
        """Puts a program with other files in the place of one."""
        self._unindex(number, self._known[number])
        self._known[number] = program
        self._unindexed[number] = None

    def _unindex(self, number: int, program: LivingProgram) -> None:
        if number in self._unindexed:
            del self._unindexed[number]
        else:
            self._index.remove(number, program.files, program.path_patterns)

    def _forget(self, program: LivingProgram) -> None:
        for path, name in program.files.items():
            if name in program.late:
                self._forgotten[path] = name
                self._forgotten_index.add(path, (path,))
        while len(self._forgotten) > MAX_FORGOTTEN:
            path, _ = self._forgotten.popitem(last=False)
            self._forgotten_index.remove(path, (path,))

    @property
    def forgotten(self) -> LivingProgram | None:
        """All programs that there was no room for, as one of which only the files are known that it may read at any time."""
        if not self._forgotten:
            return None
        return LivingProgram((":",), files=dict(self._forgotten), late=frozenset(self._forgotten.values()))

    def forgotten_among(self, paths: Collection[str], folders: Collection[str]) -> LivingProgram | None:
        """The same, if it may run one of these paths, or what is below one of these folders."""
        return self.forgotten if self._forgotten_index.any(paths, folders) else None

    def grew(self, before: LivingProgram, later: LivingProgram) -> None:
        """A program was found to run other files as well, because one of its files has changed."""
        for number, known in self._known.items():
            if known is before:
                self._change(number, before.joined(later))
                self.changes += 1
                return

    def ended(self, call: str, process: str = "", *, has_run: bool = True) -> None:
        """The call has a result. `process`: its command runs on under this id; `has_run`: it was not refused."""
        for number, known in list(self._known.items()) if call else ():
            if known.call != call:
                continue
            if process:
                self._known[number] = replace(known, process=process, call="")
                self.changes += 1
            elif known.goes_on and has_run:
                self._known[number] = replace(known, call="")
            else:
                self._drop(number)

    def process_ended(self, process: str, session: str) -> None:
        """The gateway reports the end of a process to the session that started it; what it has detached runs on. Of the
        processes of other sessions it says the same, though they run."""
        for number, known in list(self._known.items()):
            if process and (known.process, known.session) == (process, session) and not known.goes_on:
                self._drop(number)
                self.changes += 1

    def process_runs(self, process: str, session: str, now: float) -> None:
        """The gateway reports that a process still runs."""
        for number, known in self._known.items():
            if process and (known.process, known.session) == (process, session):
                self._known[number] = replace(known, at=now)

    def expire(self, now: float) -> None:
        for number, known in list(self._known.items()):
            if now and known.at and known.at + LASTS < now:
                self._drop(number)
                self.changes += 1
