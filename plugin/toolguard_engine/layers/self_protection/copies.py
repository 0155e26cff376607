"""Which files and folders a program copies, packs or sends whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection import python_modules
from toolguard_engine.layers.self_protection.exclusions import patterns

Source = tuple[int, str, str]
"""The position of a word, the word, and the folder that it is relative to (empty: the program's)."""

_VERBS: dict[str, frozenset[str]] = {
    "kopia": frozenset({"snapshot", "create"}), "duplicacy": frozenset({"backup"}),
}  # fmt: skip
"""Programs of whose manual nothing follows, and that copy only with these sub-commands."""

_NONE: frozenset[str] = frozenset()
_WHOLE = program_catalogue.programs("whole_copier")
"""Programs that always take everything in a folder."""

_CONTAINERS = program_catalogue.programs("container")
_STARTS = frozenset({"run", "create"})
_SERVERS = program_catalogue.programs("file_server")
"""Programs that serve a folder to others: the named one, or else the one they run in."""

_MODULES = frozenset({"zipfile", "tarfile"})
_SERVER = "http.server"
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
        served = list(_operands(run))
        yield from served or [(0, ".", "")]
    elif started := python_modules.module(run):
        yield from _by_module(started, len(argv))
    elif name in _WHOLE or not _VERBS.get(name, _NONE).isdisjoint(argv[1:5]):
        yield from _operands(run)


def serves(run: ProgramRun) -> bool:
    """Whether it hands out what is in a folder to whoever asks, instead of copying it."""
    return run.name in _SERVERS or _is_busybox_server(run) or python_modules.module(run)[:1] == (_SERVER,)


def _is_busybox_server(run: ProgramRun) -> bool:
    return run.name == "busybox" and "httpd" in run.argv[1:2]


def _by_manual(run: ProgramRun, words: CommandWords) -> Iterator[Source]:
    """What it packs or copies. A program that copies like `cp` takes folders only if it is told to."""
    if "packs" in words.acts:
        folders = deque(words.named("folder"))
        first: list[str] = []
        whole = ""
        for word in words.named("member", "source"):
            while folders and folders[0].at < word.at:
                folder = folders.popleft().text
                whole = _inside(whole, folder)
                first += [folder][: MAX_FOLDERS - len(first)]
            yield from ((word.at, word.text, folder) for folder in dict.fromkeys([whole, *first]))
        if not words.named("member", "source", "names") and words.one("archive") and "recurses" in words.does:
            yield 0, ".", ""
    elif "copies" in words.does and (words.recursive or words.named("names") or run.name not in _LIKE_CP):
        yield from ((word.at, word.text, "") for word in words.named("source"))


MAX_FOLDERS = 4


def _given_to_container(run: ProgramRun) -> Iterator[Source]:
    """What `docker cp` copies into a container, or `docker run` mounts into it."""
    if "cp" in run.argv[1:3]:
        yield from (operand for operand in sorted(_operands(run))[:-1] if ":" not in operand[1] and operand[1] != "cp")
        return
    if _STARTS.isdisjoint(run.argv[1:3]):
        return
    for given in {option: None for words in run.readings for option in words.given if "mounts" in option.entry.traits}:
        value = given.value.text
        source = next((part[part.index("=") + 1 :] for part in value.split(",") if part.startswith(("src=", "source="))), "")
        yield given.word, source or value.partition(":")[0], ""


def _by_module(started: tuple[str, ...], end: int) -> Iterator[Source]:
    """What a Python module packs (`-m zipfile -c x.zip ~`) or serves. `end`: the number of words of the whole command."""
    words = option_parser.read_words(started[0], started)
    if started[0] == _SERVER:
        yield 0, words.one("folder") or ".", ""
    elif started[0] in _MODULES:
        packed = islice(words.values("--create"), 1, None)  # the first one is the archive
        yield from ((end - len(started) + word.at, word.text, "") for word in packed)


def packs(run: ProgramRun) -> bool:
    """Whether it creates an archive."""
    return any("packs" in words.acts for words in run.readings)


def working_folders(run: ProgramRun) -> set[int]:
    """The positions of `-C` and its values in a program that packs: they name nothing that it packs."""
    if not packs(run):
        return set()
    given = [option for words in run.readings for option in words.given if option.entry.role == "folder"]
    return {at for option in given for at in (option.word, option.value.at)}


def _inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and not name.startswith(("/", "~", "$")) else name


def _operands(run: ProgramRun) -> Iterator[Source]:
    skipped = {position for position, _ in patterns(run)}
    operands = dict.fromkeys(word for words in run.readings or (run.words,) for word in words.operands)
    yield from ((word.at, word.text, "") for word in operands if word.at not in skipped)
