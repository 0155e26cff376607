"""Globs over the paths that a call names or touches, for rules: in doubt a path fits. Text only, no file is asked.

The rules (those of `text_globs`, which is used to allow calls, are the opposite):

- `*` and `?` stay inside one name, `**` crosses `/`; all of them find names that begin with a dot. `x/**` is `x` and all
  that is in it, as is `x/`. A pattern that begins with neither `/` nor `~` fits in any folder: `*.pem` is `**/*.pem`.
- A path is made whole first: `~`, the folder it is relative to, `..` (`shell.places.normal`). No symbolic link is followed.
- What a command leaves open, by its own wildcards or a variable that is not known, counts as every name that it could be,
  but a name of which nothing is known counts only below a folder that the pattern names in full: `rm /srv/*` fits
  `/srv/prod/**`, `ls *` does not fit `*.pem`. A path of which the beginning is not known fits nothing, and is in no
  exception.
- What is done to a folder with everything in it is done to all that a pattern names in full below: `rm -r /srv` fits
  `/srv/prod/**`.
- Capitals make no difference, as on the disks of some systems; in an exception (`inside`) they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unicodedata import normalize

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import places
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_globs import fits, name_test
from toolguard_engine.effects.facts.places import Where

MAX_PATH = 4_096
"""No system takes a longer path."""

_WILD = lazy_re.compile(r"[*?\[\x00]")
_WILDCARDS = lazy_re.compile(r"[*?]+")
_OPEN = lazy_re.compile(r"[*?\x00]+")


class Path:
    """One path of a call. `deep`: whatever is done is done to all below too.

    `low`: without capitals, `stem`: that before the first wildcard; `only_open`: of each name all or nothing is known.
    """

    __slots__ = ("_parts", "deep", "low", "only_open", "stem", "text", "wild")

    def __init__(self, text: str, *, deep: bool = False) -> None:
        self.text = text if text.isascii() else normalize("NFC", text)
        self.low = self.text.lower()
        self.deep = deep
        wild = _WILD.search(text)
        self.wild = wild is not None
        self.stem = self.low[: wild.start()] if wild else self.low
        self.only_open = wild is None or not any(
            _WILD.search(part) and not _OPEN.fullmatch(part) for part in text.split("/")
        )
        self._parts: list[str] | None = None

    @property
    def parts(self) -> list[str]:
        """The names, without capitals."""
        if self._parts is None:
            self._parts = self.low[1:].replace(UNKNOWN, "*").split("/") if self.low != "/" else []
        return self._parts


def whole(path: str, where: Where, cwd: str = "") -> str:
    """The absolute path that is meant, of at most `MAX_PATH` characters; empty where its beginning is not known."""
    full = places.normal(path[:MAX_PATH], where, cwd)
    return "" if full.startswith(f"/{UNKNOWN}") else full


class PathGlob:
    """One pattern. `fits` is for what is forbidden, `inside` for exceptions from it."""

    __slots__ = ("_anchored", "_exact", "_first", "_head", "_loose", "_plain", "needle", "text")

    def __init__(self, pattern: str, home: str) -> None:
        text = pattern if pattern.isascii() else normalize("NFC", pattern)
        text = f"{text}**" if text.endswith("/") else text
        self._anchored = text.startswith(("/", "~"))
        text = places.normal(text, Where(home)) if self._anchored else f"/**/{'/'.join(_named_parts(text))}"
        self.text = text
        self._head = _head(text).lower() if self._anchored else ""
        self._loose = _segments(text.lower())
        self._exact = _segments(text)
        self._first = self._loose[0]
        self.needle = self._head or max(_WILDCARDS.split(text.lower().replace("/**", "*")), key=len)
        """A text that every path has in it (`Path.low`) that is covered and leaves nothing open."""
        self._plain = not _WILD.search(text)

    def may_fit(self, path: Path) -> bool:
        """A quick look."""
        if not self._anchored:
            return self.needle in path.low or not path.only_open
        if self._head.startswith(path.stem):
            return path.wild or path.deep or self._head == path.low
        return path.low.startswith(self._head)

    def fits(self, path: Path) -> bool:
        if not self.may_fit(path):
            return False
        if self._anchored and not path.wild:
            low = path.low
            if not low.startswith(self._head):
                return path.deep and (low == "/" or self._head.startswith(f"{low}/"))
            if self._plain:
                return low == self._head
        test = _anchored_part if self._anchored else _any_part
        return _follow(self._loose, path.parts, test if path.wild else _fixed_part) or (path.deep and self._below(path))

    def inside(self, path: Path) -> bool:
        """Whether all that the path can be is in the pattern."""
        if UNKNOWN in path.text:
            return False
        parts = path.text[1:].split("/") if path.text != "/" else []
        return _follow(self._exact, parts, _fixed_part)

    def _below(self, path: Path) -> bool:
        """Whether the pattern could name something below the path."""
        parts = path.parts
        return (
            self._anchored
            and len(parts) < len(self._first)
            and all(_anchored_part(wanted, part) for wanted, part in zip(self._first, parts, strict=False))
        )


def _named_parts(text: str) -> list[str]:
    return [part for part in text.split("/") if part not in ("", ".")]


def _head(text: str) -> str:
    """The folders of a pattern before its first wildcard."""
    wild = _WILD.search(text)
    return text if wild is None else text[: text.rfind("/", 0, wild.start())] if wild.start() else ""


def _segments(text: str) -> tuple[tuple[str, ...], ...]:
    """The names between the `**`: the first segment begins the path, the last one ends it."""
    choices: list[list[str]] = [[]]
    for part in text[1:].split("/"):
        if part == "**":
            choices.append([])
        elif part:
            choices[-1].append(part)
    return tuple(map(tuple, choices))


def _follow(segments: Sequence[Sequence[str]], parts: Sequence[str], test: Callable[[str, str], object]) -> bool:
    """Whether the segments cover all parts. Each but the last takes the first place that fits: no other could help more."""
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return len(parts) == len(first) and _stands(first, parts, 0, test)
    end = len(parts) - len(last)
    at = len(first)
    if end < at or not _stands(first, parts, 0, test) or not _stands(last, parts, end, test):
        return False
    for segment in segments[1:-1]:
        while at + len(segment) <= end and not _stands(segment, parts, at, test):
            at += 1
        if at + len(segment) > end:
            return False
        at += len(segment)
    return True


def _stands(segment: Sequence[str], parts: Sequence[str], at: int, test: Callable[[str, str], object]) -> bool:
    return all(test(wanted, parts[at + number]) for number, wanted in enumerate(segment))


def _fixed_part(wanted: str, part: str) -> object:
    return wanted == part or (("*" in wanted or "?" in wanted) and name_test(wanted)(part))


def _any_part(wanted: str, part: str) -> object:
    """A name that the command leaves open altogether is no sign of anything."""
    if _OPEN.fullmatch(part):
        return not wanted.strip("*?")
    return _anchored_part(wanted, part)


def _anchored_part(wanted: str, part: str) -> object:
    if _WILD.search(part) is None:
        return _fixed_part(wanted, part)
    if _WILD.search(wanted) is None:
        return fits(part, wanted)
    ours, theirs = _WILD.split(wanted, maxsplit=1)[0], _WILD.split(part, maxsplit=1)[0]
    return ours.startswith(theirs) or theirs.startswith(ours)
