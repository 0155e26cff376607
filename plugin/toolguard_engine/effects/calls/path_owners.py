"""Whose files a call really touches: its targets behind links and moves, and whether an agent made them itself.

`mv ~/photos x && rm -rf x` deletes photos, `ln -s ~/photos out` and `rm -rf out/` too. A target is followed through the
moves and links of the same command, through those of earlier calls (`FileMemory`) and through the links on disk. The effect
is judged by the strictest place on that way. Only effects that destroy or overwrite are followed, so ordinary calls cost
nothing. A link itself is not its target: `rm out` removes the link. A tool that writes no content empties only what exists.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import place_globs
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, Place, ProgramRun
from toolguard_engine.effects.facts.places import Where, classify, normal
from toolguard_engine.effects.programs import file_programs, file_readers
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import FileSource, Unread
from toolguard_engine.model.work_limit import WorkLimit

MAX_STEPS = 8
"""Links and moves that are followed for one path."""

MAX_LOOKED_UP = 8
"""Files of one call that are compared with Git's index, which is read for each."""

MAX_DISK_READS = 200
"""Paths of one call that the disk is asked about."""

FOLLOWED = frozenset(
    [
        "read",
        "discard",
        "delete",
        "empty",
        "write",
        "perhaps-write",
        "move",
        "permissions",
        "owner",
        "encrypt",
        "mcp-write",
        "enable",
    ]
)
_WRITES = frozenset(["write", "perhaps-write"])
_OF_THE_LINK = frozenset(["delete", "move"])
"""What is done to a link itself unless the path goes on behind it."""

_STRICT: tuple[Place, ...] = (
    "root",
    "home",
    "device",
    "startup",
    "credentials",
    "system",
    "in-home",
    "repository",
    "workspace",
)
_ORDER: dict[Place, int] = {kind: len(_STRICT) - at for at, kind in enumerate(_STRICT)} | {
    "temp": -1, "artefact": -2, "null": -3,
}  # fmt: skip
_ABSENT = Unread("absent")
_DOCUMENTS = (
    ".pdf", ".doc", ".docx", ".odt", ".xls", ".xlsx", ".ods", ".ppt", ".pptx", ".odp", ".pages", ".numbers", ".key", ".jpg",
    ".jpeg", ".png", ".heic", ".raw", ".psd", ".mov", ".mp4", ".mp3", ".flac", ".kdbx", ".epub", ".zip", ".rtf", ".odg",
    ".tif", ".tiff", ".gif", ".webp", ".xcf", ".kra", ".dng", ".cr2", ".nef", ".arw", ".wav", ".m4a", ".aac", ".ogg",
    ".opus", ".mkv", ".avi", ".webm", ".m4v", ".blend", ".7z", ".rar", ".tgz", ".gpg",
)  # fmt: skip
_LISTS = (".txt", ".csv", ".tsv", ".json", ".lst", ".list", ".log", ".tmp", ".srt", ".m3u", ".cue")
OF_ITSELF = frozenset(["transcript", "service-data"])
"""Hold only for the file itself, not for what a link with its name leads to."""
GLOBS = frozenset("*?[")
_UP = lazy_re.compile(r"(?:\A|/)\.\.(?=/|\Z)")
_REPOSITORY_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
OVERWRITES = frozenset(["overwrites"])
THROUGH_LINK, AGENT_MADE, UNCHANGED = frozenset(["through-link"]), frozenset(["agent-made"]), frozenset(["unchanged"])


class NewName(NamedTuple):
    """`path` leads to what was, or is, at `source`."""

    source: str
    is_link: bool


def _chooses_repository(program: ProgramRun) -> bool:
    """Whether Git may work on another repository than the one around its folder."""
    words = (*program.argv, *(name for name, _ in program.assigns))
    return any(word.startswith(_REPOSITORY_VARIABLES) for word in words)


def sets_git_variable(program: ProgramRun) -> bool:
    """Whether a variable may lead Git to another folder than its own, `GIT_CONFIG_KEY_0=core.worktree` too."""
    return any(word.startswith("GIT_") for word in (*program.argv, *(name for name, _ in program.assigns)))


def follows(found: tuple[Effect, ...]) -> bool:
    """Whether there is anything to follow."""
    for effect in found:  # noqa: SIM110 - a generator takes twice as long
        if effect.kind in FOLLOWED:
            return True
    return False


