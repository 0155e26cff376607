"""Finds protected paths in lists of files that the command itself writes: `tar -T list`, `xargs -a list cat`.

A list with unknown content is judged by the program alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.syntax.outputs import known_text, printed
from toolguard_engine.layers.self_protection.scene import (
    FILES,
    KEY,
    CommandScene,
    ProtectionFinding,
    holds_ours,
    of_secret,
    place_of,
    resolved,
    texts,
)

_ALWAYS = frozenset({"xargs", "parallel", "cpio", "pax", "afio", "mapfile", "readarray", "read"})
_BY_NAME = {"ffmpeg": lazy_re.compile(r"concat")}
_ANY = lazy_re.compile(
    r"--?(?:include-from|files0?-from|paths-from|pathspec-from-file|patterns-from|from-file)\b.*|(?:-[ixr])?@.+"
)
_PRINTERS = frozenset({"echo", "printf"})
_SPLIT = lazy_re.compile(r"[\s'\"=]+")
_MAX_WORDS = 200
_MAX_FOLDERS = 12


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    if not any(map(reads_list, scene.runs)) and not scene.takers:
        return
    folders = _folders(scene)
    for run in scene.runs:
        kinds = {place_of(word, scene.host, folders) for word in islice(_listed(run), _MAX_WORDS)}
        if "key" in kinds:
            yield of_secret(KEY)
        elif not kinds.isdisjoint(("guard", "config")):
            yield ProtectionFinding(FILES, certain=False)


def reads_list(run: ProgramRun) -> bool:
    """Whether a program reads the names of its files from a file or from its input."""
    if run.name in _ALWAYS:
        return True
    if any(words.named("names", "config") or words.trait("names-stdin") for words in run.readings):
        return True
    own = _BY_NAME.get(run.name)
    return any((own is not None and own.fullmatch(word)) or _ANY.fullmatch(word) for word in run.argv[1:])


def _listed(run: ProgramRun) -> Iterator[str]:
    """Words that a program may write to a list: its output, a here-document, a here-string."""
    if run.name not in _PRINTERS and not run.redirects and not run.piped:
        return
    for text in (*_printed(run), *texts(run)):
        for word in _SPLIT.split(text):
            if word and UNKNOWN not in word and ("/" in word or word == "key"):
                yield word


def _printed(run: ProgramRun) -> Iterator[str]:
    if run.name in _PRINTERS:
        yield from run.argv[1:]
    if text := known_text(printed(run)):
        yield text


def _folders(scene: CommandScene) -> tuple[str, ...]:
    """The folders that a name in a list may be relative to: those of the command, and those that its words name."""
    named = [word.partition("=")[2] or word for run in scene.runs for word in run.argv[1:]]
    named += [word for run in scene.runs for word in islice(_listed(run), _MAX_WORDS)]
    above = (
        resolved(word, scene.host, scene.start) for word in named if word and UNKNOWN not in word and len(word) < _MAX_WORDS
    )
    held = (
        path
        for path in above
        if holds_ours(path, scene.host, "/") or place_of(path, scene.host, ("/",)) in ("guard", "config")
    )
    return tuple(dict.fromkeys([*scene.folders, *islice(held, _MAX_FOLDERS)]))
