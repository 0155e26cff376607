"""The records of files by folder: what is done to a path costs the number of its parts, whatever else is known.

A folder is moved by putting it at its new place as well: both places share its children, and a folder that others may have
is copied before it changes. So a fork of the whole tree costs nothing either.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from toolguard_engine.model.file_folder import Change, Folder, Node, length_of
from toolguard_engine.model.file_record import FileRecord, SharedRecords

MAX_PATH = 4_096
"""Characters of a path that is remembered."""

MAX_NAMED = 50_000
"""Folders and files in them that are kept as found by patterns of names."""

MAX_CHANGES, MAX_SINCE = 2_000, 64
"""Changes of folders that are kept, and how many of one folder are gone through rather than all that is in it."""

Parts = list[str]
"""A path split at its slashes: the first part of an absolute one is empty."""

_Waiting = list[tuple[Parts, Mapping[str, Node]]]


class TreePlace(NamedTuple):
    """`doubted`: nothing there counts as created by an agent."""

    node: Node
    doubted: bool


class NamedFiles:
    """The files, by patterns of names, that were found in folders, by their state."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[object, tuple[str, ...]]] = {}
        self._number = 0
        self._changes: dict[object, tuple[object, str]] = {}

    def changes(self, folder: Folder, name: str = "") -> None:
        """Gives a folder that changes another state. `name`: of the one child that changes and becomes the latest, or is
        taken out; empty for several."""
        before, folder.state = folder.state, object()
        if name:
            if len(self._changes) >= MAX_CHANGES:
                self._changes.clear()
            self._changes[folder.state] = before, name

    def since(self, state: object, known: Container[object]) -> tuple[object, list[str]] | None:
        """Returns the last state of a folder that is known, and the names that changed since, the latest first."""
        names: dict[str, None] = {}
        for _ in range(MAX_SINCE):
            if (change := self._changes.get(state)) is None:
                return None
            state, name = change
            names[name] = None
            if state in known:
                return state, list(names)
        return None

    def recall(self, pattern: str, skipped: str) -> dict[object, tuple[str, ...]]:
        """Returns what is known, to be added to; `added` is to be called then."""
        return self._found.setdefault((pattern, skipped), {})

    def added(self, count: int) -> None:
        """`count`: folders and files in them; less than none for what was taken out."""
        self._number += count
        if self._number > MAX_NAMED:
            self._found, self._number = {}, 0


