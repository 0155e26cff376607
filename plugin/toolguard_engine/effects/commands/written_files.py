"""The files that a command writes, and what may be in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase as fnmatch
from functools import lru_cache
from itertools import islice
from posixpath import normpath

from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.facts.command import UNKNOWN, Flaw
from toolguard_engine.effects.facts.letter_case import folded
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.syntax.parse import MAX_CHARS

MAX_TOTAL = 2 * MAX_CHARS
MAX_SKIPPED = 6
"""Texts that a file may have because changes before an edit have not happened."""

MAX_STORED = 8 * MAX_TOTAL
MAX_SIMILAR = 64
"""Files and words of which the name is known only in part."""

MAX_JOINED = 4 * MAX_CHARS
"""What such names may stand for, all in all."""

MAX_CACHED = 300
"""Characters of a path and its folder that are kept with their place."""


def located(path: str, cwd: str) -> str:
    """The key under which a file is found again in the same command."""
    return _located(path, cwd) if len(path) + len(cwd) <= MAX_CACHED else _located.__wrapped__(path, cwd)


@lru_cache(maxsize=1024)
def _located(path: str, cwd: str) -> str:
    whole = path if path.startswith(("/", "~", "$", UNKNOWN)) or not cwd else f"{cwd}/{path}"
    if UNKNOWN in whole and "/../" in whole:  # what is not known may have several parts
        whole = UNKNOWN + whole[whole.rindex("/../") + 3 :]
    return normpath(whole)


@lru_cache(maxsize=1024)
def _all_located(names: tuple[str, ...], cwd: str) -> frozenset[str] | None:
    """The folded keys of several files; None if one of them is not known."""
    if UNKNOWN in cwd or any(UNKNOWN in name or GLOB.search(name) for name in names):
        return None
    return frozenset(folded(located(name, cwd)) for name in names)


def path_below(place: str, source: str) -> str | None:
    """What follows in a path after a folder, or after the folder of all that a pattern means; None if it lies elsewhere."""
    if GLOB.search(source) is None:
        return place[len(source) :] if place == source or place.startswith(f"{source}/") else None
    parts, depth = place.split("/"), source.count("/")
    return f"/{'/'.join(parts[depth:])}" if fnmatch("/".join(parts[: depth + 1]), source) else None


def last_part(word: str) -> str:
    return (word.rpartition("/")[2] or word) if "/" in word else word


def _may_be(name: str, other: str) -> bool:
    """Whether two paths, known only in part, may be the same: by what comes before and after the unknown parts."""
    start, _, _ = name.partition(UNKNOWN)
    begin, _, _ = other.partition(UNKNOWN)
    end, stop = name.rpartition(UNKNOWN)[2], other.rpartition(UNKNOWN)[2]
    if UNKNOWN not in name:
        return name.startswith(begin) and name.endswith(stop)
    if UNKNOWN not in other:
        return other.startswith(start) and other.endswith(end)
    return (start.startswith(begin) or begin.startswith(start)) and (end.endswith(stop) or stop.endswith(end))


class WrittenFiles:
    """The texts that a command has written so far, by the place of the file.

    `running`: the files of this machine, None if they are not known. `flaws`: those of the walk, to which limits are added.
    """

    def __init__(self, running: RunFiles | None, flaws: set[Flaw]) -> None:
        self.running = running
        self.flaws = flaws
        self.texts: dict[str, str] = {}
        self.replaced: list[tuple[str, str]] = []
        """Texts that they had before others took their place."""
        self.spelled: dict[str, str] = {}
        """The names of `texts` by the folded ones."""
        self.unnamed: dict[str, bool] = {}
        """Those of `texts` whose names are known only in part."""
        self.appended: set[str] = set()
        """Those of `texts` of which only what is added is known so far."""
        self.opaque: set[str] = set()
        """Files that the command changes in a way that is not known."""
        self.kept = 0
        """Characters of all outputs that went to files."""
        self.stored = 0
        """Characters of all that was put into `texts`, also what other texts have replaced since."""
        self.similar = 0
        """Characters of files that were read because their names are known only in part."""

    def shared(self, flaws: set[Flaw]) -> WrittenFiles:
        """The same files for the walk of a file that the command runs, which has flaws and limits of its own."""
        inner = WrittenFiles(self.running, flaws)
        inner.texts, inner.spelled, inner.unnamed, inner.appended = self.texts, self.spelled, self.unnamed, self.appended
        inner.opaque, inner.replaced = self.opaque, self.replaced
        return inner

    def possible_text(self, path: str, cwd: str) -> str | None:
        """The content of a file that this command wrote; of all that it may be if its name is not known."""
        if not self.texts:
            return None
        place = located(path, cwd)
        if UNKNOWN in place:
            return self._of_similar_names(place, self.texts)
        if (text := self.text(path, cwd)) is not None:
            return text
        if GLOB.search(path) is None or (wild := GLOB.search(place)) is None:
            return None
        before = place[: wild.start()]  # most patterns mean no file of the command: comparing is cheaper than compiling
        others = [other for other in self.texts if other.startswith(before)]
        return self.joined((self.texts[other] for other in others if fnmatch(other, place)), "\n") or None

    def earlier_texts(self, path: str, cwd: str) -> list[str]:
        """What a file may contain if some of the command's changes have not happened."""
        place = located(path, cwd)
        return list(dict.fromkeys(text for other, text in self.replaced if other == place))[-MAX_SKIPPED:]

    def assume(self, path: str, cwd: str, text: str) -> None:
        """The file is taken to have this text."""
        self.store(located(path, cwd), text)

    def run_text(self, path: str, cwd: str) -> str | None:
        """The same of a file that is run, in which there may also be what was written to a name known only in part."""
        text = self.possible_text(path, cwd)
        if not self.unnamed:
            return text
        place = located(path, cwd)
        if UNKNOWN in place or (text is None and self.running is not None and self.running.exists(place)):
            return text
        similar = self._of_similar_names(place, self.unnamed)
        return "\n".join(filter(None, (text, similar))) or None

    def _of_similar_names(self, place: str, among: Mapping[str, object]) -> str | None:
        """The contents of those files that may be this one, because one of the two names is known only in part."""
        similar = [other for other in islice(among, MAX_SIMILAR) if other == place or _may_be(other, place)]
        text = self.joined(dict.fromkeys(self.texts[other] for other in similar), "\n")
        self.similar += len(text)
        if len(among) > MAX_SIMILAR or self.similar > MAX_JOINED:
            self.flaws.add("long")
        return (text if self.similar <= MAX_JOINED else "") or None

    def may_change(self, names: tuple[str, ...], cwd: str) -> bool:
        """Whether this command writes or changes any of these files."""
        places = _all_located(names, cwd)
        return places is None or not (
            places.isdisjoint(self.spelled) and (not self.opaque or places.isdisjoint(self._opaque()))
        )

    def _opaque(self) -> Iterator[str]:
        return map(folded, self.opaque)

    def is_unknown(self, path: str, cwd: str) -> bool:
        """Whether this command changes a file in a way that is not known."""
        return bool(self.opaque) and located(path, cwd) in self.opaque

    def text(self, path: str, cwd: str) -> str | None:
        """The content of a file that this command wrote."""
        if not self.texts:
            return None
        place = located(path, cwd)
        if place in self.appended and self.running is not None:
            self.appended.discard(place)
            if before := self.running.text(place, "", sure=False):
                self.texts[place] = before.text + self.texts[place]
        return self.texts[place] if place in self.texts else self._in_other_case(place)

    def _in_other_case(self, place: str) -> str | None:
        """The same, of a file that this is where file names ignore case, and the file on disk where they do not."""
        if (other := self.spelled.get(folded(place))) is None:
            return None
        there = self.running.text(place, "", sure=False) if self.running is not None else None
        return self.texts[other] if there is None else f"{self.texts[other]}\n{there.text}"

    def store(self, place: str, text: str) -> None:
        self.stored += len(text)
        if self.stored > MAX_STORED:
            self.flaws.add("long")
            text = ""
        if (before := self.texts.get(place)) and not text.startswith(before):
            self.replaced.append((place, before))
        self.texts[place] = text
        if UNKNOWN in place:
            self.unnamed[place] = True
        self.spelled[folded(place)] = place

    def possible_files(self, words: Iterable[str]) -> list[str]:
        """The words of which one may be a file, each once; only some of those that are not known."""
        files = list(dict.fromkeys(words))
        unknown = [word for word in files if UNKNOWN in word]
        if len(unknown) <= MAX_SIMILAR:
            return files
        self.flaws.add("long")
        return [*(word for word in files if UNKNOWN not in word), *unknown[:MAX_SIMILAR]]

    def joined(self, texts: Iterable[str], sign: str = "") -> str:
        """Joins as much of the texts as is read of one."""
        room, pieces = MAX_CHARS, list[str]()
        for text in texts:
            if len(text) > room:
                self.flaws.add("long")
                pieces.append(text[:room])
                break
            pieces.append(text)
            room -= len(text)
        return sign.join(pieces)

    def append(self, text: str, path: str, cwd: str) -> None:
        """Records that something is put into a file."""
        place = located(path, cwd)
        if place not in self.texts:
            self.appended.add(place)
        self.kept += len(text)
        self.store(place, f"{self.texts.get(place, '')}\n{text}"[:MAX_CHARS])
