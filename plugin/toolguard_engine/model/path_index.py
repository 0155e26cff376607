"""Finds those of many holders of paths that a change of one path may concern, in the number of the path's parts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from fnmatch import translate
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from toolguard_engine import lazy_re

_WILDCARD = lazy_re.compile(r"[*?\[]")
Holder = TypeVar("Holder", bound=Hashable)


@lru_cache(maxsize=256)
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))


class PathPattern(NamedTuple):
    """Paths with wildcards (`*` also means several folders); with `folder`: a regular expression for paths from there on."""

    text: str
    folder: str | None = None

    @property
    def root(self) -> str:
        """The folder that all paths which fit are in, however deep; empty if that can be any."""
        if self.folder is not None:
            return self.folder
        wildcard = _WILDCARD.search(self.text)
        return self.text[: wildcard.start() if wildcard else len(self.text)].rpartition("/")[0]

    def fitting(self, paths: Iterable[str]) -> Iterator[str]:
        """Those of many paths that fit, in their order; most differ in what stands before the first wildcard."""
        if self.folder is not None:
            yield from filter(self.fits, paths)
            return
        wildcard = _WILDCARD.search(self.text)
        before = self.text[: wildcard.start() if wildcard else len(self.text)]
        fits = _compiled(self.text).match
        yield from (path for path in paths if path.startswith(before) and fits(path))

    def fits(self, path: str) -> bool:
        if self.folder is None:
            return _compiled(self.text).match(path) is not None
        return path.startswith(f"{self.folder}/") and bool(re.compile(self.text).match(path, len(self.folder) + 1))


class PathIndex(Generic[Holder]):
    def __init__(self) -> None:
        self._by_file: dict[str, set[Holder]] = {}
        self._by_folder: dict[str, set[Holder]] = {}
        self._by_pattern: dict[PathPattern, set[Holder]] = {}
        self._patterns: dict[str, set[PathPattern]] = {}
        """By their roots."""

    def add(self, holder: Holder, files: Iterable[str], patterns: Iterable[PathPattern] = ()) -> None:
        """`files`: the paths that it holds; `patterns`: what else it may hold."""
        for path in files:
            self._by_file.setdefault(path, set()).add(holder)
        for folder in folders_of(files):
            self._by_folder.setdefault(folder, set()).add(holder)
        for pattern in patterns:
            self._by_pattern.setdefault(pattern, set()).add(holder)
            self._patterns.setdefault(pattern.root, set()).add(pattern)

    def remove(self, holder: Holder, files: Iterable[str], patterns: Iterable[PathPattern] = ()) -> None:
        """Undoes what `add` did with the same arguments."""
        for path in files:
            _discard(self._by_file, path, holder)
        for folder in folders_of(files):
            _discard(self._by_folder, folder, holder)
        for pattern in patterns:
            _discard(self._by_pattern, pattern, holder)
            if pattern not in self._by_pattern:
                _discard(self._patterns, pattern.root, pattern)

    def any(self, paths: Iterable[str], folders: Iterable[str]) -> set[Holder]:
        """Those that hold one of these paths, or may, or any path in one of these folders, however deep."""
        found = set[Holder]()
        for path in paths:
            found.update(self._by_file.get(path, ()))
            if self._patterns:
                found.update(*(self._by_pattern[pattern] for pattern in self._fitting(path)))
        for folder in folders:
            found.update(self._by_folder.get(folder, ()))
        return found

    def _fitting(self, path: str) -> Iterator[PathPattern]:
        for root in ("", *_above(path)):
            yield from (pattern for pattern in self._patterns.get(root, ()) if pattern.fits(path))


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def folders_of(files: Iterable[str]) -> set[str]:
    """All folders that any of the files is in."""
    found = set[str]()
    for path in files:
        for folder in _above(path):
            if folder in found:
                break
            found.add(folder)
    return found


_Key = TypeVar("_Key", bound=Hashable)
_Item = TypeVar("_Item", bound=Hashable)


def _discard(group: dict[_Key, set[_Item]], key: _Key, item: _Item) -> None:
    if (items := group.get(key)) is not None:
        items.discard(item)
        if not items:
            del group[key]
