"""How much is remembered of files, and what is forgotten if it is more: the oldest of the sessions that have the most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from toolguard_engine.model.file_folder import Folder, Node, share_of
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import FileTree, Parts

MAX_SIZE = 80_000
"""Units (see `file_folder`) of all sessions: those of 60,000 files in 5,000 folders."""

MAX_OF_SESSION = 60_000

_AT_ONCE = 600
"""Units that are forgotten at once at least, so that the oldest have to be looked for rarely."""


def shrink(tree: FileTree) -> None:
    sizes = tree.root.sizes
    while excess := max(sum(sizes.values()) - MAX_SIZE, max(sizes.values(), default=0) - MAX_OF_SESSION, 0):
        share = max(sizes, key=sizes.__getitem__)
        units = min(max(excess, _AT_ONCE), sizes[share] // 2 + 1)
        own = _oldest(tree, share, units)
        for parts, names in own or _oldest(tree, None, units):  # all that its folders have may be of others
            tree.remove(parts, names)
        sizes = tree.root.sizes


def _oldest(tree: FileTree, share: int | None, units: int) -> list[tuple[Parts, list[str]]]:
    """Names by folder with about so many units of a share, or of any, those that were written first. A folder is taken as a
    whole if all in it counts."""
    names_above, left = list[tuple[tuple[str, ...], str]](), units
    waiting: list[tuple[tuple[str, ...], Iterator[tuple[str, Node]]]] = [((), iter(tree.root.children.items()))]
    while waiting and left > 0:
        above, names = waiting[-1]
        if (entry := next(names, None)) is None:
            waiting.pop()
            continue
        tree.steps += 0.25
        name, node = entry
        if isinstance(node, FileRecord):
            meant = int(share is None or share_of(node.session) == share)
        elif (meant := _of_share(node, share)) > 0 and (meant > left or meant < sum(node.sizes.values())):
            meant = 0
            waiting.append(((*above, name), iter(node.children.items())))
        if meant:
            names_above.append((above, name))
            left -= meant
    return [(list(above), [name for _, name in group]) for above, group in groupby(names_above, lambda row: row[0])]


def _of_share(folder: Folder, share: int | None) -> int:
    return sum(folder.sizes.values()) if share is None else folder.sizes.get(share, 0)
