"""Finds the guard's secrets in lists of files that lie on the disk: `tar -T list`, `xargs cat < list`, `cat $(cat list)`.

Lists that the command itself writes are read by `file_lists`. One that is not known is judged by the program alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection.exclusions import secrets
from toolguard_engine.layers.self_protection.scene import (
    KEY,
    CommandScene,
    ProtectionFinding,
    lies_below,
    of_secret,
    place_of,
    resolved,
)
from toolguard_engine.model.call import Host
from toolguard_engine.model.lazy import kept_with

MAX_LISTS = 8
"""Of a call; more are not read."""

MAX_PATHS = 200
"""Names in a list that may be those of secrets; one with more of them is held for that alone."""

MAX_FOLDERS = 8
_BY_INPUT = frozenset({"cpio", "pax", "afio", "xargs", "parallel", "read", "mapfile", "readarray"})
"""Programs that read names of files from their input."""

_SHOW = program_catalogue.programs("content_reader")

Texts = Callable[[str], list[str]]
"""What a file may contain when the command runs; nothing where that is not known."""


def findings(commands: tuple[Reading, ...], host: Host, folder: str, texts: Texts) -> Iterator[ProtectionFinding]:
    left = MAX_LISTS
    for reading in commands:
        if named := _named(reading):
            scene = CommandScene(reading.runs, host, folder)
            for run, lists in named:
                yield from _of_lists(run, lists[:left], scene, texts)
                left = max(left - len(lists), 0)


@kept_with
def _named(reading: Reading) -> list[tuple[ProgramRun, list[str]]]:
    """The programs that read lists, with these."""
    may_read = (run for run in reading.runs if run.given or run.via or run.name in _BY_INPUT or run.moves_files)
    return [(run, lists) for run in may_read if (lists := list(dict.fromkeys(_lists(run))))]


def _lists(run: ProgramRun) -> Iterator[str]:
    """The files in which a program finds the names of files."""
    named = [word.text.removeprefix("@") for words in run.readings if _takes_files(words) for word in words.named("names")]
    yield from (word for word in named if word != "-")
    if run.name in _BY_INPUT or "-" in named or any(words.trait("names-stdin") for words in run.readings):
        yield from (redirect.target for redirect in run.redirects if redirect.kind == "read" and redirect.fd in ("", "0"))
        yield from run.stdin.files if run.stdin is not None else ()
    if run.name == "xargs":
        yield from (value.text for value in run.words.values("--arg-file"))
    for at, feed in run.given:
        if run.argv[at] == UNKNOWN:
            yield from feed.files
    if run.name in _SHOW and "$()" in run.via:
        yield from run.words.texts


def _takes_files(words: CommandWords) -> bool:
    """Whether it reads the files whose names are in its lists."""
    return "packs" in words.acts or not words.does.isdisjoint(("copies", "moves"))


def _of_lists(run: ProgramRun, lists: list[str], scene: CommandScene, texts: Texts) -> Iterator[ProtectionFinding]:
    known = secrets(scene)
    pattern = _of_names(frozenset(part for key in known for part in key))
    paths = (resolved(file, scene.host, scene.here(run)) for file in lists if UNKNOWN not in file)
    paths_named = list(
        islice((name for path in paths for text in texts(path) for name in _names(text, pattern)), MAX_PATHS + 1)
    )
    for folder in _folders(run, scene) if paths_named else ():
        for path in dict.fromkeys(resolved(name, scene.host, folder) for name in paths_named[:MAX_PATHS]):
            if place_of(path, scene.host, ("/",)) == "key":
                yield of_secret(KEY, certain=any(map(_takes_files, run.readings)))
            elif _takes_folders(run) and any(lies_below(key, path) for key in known):
                yield of_secret(KEY, certain=False)
    if len(paths_named) > MAX_PATHS:
        yield of_secret(KEY, certain=False)


@lru_cache(maxsize=8)
def _of_names(names: frozenset[str]) -> re.Pattern[str]:
    """The end of a line that names one of these, or a folder as `.` or `..`."""
    either = "|".join(re.escape(name) for name in sorted(names))
    named = rf"(?:^|(?<=[/ \t'\"\0]))(?:{either}|\.\.?)/?"
    return re.compile(rf"(?:{named}|^/)[ \t'\"\r]?(?=[\n\0]|\Z)", re.MULTILINE)


def _names(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The lines that end in one of the names of a pattern. A list may be long, so only these are taken out of it."""
    for match in pattern.finditer(text):
        start = max(text.rfind("\n", 0, match.end()), text.rfind("\0", 0, match.end())) + 1
        if line := text[start : match.end()].strip(" \t'\"\r\n\0"):
            yield line


def _takes_folders(run: ProgramRun) -> bool:
    return any(words.recursive and not words.has("--no-recursion") for words in run.readings)


def _folders(run: ProgramRun, scene: CommandScene) -> list[str]:
    """The folders that a name may be relative to."""
    here = scene.here(run)
    named = [word.text for words in run.readings for word in words.named("folder", "source") if UNKNOWN not in word.text]
    return list(dict.fromkeys([here, *(resolved(name, scene.host, here) for name in named[:MAX_FOLDERS])]))
