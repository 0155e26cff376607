"""The files that a command runs, as `Walk` asks for them: read through `model.files`, a bounded number for each call.

A file that cannot be read changes nothing in the verdict, unless an agent made it: then it is `UnreadFile.made`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from posixpath import basename, dirname

from msgspec import structs

from toolguard_engine.effects.commands.later_files import LaterFiles
from toolguard_engine.effects.facts.command import REPEATED, UNKNOWN, FilePlace, ProgramRun, RanScripts, UnreadFile
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import MEMORY, Where, is_device, normal
from toolguard_engine.effects.programs import file_programs
from toolguard_engine.model.file_memory import ExpectedText, FileMemory
from toolguard_engine.model.files import FileSource, FileText, Unread
from toolguard_engine.model.work_limit import MOST, WorkLimit

MAX_FILES = 16
"""Files that no agent made. Those that agents made cost work instead, so that none of them hides behind others."""

MAX_ASKED = 64
"""Paths that are asked for, where no agent made a file; at most of them there is nothing."""

MAX_MEANT = 2_000
"""Files that agents made and that a pattern means. More of them are not read: the pattern itself counts as unread."""

MAX_RAN = 2_000
"""Scripts of which it is noted when they run."""

MAX_OVERWRITTEN = 64
"""Runs of files that the command itself writes, for which these are read as well."""

MAX_WORD = 4_096
MAX_DEPTH = 4
"""Files that run files."""

MAX_ENTERED = 8
"""Folders that a command enters one after the other, all of which may not be there."""

MAX_PARTS = 8
"""Targets and scripts that run others, of the same file."""

MAX_TAKEN_IN = 40
"""The same of files of agents that take in one another."""

MAX_ABOVE = 40

_OF_SKILLS = "/skills/"
"""Scripts that come with a skill are what somebody else wrote."""

WORK_OF_PATTERN = 50
"""Steps for finding what a pattern means among the files that agents made, beside those for the names that it looks at."""

WORK_OF_READING, WORK_OF_LOOK = 40, 6
"""Steps for each file of an agent that is read, and for asking whether there is one at a path."""

WORK_OF_COPY = 6
"""Steps for each file that the command copies."""

WORK_OF_NAMES = 50
"""The same for the files of certain names in one folder."""

WORK, LEAST_WORK = 60_000, 30_000
"""Steps for the content of all files of a call, and of one whose session has used up its allowance. What exceeds the latter
uses it up."""

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/opt/", "/lib", "/nix/", "/snap/", "/System/", "/Library/", "/dev/", "/proc/")


_OF_PACKAGES = tuple(
    f"{root}/{name}/" for root in ("", "/usr") for name in ("bin", "sbin", "lib", "libexec", "lib64", "share")
)
"""What only an administrator installs; under the name of a program it would not be read either."""


_GATEWAY = "/node_modules/openclaw/"
"""The gateway's own program is judged by its sub-command."""


def _is_system(path: str) -> bool:
    return path.startswith(_SYSTEM) and not path.startswith(MEMORY)


def _is_installed(path: str) -> bool:
    return _GATEWAY in path or (path.startswith(_OF_PACKAGES) and "/node_modules/" not in path)


