"""The memory of the files that agents made: what tool calls wrote, copied, moved, linked, fetched or unpacked."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

import msgspec

from toolguard_engine.model import file_bounds, file_filling, file_list, file_search
from toolguard_engine.model.file_changes import (
    DoubtedFile,
    FileChange,
    MadeFolders,
    MovedFile,
    MovedFiles,
    RemovedFiles,
    WroteFile,
)
from toolguard_engine.model.file_folder import Folder, Node, length_of, maker_of, share_of
from toolguard_engine.model.file_list import FileList
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import MAX_PATH, FileTree, TreePlace

MAX_EXPECTED = 64
MAX_EXPECTED_TEXT = 65_536


class ExpectedText(msgspec.Struct, frozen=True):
    """What a call that runs now writes into a file. `whole`: nothing else will be in it; `old`: what it replaces."""

    call: str
    text: str
    whole: bool
    old: str = ""


ANY = "*"
"""The name under which a folder has the record of files that were moved into it and are not known one by one."""

MAX_MOVED_INTO = 8
MAX_FOLDERS = 500
"""Folders that agents made. They are not saved: another engine asks about them."""

MAX_UNSAVED = 10_000
"""Changes that are remembered one by one until they are saved."""

MAX_REPEATED = 30_000
"""Steps of changes that are saved one by one: the next engine makes them again before it is ready. A short command may move
thousands of files."""


class _Moving(NamedTuple):
    """What is moved out of a folder: names there with their new names, the last ones as the latest."""

    path: str
    folder: Folder
    doubted: bool
    names: list[tuple[str, str]]


class FileMemory:
    """The files that agents of all sessions made; see `file_bounds`. The calls of one message are all judged before the
    first of them runs, so what they will write is `expected` meanwhile."""

    def __init__(self, tree: FileTree | None = None) -> None:
        self._tree = tree or FileTree()
        self._expected: OrderedDict[str, ExpectedText] = OrderedDict()
        self._folders: OrderedDict[str, str] = OrderedDict()
        """Those that agents made, each with the session."""
        self._has_new_folders = False
        """Whether they are others than were saved."""
        self.changes = 0
        """Since the memory is there."""
        self.version = 0
        """Another one whenever anything in it is another."""
        self._unsaved: list[FileChange] | None = None
        self._saved_steps = 0.0
        """When it was last to be saved as a whole."""

    @property
    def steps(self) -> float:
        """What was done with it so far, in the steps of `WorkLimit`."""
        return self._tree.steps

    def fork(self) -> FileMemory:
        """A copy, which costs nothing: neither shows what is changed in the other."""
        copy = FileMemory(self._tree.fork())
        copy._folders = self._folders.copy()
        return copy

    @property
    def records(self) -> dict[str, FileRecord]:
        """All of them; of those in one folder, the latest last."""
        return dict(self._records())

    def _records(self) -> Iterator[tuple[str, FileRecord]]:
        for file in file_search.everything(self._tree.root):
            record = self._tree.record_of(file.node, doubted=file.doubted)
            if record is not None:
                yield file.path, record

    @property
    def listed(self) -> FileList:
        """All of them, to be saved."""
        return msgspec.structs.replace(file_list.listed(self._tree), made=dict(self._folders))

    def restore(self, known: FileTree | dict[str, FileRecord], changes: Iterable[FileChange] = ()) -> None:
        """What was known before, and what was done then; what is known now counts more."""
        self.version += 1
        tree = known if isinstance(known, FileTree) else file_filling.filled(known.items())
        now, self._tree, self._saved_steps = list(self._records()), tree, 0.0
        made_now, self._folders = self._folders, OrderedDict()
        for change in changes:
            self._apply(change)
        for path, record in now:
            self._write(path, record)
        file_bounds.shrink(self._tree)
        self._folders.update(made_now)
        self._has_new_folders = bool(made_now)
        self._unsaved = None if now else []

    def _apply(self, change: FileChange) -> None:
        match change:
            case WroteFile():
                self.wrote(change.path, change.record)
            case MovedFile():
                self.moved(change.source, change.target)
            case MovedFiles():
                self.moved_matching(change.pattern, change.folder)
            case RemovedFiles():
                self.removed(change.paths)
            case DoubtedFile():
                self.doubts(change.path)
            case MadeFolders():
                self._folders = OrderedDict(list(change.folders.items())[-MAX_FOLDERS:])

    def take_unsaved(self) -> list[FileChange] | None:
        """What was changed since the last time; None if that is too much to tell or to do again, or not known."""
        unsaved, self._unsaved = self._unsaved, []
        if unsaved is not None and self._has_new_folders:
            unsaved.append(MadeFolders(dict(self._folders)))
        self._has_new_folders = False
        if unsaved is None or self.steps - self._saved_steps > MAX_REPEATED:
            self._saved_steps = self.steps
            return None
        return unsaved

    def expect(self, path: str, expected: ExpectedText) -> None:
        before = self._expected.pop(path, None)
        if before is not None and not expected.whole:
            text = f"{before.text}\n{expected.text}"[-MAX_EXPECTED_TEXT:]
            expected = ExpectedText(expected.call, text, before.whole)
        self._expected[path] = expected
        if len(self._expected) > MAX_EXPECTED:
            self._expected.popitem(last=False)

    def expected(self, path: str) -> ExpectedText | None:
        return self._expected.get(path) if self._expected else None

    def happened(self, call: str) -> None:
        """A call has run: what it wrote lies there now."""
        for path in [path for path, expected in self._expected.items() if expected.call == call]:
            del self._expected[path]

    def made_folder(self, path: str, session: str) -> None:
        """There was nothing at this path, and an agent has made a folder there."""
        self._folders[path] = session
        self._folders_changed()
        if len(self._folders) > MAX_FOLDERS:
            self._folders.popitem(last=False)

    def is_in_made_folder(self, path: str, session: str) -> bool:
        """Whether it is a folder that was made in this session, or lies in one."""
        while self._folders and len(path) > 1:
            if session and self._folders.get(path) == session:
                return True
            path = path.rpartition("/")[0]
        return False

    def forget_folders(self, paths: Iterable[str]) -> None:
        """They, and the folders in them, may be a person's if they are there later."""
        for path in paths if self._folders else ():
            for folder in [
                directory for directory in self._folders if directory == path or directory.startswith(f"{path.rstrip('/')}/")
            ]:
                del self._folders[folder]
                self._folders_changed()

    def doubt_folders_around(self, path: str) -> None:
        """What is in them may be a person's. With `/`, that goes for all folders."""
        around = [folder for folder in self._folders if path == "/" or is_in(path, folder)]
        for folder in around:
            del self._folders[folder]
            self._folders_changed()

    def _folders_changed(self) -> None:
        self._has_new_folders = True
        self.changes += 1
        self.version += 1

    @property
    def is_empty(self) -> bool:
        return not self._tree.root.children

    @property
    def has_displaced(self) -> bool:
        return self._tree.root.moved > 0

    def exactly(self, path: str) -> FileRecord | None:
        """The record of this very file."""
        return self._tree.record(path.split("/")) if self._tree.root.children else None

    def knows(self, path: str) -> bool:
        """Whether there is a record of this very file."""
        node: Node = self._tree.root
        for name in path.split("/"):
            if isinstance(node, FileRecord) or (child := node.children.get(name)) is None:
                return False
            node = child
        return isinstance(node, FileRecord) or node.record is not None

    def recall(self, path: str) -> FileRecord | None:
        """The record of a file, or of the nearest folder above it that was made as a whole (unpacked, cloned)."""
        node = None
        for place in self._to(path):
            node = self._tree.record_of(place.node, doubted=place.doubted) or node
        return node

    def knows_none(self, folder: str, names: Iterable[str]) -> bool:
        """Whether there is no record of any of these files in an absolute folder, nor of a folder around them (see `of`)."""
        node: Node = self._tree.root
        for at, part in enumerate(folder.split("/") if folder != "/" else ("",)):
            if isinstance(node, FileRecord) or (at > 1 and node.record is not None):
                return False
            if (child := node.children.get(part)) is None:
                return True
            node = child
        if isinstance(node, FileRecord) or (folder not in ("", "/") and node.record is not None):
            return False
        if node.children.keys().isdisjoint(names):
            return True
        nodes = (node.children.get(name) for name in names)
        return all(known is None or (isinstance(known, Folder) and known.record is None) for known in nodes)

    def _to(self, path: str) -> Iterator[TreePlace]:
        """What there is on the way to a path: at the first part of it below the root, at the second and so on."""
        if self._tree.root.children and path != "/":
            yield from islice(self._tree.above(path.split("/")), 1 + path.startswith("/"), None)

    def was(self, path: str, *, itself: bool = False) -> str:
        """Where the content of a path was before a move, or lies behind a link. `itself`: not behind the path's own link."""
        if self.is_empty or path in ("", "/"):
            return path
        parts = path.split("/")
        places = list(self._tree.above(parts))
        for at in range(min(len(places), len(parts)), 1, -1):
            above, name, folder = places[at - 1].node, parts[at - 1], "/".join(parts[: at - 1])
            record = self._tree.record_of(places[at].node, doubted=False) if at < len(places) else None
            rest = path[len(folder) + 1 + len(name) :]
            leads_to = record and (record.was or ("" if itself and not rest else record.link))
            if leads_to:
                return leads_to + rest
            many = above.children.get(ANY) if record is None and isinstance(above, Folder) else None
            if many is not None and (all_of := self._tree.record_of(many, doubted=False)) is not None:
                return f"{all_of.was.rpartition('/')[0]}/{name}{rest}"
        return path

    def moved_into(self, folder: str, is_meant: Callable[[str], bool] | None = None) -> list[str]:
        """Where content was that has been moved into a folder, at most `MAX_MOVED_INTO` paths. `is_meant`: only what was
        moved to paths of which this is true, and what is not known one by one."""
        paths = list[str]()
        for file in file_search.below(self._tree, folder, lambda inner: inner.moved > 0):
            record = self._tree.record_of(file.node, doubted=False)
            if record is not None and record.was and (is_meant is None or is_any(file.path) or is_meant(file.path)):
                paths.append(record.was)
                if len(paths) >= MAX_MOVED_INTO:
                    break
        return paths

    def matching(self, pattern: str, limit: int) -> list[str]:
        """The last files that a pattern with `*`, `?` and `[]` means; only `**` reaches into folders."""
        if self.is_empty:
            return []
        if "**" in pattern:
            return list(islice((path for path in file_search.in_any_folder(self._tree, pattern) if not is_any(path)), limit))
        return list(islice(self._files(file_search.meant(self._tree, pattern)), limit))

    def _files(self, files: Iterable[file_search.FoundFile]) -> Iterator[str]:
        """Yields those that are known one by one."""
        for file in files:
            if self._tree.record_of(file.node, doubted=False) is not None and not is_any(file.path):
                yield file.path

    def below_named(self, folder: str, pattern: re.Pattern[str], limit: int) -> list[str]:
        """The last files in a folder whose paths from there on fit a pattern."""
        paths = file_search.below_named(self._tree, folder, pattern)
        return list(islice((path for path in paths if not is_any(path)), limit))

    def has_below(self, folder: str) -> bool:
        """Whether there is a record of something in a folder."""
        place = self._tree.find(folder.split("/")) if is_movable(folder) else None
        return place is not None and isinstance(place.node, Folder)

    def below(self, folders: Iterable[str], limit: int) -> list[str]:
        """The last files in these folders of which there is a record, without those that are not known one by one."""
        paths = (path for folder in folders for path in self._files(file_search.below(self._tree, folder)))
        return list(islice(paths, limit))

    def wrote(self, path: str, record: FileRecord) -> None:
        self._changed(WroteFile(path, record))
        self._write(path, record)
        file_bounds.shrink(self._tree)

    def _changed(self, change: FileChange) -> None:
        self.changes += 1
        self.version += 1
        if self._unsaved is not None:
            self._unsaved.append(change)
            if len(self._unsaved) > MAX_UNSAVED:
                self._unsaved = None

    def _write(self, path: str, record: FileRecord) -> None:
        if len(path) <= MAX_PATH:
            *folder, name = path.split("/")
            self._tree.put(folder, {name: self._tree.records.shared(record)}, share_of(record.session))

    def moved(self, source: str, target: str) -> None:
        """Also for a folder with what is in it. A source that cannot be moved, or is not known, changes nothing. What is
        known of the source is kept until it is `removed`: the move may fail."""
        if not is_movable(source) or is_in(target, source):
            return
        above, _, name = source.rpartition("/")
        place = self._tree.find(above.split("/"))
        if place is None or isinstance(place.node, FileRecord) or name not in place.node.children:
            return
        self._changed(MovedFile(source, target))
        folder, _, new_name = target.rpartition("/")
        self._move(folder, [_Moving(above, place.node, place.doubted, [(name, new_name)])])

    def _move(self, folder: str, moving: Sequence[_Moving]) -> None:
        landing = self._landing(folder, moving)
        if any(isinstance(node, Folder) for new in landing for node in new.values()):
            self._tree.share()
        for moved in moving:
            self._tree.doubt(moved.path.split("/"), [name for name, _ in moved.names])
        for new in landing:
            self._tree.put(folder.split("/"), new, maker_of(next(iter(new.values()))))
        file_bounds.shrink(self._tree)

    def _landing(self, folder: str, moving: Sequence[_Moving]) -> list[dict[str, Node]]:
        """What lands in a folder; where two have the same name, one after the other."""
        room, new = MAX_PATH - len(folder), [dict[str, Node]()]
        for path, above, doubted, names in moving:
            for name, new_name in names:
                node = above.children[name]
                if new_name in new[-1]:
                    new.append({})
                if length_of(new_name, node) > room:  # the paths in it would become too long
                    node = FileRecord("agent", "mv", was=f"{path}/{name}")
                elif doubted or above.is_doubted(name):
                    node = self._tree.doubted(node)
                if len(new_name) < room:
                    new[-1][new_name] = node
        return [nodes for nodes in new if nodes]

    def moved_matching(self, pattern: str, folder: str) -> list[str]:
        """The same for all that a pattern with `*`, `?` and `[]` means, as a shell does: a hidden name only if the pattern
        says so. What else the pattern means is known by its old folder only. Returns the sources that are known, the latest
        first."""
        self._changed(MovedFiles(pattern, folder))
        above, _, last = pattern.rpartition("/")
        fits, shows_hidden, folders = file_search.named(last), last.startswith("."), list[_Moving]()
        for file in file_search.meant(self._tree, above):
            if isinstance(file.node, Folder):
                around = folder[len(file.path) + 1 :].partition("/")[0] if is_in(folder, file.path) else ""
                names = [name for name in reversed(file.node.children) if fits(name) and (shows_hidden or name[:1] != ".")]
                self._tree.steps += len(file.node.children) / 20
                folders.append(
                    _Moving(file.path, file.node, file.doubted, [(name, name) for name in names if name and name != around])
                )
        known = [f"{moved.path}/{name}" for moved in folders for name, _ in moved.names]
        moving = [
            _Moving(*moved[:3], moved.names[::-1]) for moved in reversed(folders) if moved.path != folder and moved.names
        ]
        self._move(folder, moving)
        self._write(f"{folder}/{ANY}", FileRecord("agent", "mv", was=pattern))
        return known

    def removed(self, paths: Iterable[str]) -> None:
        """Also what is in them."""
        gone = sorted(paths)
        self.forget_folders(gone)
        self._changed(RemovedFiles(gone))
        for folder, group in groupby(gone, lambda path: path.rpartition("/")[0]):
            self._tree.remove(folder.split("/"), map(basename, group))

    def doubts(self, path: str) -> None:
        """What lies there, or in it, need not be what an agent made: a person's file may have come back."""
        self._changed(DoubtedFile(path))
        self._tree.doubt(path.rpartition("/")[0].split("/"), (basename(path),))


def basename(path: str) -> str:
    return path.rpartition("/")[2]


def is_any(path: str) -> bool:
    return path.endswith(f"/{ANY}")


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder, or in it."""
    return path == folder or path.startswith(f"{folder}/")


def is_movable(path: str) -> bool:
    """Whether a path names something that can be moved: it is known, absolute, and not the root."""
    return path.startswith("/") and path != "/"
