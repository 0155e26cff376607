"""Wildcards in paths: which of them mean a whole folder, and which well-known name one may hide."""

from __future__ import annotations

import re

_CONTENT = re.compile(r"[*?.!^\[\]{},]+")
_CLASS = re.compile(r"\[[^\]/]{1,20}\]")


def content(full: str) -> tuple[str, bool]:
    """The folder of which all is meant, where the last parts of a path stand for everything."""
    whole = False
    while full != "/":
        above, _, last = full.rpartition("/")
        if not (("*" in last or "?" in last) and _CONTENT.fullmatch(last)):
            break
        full, whole = above or "/", True
    return full, whole


def fits(pattern: str, name: str) -> bool:
    """Whether wildcards fit a name; `[...]` stands for any one character here. In time of both lengths' product at most."""
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