class RunFiles:
    """The files of one call."""

    def __init__(self, source: FileSource, made: FileMemory, where: Where, work: WorkLimit) -> None:
        self._source = source
        self._made = made
        self._where = where
        self._work_of_call = work
        self.was_empty = made.is_empty
        self._version = made.version
        """That of the memory of which all that is known here is true."""
        self._after: FileMemory | None = None
        self._known: dict[str, FileText | None] = {}
        self._copies: dict[str, str] = {}
        """The paths that the command itself copies, moves or links to, and where that comes from."""
        self.asked: dict[str, str] = {}
        """The paths that were asked for, with the digest of what is there, or why nothing was read."""
        self.made_asked: dict[str, bool] = {}
        self._others_read = self._others_asked = 0
        """Files that no agent made, and paths at which there may have been some."""
        self.judged: dict[str, FileText] = {}
        """By path as it is named; what `judge` was based on."""
        self.unread: dict[str, UnreadFile] = {}
        self.runs = 0
        """Programs that the files run."""
        self.has_failed = False
        """Whether reading one of the files has failed: the next call tries again."""
        self.patterns: dict[str, list[str]] = {}
        """With the files that agents made and that they mean."""
        self.brought_asked: dict[str, bool] = {}
        self.untouched: dict[str, None] = {}
        """Files that no agent made or brought; all that were asked about together are in `_untouched`."""
        self._untouched: dict[tuple[str, ...], None] = {}
        self.copied_asked: dict[str, str] = {}
        """The paths of which it was asked where they were copied from, and where that is."""
        self.named: dict[tuple[str, str], list[str]] = {}
        """By patterns of their names and the folder; with the files that agents made."""
        self._entered: list[tuple[str, str]] = []
        self._code_read: set[tuple[str, str, str, str, tuple[str, ...], bool]] = set()
        """See `is_new_code`."""
        self.position = 0
        """Programs that were noted so far."""
        self.repeats = 0
        """Loops and background commands around the program that is being walked."""
        self.ran: dict[str, int] = {}
        """See `RanScripts`."""
        self.foreign: set[str] = set()
        self.opaque: set[str] = set()
        """See `RanScripts`."""
        self.later = LaterFiles()
        self.overwritten: list[tuple[ProgramRun, str]] = []
        """Programs that run files of agents which the command itself may have changed before."""

    def will_run(self, word: str, cwd: str, runner: str = "", *, line_by_line: bool = False) -> None:
        """A script is run by this name, whether it can be read or not. `line_by_line`: it is read as it runs."""
        if word and UNKNOWN in cwd and len(word) <= MAX_WORD and UNKNOWN not in word and word[:1] not in ("/", "~", "$"):
            self.later.may_load(f"*/{word.removeprefix('./')}", runner)
        if not word or len(word) > MAX_WORD or UNKNOWN in cwd:
            return
        path = normal(word, self._where, cwd)
        if _is_system(path):
            return
        self.later.runs(path, runner)
        self.later.reads(path, line_by_line=line_by_line)
        if path in self.ran or len(self.ran) < MAX_RAN:
            self.ran[path] = REPEATED if self.repeats else self.position

    def will_run_all(self, paths: tuple[str, ...], run: ProgramRun, *, line_by_line: bool) -> None:
        """The same for absolute paths, none of which the command itself writes."""
        for path in paths:
            if not _is_system(path):
                self.later.runs(path, run.name)
                self.later.reads(path, line_by_line=line_by_line)
                if path in self.ran or len(self.ran) < MAX_RAN:
                    self.ran[path] = REPEATED if self.repeats else self.position
                if self._copies:
                    self.may_lie_there(path, run, is_written=False)

    def may_lie_there(self, word: str, run: ProgramRun, *, is_written: bool) -> None:
        """A program runs a file. Where the command itself writes or copies it, that may not happen (`false && echo > x`,
        `set -C`, `cp -n`): then an agent's file runs as it lies there."""
        path = self.path(word, run.cwd) if len(self.overwritten) < MAX_OVERWRITTEN else ""
        if path and (is_written or self._before_copying(path) != path) and self.is_made(path):
            self.overwritten.append((run, word))

    @contextmanager
    def as_they_lie(self) -> Iterator[None]:
        """Until it ends, files are read where they are named, as if the command had copied none."""
        copies, self._copies = self._copies, {}
        try:
            yield
        finally:
            self._copies = copies

    def may_load(self, pattern: str, runner: str) -> None:
        """The command loads files of this pattern when it needs them. `runner`: see `LaterFiles`."""
        if UNKNOWN not in pattern:
            self.later.may_load(normal(pattern, self._where, ""), runner)

    def feeds(self, files: Collection[str], program: str, cwd: str) -> None:
        """A program runs what it is given of these files, as they are or not."""
        for word in files:
            if (path := self.path(word, cwd)) and not _is_system(path):
                self.later.feeds(path, program)

    @property
    def may_run_files(self) -> bool:
        """Whether the command runs files, be they there or not."""
        return bool(
            self.asked or self.ran or self.patterns or self.named or self.later.fed or self.later.loaded or self.later.sought
        )

    def scripts(self, opaque: Collection[str]) -> RanScripts | None:
        self.opaque.update(opaque)
        return self.changed_files() if self.ran else None

    def changed_files(self) -> RanScripts:
        """The same if no script is run."""
        copies = tuple(self._copies.items())
        return RanScripts(tuple(self.ran.items()), frozenset(self.opaque), copies, frozenset(self.foreign))

    def unpacked(self, archive: str, cwd: str) -> None:
        """An archive is unpacked."""
        if self.is_made_at(archive, cwd):
            self.foreign.add(self.path(archive, cwd))

    @property
    def asks(self) -> int:
        """How many files were asked about."""
        return (
            len(self.asked) + len(self.made_asked) + len(self.brought_asked) + len(self.untouched)
            + len(self.later.named) + len(self.later.sought)
        )  # fmt: skip

    def is_as(self, before: RunFiles) -> bool:
        """Whether the files are those that another call of the same commands found. Reads them."""
        if before._made is not self._made or not (before._version == self._version or before._still_holds()):
            return False
        before._version = self._version
        for path, state in before.asked.items():
            self._known[path] = self._read(path, sure=False)
            if not state or self.asked.get(path) != state:
                return False
        self.made_asked, self.brought_asked, self.copied_asked = before.made_asked, before.brought_asked, before.copied_asked
        self.untouched, self._untouched = before.untouched, before._untouched
        self.unread, self.runs = dict(before.unread), before.runs
        self.ran, self.later = before.ran, before.later
        self.patterns, self.named = before.patterns, before.named
        self.opaque, self.foreign, self._copies = before.opaque, before.foreign, before._copies
        return True

    def _still_holds(self) -> bool:
        """Whether agents made the same files as when this was asked."""
        made = self._made
        if self.was_empty or made.is_empty:
            return self.was_empty == made.is_empty
        for paths in self._untouched:
            if not self._know_none(paths):
                return False
        for path, is_brought in self.brought_asked.items():
            if (made.of(path) is not None) != is_brought:
                return False
        for path, is_made in self.made_asked.items():  # where nothing was brought, nothing was made
            if (is_made or self.brought_asked.get(path) is not False) and (made.exactly(path) is not None) != is_made:
                return False
        for path, source in self.copied_asked.items():
            if self._copied_from(path) != source:
                return False
        return self._patterns_still_hold() if self.patterns or self.named else True

    def _patterns_still_hold(self) -> bool:
        return all(self._meant(pattern) == found for pattern, found in self.patterns.items()) and all(
            self._below_named(folder, re.compile(pattern)) == found for (pattern, folder), found in self.named.items()
        )

    def enter(self, file: FilePlace, part: str = "", *, taken_in: bool = False) -> bool:
        """Whether a file, or a part of it, is to be judged, being run by those that were entered and not left.
        `taken_in`: by other code, where deep chains are ordinary."""
        if (file.path, part) in self._entered:
            return False
        most = MAX_TAKEN_IN if taken_in and file.made else MAX_PARTS
        depth = MAX_TAKEN_IN if taken_in and file.made else MAX_DEPTH
        if len(self._entered) >= most or len({path for path, _ in self._entered} | {file.path}) > depth:
            self._leave_out(file, "it is nested too deeply in files that run other files", made=file.made)
            return False
        self._entered.append((file.path, part))
        return True

    def program_begins(self) -> None:
        """A program of the command itself."""
        if self._code_read:
            self._code_read = set()

    def is_new_code(self, file: FilePlace, run: ProgramRun, *, taken_in: bool) -> bool:
        """Whether the program that the command runs has not read a file yet: modules are taken in by many others. A file
        that was only taken in is read again where it is run, since more of it is searched then."""
        read = (file.path, file.text, run.name, run.cwd, run.via)
        if (*read, False) in self._code_read or (taken_in and (*read, True) in self._code_read):
            return False
        self._code_read.add((*read, taken_in))
        return True

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Whether what is read meanwhile runs is not known: a program that runs it certainly reads it again."""
        before = set(self._code_read)
        try:
            yield
        finally:
            self._code_read = before

    def is_running(self, path: str) -> bool:
        """Whether a file, or a part of it, is being judged."""
        return any(path == entered for entered, _ in self._entered)

    def leave(self, file: FilePlace, flaws: Collection[str], part: str = "") -> None:
        self._entered.remove((file.path, part))
        self.has_failed = self.has_failed or "intricate" in flaws
        if not {"long", "deep", "intricate"}.isdisjoint(flaws):
            self._leave_out(file, "it is too long or too complex")

    def _leave_out(self, file: FilePlace, why: str, *, made: bool = False) -> None:
        self.unread.setdefault(file.file, UnreadFile(file.file, why, made))

    @property
    def work(self) -> WorkLimit:
        """What reading the content of files may cost."""
        if self._work is None:
            self._work = self._work_of_call.beside(WORK if self._work_of_call.most >= MOST else LEAST_WORK)
        return self._work

    _work: WorkLimit | None = None

    @property
    def spent(self) -> float:
        """Steps for the content of files that count for the session's allowance."""
        return 0.0 if self._work is None else max(0.0, self._work.spent - LEAST_WORK)

    def path(self, word: str, cwd: str) -> str:
        """The absolute path that a word names; empty if it is not known."""
        if not word or len(word) > MAX_WORD or UNKNOWN in word or UNKNOWN in cwd or GLOB.search(word):
            return ""
        path = normal(word, self._where, cwd)
        return "" if UNKNOWN in path or path.startswith(("/~", "/$")) else path

    def paths(self, names: tuple[str, ...], cwd: str) -> tuple[str, ...] | None:
        """The absolute paths of several files; None if one of them is not known."""
        return None if UNKNOWN in cwd or len(cwd) > MAX_WORD else _paths(names, cwd, self._where)

    def are_untouched(self, paths: tuple[str, ...]) -> bool:
        """Whether no agent made, fetched or unpacked any of these files, nor does the command itself bring one there."""
        self.later.seeks_all(paths)
        if self._copies and any(self._before_copying(path) != path for path in paths):
            return False
        if self._made.is_empty:
            return True
        if self._know_none(paths):
            self._untouched[paths] = None
            self.untouched.update(dict.fromkeys(paths))
            return True
        for path in paths:
            if self._made.of(path) is not None:
                return False
            self.made_asked[path] = self.brought_asked[path] = False
        return True

    def _know_none(self, paths: tuple[str, ...]) -> bool:
        return all(self._made.knows_none(folder, names) for folder, names in _by_folder(paths))

    def above(self, cwd: str) -> list[str]:
        """The folder in which a program runs, and those above it, the nearest first."""
        found = list[str]()
        folder = "" if self._made.is_empty else self.path(cwd or ".", "")
        while folder.count("/") > 1 and len(found) < MAX_ABOVE:
            found.append(folder)
            folder = folder.rpartition("/")[0]
        return found

    def is_made(self, path: str) -> bool:
        """Whether an agent wrote this very file, or fetched it by itself: not with a folder of others."""
        found = self.made_asked[path] = self._made.exactly(path) is not None
        return found

    def copies(self, run: ProgramRun) -> None:
        """The command copies, moves or links files: they can be read at their old places only."""
        for before, after in file_programs.copied(run, self._where):
            self._work_of_call.spend(WORK_OF_COPY)
            self.copy(before, after, run.cwd)
            if run.name == "mv" and not self._made.is_empty:
                self._count_move(normal(before, self._where, run.cwd), normal(after, self._where, run.cwd))

    def _count_move(self, source: str, target: str) -> None:
        """What the memory of files does behind the answer is counted before it: it is done with a copy."""
        after = self._after = self._after or self._made.fork()
        steps = after.steps
        if UNKNOWN in source or GLOB.search(source) is not None:
            after.moved_matching(source.replace(UNKNOWN, "*"), dirname(target))
        else:
            if after.has_below(target):  # there may be a folder, or nothing any more
                after.moved(source, f"{target}/{basename(source)}")
            after.moved(source, target)
        self._work_of_call.spend(after.steps - steps)

    def is_kept(self) -> None:
        """The command was read. The copy in which its moves were done would keep all that was remembered then."""
        self._after = None

    def copy(self, before: str, after: str, cwd: str) -> None:
        """The content of one file becomes that of another."""
        source, target = self.path(before, cwd), self.path(after, cwd)
        if source and target and source != target:
            self._copies[target] = self._copies.get(source, source)

    def _before_copying(self, path: str) -> str:
        """Where the content lies that the command itself brings to this path, perhaps with a folder around it."""
        if not self._copies or path in self._copies:
            return self._copies.get(path, path)
        above, _, _ = path.rpartition("/")
        while above and above not in self._copies:
            above = above.rpartition("/")[0]
        source = self._copies.get(above, "")
        inside = path[len(above) :]
        return source if source.endswith(inside) and source else source + inside

    def meant(self, word: str, cwd: str) -> list[str]:
        """The files that agents made and that a word with wildcards may name."""
        last = word.rpartition("/")[2].replace(UNKNOWN, "")
        is_any = not last.strip("*?") and (UNKNOWN in word or "/" not in word.strip("./"))
        if len(word) > MAX_WORD or is_any or UNKNOWN in cwd:
            return []
        pattern = normal(word.replace(UNKNOWN, "*"), self._where, cwd)
        if pattern not in self.patterns and self._made.is_empty:
            self.patterns[pattern] = []
        elif pattern not in self.patterns:
            before = self._made.steps - WORK_OF_PATTERN
            self.patterns[pattern] = self._meant(pattern)
            self._work_of_call.spend(self._made.steps - before)
        return self._those_read(self.patterns[pattern], word)

    def _meant(self, pattern: str) -> list[str]:
        return self._made.matching(pattern, MAX_MEANT + 1)

    def _below_named(self, folder: str, pattern: re.Pattern[str]) -> list[str]:
        return self._made.below_named(folder, pattern, MAX_MEANT + 1)

    def _those_read(self, found: list[str], named: str) -> list[str]:
        """Of the files of agents that a pattern means; that there are more is not forgotten."""
        if len(found) <= MAX_MEANT:
            return found
        self.unread.setdefault(named, UnreadFile(named, "too many files", made=True))
        return found[:MAX_MEANT]

    def is_made_at(self, word: str, cwd: str) -> bool:
        path = self._sought(word, cwd)
        return bool(path) and self.is_made(path)

    def _sought(self, word: str, cwd: str) -> str:
        """The path of a file that is run if an agent made it; empty if no agent made any."""
        path = self.path(word, cwd)
        if path:
            self.later.seeks(path)
        return "" if self._made.is_empty else path

    def is_brought(self, word: str, cwd: str) -> bool:
        """Whether an agent made the file, or fetched or unpacked it with the folder in which it lies, or the command itself
        copies, moves or links it there."""
        path = self._sought(word, cwd)
        if self._copies and self._before_copying(there := self.path(word, cwd)) != there:
            return True
        if not path or self.is_made(path):
            return bool(path)
        found = self.brought_asked[path] = self._made.of(path) is not None
        return found

    def made_named(self, pattern: re.Pattern[str], cwd: str) -> list[str]:
        """The files that agents made whose paths below a folder fit, the last ones first."""
        folder = self.path(cwd or ".", "")
        if not folder:
            return []
        if (key := (pattern.pattern, folder)) not in self.named and self._made.is_empty:
            self.named[key] = []
        elif key not in self.named:
            before = self._made.steps - WORK_OF_NAMES
            self.named[key] = self._below_named(folder, pattern)
            self._work_of_call.spend(self._made.steps - before)
        return self._those_read(self.named[key], self.shown(folder) if folder != self._where.cwd else "the folder")

    def cannot_read(self, file: FilePlace) -> None:
        """What an agent made is in a form that nobody reads here."""
        self.unread.setdefault(file.file, UnreadFile(file.file, _WORDS["binary"], made=True))

    def copied_from(self, word: str, cwd: str) -> str:
        """Where an earlier call copied, moved or linked a file from; empty if it did not."""
        path = self.path(word, cwd)
        if not path:
            return ""
        found = self.copied_asked[path] = self._copied_from(path)
        return found

    def _copied_from(self, path: str) -> str:
        record = self._made.exactly(path)
        return "" if record is None else record.link or record.was or record.source

    def text(self, word: str, cwd: str, *, sure: bool = True) -> FilePlace | None:
        """A file that is run. `sure`: it is the one that runs, if it is there at all; not one of several that may be."""
        path = self._before_copying(self.path(word, cwd))
        if not path or is_device(path) or (path.startswith("/proc/") and not self.is_made(path)):
            return None
        if _is_installed(path) and not self.is_made(path):
            return None
        if path not in self._known:
            self._known[path] = self._read(path, sure=sure)
        self.later.reads(path)
        found = self._known[path]
        if found is None:
            return self._where_it_was(word, cwd, path)
        foreign = self.is_made(path) or self.is_made(found.path) or _OF_SKILLS in path or _OF_SKILLS in found.path
        return FilePlace(self.shown(path), path, found.text, 0, foreign)

    def _where_it_was(self, word: str, cwd: str, path: str) -> FilePlace | None:
        """A folder that is not there is not entered: what comes after `cd x;` runs in the folder before, with what an agent
        made there."""
        if not cwd or word[:1] in "/~$" or self.asked.get(path) != "absent":
            return None
        parts = [] if cwd[:1] in "/~$" else cwd.split("/")[:MAX_ENTERED]
        for before in ("/".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)) if parts else ("",):
            if self.path(word, before) != path and self.is_brought(word, before):
                return self.text(word, before, sure=False)
        return None

    def exists(self, path: str) -> bool:
        """Whether there is such a file, readable or not."""
        if _is_installed(path) or _is_system(path):
            return True
        return self.text(path, "", sure=False) is not None or self.asked.get(path, "absent") != "absent"

    def program(self, word: str, cwd: str, *, known: bool) -> FilePlace | None:
        """A script that is started by its path. `known`: a program of this name is known, so it is likely that one."""
        path = self.path(word, cwd)
        if not path or ((known or _is_system(path)) and not self.is_made(path)):
            return None
        return self.text(word, cwd)

    def _read(self, path: str, *, sure: bool) -> FileText | None:
        made = self.is_made(path)
        if made:
            self.work.spend(WORK_OF_READING)
        elif self._others_read >= MAX_FILES or self._others_asked >= MAX_ASKED:
            if sure:
                self.unread.setdefault(self.shown(path), UnreadFile(self.shown(path), "too many files"))
            return None
        found = self._source.read(path)
        self._others_asked += not made
        if (expected := self._made.expected(path)) is not None:
            found = _with(expected, found, path)
        self.asked[path] = found.digest if isinstance(found, FileText) else found.reason
        if isinstance(found, FileText):
            self.judged[path] = found
            self._others_read += not made
            return found
        if found.reason == "absent":
            if (
                sure and made and self._is_fetched(path)
            ):  # a download that has not ended yet, or that another call fetches again
                self._not_read(path, found)
        elif sure or found.reason != "not-regular":
            self._not_read(path, found)
        return None

    def _is_fetched(self, path: str) -> bool:
        record = self._made.exactly(path)
        return record is not None and record.origin == "outside"

    def _not_read(self, path: str, why: Unread) -> None:
        record = self._made.exactly(path)
        compiled = why.reason == "binary" and record is not None and record.origin == "agent" and not record.digest
        self.unread[self.shown(path)] = UnreadFile(self.shown(path), _WORDS[why.reason], record is not None and not compiled)

    def shown(self, path: str) -> str:
        """The path from the folder of the call, or from the home folder."""
        for folder, name in ((self._where.cwd, ""), (self._where.home, "~/")):
            if folder and path.startswith(f"{folder}/"):
                return name + path[len(folder) + 1 :]
        return path


