"""Where a path leads that goes through another process (`/proc/1/cwd/x`), and which names a glob fits. No file is asked."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from toolguard_engine.shell.model import UNKNOWN

GLOB = re.compile(r"[*?\[]")
_MAX_GLOB = 256
_MAX_PATH = 4096
_TASK_PARTS = 5
"""So many parts has `/proc/1/task/2/cwd`."""

_MAX_LINKS = 4
"""So often a path goes through another process: more is no honest path."""


def meant(path: str, folders: tuple[str, ...], links: int = 0) -> list[str]:
    """What `/proc/1/root/x` and `/proc/1/cwd/x` lead to: the gateway and the engine work in the state folder, the first of
    `folders`, any other process perhaps in one of the others. Any other path as it is; a chain of such links is taken for
    one to the guard's key.
    """
    names, rest = _first_link(path[:_MAX_PATH].split("/"))
    if not names:
        return [path]
    if links >= _MAX_LINKS:
        return [f"{folders[0]}/toolguard/key"]
    starts = [start for name in names for start in (("",) if name == "root" else folders)]
    return [*(end for start in starts for end in meant(f"{start}{rest}" or "/", folders[:1], links + 1)), path]


def _first_link(given: list[str]) -> tuple[list[str], str]:
    """Which links of a process the first one on a path may be, and what follows it."""
    parts: list[str] = []
    for at, part in enumerate(given, 1):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
            if names := _links(parts):
                return names, "/".join(("", *given[at:]))
    return [], ""


def _links(parts: list[str]) -> list[str]:
    """Whether a path ends in one of the links of a process, or may, as a glob: which ones."""
    own = parts[2:] if len(parts) < _TASK_PARTS else parts[4:] if fits(parts[2], "task") else []
    if len(own) != 1 or not fits(parts[0], "proc"):
        return []
    return [name for name in ("cwd", "root") if fits(own[0], name)]


def fits(part: str, name: str) -> bool:
    return part.lower() == name or (GLOB.search(part) is not None and _glob(name, part.lower()))


def may_be(part: str, name: str) -> bool:
    """The same for a name of which a part is not known: that may be any text."""
    if UNKNOWN not in part:
        return fits(part, name)
    return len(part) > _MAX_GLOB or fnmatchcase(name, part.lower().replace("[^", "[!").replace(UNKNOWN, "*"))


def _glob(name: str, pattern: str) -> bool:
    """A shell's glob: a leading dot is only matched by a dot. One of absurd length counts as fitting: it is not tried."""
    if len(pattern) > _MAX_GLOB:
        return True
    return (not name.startswith(".") or pattern.startswith((".", "["))) and fnmatchcase(name, pattern.replace("[^", "[!"))
