"""A tree of files (`model.file_tree`) as it is saved: folder by folder, each name and each of several equal records once."""

from __future__ import annotations

import msgspec

from toolguard_engine.model.file_filling import count
from toolguard_engine.model.file_folder import OF_TEXT, Change, Folder, Node, maker_of, share_of
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import MAX_PATH, FileTree

_FOLDER = -1
"""The kind of a folder without a record of its own; below that is one with a record."""


class NotAListError(Exception):
    """What was given is no list of a tree of files."""


class ListedFolder(msgspec.Struct, frozen=True, array_like=True):
    """`names`: what is in it, joined by slashes, the latest last. `kinds`: for each the number of its record, below zero for
    folders; a single number if all are files with the same one."""

    names: str
    kinds: int | list[int]


class FileList(msgspec.Struct, frozen=True):
    """`folders`: each before those in it; empty if there are no records. `made`: the folders that agents made, each with the
    session."""

    records: list[FileRecord] = []
    folders: list[ListedFolder] = []
    made: dict[str, str] = {}


def listed(tree: FileTree) -> FileList:
    numbers: dict[FileRecord, int] = {}
    folders = list[ListedFolder]()
    waiting = [(tree.root, False)] if tree.root.children else []
    while waiting:
        folder, doubted = waiting.pop()
        kinds, inner = list[int](), list[tuple[Folder, bool]]()
        for name, node in folder.children.items():
            is_doubted = doubted or folder.is_doubted(name)
            record = tree.record_of(node, doubted=is_doubted)
            number = -1 if record is None else numbers.setdefault(record, len(numbers))
            if isinstance(node, Folder):
                inner.append((node, is_doubted))
                number = _FOLDER - 1 - number
            kinds.append(number)
        is_same = kinds[0] >= 0 and kinds.count(kinds[0]) == len(kinds)
        folders.append(ListedFolder("/".join(folder.children), kinds[0] if is_same else kinds))
        waiting += reversed(inner)
    return FileList(list(numbers), folders)


def filled(listing: FileList) -> FileTree:
    """The tree that was listed. Raises `NotAListError`."""
    tree, made = FileTree(), list[Folder]()
    records = [tree.records.shared(record) for record in listing.records]
    try:
        for at in range(len(listing.folders) - 1, -1, -1):  # the folders in one are made before it, the first of them last
            children, same = _children(listing.folders[at], records, made)
            folder = tree.folder(_maker(next(iter(children.values()))), None) if at else tree.root
            folder.children = children
            if same is None:
                count(folder)
            else:
                _count_same(folder, same)
            made.append(folder)
    except IndexError as error:
        raise NotAListError("the list of files names what is not in it") from error
    if len(made) > 1 or any(node.longest > MAX_PATH + 1 for node in made):
        raise NotAListError("the list of files is no tree")
    return tree


def _children(
    folder: ListedFolder, records: list[FileRecord], made: list[Folder]
) -> tuple[dict[str, Node], FileRecord | None]:
    """What is in a folder, and the record of all of it if that is one."""
    names, kinds = folder.names.split("/"), folder.kinds
    same = records[kinds] if isinstance(kinds, int) and kinds >= 0 else None
    if same is not None:
        children: dict[str, Node] = dict.fromkeys(names, same)
    elif isinstance(kinds, list) and len(kinds) == len(names):
        children = {name: _node(kind, records, made) for name, kind in zip(names, kinds, strict=True)}
    else:
        raise NotAListError("a folder has names without records")
    if len(children) != len(names):
        raise NotAListError("a folder has a name twice")
    return children, same


def _node(kind: int, records: list[FileRecord], made: list[Folder]) -> Node:
    if kind >= 0:
        return records[kind]
    folder = made.pop()
    if kind < _FOLDER:
        folder.write(records[_FOLDER - 1 - kind])
    return folder


def _maker(first: Node) -> int:
    """The share that a folder counts for, by the first that is in it."""
    record = first.record if isinstance(first, Folder) else first
    return maker_of(first) if record is None else share_of(record.session)


def _count_same(folder: Folder, record: FileRecord) -> None:
    """Counts as `count` does, where all in it are files with this record."""
    longest, change = max(map(len, folder.children)), Change()
    change.count("", record, len(folder.children))
    if longest >= OF_TEXT:
        share = next(iter(change.sizes))
        change.sizes[share] += sum(len(name) // OF_TEXT for name in folder.children)
    folder.longest = longest + 1
    folder.add(change)
