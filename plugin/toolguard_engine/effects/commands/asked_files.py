"""The files that a command asks for, read through `model.files`: a bounded number for each call."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from posixpath import basename, dirname

from msgspec import structs

from toolguard_engine.effects.commands.entered_files import EnteredFiles
from toolguard_engine.effects.commands.found_paths import FoundPaths
from toolguard_engine.effects.commands.later_files import LaterFiles
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, ProgramRun, UnreadFile
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import MEMORY, Where, is_device, normal
from toolguard_engine.effects.landings import copied
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

MAX_WORD = 4_096
MAX_ABOVE = 40
MAX_ENTERED = 8
"""Folders that a command enters one after the other, all of which may not be there."""

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


def is_system(path: str) -> bool:
    return path.startswith(_SYSTEM) and not path.startswith(MEMORY)


def _is_installed(path: str) -> bool:
    return _GATEWAY in path or (path.startswith(_OF_PACKAGES) and "/node_modules/" not in path)


@lru_cache(maxsize=1024)
def _by_folder(paths: tuple[str, ...]) -> tuple[tuple[str, frozenset[str]], ...]:
    """Absolute paths, as folders and the names in each."""
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        by_folder.setdefault(dirname(path), []).append(basename(path))
    return tuple((folder, frozenset(names)) for folder, names in by_folder.items())


@lru_cache(maxsize=1024)
def _paths(names: tuple[str, ...], cwd: str, where: Where) -> tuple[str, ...] | None:
    paths = tuple(normal(name, where, cwd) for name in names)
    is_open = any(UNKNOWN in path or path.startswith(("/~", "/$")) for path in paths) or any(map(GLOB.search, names))
    return None if is_open or max(map(len, names), default=0) > MAX_WORD else paths


def _with(expected: ExpectedText, file: FileText | Unread, path: str) -> FileText | Unread:
    """A file that a call writes which was judged before this one and has perhaps not run yet."""
    if isinstance(file, FileText):
        if expected.old and expected.old in file.text:
            return structs.replace(file, text=file.text.replace(expected.old, expected.text, 1), digest="")
        both = (expected.text, file.text) if expected.whole else (file.text, expected.text)
        return file if expected.text == file.text else structs.replace(file, text="\n".join(both), digest="")
    if file.reason != "absent":
        return file
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


class AskedFiles:
    """The files of this machine that one call asks for, and what is known of who made them."""

    __slots__ = (
        "_after", "_code_read", "_copies", "_entered", "_known", "_made", "_others_asked", "_others_read", "_shortcuts",
        "_source", "_untouched", "_version", "_where", "_work_of_call", "asked", "brought_asked", "copied_asked",
        "foreign", "has_failed", "judged", "later", "made_asked", "named", "opaque", "overwritten", "patterns", "position",
        "ran", "repeats", "runs", "unread", "untouched", "was_empty",
    )  # fmt: skip

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
        self._shortcuts: FoundPaths | None = None
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
        self._entered = EnteredFiles()
        self._code_read: dict[tuple[str, str, str, str, tuple[str, ...], bool], None] = {}
        """See `is_new_code`."""
        self.position = 0
        """Programs that were noted so far."""
        self.repeats = 0
        """Loops and background commands around the program that is being walked."""
        self.ran: dict[str, int] = {}
        """See `RanScripts`."""
        self.foreign: dict[str, None] = {}
        self.opaque: dict[str, None] = {}
        """See `RanScripts`."""
        self.later = LaterFiles()
        self.overwritten: list[tuple[ProgramRun, str]] = []
        """Programs that run files of agents which the command itself may have changed before."""

    @property
    def _found(self) -> FoundPaths:
        """What was found about paths while the command is read; a command that is known needs nothing of it."""
        if self._shortcuts is None:
            self._shortcuts = FoundPaths()
        return self._shortcuts

    @property
    def work(self) -> WorkLimit:
        """What reading the content of files may cost."""
        call = self._work_of_call
        if call.files is None:
            call.files = call.beside(WORK if call.most >= MOST else LEAST_WORK)
        return call.files

    def path(self, word: str, cwd: str) -> str:
        """The absolute path that a word names; empty if it is not known."""
        known = self._found.named.get((word, cwd))
        return known if known is not None else self._found.name(word, cwd, self._path(word, cwd))

    def _path(self, word: str, cwd: str) -> str:
        if not word or len(word) > MAX_WORD or UNKNOWN in word or UNKNOWN in cwd or GLOB.search(word):
            return ""
        path = normal(word, self._where, cwd)
        return "" if UNKNOWN in path or path.startswith(("/~", "/$")) else path

    def paths(self, names: tuple[str, ...], cwd: str) -> tuple[str, ...] | None:
        """The absolute paths of several files; None if one of them is not known."""
        return None if UNKNOWN in cwd or len(cwd) > MAX_WORD else _paths(names, cwd, self._where)

    def are_untouched(self, paths: tuple[str, ...]) -> bool:
        """Whether no agent made, fetched or unpacked any of these files, nor does the command itself bring one there."""
        if paths not in self._found.sought:
            self.later.seeks_all(paths)
            self._found.sought[paths] = None
        if self._copies and any(self._before_copying(path) != path for path in paths):
            return False
        if self._made.is_empty or paths in self._untouched:
            return True
        if self._know_none(paths):
            self._untouched[paths] = None
            self.untouched.update(dict.fromkeys(paths))
            return True
        for path in paths:
            if self._made.recall(path) is not None:
                return False
            self.made_asked[path] = self.brought_asked[path] = False
        return True

    def _know_none(self, paths: tuple[str, ...]) -> bool:
        return all(self._made.knows_none(folder, names) for folder, names in _by_folder(paths))

    def above(self, cwd: str) -> list[str]:
        """The folder in which a program runs, and those above it, the nearest first."""
        if (known := self._found.above.get(cwd)) is None:
            known = self._found.above[cwd] = self._all_above(cwd)
        return known

    def _all_above(self, cwd: str) -> list[str]:
        folders = list[str]()
        folder = "" if self._made.is_empty else self.path(cwd or ".", "")
        while folder.count("/") > 1 and len(folders) < MAX_ABOVE:
            folders.append(folder)
            folder = folder.rpartition("/")[0]
        return folders

    def made_above(self, names: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        """The files of these names that agents made in the folders above the one in which a program runs."""
        if (known := self._found.made_above.get((names, cwd))) is None:
            paths = (f"{folder}/{name}" for folder in self.above(cwd)[1:] for name in names)
            known = self._found.made_above[names, cwd] = tuple(path for path in paths if self.is_made(path))
        return known

    def is_made(self, path: str) -> bool:
        """Whether an agent wrote this very file, or fetched it by itself: not with a folder of others."""
        made = self.made_asked.get(path)
        if made is None:
            made = self.made_asked[path] = self._made.knows(path)
        return made

    def copies(self, program: ProgramRun) -> None:
        """The command copies, moves or links files: they can be read at their old places only."""
        for before, after in dict.fromkeys((*file_programs.copied(program, self._where), *copied(program))):
            self._work_of_call.spend(WORK_OF_COPY)
            self.copy(before, after, program.cwd)
            if program.name == "mv" and not self._made.is_empty:
                self._count_move(normal(before, self._where, program.cwd), normal(after, self._where, program.cwd))

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

    def copy(self, before: str, after: str, cwd: str) -> None:
        """The content of one file becomes that of another."""
        source, target = self.path(before, cwd), self.path(after, cwd)
        if source and target and source != target:
            self._copies[target] = self._copies.get(source, source)
            self._found.sources = {}

    def _before_copying(self, path: str) -> str:
        """Where the content lies that the command itself brings to this path, perhaps with a folder around it."""
        if not self._copies or path in self._copies:
            return self._copies.get(path, path)
        if (known := self._found.sources.get(path)) is None:
            known = self._found.sources[path] = self._before_copying_above(path)
        return known

    def _before_copying_above(self, path: str) -> str:
        above, _, _ = path.rpartition("/")
        while above and above not in self._copies:
            above = above.rpartition("/")[0]
        source = self._copies.get(above, "")
        inside = path[len(above) :]
        return source if source.endswith(inside) and source else source + inside

    def meant(self, word: str, cwd: str) -> list[str]:
        """The files that agents made and that a word with wildcards may name."""
        is_any = not word.replace(UNKNOWN, "").strip("*?./") and UNKNOWN in word
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

    def _those_read(self, names: list[str], named: str) -> list[str]:
        """Those of the files of agents that a pattern means; that there are more is not forgotten."""
        if len(names) <= MAX_MEANT:
            return names
        self.unread.setdefault(named, UnreadFile(named, "too many files", made=True))
        return names[:MAX_MEANT]

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
        brought = self.brought_asked[path] = self._made.recall(path) is not None
        return brought

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
        origin = self.copied_asked[path] = self._copied_from(path)
        return origin

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
        file = self._known[path]
        if file is None:
            return self._where_it_was(word, cwd, path)
        foreign = self.is_made(path) or self.is_made(file.path) or _OF_SKILLS in path or _OF_SKILLS in file.path
        return FilePlace(self.shown(path), path, file.text, 0, foreign)

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
        if _is_installed(path) or is_system(path):
            return True
        return self.text(path, "", sure=False) is not None or self.asked.get(path, "absent") != "absent"

    def program(self, word: str, cwd: str, *, known: bool) -> FilePlace | None:
        """A script that is started by its path. `known`: a program of this name is known, so it is likely that one."""
        path = self.path(word, cwd)
        if not path or ((known or is_system(path)) and not self.is_made(path)):
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
        file = self._source.read(path)
        self._others_asked += not made
        if (expected := self._made.expected(path)) is not None:
            file = _with(expected, file, path)
        self.asked[path] = file.digest if isinstance(file, FileText) else file.reason
        if isinstance(file, FileText):
            self.judged[path] = file
            self._others_read += not made
            return file
        if file.reason == "absent":
            if (
                sure and made and self._is_fetched(path)
            ):  # a download that has not ended yet, or that another call fetches again
                self._not_read(path, file)
        elif sure or file.reason != "not-regular":
            self._not_read(path, file)
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
