"""The folders of the tree of files that agents made (`model.file_tree`).

What is remembered is measured in units of about 150 bytes. They count for the session whose call made the file or folder,
or rather for one of `SHARES` shares that sessions are given by chance: there may be any number of sessions.
"""

from __future__ import annotations

from toolguard_engine.model.file_record import FileRecord

SHARES = 256
OF_FOLDER = 4
"""Units of a folder, beside those of what is in it."""

OF_TEXT = 64
"""Characters of a name or of another text for one unit more."""


class Folder:
    """`record`: its own; `children`: the latest written last, a folder as soon as something below it was. `owner`: who may
    change it: others copy it first. `doubts`: if not None, no file in it counts as created by the agent, except what was
    put below these names since. `maker`: the share that it counts for.

    `units`: those of its own share, itself included; `others`: those of other shares, None without any; `moved`: number of
    records in it that were moved from where none was; `longest`: characters of the longest path from here on, or more;
    `state`: another object whenever something in it changes.
    """

    __slots__ = ("children", "doubts", "longest", "maker", "moved", "others", "owner", "record", "state", "units")

    def __init__(self, owner: object, maker: int, record: FileRecord | None = None) -> None:
        self.owner = owner
        self.maker = maker
        self.children: dict[str, FileRecord | Folder] = {}
        self.doubts: set[str] | None = None
        self.longest = self.moved = 0
        self.units = OF_FOLDER
        self.others: dict[int, int] | None = None  # a dictionary takes more than all the rest, and most folders need none
        self.record: FileRecord | None = None
        self.state = object()
        self.write(record)

    def copy(self, owner: object) -> Folder:
        """Returns a folder with children of its own."""
        node = self.alias(owner)
        node.children = self.children.copy()
        node.others = None if self.others is None else self.others.copy()
        node.doubts = None if self.doubts is None else self.doubts.copy()
        return node

    def alias(self, owner: object) -> Folder:
        """Returns a folder with the same children. `owner`: nobody who could change it."""
        node = Folder.__new__(Folder)
        node.owner, node.maker, node.record, node.children = owner, self.maker, self.record, self.children
        node.doubts, node.moved, node.longest, node.state = self.doubts, self.moved, self.longest, self.state
        node.units, node.others = self.units, self.others
        return node

    @property
    def sizes(self) -> dict[int, int]:
        """The units of each share."""
        return {self.maker: self.units, **(self.others or {})}

    def put(self, name: str, node: FileRecord | Folder) -> None:
        """Puts it there as the latest. A name that is that already keeps its place: a dictionary grows with each move."""
        children = self.children
        if name in children and next(reversed(children)) != name:
            del children[name]
        children[name] = node

    def is_doubted(self, name: str) -> bool:
        """Whether what is below a name in it does not count as created, as far as this folder tells."""
        return self.doubts is not None and name not in self.doubts

    def trust(self, name: str) -> None:
        """What is put under this name is not doubted."""
        if self.doubts is not None:
            self.doubts.add(name)

    def write(self, record: FileRecord | None) -> None:
        """Its own record; None keeps the one that is there."""
        if record is not None:
            change = Change()
            change.count("", self.record, -1)
            change.count("", record, 1)
            self.add(change)
            self.record = record

    def add(self, change: Change) -> None:
        """Counts what was changed in it."""
        self.moved += change.moved
        for share, units in change.sizes.items():
            if share == self.maker:
                self.units += units
            else:
                self._add_other(share, units)

    def _add_other(self, share: int, units: int) -> None:
        others = self.others or {}
        if left := others.get(share, 0) + units:
            others[share] = left
        else:
            others.pop(share, None)
        self.others = others or None


Node = FileRecord | Folder


class Change:
    """How the numbers of a folder change."""

    __slots__ = ("moved", "sizes")

    def __init__(self) -> None:
        self.moved = 0
        self.sizes: dict[int, int] = {}

    def count(self, name: str, node: Node | None, sign: int) -> None:
        """Adds a node under its name (`sign` 1), or takes it away (-1)."""
        sizes = self.sizes
        if isinstance(node, FileRecord):
            self.moved += sign * bool(node.was)
            share = share_of(node.session)
            sizes[share] = sizes.get(share, 0) + sign * (1 + len(name) // OF_TEXT + _units(node))
        elif node is not None:
            self.moved += sign * node.moved
            sizes[node.maker] = sizes.get(node.maker, 0) + sign * (len(name) // OF_TEXT + node.units)
            for share, units in node.others.items() if node.others else ():
                sizes[share] = sizes.get(share, 0) + sign * units


def share_of(session: str) -> int:
    return hash(session) % SHARES


def maker_of(node: Node) -> int:
    """The share that a node counts for."""
    return share_of(node.session) if isinstance(node, FileRecord) else node.maker


def _units(record: FileRecord) -> int:
    """Return the units for texts that a record does not have in common with others."""
    return (len(record.was) + len(record.link) + len(record.digest)) // OF_TEXT if record.was or record.link else 0


def length_of(name: str, node: Node) -> int:
    """Characters of the longest path that a node gives its folder."""
    return len(name) + 1 + (node.longest if isinstance(node, Folder) else 0)