class Owners:
    """What is known about paths while one call is judged."""

    def __init__(self, where: Where, files: FileSource, made: FileMemory, work: WorkLimit, session: str = "") -> None:
        self._where, self._files, self._made, self._work = where, files, made, work
        self._session = session
        self._names: dict[str, NewName] = {}
        self._new: set[str] = set()
        self._disk_reads = 0
        self._looked_up_before = 0
        self._runs: tuple[ProgramRun, ...] = ()

    def _may_ask_disk(self) -> bool:
        """Whether the disk may be asked once more for this call."""
        self._disk_reads += 1
        return self._disk_reads <= MAX_DISK_READS

    def effects(self, found: tuple[Effect, ...], runs: tuple[ProgramRun, ...] = ()) -> tuple[Effect, ...]:
        """The same effects, on the paths that are really touched."""
        self._runs = runs
        order = {id(program): at for at, program in enumerate(runs)}
        true, learned = list[Effect](), 0
        for effect in found:
            until = order.get(id(effect.program), learned)
            for program in runs[learned:until]:
                if program.name in file_programs.RENAMERS:
                    self._learn(program)
            learned = max(learned, until)
            true += self._true(effect)
        return tuple(true)

    def _learn(self, program: ProgramRun) -> None:
        for source, path, is_link in file_programs.new_names(program, self._where):
            self._work.spend(1)
            self._new -= {normal(source, self._where, program.cwd), normal(path, self._where, program.cwd)}
            self._names[normal(path, self._where, program.cwd)] = NewName(normal(source, self._where, program.cwd), is_link)

    def _true(self, effect: Effect) -> Iterator[Effect]:
        if effect.kind not in FOLLOWED or effect.place in ("remote", "null", "unknown") or not effect.target:
            yield effect
            return
        self._work.spend(2)
        if effect.kind == "discard" and "recursive" not in effect.flags:
            yield self._looked_up(effect)
            return
        if effect.kind == "discard" and any(map(sets_git_variable, self._runs)):
            yield replace(effect, place="unknown")
            return
        named = normal(effect.target, self._where, effect.program.cwd if effect.program else "")
        behind = self._above_links(effect.target, effect.program) if ".." in effect.target and effect.program else named
        is_glob = place_globs.GLOB.search(effect.target) is not None
        true = self._followed(behind, itself=effect.kind in _OF_THE_LINK and not (is_glob or goes_on(effect)))
        if effect.kind == "empty" and effect.program is None and self._may_ask_disk() and self._files.read(true) == _ABSENT:
            effect = replace(effect, kind="write")
        if effect.kind in _WRITES and self._overwrites(effect, true):
            effect = replace(effect, flags=effect.flags | OVERWRITES)
        if true == named and self._creates(effect, true):
            self._new.add(true)
        yield self._marked(effect if true == named else self._moved(effect, true), true)
        if self._names or self._made.has_displaced:
            yield from self._inside(effect, true)

    def _inside(self, effect: Effect, path: str) -> Iterator[Effect]:
        """The same effect on what this call or an earlier one has moved to where it reaches: it is still whose it was."""
        folder, pattern = _known_part(path)
        recursive = "recursive" in effect.flags or ("each" in effect.flags and "filtered" not in effect.flags)
        if not recursive and not pattern:
            return
        self._work.spend(1 + len(self._names) / 32)
        inside, is_meant = f"{folder}/", _reach(path, recursive=recursive) if pattern else None
        names = [name for at, name in self._names.items() if at.startswith(inside) and (is_meant is None or is_meant(at))]
        moved = [name.source for name in names if not name.is_link]
        for source in (*moved, *self._made.moved_into(folder, is_meant)):
            if (found := self._moved(effect, source)) is not effect:
                yield found

    def _looked_up(self, effect: Effect) -> Effect:
        """An older version of a file is written over it: is there a change to lose?"""
        path = normal(effect.target, self._where, effect.program.cwd if effect.program else "")
        is_known = path.startswith("/") and UNKNOWN not in path and not GLOBS.intersection(path) and self._may_ask_disk()
        self._looked_up_before += 1
        is_known = is_known and self._looked_up_before <= MAX_LOOKED_UP
        is_safe = is_known and not any(map(_chooses_repository, self._runs)) and self._files.is_unchanged(path)
        return replace(effect, flags=effect.flags | UNCHANGED) if is_safe else effect

    def _overwrites(self, effect: Effect, path: str) -> bool:
        """Whether a document that is no text is replaced as a whole: nobody edits one by rewriting it."""
        if "personal-file" not in effect.flags or "append" in effect.flags or not path.lower().endswith(_DOCUMENTS):
            return False
        return not self._may_ask_disk() or self._files.read(path) != _ABSENT

    def _creates(self, effect: Effect, path: str) -> bool:
        """Whether this call makes a list or a note on this machine, so that it may delete it again: `> list.txt`, use it,
        `rm list.txt`. Not an archive, to which a user's file could have been moved in between."""
        if effect.kind != "write" or not {"personal-file", "truncates"} <= effect.flags or "append" in effect.flags:
            return False
        if effect.program is None or effect.program.via or not path.lower().endswith(_LISTS):
            return False
        is_known = path.startswith("/") and UNKNOWN not in path and not GLOBS.intersection(path)
        return is_known and self._may_ask_disk() and self._files.read(path) == _ABSENT

    def _moved(self, effect: Effect, true: str) -> Effect:
        kind, marks = classify(true, self._where)
        effect = replace(effect, flags=effect.flags - (OF_ITSELF - marks)) if effect.flags & OF_ITSELF else effect
        if _ORDER.get(kind, 0) <= _ORDER.get(effect.place, 0) and not marks - effect.flags:
            return effect
        place = kind if _ORDER.get(kind, 0) > _ORDER.get(effect.place, 0) else effect.place
        return replace(effect, target=true, place=place, flags=effect.flags | marks | THROUGH_LINK)

    def _marked(self, effect: Effect, path: str) -> Effect:
        if effect.kind == "delete" and any(map(file_readers.follows_all_links, self._runs)):
            return effect
        if _enters_any(effect, path):
            return effect
        record = self._made.recall(path)
        was_made = record is not None and record.created and not record.was
        if was_made and record is not None:
            was_made = self._is_recent(record, path) if _reaches_far(effect) else record.origin == "agent"
        is_own = was_made or path in self._new or (UNKNOWN not in path and self._made.is_in_made_folder(path, self._session))
        return replace(effect, flags=effect.flags | AGENT_MADE) if is_own else effect

    def _is_recent(self, record: FileRecord, path: str) -> bool:
        """Whether it was made in this session: nobody has come to rely on it."""
        return UNKNOWN not in path and bool(self._session) and record.session == self._session

    def _followed(self, path: str, *, itself: bool) -> str:
        """The path without links and moves, as far as it is known."""
        known, rest = _known_part(path)
        for _ in range(MAX_STEPS):
            target = self._renamed(known, itself=itself and not rest)
            if target == known:
                break
            known = target
        return known + rest

    def _above_links(self, path: str, program: ProgramRun) -> str:
        """A path in which `..` behind a link, also that of the current folder, is the folder around the link's target."""
        while (up := _UP.search(path)) is not None and self._may_ask_disk():
            head = normal(path[: up.start()] or ("/" if path.startswith("/") else "."), self._where, program.cwd)
            if not head.startswith("/") or _known_part(head)[1]:
                break
            path = self._followed(head, itself=False).rpartition("/")[0] + (path[up.end() :] or "/")
        return normal(path, self._where, program.cwd)

    def _renamed(self, path: str, *, itself: bool) -> str:
        above = path if self._names else ""
        while above not in ("", "/"):
            name = self._names.get(above)
            if name and not (name.is_link and itself and above == path):
                return name.source + path[len(above) :]
            above = above.rpartition("/")[0]
        if (was := self._made.was(path, itself=itself)) != path:
            return was
        if not self._may_ask_disk():
            return path
        if itself:
            folder, _, last = path.rpartition("/")
            return f"{self._files.resolve(folder).rstrip('/')}/{last}" if folder else path
        return self._files.resolve(path)


