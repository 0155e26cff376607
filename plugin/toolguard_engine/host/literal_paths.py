"""Paths as OpenClaw's file tools take them: joined to the folder as text, with nothing expanded but the home folder.

Everything that judges a path also knows what shells, URLs and other tools write: blanks around it, `~user`, `$HOME`,
`file:`, `@`. To a file tool these are names of folders, and `..` behind them leads out of them again. Such a path is written
as an absolute one, which means the same to everybody.
"""

from __future__ import annotations

import re
from posixpath import normpath

from toolguard_engine import lazy_re

_MISREAD = lazy_re.compile(
    r"[\s@%\\]|~(?![/]|\Z)|[A-Za-z][\w+.-]*:|//|.*\$(?:\w|\{)|.*\s\Z",
    re.DOTALL,
)


def literal(path: str, folder: str, home: str, *, expands: bool) -> str:
    """The same path so that nothing in it is expanded later. `expands`: `~` is the home folder."""
    if not _MISREAD.match(path) and (expands or path[:1] != "~"):
        return path
    if expands and home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    if path.startswith("/"):
        return "/" + normpath(path).lstrip("/")
    if folder.startswith("/"):
        return "/" + normpath(f"{folder}/{path}").lstrip("/")
    plain = normpath(path)
    return plain if plain.startswith("..") else f"./{plain}"