@lru_cache(maxsize=1024)
def _by_folder(paths: tuple[str, ...]) -> tuple[tuple[str, frozenset[str]], ...]:
    """Absolute paths, as folders and the names in each."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(dirname(path), []).append(basename(path))
    return tuple((folder, frozenset(names)) for folder, names in found.items())


@lru_cache(maxsize=1024)
def _paths(names: tuple[str, ...], cwd: str, where: Where) -> tuple[str, ...] | None:
    found = tuple(normal(name, where, cwd) for name in names)
    is_open = any(UNKNOWN in path or path.startswith(("/~", "/$")) for path in found) or any(map(GLOB.search, names))
    return None if is_open or max(map(len, names), default=0) > MAX_WORD else found


def _with(expected: ExpectedText, found: FileText | Unread, path: str) -> FileText | Unread:
    """A file that a call writes which was judged before this one and has perhaps not run yet."""
    if isinstance(found, FileText):
        if expected.old and expected.old in found.text:
            return structs.replace(found, text=found.text.replace(expected.old, expected.text, 1), digest="")
        both = (expected.text, found.text) if expected.whole else (found.text, expected.text)
        return found if expected.text == found.text else structs.replace(found, text="\n".join(both), digest="")
    if found.reason != "absent":
        return found
    digest = sha256(expected.text.encode("utf-8", "replace")).hexdigest() if expected.whole else ""
    return FileText(path, expected.text, digest, (0, 0, 0, 0))


_WORDS = {
    "absent": "it was fetched and is not there yet",
    "forbidden": "it may not be read",
    "not-regular": "it is not a regular file",
    "too-large": "it is too large",
    "too-many": "too many files",
    "too-slow": "reading it takes too long",
    "binary": "it is binary",
}
