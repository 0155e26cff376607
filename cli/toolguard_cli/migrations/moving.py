"""Decides which settings move where, in parts as large as possible, so that comments and layout stay together.

Invariants: a part moves as a whole if none of it is set here yet and all its values are accepted here; otherwise its members
are considered one by one. Nothing that would keep the gateway from starting is moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.config_tree import ConfigTree, Part, Spot, Steps
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations import allowed
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.migrations.report import Left, MigrationReport, Moved, named, shown
from toolguard_cli.setup.plugin_entry import ENTRY

OURS: Steps = (*ENTRY, "config")
NONE_SUCH = "toolguard has no such setting"

_EMPTY = re.compile(r"\{\s*\}")
_COMMENTS = ("//", "/*")


@dataclass(frozen=True)
class Move:
    """A move from one path of the config to another. `moved`: the settings in it."""

    source: Steps
    target: Steps
    moved: tuple[Moved, ...]


Act = Move | Left


class Holder:
    """An object of the config that holds old settings. `label`: its name in messages."""

    def __init__(self, tree: ConfigTree, steps: Steps, label: str, report: MigrationReport) -> None:
        self.tree = tree
        self.steps = steps
        self.label = label
        self.report = report

    def whole(self, migration: Migration) -> Iterator[Act]:
        """The acts for an object that holds only settings."""
        value = self.tree.get(*self.steps)
        same = all(migration.target(key) == (key,) for key in value)
        if value and same and self._free((), OURS) and allowed.fits((), value):
            moved = tuple(Moved(self._name((key,)), (key,), member) for key, member in value.items())
            yield Move(self.steps, OURS, moved)
        else:
            yield from self.some(migration, value)

    def some(self, migration: Migration, keys: Iterable[str]) -> Iterator[Act]:
        for key in keys:
            target = migration.target(key)
            if target is None:
                yield Left(self._name((key,)), migration.gone.get(key, NONE_SUCH))
            else:
                yield from self.setting((key,), target)

    def setting(self, below: Steps, target: Steps) -> Iterator[Act]:
        """The acts for the value at `below`, whose counterpart is the setting `target`."""
        value = self.tree.get(*self.steps, *below)
        own = self.tree.part((*OURS, *target))
        if self._free(below, (*OURS, *target)) and allowed.fits(target, value):
            yield Move((*self.steps, *below), (*OURS, *target), (Moved(self._name(below), target, value),))
        elif isinstance(value, dict) and value and (own is None or isinstance(own.content, dict)):
            for key in value:
                yield from self.setting((*below, key), (*target, key))
        else:
            taken = self._taken(target, own.value) if own is not None else ""
            yield Left(self._name(below), taken or _unfit(target, value))

    def _free(self, below: Steps, target: Steps) -> bool:
        """Whether the part can move unchanged: there is nothing at the target, and all of it is written in one place."""
        part = self.tree.part((*self.steps, *below))
        return part is not None and self.tree.part(target) is None and _is_written(part, part.spots[0])

    def _taken(self, target: Steps, value: object) -> str:
        origin = self.report.origin(target)
        owner = f"{origin} became" if origin else "toolguard has"
        return f"{owner} {path_name(target)} = {shown(value)}, which stays"

    def _name(self, below: Steps) -> str:
        return named(self.label, path_name(below)) if self.label else named(path_name((*self.steps, *below)))


def _is_written(part: Part, spot: Spot) -> bool:
    """Whether the text at this spot is the whole part: nothing in it is included from elsewhere."""
    content = part.content
    inner: Iterable[tuple[str | int, Part]] = (
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    )
    here = len(part.spots) == 1 and part.spots[0] == spot and bool(spot.path)
    return here and all(_is_written(child, Spot(spot.file, (*spot.path, key))) for key, child in inner)


def _unfit(target: Steps, value: object) -> str:
    may = allowed.describe(target)
    return f"{shown(value)} is not allowed; {path_name(target)} must be {may}" if may else NONE_SUCH


def perform(draft: Draft, acts: list[Act], report: MigrationReport, floor: int) -> None:
    """Makes the moves, and removes objects that become empty, if their path has at least `floor` steps."""
    for act in acts:
        if isinstance(act, Left):
            report.left.append(act)
        else:
            draft.move(act.source, act.target)
            report.moved += act.moved
            for length in range(len(act.source) - 1, floor - 1, -1):
                drop_empty(draft, act.source[:length])


def drop_empty(draft: Draft, steps: Steps) -> None:
    """Removes an object without members and comments, unless a comment beside it would be removed too."""
    part = draft.tree.part(steps)
    if part is None or part.content != {} or len(part.spots) != 1 or not part.spots[0].path:
        return
    spot = part.spots[0]
    node = json5_edit.find(spot.file.root, spot.path)
    if node is None or not _EMPTY.fullmatch(spot.file.text, node.start, node.end):
        return
    less = json5_edit.delete(spot.file.text, spot.path)
    if all(less.count(sign) == spot.file.text.count(sign) for sign in _COMMENTS):
        draft.delete(steps)
