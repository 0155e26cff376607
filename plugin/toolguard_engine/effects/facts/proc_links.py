"""Resolves paths that go through another process (`/proc/1/cwd/x`). Text only; no file is read."""

from __future__ import annotations

from toolguard_engine.effects.facts.place_globs import shell_fits as fits

_MAX_PATH = 4096
_TASK_PARTS = 5
_LENGTHS = (3, _TASK_PARTS)
"""Parts of `/proc/1/cwd` and of `/proc/1/task/2/cwd`."""

_MAX_LINKS = 4
"""Links through processes that are followed on one path; a path with more is not legitimate."""


def link_targets(path: str, folders: tuple[str, ...], links: int = 0) -> list[str]:
    """Targets of `/proc/1/root/x` and `/proc/1/cwd/x`. The gateway and the engine work in the state folder, the first of
    `folders`; any other process may work in one of the others. Any other path is returned unchanged; a chain of too many
    such links counts as the guard's key.
    """
    names, rest = _first_link(path[:_MAX_PATH].split("/"))
    if not names:
        return [path]
    if links >= _MAX_LINKS:
        return [f"{folders[0]}/toolguard/key"]
    starts = [start for name in names for start in (("",) if name == "root" else folders)]
    return [*(end for start in starts for end in link_targets(f"{start}{rest}" or "/", folders[:1], links + 1)), path]


def is_through_process(path: str) -> bool:
    return bool(_first_link(path[:_MAX_PATH].split("/"))[0])


def _first_link(given: list[str]) -> tuple[list[str], str]:
    """The links of a process that the first such part of a path may be, and the path after it."""
    parts: list[str] = []
    for at, part in enumerate(given, 1):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
            if len(parts) in _LENGTHS and (names := _links(parts)):
                return names, "/".join(("", *given[at:]))
    return [], ""


def _links(parts: list[str]) -> list[str]:
    """The process links (`cwd`, `root`) that the end of such a path is, or may be as a glob."""
    if not fits(parts[0], "proc") or (len(parts) == _TASK_PARTS and not fits(parts[2], "task")):
        return []
    return [name for name in ("cwd", "root") if fits(parts[-1], name)]
