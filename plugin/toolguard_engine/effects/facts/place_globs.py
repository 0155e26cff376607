"""Wildcards in path names. The same wildcard can forbid and allow, so there are two kinds of matching:

- For what a command may do, matching is generous: `fits` (`[...]` matches any character), `shell_fits` and `may_be` (shell
  rules; anything unknown or too long to try matches).
- For what a user excludes or lists, matching is strict: `name_test` supports only `*` and `?`, and `[` is a literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN

GLOB = lazy_re.compile(r"[*?\[]")
_MAX_GLOB = 256
_STARS = lazy_re.compile(r"\*+")

_CONTENT = lazy_re.compile(r"[*?.!^\[\]{},]+")
_CLASS = lazy_re.compile(r"\[[^\]/]{1,20}\]")


def content(full: str) -> tuple[str, bool]:
    """The folder that is meant as a whole, if the last parts of a path match everything in it."""
    whole = False
    while full != "/":
        above, _, last = full.rpartition("/")
        if not (("*" in last or "?" in last) and _CONTENT.fullmatch(last)):
            break
        full, whole = above or "/", True
    return full, whole


def fits(pattern: str, name: str) -> bool:
    """Whether a pattern matches a name; `[...]` matches any one character. Time is at most the product of both lengths."""
    if pattern[:1] not in ("*", "?", "[", name[0]):
        return False
    pattern = _CLASS.sub("?", pattern)
    at = here = 0
    star, kept = -1, 0
    while here < len(name):
        if at < len(pattern) and (pattern[at] == "?" or pattern[at] == name[here]):
            at, here = at + 1, here + 1
        elif at < len(pattern) and pattern[at] == "*":
            star, kept = at, here
            at += 1
        elif star >= 0:
            kept += 1
            at, here = star + 1, kept
        else:
            return False
    return not pattern[at:].strip("*")


def shell_fits(part: str, name: str) -> bool:
    pattern = part.lower()
    if pattern == name:
        return True
    wild = GLOB.search(pattern)
    return wild is not None and name.startswith(pattern[: wild.start()]) and _glob(name, pattern)


def may_be(part: str, name: str) -> bool:
    """The same for a name with an unknown part, which matches any text."""
    if UNKNOWN not in part:
        return shell_fits(part, name)
    return len(part) > _MAX_GLOB or fnmatchcase(name, part.lower().replace("[^", "[!").replace(UNKNOWN, "*"))


def _glob(name: str, pattern: str) -> bool:
    """A shell glob: only a dot matches a leading dot. A pattern that is too long to try matches."""
    if len(pattern) > _MAX_GLOB:
        return True
    return (not name.startswith(".") or pattern.startswith((".", "["))) and fnmatchcase(name, pattern.replace("[^", "[!"))


@lru_cache(maxsize=2_000)
def name_test(pattern: str) -> Callable[[str], object]:
    """A test whether a glob matches a whole name: `*` any text, `?` any character. Time is at most the product of both
    lengths."""
    pieces = [re.escape(piece).replace(r"\?", ".") for piece in _STARS.split(pattern)]
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL).fullmatch
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL).fullmatch