class FileTree:
    """`steps`: what was done with it so far, in the steps of `WorkLimit`."""

    def __init__(self) -> None:
        self._owner = object()
        self.root = Folder(self._owner, 0)
        self.records = SharedRecords()
        self.steps = 0.0
        self.named = NamedFiles()

    def fork(self) -> FileTree:
        """Another one with the same records. Changes of one do not show in the other."""
        other = FileTree()
        other.root = self.root
        self._owner = object()
        return other

    def share(self) -> None:
        """Shares the tree: from now on, what is there is copied before it changes: it may lie at two places."""
        self._owner = object()

    def folder(self, maker: int, record: FileRecord | None) -> Folder:
        """One that may be put into it."""
        return Folder(self._owner, maker, record)

    def find(self, parts: Parts) -> TreePlace | None:
        node: Node = self.root
        doubted = False
        for name in parts:
            if isinstance(node, FileRecord) or (child := node.children.get(name)) is None:
                return None
            doubted, node = doubted or node.is_doubted(name), child
        return TreePlace(node, doubted)

    def record(self, parts: Parts) -> FileRecord | None:
        """The record of this very path."""
        place = self.find(parts)
        return place and self.record_of(place.node, doubted=place.doubted)

    def record_of(self, node: Node, *, doubted: bool) -> FileRecord | None:
        record = node if isinstance(node, FileRecord) else node.record
        return self.records.doubted(record) if record is not None and doubted else record

    def above(self, parts: Parts) -> Iterator[TreePlace]:
        """What there is at the root and at each part of a path."""
        node: Node = self.root
        doubted = False
        yield TreePlace(node, doubted)
        for name in parts:
            if isinstance(node, FileRecord) or (child := node.children.get(name)) is None:
                return
            doubted, node = doubted or node.is_doubted(name), child
            yield TreePlace(node, doubted)

    def put(self, parts: Parts, inner: Mapping[str, Node], maker: int) -> None:
        """Puts nodes into a folder, the last one as the latest; a folder that is there already gets what is in the other.
        `maker`: the share that new folders count for."""
        waiting: _Waiting = [(parts, inner)]
        while waiting:
            at, nodes = waiting.pop()
            self._put(at, nodes, maker, waiting)

    def _put(self, parts: Parts, nodes: Mapping[str, Node], maker: int, waiting: _Waiting) -> None:
        chain, change, longest = self._own(parts, nodes, maker), Change(), 0
        folder = chain[-1]
        self.steps += len(chain) / 2 + 0.35 * len(nodes)
        for name, node in nodes.items():
            before = folder.children.get(name)
            if before is not None:
                change.count(name, before, -1)
            if isinstance(before, Folder) and not _has_all(node, before):
                if isinstance(node, Folder):
                    waiting.append(([*parts, name], self._seen(node)))
                before = self._owned(folder, name, before, maker)
                before.state = object()
                before.write(node if isinstance(node, FileRecord) else node.record)
                node = before  # noqa: PLW2901
            elif isinstance(before, FileRecord) and isinstance(node, Folder) and node.record is None:
                record = self.records.doubted(before) if folder.is_doubted(name) else before
                node = node.copy(self._owner)  # noqa: PLW2901
                node.write(record)
            folder.put(name, node)
            folder.trust(name)
            change.count(name, node, 1)
            if len(name) >= longest or isinstance(node, Folder):
                longest = max(longest, length_of(name, node))
        self._count(chain, parts, change, longest)

    @staticmethod
    def _count(chain: list[Folder], parts: Parts, change: Change, longest: int) -> None:
        for at in range(len(chain) - 1, -1, -1):
            folder = chain[at]
            folder.add(change)
            folder.longest = longest = max(folder.longest, longest)
            longest += len(parts[at - 1]) + 1

    def _own(self, parts: Parts, names: Collection[str], maker: int = 0) -> list[Folder]:
        """The folders to a path and itself, in which these names are changed then: the root first. Each becomes the
        latest."""
        if self.root.owner is not self._owner:
            self.root = self._copied(self.root)
        folder, chain = self.root, [self.root]
        for name in parts:
            self.named.changes(folder, name)
            child = folder.children.get(name)
            below = self._owned(folder, name, child, maker)
            if not isinstance(child, Folder):
                self._count_new(chain, name, child, below)
            folder.put(name, below)
            folder.trust(name)
            folder = below
            chain.append(folder)
        self.named.changes(folder, next(iter(names)) if len(names) == 1 else "")
        return chain

    @staticmethod
    def _count_new(chain: list[Folder], name: str, before: FileRecord | None, folder: Folder) -> None:
        change = Change()
        change.count(name, before, -1)
        change.count(name, folder, 1)
        for node in chain:
            node.add(change)

    def _owned(self, folder: Folder, name: str, child: Node | None, maker: int) -> Folder:
        """A child as a folder that may be changed, with the doubts about it in itself."""
        doubted = folder.is_doubted(name)
        if not isinstance(child, Folder):
            return Folder(self._owner, maker, self.records.doubted(child) if child is not None and doubted else child)
        below = child if child.owner is self._owner else self._copied(child)
        if doubted:
            below.doubts = set()
            below.record = below.record and self.records.doubted(below.record)
        return below

    def _copied(self, folder: Folder) -> Folder:
        self.steps += len(folder.children) / 50
        return folder.copy(self._owner)

    def _seen(self, folder: Folder) -> Mapping[str, Node]:
        """The children with the doubts of their folder in themselves."""
        if folder.doubts is None:
            return folder.children
        self.steps += len(folder.children) / 2
        return {name: self.doubted(node) if folder.is_doubted(name) else node for name, node in folder.children.items()}

    def doubted(self, node: Node) -> Node:
        """The same where nothing counts as created by an agent."""
        if isinstance(node, FileRecord):
            return self.records.doubted(node)
        doubtful = node.alias(None)
        doubtful.doubts = set()
        doubtful.record = doubtful.record and self.records.doubted(doubtful.record)
        return doubtful

    def doubt(self, parts: Parts, names: Iterable[str]) -> None:
        """What is in a folder under these names does not count as created by an agent any more."""
        place = self.find(parts)
        if place is None or isinstance(place.node, FileRecord) or place.doubted:
            return
        if not (meant := folder_names(place.node, names)):
            return
        folder = self._own(parts, meant)[-1]
        if len(meant) == 1:
            name = meant.pop()
            node = folder.children.pop(name)
            folder.children[name] = node if folder.is_doubted(name) else self.doubted(node)
            return
        self.steps += len(folder.children) / 20
        others, before = folder.children.keys() - meant, folder.doubts
        folder.doubts = others if before is None else others & before

    def remove(self, parts: Parts, names: Iterable[str]) -> None:
        """Forgets what lies under these names in a folder, with all that is in it."""
        place = self.find(parts)
        if place is None or isinstance(place.node, FileRecord) or not (gone := folder_names(place.node, names)):
            return
        chain, change = self._own(parts, gone), Change()
        self.steps += (len(chain) + len(gone)) / 2
        folder = chain[-1]
        for name in gone:
            change.count(name, folder.children.pop(name), -1)
        if folder.doubts is not None:
            folder.doubts -= gone
        self._count(chain, parts, change, 0)
        self._prune(chain, parts)

    @staticmethod
    def _prune(chain: list[Folder], parts: Parts) -> None:
        """Leaves no folder without records."""
        for at in range(len(chain) - 1, 0, -1):
            folder, name, change = chain[at], parts[at - 1], Change()
            if folder.children:
                return
            del chain[at - 1].children[name]
            change.count(name, folder, -1)
            if folder.record is not None:  # it is the latest there already
                chain[at - 1].children[name] = folder.record
                change.count(name, folder.record, 1)
            for node in chain[:at]:
                node.add(change)
            if folder.record is not None:
                return


def _has_all(node: Node, before: Folder) -> bool:
    """Whether nothing is left of a folder when a node is put in its place."""
    return (
        isinstance(node, Folder) and node.children is before.children and (node.record is not None or before.record is None)
    )


def folder_names(folder: Folder, names: Iterable[str]) -> set[str]:
    """Those under which there is something."""
    return {name for name in names if name in folder.children}
