"""What there is in a tree of files (`model.file_tree`) below a folder, the latest first."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.model.file_folder import Folder, Node
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import MAX_PATH, FileTree

WILD = lazy_re.compile(r"[*?\[]")
_STEPS = 0.25
"""Of looking at one name."""


IN_ANY_FOLDER = r"(?:(?!node_modules/)[^/]{1,255}/){0,2048}"
"""The beginning of a pattern whose rest is looked for in a folder and in those below it, but not in packages of others."""

_DEPTH, _MAX_NAME = 2_048, 255
MAX_NAMED = 4_000
"""Files of one pattern that are found. Whoever asks for so many has to treat the rest as unknown."""


class FoundFile(NamedTuple):
    """`doubted`: see `file_tree.TreePlace`."""

    path: str
    node: Node
    doubted: bool


def below(
    tree: FileTree, path: str, enters: Callable[[Folder], bool] = lambda _: True, depth: int = MAX_PATH
) -> Iterator[FoundFile]:
    """All in a folder: a folder before what is in it. `enters`: whether to look into one; `depth`: how many slashes the
    paths may have. Nothing may change meanwhile."""
    place = tree.find(path.split("/"))
    if place is None or not isinstance(place.node, Folder) or not enters(place.node):
        return
    waiting = [_level(path + "/", place.node, doubted=place.doubted)]
    while waiting:
        if (file := next(waiting[-1], None)) is None:
            waiting.pop()
            continue
        tree.steps += _STEPS
        yield file
        if isinstance(file.node, Folder) and file.path.count("/") < depth and enters(file.node):
            waiting.append(_level(f"{file.path}/", file.node, doubted=file.doubted))


def _level(inside: str, folder: Folder, *, doubted: bool) -> Iterator[FoundFile]:
    if doubted or folder.doubts is not None:
        for name, node in reversed(folder.children.items()):
            yield FoundFile(inside + name, node, doubted or folder.is_doubted(name))
    else:
        for name, node in reversed(folder.children.items()):
            yield FoundFile(inside + name, node, doubted)


def everything(root: Folder) -> Iterator[FoundFile]:
    """Yields files in the opposite order of `below`, but for the folders, which still come before what is in them."""
    waiting = [iter([*_level("", root, doubted=False)][::-1])]
    while waiting:
        if (file := next(waiting[-1], None)) is None:
            waiting.pop()
            continue
        yield file
        if isinstance(file.node, Folder):
            waiting.append(iter([*_level(f"{file.path}/", file.node, doubted=file.doubted)][::-1]))


def meant(tree: FileTree, pattern: str) -> Iterator[FoundFile]:
    """What a pattern with `*`, `?` and `[]` means, each of which stays in one part of the path."""
    parts = pattern.split("/")
    waiting = [iter([FoundFile("", tree.root, doubted=False)])]
    while waiting:
        if (file := next(waiting[-1], None)) is None:
            waiting.pop()
        elif len(waiting) == len(parts) + 1:
            yield file
        elif isinstance(file.node, Folder):
            inside = f"{file.path}/" if len(waiting) > 1 else ""
            waiting.append(_fitting(tree, file.node, inside, parts[len(waiting) - 1], doubted=file.doubted))


def _fitting(tree: FileTree, folder: Folder, inside: str, part: str, *, doubted: bool) -> Iterator[FoundFile]:
    if WILD.search(part) is None:
        if (node := folder.children.get(part)) is not None:
            yield FoundFile(inside + part, node, doubted or folder.is_doubted(part))
        return
    fits = named(part)
    for name in reversed(folder.children):
        tree.steps += _STEPS
        if fits(name):
            yield FoundFile(inside + name, folder.children[name], doubted or folder.is_doubted(name))


@lru_cache(256)
def named(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Tells of a name whether a pattern means it."""
    return re.compile(fnmatch.translate(pattern)).match


def below_named(tree: FileTree, path: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The files in a folder whose paths from there on fit a pattern, in which only slashes stand for slashes."""
    rest = pattern.pattern.removeprefix(IN_ANY_FOLDER)
    slashes = rest.replace("[^/]", "").count("/")  # of all alternatives, so not less than in any of them
    place = tree.find(path.split("/"))
    if place is None or not isinstance(place.node, Folder):
        return
    if rest != pattern.pattern and not slashes:
        yield from (f"{path}/{inside}" for inside in _named(tree, place.node, rest, "node_modules"))
        return
    most, skip = path.count("/") + 1 + slashes + (0 if rest == pattern.pattern else _DEPTH), len(path) + 1
    for file in below(tree, path, depth=most):
        if tree.record_of(file.node, doubted=False) is not None and pattern.match(file.path, skip):
            yield file.path


def in_any_folder(tree: FileTree, pattern: str) -> Iterator[str]:
    """The files that a pattern with `**` means, which reaches into folders."""
    before, _, name = pattern.rpartition("**")
    path = before.rstrip("/")
    if "/" in name or not before.endswith("/") or WILD.search(before):
        fits, known = named(pattern), WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]
        yield from (file.path for file in below(tree, known) if _is_one(tree, file) and fits(file.path))
    elif (place := tree.find(path.split("/"))) is not None and isinstance(place.node, Folder):
        rest = _ending_in(name)
        yield from (f"{path}/{inside}" for inside in _named(tree, place.node, rest, ""))


@lru_cache(256)
def _ending_in(name: str) -> str:
    return fnmatch.translate(f"*{name}")


def _is_one(tree: FileTree, file: FoundFile) -> bool:
    return tree.record_of(file.node, doubted=False) is not None


def _named(tree: FileTree, folder: Folder, pattern: str, skipped: str) -> tuple[str, ...]:
    """The files in it and in all folders below whose names fit; remembered until something in it changes. Raises
    `RecursionError` for folders that are nested far more deeply than anybody's. `skipped`: the name of folders that do not
    count."""
    known = tree.named.recall(pattern, skipped)
    if (paths := known.get(folder.state)) is not None:
        return paths
    since = tree.named.since(folder.state, known)
    if since is None or len(before := known[since[0]]) > MAX_NAMED:
        result = _fits(tree, folder, reversed(folder.children), pattern, skipped)
    else:
        earlier, changed = since
        tree.steps += len(before) / 20
        rest = [path for path in before if path.partition("/")[0] not in changed]
        result = [*_fits(tree, folder, changed, pattern, skipped), *rest]
        if known.pop(earlier, None) is not None:
            tree.named.added(-len(before) - 1)
    known[folder.state] = kept = tuple(result[: MAX_NAMED + 1])
    tree.named.added(len(kept) + 1)
    return kept


def _fits(tree: FileTree, folder: Folder, names: Iterable[str], pattern: str, skipped: str) -> list[str]:
    """The same for these children."""
    paths, fits, children = list[str](), _name(pattern), folder.children
    count = 0
    for name in names:
        count += 1
        if (node := children.get(name)) is None:
            continue
        if (isinstance(node, FileRecord) or node.record is not None) and fits(name):
            paths.append(name)
        if isinstance(node, Folder) and name != skipped and len(name) <= _MAX_NAME:
            paths += [f"{name}/{inside}" for inside in _named(tree, node, pattern, skipped)]
        if len(paths) > MAX_NAMED:
            break
    tree.steps += _STEPS * count
    return paths


@lru_cache(256)
def _name(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern).match
