"""The files that a command runs, as `Walk` asks for them: read through `model.files`, a bounded number for each call.

A file that cannot be read changes nothing in the verdict, unless an agent made it: then it is `UnreadFile.made`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from toolguard_engine.effects.commands.asked_files import MAX_WORD, AskedFiles, is_system
from toolguard_engine.effects.commands.kept_files import KeptFiles
from toolguard_engine.effects.facts.command import REPEATED, UNKNOWN, FilePlace, ProgramRun, RanScripts, UnreadFile
from toolguard_engine.effects.facts.places import normal

MAX_RAN = 2_000
"""Scripts of which it is noted when they run."""

MAX_OVERWRITTEN = 64
"""Runs of files that the command itself writes, for which these are read as well."""


class RunFiles(AskedFiles):
    """The files that the programs of one call run, and when each of them runs."""

    __slots__ = ()

    def will_run(self, word: str, cwd: str, runner: str = "", *, line_by_line: bool = False) -> None:
        """A script is run by this name, whether it can be read or not. `line_by_line`: it is read as it runs."""
        if word and UNKNOWN in cwd and len(word) <= MAX_WORD and UNKNOWN not in word and word[:1] not in ("/", "~", "$"):
            self.later.may_load(f"*/{word.removeprefix('./')}", runner)
        if not word or len(word) > MAX_WORD or UNKNOWN in cwd:
            return
        path = normal(word, self._where, cwd)
        if is_system(path):
            return
        self.later.runs(path, runner)
        self.later.reads(path, line_by_line=line_by_line)
        if path in self.ran or len(self.ran) < MAX_RAN:
            self.ran[path] = REPEATED if self.repeats else self.position

    def will_run_all(self, paths: tuple[str, ...], program: ProgramRun, *, line_by_line: bool) -> None:
        """The same for absolute paths, none of which the command itself writes."""
        for path in paths:
            if not is_system(path):
                self.later.runs(path, program.name)
                self.later.reads(path, line_by_line=line_by_line)
                if path in self.ran or len(self.ran) < MAX_RAN:
                    self.ran[path] = REPEATED if self.repeats else self.position
                if self._copies:
                    self.may_lie_there(path, program, is_written=False)

    def may_lie_there(self, word: str, program: ProgramRun, *, is_written: bool) -> None:
        """A program runs a file. Where the command itself writes or copies it, that may not happen (`false && echo > x`,
        `set -C`, `cp -n`): then an agent's file runs as it lies there."""
        path = self.path(word, program.cwd) if len(self.overwritten) < MAX_OVERWRITTEN else ""
        if path and (is_written or self._before_copying(path) != path) and self.is_made(path):
            self.overwritten.append((program, word))

    @property
    def has_copied(self) -> bool:
        """Whether the command itself copies, moves or links files."""
        return bool(self._copies)

    @contextmanager
    def as_they_lie(self) -> Iterator[None]:
        """While this is entered, files are read where they are named, as if the command had copied none."""
        copies, self._copies, self._found.sources = self._copies, {}, {}
        try:
            yield
        finally:
            self._copies, self._found.sources = copies, {}

    def may_load(self, pattern: str, runner: str) -> None:
        """The command loads files of this pattern when it needs them. `runner`: see `LaterFiles`."""
        if UNKNOWN not in pattern:
            self.later.may_load(normal(pattern, self._where, ""), runner)

    def feeds(self, files: Collection[str], program: str, cwd: str) -> None:
        """A program runs what it is given of these files, as they are or not."""
        for word in files:
            if (path := self.path(word, cwd)) and not is_system(path):
                self.later.feeds(path, program)

    @property
    def may_run_files(self) -> bool:
        """Whether the command runs files, be they there or not."""
        return bool(
            self.asked or self.ran or self.patterns or self.named or self.later.fed or self.later.loaded or self.later.sought
        )

    def scripts(self, opaque: Collection[str]) -> RanScripts | None:
        self.opaque.update(dict.fromkeys(opaque))
        return self.changed_files() if self.ran else None

    def changed_files(self) -> RanScripts:
        """The same if no script is run."""
        copies = tuple(self._copies.items())
        return RanScripts(tuple(self.ran.items()), frozenset(self.opaque), copies, frozenset(self.foreign))

    def unpacked(self, archive: str, cwd: str) -> None:
        """An archive is unpacked."""
        if self.is_made_at(archive, cwd):
            self.foreign[self.path(archive, cwd)] = None

    @property
    def asks(self) -> int:
        """How many files were asked about."""
        return (
            len(self.asked) + len(self.made_asked) + len(self.brought_asked) + len(self.untouched)
            + len(self.later.named) + len(self.later.sought)
        )  # fmt: skip

    def kept(self) -> KeptFiles:
        """What the same command needs to know. This one was read: the copy of the memory in which its moves were done would
        keep all that was remembered then, and what was found about paths is not asked again."""
        self._after = self._shortcuts = None
        return KeptFiles(self, self._made, self._version)

    def is_as(self, before: KeptFiles) -> bool:
        """Whether the files are those that another call of the same commands found. Reads them."""
        if before.made is not self._made or not (before.version == self._version or self._still_holds(before)):
            return False
        before.version = self._version
        for path, state in before.asked.items():
            self._known[path] = self._read(path, sure=False)
            if not state or self.asked.get(path) != state:
                return False
        before.give(self)
        return True

    def _still_holds(self, before: KeptFiles) -> bool:
        """Whether agents made the same files as when this was asked."""
        made = self._made
        if before.was_empty or made.is_empty:
            return before.was_empty == made.is_empty
        taken = before.taken
        return (
            all(map(self._know_none, taken.get("_untouched", ())))
            and self._are_made_as(taken.get("made_asked", {}), taken.get("brought_asked", {}))
            and all(self._copied_from(path) == source for path, source in taken.get("copied_asked", {}).items())
            and self._means_the_same(taken)
        )

    def _are_made_as(self, made_asked: dict[str, bool], brought_asked: dict[str, bool]) -> bool:
        """Whether agents made or brought the same files as before. Where nothing was brought, nothing was made."""
        made = self._made
        for path, is_brought in brought_asked.items():
            if (made.recall(path) is not None) != is_brought:
                return False
        for path, is_made in made_asked.items():
            if (is_made or brought_asked.get(path) is not False) and made.knows(path) != is_made:
                return False
        return True

    def _means_the_same(self, taken: dict[str, dict[Any, Any]]) -> bool:
        """Whether patterns mean the same files of agents as before."""
        return all(self._meant(pattern) == paths for pattern, paths in taken.get("patterns", {}).items()) and all(
            self._below_named(folder, re.compile(pattern)) == paths
            for (pattern, folder), paths in taken.get("named", {}).items()
        )

    def enter(self, file: FilePlace, part: str = "", *, taken_in: bool = False, sourced: bool = False) -> bool:
        """Whether a file, or a part of it, is to be judged, being run by those that were entered and not left.
        `taken_in`: by other code, where deep chains are ordinary; `sourced`: what runs it uses what it sets."""
        entered = self._entered
        if entered.has(file.path, part):
            return False
        if entered.is_too_deep(file, taken_in=taken_in):
            self._leave_out(file, "it is nested too deeply in files that run other files", made=file.made)
            return False
        if not sourced and entered.is_known_well(file, part):
            return False
        entered.enter(file, part)
        return True

    def program_begins(self) -> None:
        """A program of the command itself."""
        if self._code_read:
            self._code_read = {}

    def is_new_code(self, file: FilePlace, program: ProgramRun, *, taken_in: bool) -> bool:
        """Whether the program that the command runs has not read a file yet: modules are taken in by many others. A file
        that was only taken in is read again where it is run, since more of it is searched then."""
        read = (file.path, file.text, program.name, program.cwd, program.via)
        if (*read, False) in self._code_read or (taken_in and (*read, True) in self._code_read):
            return False
        self._code_read[(*read, taken_in)] = None
        return True

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Whether what is read meanwhile runs is not known: a program that runs it certainly reads it again."""
        before = dict(self._code_read)
        try:
            yield
        finally:
            self._code_read = before

    def is_running(self, path: str) -> bool:
        """Whether a file, or a part of it, is being judged."""
        return self._entered.has(path)

    def leave(self, file: FilePlace, flaws: Collection[str], part: str = "") -> None:
        self._entered.leave(file, part)
        self.has_failed = self.has_failed or "intricate" in flaws
        if not {"long", "deep", "intricate"}.isdisjoint(flaws):
            self._leave_out(file, "it is too long or too complex")

    def _leave_out(self, file: FilePlace, why: str, *, made: bool = False) -> None:
        self.unread.setdefault(file.file, UnreadFile(file.file, why, made))
