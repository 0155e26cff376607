"""Reads what `strace -f` writes: which program looked for, opened or ran which file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import basename, normpath
from typing import Literal

CALLS = ("openat", "open", "execve", "execveat", "stat", "newfstatat", "lstat", "statx", "access", "faccessat", "faccessat2")
STARTS = ("fork", "vfork", "clone", "clone3")
OPTIONS = (
    "-f",
    "--seccomp-bpf",
    "-qq",
    "-y",
    "-s",
    "4096",
    "-e",
    "signal=none",
    "-e",
    f"trace={','.join((*CALLS, *STARTS))}",
)

Act = Literal["run", "open", "look"]
_LINE = re.compile(r"(\d+) +(\w+)\((.*)")
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)")
_UNFINISHED = "<unfinished ...>"
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BASE = re.compile(r"<([^>]*)>")
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT")
_FOLDER = re.compile(r"O_DIRECTORY|S_IFDIR")


@dataclass(frozen=True)
class FileAccess:
    """`program`: the name of the program that asked for the file; `found`: whether there was one."""

    program: str
    act: Act
    path: str
    found: bool
    folder: bool = False


def accesses(lines: Iterable[str]) -> Iterator[FileAccess]:
    """What a trace tells, in its order. Files that are opened for writing are left out."""
    programs: dict[str, str] = {}
    for pid, call, text in _calls(lines):
        arguments, equals, result = text.rpartition(" = ")
        if not equals:
            continue
        if call in STARTS:
            programs.setdefault(result.split(" ", 1)[0], programs.get(pid, ""))
            continue
        is_there = not result.startswith("-1")
        path = _path(arguments)
        if call.startswith("execve") and is_there:
            programs[pid] = basename(path)
        if path and not (call.startswith("open") and _WRITES.search(arguments)):
            yield FileAccess(programs.get(pid, ""), _act(call), path, is_there, _FOLDER.search(arguments) is not None)


def _calls(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Process, system call and the rest of each line; calls that another process interrupted are put together."""
    begun: dict[str, str] = {}
    for line in lines:
        if match := _RESUMED.match(line):
            yield match[1], match[2], begun.pop(match[1], "") + match[3]
        elif (match := _LINE.match(line)) and match[3].endswith(_UNFINISHED):
            begun[match[1]] = match[3].removesuffix(_UNFINISHED)
        elif match:
            yield match[1], match[2], match[3]


def _act(call: str) -> Act:
    if call.startswith("execve"):
        return "run"
    return "open" if call.startswith("open") else "look"


def _path(arguments: str) -> str:
    """The absolute path among the arguments; empty if there is none."""
    quoted = _PATH.search(arguments)
    if quoted is None:
        return ""
    if quoted[1].startswith("/"):
        return normpath(quoted[1])
    base = _BASE.search(arguments[: quoted.start()])
    return normpath(f"{base[1]}/{quoted[1]}") if base and base[1].startswith("/") else ""
