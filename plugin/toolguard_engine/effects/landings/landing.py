"""The result type of `landings`: one thing that a program puts somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals.command_words import CommandWords

When = Literal["", "folder", "no-folder", "absolute-names"]
"""On what a landing depends: whether the target is an existing folder, or whether an archive has absolute names in it."""

_REMOTE = lazy_re.compile(r"([\w.@-]{1,200}|(?:[\w.-]{1,64}@)?\[[\da-fA-F:]{2,40}\]):(?!//)(.*)", re.DOTALL)
_ADDRESS = lazy_re.compile(r"(?:rsync|scp|sftp|ssh)://([^/]{1,200})(/.*)?", re.DOTALL)


class Landing(msgspec.Struct, frozen=True):
    """`source`: as the command spells it, UNKNOWN if it does not name it; empty if nothing is put there (a new folder).

    It lands in `folder` under `name`, which may have several parts, wildcards and unknown parts. Without a name the content
    of the source lands in the folder itself, or the source replaces it. Both are relative to `run.cwd`. `deep`: it may be a
    folder, with anything in it. `merges`: a folder of that name stays, and what is in it is replaced one by one.
    `overwrites`: files that are there may be replaced. `host`: the other machine that it lands on. `is_tree`: also in the
    rest of the working tree that the folder belongs to.
    """

    source: str
    folder: str
    name: str = ""
    deep: bool = True
    merges: bool = True
    overwrites: bool = True
    when: When = ""
    host: str = ""
    is_tree: bool = False

    @property
    def path(self) -> str:
        """Where the source lands."""
        return f"{self.folder.rstrip('/')}/{self.name}" if self.name else self.folder


class Lands(Protocol):
    """What a program puts somewhere."""

    def __call__(self, program: ProgramRun, words: CommandWords, /) -> Iterator[Landing]: ...


class ListedLands(Protocol):
    """The same; `before`: the programs of its pipeline before it, which may give it the names of files."""

    def __call__(self, program: ProgramRun, words: CommandWords, before: tuple[ProgramRun, ...], /) -> Iterator[Landing]: ...


def inside(folder: str, name: str) -> str:
    """`name`, relative to `folder`. One that begins with an unknown part may be absolute."""
    if not folder or name.startswith(("/", "~", "$", UNKNOWN)):
        return name
    return f"{folder.rstrip('/')}/{name}" if name else folder


def last_part(path: str) -> str:
    """The name that a copy of `path` gets; empty if the content of the folder is copied, under its own names.

    A name with an unknown part may be any name.
    """
    name = path.rstrip("/").rpartition("/")[2]
    if name in ("", ".", ".."):
        return ""
    return UNKNOWN if UNKNOWN in name else name


def split_host(word: str) -> tuple[str, str]:
    """The machine and the path that a word names; the machine is empty for this one."""
    if match := _ADDRESS.fullmatch(word):
        return match[1], match[2] or "/"
    if match := _REMOTE.fullmatch(word):
        return match[1], match[2].removeprefix(":") or "~"
    return "", word
