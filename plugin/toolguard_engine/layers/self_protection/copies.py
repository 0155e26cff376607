"""Which files and folders a program copies, packs or sends whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection.exclusions import patterns

Source = tuple[int, str, str]
"""The position of a word, the word, and the folder that it is relative to (empty: the program's)."""

_VALUED = lazy_re.compile(
    r"--(?:exclude|filter|include|rsh|exclude-from|include-from|exclude-file|password-file|tag|host|compression|config"
    r"|cache-dir|profile|bwlimit|timeout|log-file|temp-dir|exclude-if-present|comment|archive-dir|name)"
)
"""Options of programs without a manual whose value is the next word."""

_VERBS: dict[str, frozenset[str]] = {
    "kopia": frozenset({"snapshot", "create"}), "duplicacy": frozenset({"backup"}),
}  # fmt: skip
"""Programs without a manual that copy only with these sub-commands."""

_NONE: frozenset[str] = frozenset()
_WHOLE = program_catalogue.programs("whole_copier")
"""Programs that always take everything in a folder."""

_CONTAINERS = program_catalogue.programs("container")
_STARTS = frozenset({"run", "create"})
_VOLUME = lazy_re.compile(r"(?:-v|--volume=|--mount=)(.*)|--volume|--mount", re.DOTALL)
_SERVERS = program_catalogue.programs("file_server")
"""Programs that serve a folder to others: the named one, or else the one they run in."""

_MODULES = (("zipfile",), ("tarfile",), ("http.server",))
_LIKE_CP = program_catalogue.programs("cp_like")


def takes_all(run: ProgramRun) -> bool:
    """Whether it certainly takes everything in a given folder, as it is: no list selects files. To an archiver a list only
    adds. A backup, which has no target, is kept in a form of its own."""
    named = any(words.named("names") or words.trait("names-stdin") for words in run.readings)
    return packs(run) or (not named and any(words.named("target") for words in run.readings))


def sources(run: ProgramRun) -> Iterator[Source]:
    name, argv = run.name, run.argv
    if run.moves_files:
        yield from dict.fromkeys(source for words in run.readings for source in _by_manual(run, words))
    elif name in _CONTAINERS:
        yield from _given_to_container(run)
    elif name in _SERVERS or _is_busybox_server(run):
        served = list(_operands(run, last=True))
        yield from served or [(0, ".", "")]
    elif name.startswith("py") and argv[1:2] == ("-m",) and argv[2:3] in _MODULES:
        yield from _by_module(run)
    elif name in _WHOLE or not _VERBS.get(name, _NONE).isdisjoint(argv[1:5]):
        yield from _operands(run, last=True)


def serves(run: ProgramRun) -> bool:
    """Whether it hands out what is in a folder to whoever asks, instead of copying it."""
    return run.name in _SERVERS or _is_busybox_server(run) or "http.server" in run.argv[1:3]


def _is_busybox_server(run: ProgramRun) -> bool:
    return run.name == "busybox" and "httpd" in run.argv[1:2]


def _by_manual(run: ProgramRun, words: CommandWords) -> Iterator[Source]:
    """What it packs or copies. A program that copies like `cp` takes folders only if it is told to."""
    if "packs" in words.acts:
        folders = words.named("folder")
        for word in words.named("member", "source"):
            before = [folder.text for folder in folders if folder.at < word.at]
            whole = reduce(_inside, before, "")
            yield from ((word.at, word.text, folder) for folder in dict.fromkeys([whole, *before[:MAX_FOLDERS]]))
        if not words.named("member", "source", "names") and words.one("archive") and "recurses" in words.does:
            yield 0, ".", ""
    elif "copies" in words.does and (words.recursive or words.named("names") or run.name not in _LIKE_CP):
        yield from ((word.at, word.text, "") for word in words.named("source"))


MAX_FOLDERS = 4


def _given_to_container(run: ProgramRun) -> Iterator[Source]:
    """What `docker cp` copies into a container, or `docker run` mounts into it."""
    argv = run.argv
    if "cp" in argv[1:3]:
        yield from (source for source in _operands(run, last=False) if ":" not in source[1] and source[1] != "cp")
        return
    if _STARTS.isdisjoint(argv[1:3]):
        return
    for at, word in enumerate(argv):
        if found := _VOLUME.fullmatch(word):
            value = found[1] or "".join(argv[at + 1 : at + 2])
            source = next(
                (part[part.index("=") + 1 :] for part in value.split(",") if part.startswith(("src=", "source="))), ""
            )
            yield at, source or value.partition(":")[0], ""


def _by_module(run: ProgramRun) -> Iterator[Source]:
    """What a Python module packs (`-m zipfile -c x.zip ~`) or serves."""
    words = run.argv[3:]
    if run.argv[2] == "http.server":
        found = next((word for option, word in pairwise(words) if option in ("-d", "--directory")), ".")
        yield 0, found, ""
    elif words[:1] in (("-c",), ("--create",)):
        yield from ((at, word, "") for at, word in enumerate(words[2:], 5))


def packs(run: ProgramRun) -> bool:
    """Whether it creates an archive."""
    return any("packs" in words.acts for words in run.readings)


def working_folders(run: ProgramRun) -> set[int]:
    """The positions of `-C` and its values in a program that packs: they name nothing that it packs."""
    if not packs(run):
        return set()
    given = [each for words in run.readings for each in words.given if each.entry.role == "folder"]
    return {at for each in given for at in (each.word, each.value.at)}


def _inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and not name.startswith(("/", "~", "$")) else name


def _operands(run: ProgramRun, *, last: bool) -> Iterator[Source]:
    skipped = {position for position, _ in patterns(run)}
    found: list[Source] = []
    at = 0
    while (at := at + 1) < len(run.argv):
        word = run.argv[at]
        if word.startswith("-") and word != "-":
            at += _VALUED.fullmatch(word) is not None
        elif at not in skipped:
            found.append((at, word, ""))
    yield from found if last else found[:-1]
