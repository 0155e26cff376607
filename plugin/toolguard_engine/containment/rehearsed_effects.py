"""What a rehearsed command did, as calls that the guard can judge and in words: pure.

The rules are those for calls. Two things they leave alone count here as well, because no text announced them and nobody can
say why they were done: that a file of the user's goes or is replaced, outside of the folders that agents work in, and that a
text turns into something unreadable.
"""

from __future__ import annotations

import shlex
import stat
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath
from typing import NamedTuple

from toolguard_engine.containment.rehearsed_changes import RehearsedChange
from toolguard_engine.effects.facts.places import Where, classify
from toolguard_engine.model.call import Call

MAX_CONTENT = 200_000
"""Bytes of a file that are judged."""

_WORKED_ON = frozenset({"temp", "workspace", "in-workspace", "artefact", "null"})
_OPEN_MODES = 0o7002
"""Of a file that everybody may change, or that runs as its owner."""

GONE = "a file of the user's, which is nowhere else"
_USED_BY_OWNER = stat.S_IRUSR | stat.S_IXUSR

OPENED = "everybody can change what is in it then"
CLOSED = "its owner cannot use it then"
KEPT = "it is read-only for commands"
UNREADABLE = "it was a text, and is none any more"

Content = Callable[[str], bytes]
"""The beginning of a file; empty if it cannot be read."""


class RehearsedDeed(NamedTuple):
    """`words`: a predicate, such as `deletes ~/x`; `kind`, `path`: the same as an effect has them; `call`: a call that does
    it; `reason`: why a person has to see it whatever the guard says to that call, empty if there is none."""

    words: str
    kind: str
    path: str
    call: Call
    reason: str = ""


def deeds(
    changes: list[RehearsedChange], opened: list[str], where: Where, kept: list[str], content: Content
) -> Iterator[RehearsedDeed]:
    """`opened`: credentials that the command opened; `kept`: files and folders that no command may change; `content`: of a
    file as it was, and of one with its new content."""
    removed = {
        setting_change.path
        for setting_change in changes
        if setting_change.before.what == "folder" and setting_change.after.what == "nothing"
    }
    for path in opened:
        yield RehearsedDeed(f"reads {_short(path, where)}", "read", path, _command(f"cat -- {shlex.quote(path)}", where))
    for change in changes:
        made = _made(change, where, content) if change.after.what != "nothing" else _removed(change, where, removed)
        if any(change.path == folder or change.path.startswith(f"{folder}/") for folder in kept):
            made = (deed._replace(reason=KEPT) for deed in made)
        yield from made


def _removed(change: RehearsedChange, where: Where, folders: set[str]) -> Iterator[RehearsedDeed]:
    """`folders`: all that are removed. What lies in one of them goes with it."""
    path, is_folder = change.path, change.before.what == "folder"
    reason = GONE if not is_folder and _is_of_user(path, where) else ""
    words = f"deletes {_short(path, where)}{'/' if is_folder else ''}"
    if dirname(path) not in folders:
        call = _command(f"rm {'-r ' if is_folder else ''}-- {shlex.quote(path)}", where)
        yield RehearsedDeed(words, "delete", path, call, reason)
    elif reason:
        yield RehearsedDeed(words, "delete", path, _command("true", where), reason)


def _made(change: RehearsedChange, where: Where, content: Content) -> Iterator[RehearsedDeed]:
    path, before, after = change.path, change.before, change.after
    shown, quoted = _short(path, where), shlex.quote(path)
    if after.what == "link":
        target = normpath(join(dirname(path), after.link))  # whatever folder the command ran in
        yield RehearsedDeed(
            f"makes {shown} a link to {after.link}", "write", path,
            _command(f"ln -s -- {shlex.quote(target)} {quoted}", where),
        )  # fmt: skip
    elif after.what == "file" and not change.is_same:
        data = content(after.kept)
        verb = "writes" if before.what == "nothing" else "changes"
        call = Call("write", {"path": path, "content": data.decode("utf-8", "replace")}, cwd=where.cwd)
        yield RehearsedDeed(f"{verb} {shown}", "write", path, call, _lost(change, data, where, content))
    if _is_mode_seen(change):
        is_lost = before.what == "folder" and before.mode & _USED_BY_OWNER & ~after.mode
        reason = "" if after.what == "file" else CLOSED if is_lost else OPENED
        yield RehearsedDeed(
            f"sets the mode of {shown} to {after.mode:o}", "permissions", path,
            _command(f"chmod {after.mode:o} -- {quoted}", where), reason,
        )  # fmt: skip


def _is_mode_seen(change: RehearsedChange) -> bool:
    """Whether a person has to see it: a file or a folder that is opened, and a folder that its owner cannot use any more. A
    sticky folder, such as a temporary one, is open to everybody without harm."""
    before, after = change.before, change.after
    if after.what not in ("file", "folder") or after.mode == before.mode:
        return False
    if after.what == "file":
        return bool(after.mode & _OPEN_MODES)
    if before.what == "folder" and before.mode & _USED_BY_OWNER & ~after.mode:
        return True
    return bool(after.mode & stat.S_IWOTH and not after.mode & stat.S_ISVTX)


def _lost(change: RehearsedChange, data: bytes, where: Where, content: Content) -> str:
    if change.before.what != "file":
        return ""
    if _is_of_user(change.path, where):
        return GONE
    if classify(change.path, where)[0] in ("temp", "artefact"):
        return ""
    return UNREADABLE if change.before.size and _is_text(content(change.path)) and not _is_text(data) else ""


def _is_of_user(path: str, where: Where) -> bool:
    """Whether it lies outside of what agents work on, and is no setting or state that programs keep for themselves."""
    place, marks = classify(path, where)
    if place in _WORKED_ON:
        return False
    hidden = path.startswith(f"{where.home}/") and "/." in path[len(where.home) :]
    return "personal-file" in marks or not hidden


def _is_text(data: bytes) -> bool:
    if not data.strip() or b"\0" in data:
        return False
    try:
        data[: MAX_CONTENT - 4].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > MAX_CONTENT - 8  # a sign that was cut
    return True


def _command(text: str, where: Where) -> Call:
    return Call("exec", {"command": text}, cwd=where.cwd)


def _short(path: str, where: Where) -> str:
    return f"~{path[len(where.home) :]}" if where.home and path.startswith(f"{where.home}/") else path
