"""Makes a tree of files (`model.file_tree`) from all its records at once."""

from __future__ import annotations

from collections.abc import Iterable

from toolguard_engine.model.file_folder import Change, Folder, length_of, share_of
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import MAX_PATH, FileTree

_Folders = dict[str, Folder]


def filled(records: Iterable[tuple[str, FileRecord]]) -> FileTree:
    """The latest records last."""
    tree = FileTree()
    folders: _Folders = {"": tree.root}
    for path, record in records:
        if len(path) <= MAX_PATH:
            inside, shared = path[: path.rfind("/") + 1], tree.records.shared(record)
            folder = folders.get(inside)
            if folder is None:
                folder = _folder(tree, folders, inside, share_of(record.session))
            name = path[len(inside) :]
            if isinstance(known := folder.children.get(name), Folder):
                known.write(shared)
            else:
                folder.children[name] = shared
    for folder in reversed(folders.values()):  # what is in a folder is counted before it
        count(folder)
    return tree


def _folder(tree: FileTree, folders: _Folders, inside: str, maker: int) -> Folder:
    """The folder of a path that ends with a slash, with those above it."""
    missing = [inside]
    while (above := _above(missing[-1])) not in folders:
        missing.append(above)
    folder = folders[above]
    for other_name in reversed(missing):
        name = other_name[len(above) : -1]
        known = folder.children.get(name)
        below = tree.folder(maker, known if isinstance(known, FileRecord) else None)
        folder.children[name] = folders[other_name] = below
        folder, above = below, other_name
    return folder


def _above(inside: str) -> str:
    return inside[: inside.rfind("/", 0, -1) + 1]


def count(folder: Folder) -> None:
    """Counts all that is in a folder, when nothing of it was counted yet."""
    change = Change()
    for name, node in folder.children.items():
        change.count(name, node, 1)
        folder.longest = max(folder.longest, length_of(name, node))
    folder.add(change)