def _reach(pattern: str, *, recursive: bool) -> Callable[[str], bool]:
    """Tells of a path whether a pattern means it, or, if `recursive`, a folder around it. An unknown part may be any."""
    depth = pattern.count("/") + 1
    named = re.compile(fnmatch.translate(pattern.replace(UNKNOWN, "*"))).match

    def is_meant(path: str) -> bool:
        head = path if "**" in pattern else "/".join(path.split("/")[:depth])
        return named(head) is not None and (recursive or head == path)

    return is_meant


def _reaches_far(effect: Effect) -> bool:
    """Whether more than a file in a folder of documents is at stake: a folder, a setting, a part of the system, or
    what starts by itself."""
    return "recursive" in effect.flags or "dotfile" in effect.flags or effect.place in ("system", "startup")


def goes_on(effect: Effect) -> bool:
    """Whether the folder is meant that a link leads to, also where programs otherwise mean the link: the current folder is
    never a link."""
    path, program = effect.target, effect.program
    return (
        path in ("", ".", "..")
        or path.endswith(("/", "/.", "/.."))
        or "mirror" in effect.flags
        or (program is not None and file_readers.follows_given_links(program))
    )


def _enters_any(effect: Effect, path: str) -> bool:
    """Whether folders that only a wildcard names are entered, any of which may be a link that leads out: `x/*/`."""
    rest = _known_part(path)[1].strip("/")
    return bool(rest) and ("/" in rest or effect.target.endswith("/"))


def _known_part(path: str) -> tuple[str, str]:
    """A path before its first wildcard or unknown part, and the rest."""
    if UNKNOWN not in path and place_globs.GLOB.search(path) is None:
        return path, ""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if UNKNOWN in part or place_globs.GLOB.search(part)), len(parts))
    known = "/".join(parts[:at])
    return known, path[len(known) :]
