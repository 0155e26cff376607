"""The config as the gateway merges it: `openclaw.json` with the files that it includes by `$include`.

OpenClaw's rules (its docs, "Config includes"; lists as its code merges them): an object with `$include` stands for the named
files, merged in order, and its other keys are merged over them. Objects merge key by key, lists are joined, and of other
values the last one counts. Paths are relative to the including file and, with links resolved, must lie in the main config's
folder or in one of `OPENCLAW_INCLUDE_ROOTS`. `${VAR}` is left as written.

Each part knows where it is written, so that messages can point to it and edits go to the file that owns it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig import config_file, json5_edit
from toolguard_cli.hostconfig.config_file import ConfigFile
from toolguard_cli.hostconfig.json5_edit import ArrayNode, Node, ObjectNode, ScalarNode
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import gateway_config

INCLUDE = "$include"
MAX_LEVELS = gateway_config.MAX_LEVELS
MAX_INCLUDES = gateway_config.MAX_FILES
"""Limit of included files, repetitions counted: files that include each other often would grow exponentially."""
MAX_NAME = 4096
MAX_INCLUDED_BYTES = 2 * 1024 * 1024
ROOTS = "OPENCLAW_INCLUDE_ROOTS"

Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Spot:
    file: ConfigFile
    path: Steps

    @property
    def words(self) -> str:
        """`openclaw.json, line 3, column 5`, for messages."""
        line, column = json5_edit.locate(self.file.text, self.path)
        return f"{self.file.path}, line {line}, column {column}"


@dataclass(frozen=True)
class Part:
    """One value of the merged config.

    `spots`: all places where it is written, in merge order. `problem`: why some of it could not be read. `beside`: whether
    it is an object whose last spot also holds the `$include`, so that a key added there takes effect.
    """

    content: dict[str, Part] | list[Part] | bool | int | float | str | None
    spots: tuple[Spot, ...]
    problem: UserError | None = None
    beside: bool = False

    def child(self, step: str | int) -> Part | None:
        if isinstance(self.content, dict) and isinstance(step, str):
            return self.content.get(step)
        if isinstance(self.content, list) and isinstance(step, int) and 0 <= step < len(self.content):
            return self.content[step]
        return None

    @property
    def value(self) -> Any:
        if isinstance(self.content, dict):
            return {key: part.value for key, part in self.content.items()}
        if isinstance(self.content, list):
            return [part.value for part in self.content]
        return self.content


@dataclass(frozen=True)
class ConfigTree:
    """`files`: the main file first, then its includes. `twice`: files that are included more than once. `problems`: includes
    that could not be read, which keep the gateway from starting; their content is missing here.
    """

    files: tuple[ConfigFile, ...]
    root: Part
    value: dict[str, Any]
    twice: frozenset[Path] = field(default_factory=frozenset)
    problems: tuple[UserError, ...] = ()

    @property
    def main(self) -> ConfigFile:
        return self.files[0]

    @property
    def path(self) -> Path:
        return self.main.path

    @property
    def exists(self) -> bool:
        return self.main.exists

    def get(self, *steps: str | int) -> Any:
        part = self.part(steps)
        return None if part is None else part.value

    def part(self, steps: Steps) -> Part | None:
        part: Part | None = self.root
        for step in steps:
            part = part.child(step) if part is not None else None
        return part

    def spot(self, steps: Steps) -> Spot | None:
        """Where the effective value is written; None if there is none."""
        part = self.part(steps)
        return part.spots[-1] if part is not None else None

    def owner(self, steps: Steps) -> Spot:
        """Where to write a value for this path. Raises `UserError` if that is ambiguous or not allowed."""
        part, depth = self.root, 0
        while depth < len(steps) and (child := part.child(steps[depth])) is not None:
            part, depth = child, depth + 1
        name = json5_edit.path_name(steps)
        if part.problem:
            raise UserError(f"{name} may be in a file that cannot be read: {part.problem.message}", part.problem.fix)
        if len(part.spots) > 1 and not (part.beside and depth < len(steps)):
            places = " and ".join(str(spot.file.path) for spot in part.spots)
            raise UserError(f"{name} is merged from {places} ($include)", f"edit one of these files by hand: {name}")
        spot = part.spots[-1]
        self._refuse_unwritable(spot.file, name)
        if steps and depth == len(steps) and not spot.path:
            what = f"{name} is the whole content of {spot.file.path} ($include)"
            raise UserError(what, "name a part of it, or edit that file by hand")
        return Spot(spot.file, (*spot.path, *steps[depth:]))

    def _refuse_unwritable(self, file: ConfigFile, name: str) -> None:
        if file.path in self.twice:
            raise UserError(
                f"{name} is in {file.path}, which is included in several places",
                "edit that file by hand: the change applies to all of them",
            )
        if file.path != self.path and not _inside(file.path.resolve(), self.path.parent.resolve()):
            raise UserError(f"{name} is in {file.path}, outside the config's folder", "edit that file by hand")


def read(path: Path, files: Mapping[Path, ConfigFile] | None = None, env: Mapping[str, str] = os.environ) -> ConfigTree:
    """Raises `UserError` for the main file, like `config_file.read`; errors of includes are in `problems`.

    `files`: used instead of the files on disk, by path.
    """
    composer = _Composer(path, dict(files or {}), env)
    try:
        root = composer.main()
    except RecursionError as error:
        raise UserError(f"{path} and its includes are nested too deeply", "the gateway cannot read that either") from error
    value = root.value
    if not isinstance(value, dict):
        raise UserError(f"{path} is not an object", "its outermost value must be { ... }; the file was not changed")
    twice = frozenset(name for name, count in composer.uses.items() if count > 1)
    return ConfigTree(tuple(composer.read.values()), root, value, twice, tuple(composer.problems))


class _Composer:
    def __init__(self, path: Path, files: dict[Path, ConfigFile], env: Mapping[str, str]) -> None:
        self.path = path
        self.given = files
        self.read: dict[Path, ConfigFile] = {}
        self.uses: Counter[Path] = Counter()
        self.open: list[Path] = []
        self.problems: list[UserError] = []
        named = [Path(name).expanduser() for name in env.get(ROOTS, "").split(os.pathsep) if name]
        self.roots = [path.parent, *(root for root in named if root.is_absolute())]

    def main(self) -> Part:
        return self._file(self.path)

    def _file(self, path: Path) -> Part:
        file = self.read.get(path) or self.given.get(path) or config_file.read(path)
        self.read[path] = file
        self.uses[path] += 1
        if self.uses.total() > MAX_INCLUDES:
            raise UserError(f"{self.path} includes more than {MAX_INCLUDES} files", "include fewer files, or each only once")
        self.open.append(path)
        part = self._part(file, file.root, ())
        self.open.pop()
        return part

    def _part(self, file: ConfigFile, node: Node, path: Steps) -> Part:
        spot = Spot(file, path)
        if isinstance(node, ScalarNode):
            return Part(node.value, (spot,))
        if isinstance(node, ArrayNode):
            items = [self._part(file, item.value, (*path, at)) for at, item in enumerate(node.items)]
            return Part(items, (spot,))
        own = {
            member.key: self._part(file, member.value, (*path, member.key)) for member in node.items if member.key != INCLUDE
        }
        if len(own) == len(node.items):
            return Part(own, (spot,))
        return self._included(spot, node, own)

    def _included(self, spot: Spot, node: ObjectNode, own: dict[str, Part]) -> Part:
        directive = Spot(spot.file, (*spot.path, INCLUDE))
        named = json5_edit.value_of(next(member.value for member in node.items if member.key == INCLUDE))
        parts = [self._taken_in(name, directive) for name in (named if isinstance(named, list) else [named])]
        if own:
            if not all(isinstance(part.content, dict) for part in parts):
                parts = [
                    self._unread(
                        UserError(f"{directive.words}: next to other keys, $include can only include objects"), spot
                    )
                ]
            parts.append(Part(own, (spot,)))
        merged = reduce(_merged, parts, Part({}, ())) if isinstance(named, list) else reduce(_merged, parts)
        return replace(merged, spots=merged.spots or (spot,), beside=bool(own))

    def _taken_in(self, name: Any, directive: Spot) -> Part:
        opened = len(self.open)
        try:
            return self._file(self._place(name, directive))
        except UserError as error:
            del self.open[opened:]
            return self._unread(error, Spot(directive.file, directive.path[:-1]))

    def _unread(self, error: UserError, spot: Spot) -> Part:
        self.problems.append(error)
        return Part({}, (spot,), error)

    def _place(self, name: Any, directive: Spot) -> Path:
        """The file that this name refers to. Raises `UserError` if the gateway would refuse it."""
        if not isinstance(name, str) or "\0" in name or len(name) >= MAX_NAME:
            raise UserError(f"{directive.words}: $include does not name a file", "it must be a path or a list of paths")
        place = Path(os.path.normpath(directive.file.path.parent / name))
        problem, fix = self._problem(place)
        if problem:
            raise UserError(f"{directive.words}: $include {name} {problem}", fix)
        return place

    def _problem(self, place: Path) -> tuple[str, str]:
        if not any(_inside(place, root) and _inside(place.resolve(), root.resolve()) for root in self.roots):
            return "is outside the folder of the config", f"move the file there, or add its folder to {ROOTS}"
        if place in self.open:
            return "includes itself", "remove one of the two includes"
        if len(self.open) > MAX_LEVELS:
            return f"is nested deeper than {MAX_LEVELS} levels", "include it further up"
        if place in self.given or place in self.read:
            return "", ""
        if not place.is_file():
            return "does not exist", "fix the path, or create the file"
        if place.stat().st_size > MAX_INCLUDED_BYTES:
            return f"is larger than {MAX_INCLUDED_BYTES} bytes", "split it; the gateway accepts no larger files"
        return "", ""


def _merged(below: Part, above: Part) -> Part:
    spots, problem = (*below.spots, *above.spots), above.problem or below.problem
    if isinstance(below.content, dict) and isinstance(above.content, dict):
        content = dict(below.content)
        for key, part in above.content.items():
            content[key] = _merged(content[key], part) if key in content else part
        return Part(content, spots, problem)
    if isinstance(below.content, list) and isinstance(above.content, list):
        return Part([*below.content, *above.content], spots, problem)
    return replace(above, spots=spots, problem=problem)


def _inside(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)
