"""Which files and folders a program copies, packs or sends whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.shell.command import ProgramRun
from toolguard_engine.layers.self_protection.exclusions import TARS, patterns

Source = tuple[int, str, str]
"""The position of a word, the word, and the folder that it is relative to (empty: the program's)."""

_RECURSIVE = re.compile(r"-\w*[rRa]|--(?:recursive|archive)")
_CHANGES_TO = re.compile(r"-C(.*)|--(?:directory|cd)(?:=(.*))?", re.DOTALL)
_TAR_PACKS = re.compile(r"-?[A-Za-z]*[cru][A-Za-z]*|--(?:create|append|update)")
_TAR_VALUED = re.compile(
    r"-[A-Za-z]*[fbgHIKNTVX]|--(?:file|files-from|exclude-from|format|use-compress-program|transform|newer|mtime)"
)
_VALUED = re.compile(
    r"--(?:exclude|filter|include|rsh|files-from|exclude-from|include-from|exclude-file|repo|repository-file|password-file|tag"
    r"|host|compression|config|cache-dir|profile|bwlimit|timeout|log-file|partial-dir|link-dest|backup-dir|temp-dir|iexclude"
    r"|pattern|patterns-from|exclude-if-present|comment|archive-dir|name)"
)
"""Options whose value is the next word."""

_SHORT_VALUED = {"rsync": "efTBM", "restic": "reop", "rustic": "reop", "borg": "eC"}
_TARGET = re.compile(r"-\w*t|--target-directory.*")

_VERBS: dict[str, frozenset[str]] = {
    "restic": frozenset({"backup"}), "rustic": frozenset({"backup"}), "borg": frozenset({"create"}),
    "kopia": frozenset({"snapshot", "create"}), "duplicacy": frozenset({"backup"}),
    "rclone": frozenset({"copy", "sync", "move", "copyto", "moveto", "bisync"}),
    "aws": frozenset({"sync", "cp", "mv"}), "gsutil": frozenset({"cp", "rsync", "mv"}),
    "mc": frozenset({"cp", "mirror", "mv"}),
    "s3cmd": frozenset({"sync", "put"}), "azcopy": frozenset({"copy", "sync", "cp"}), "rar": frozenset({"a"}),
    "7z": frozenset({"a", "u"}), "7za": frozenset({"a", "u"}), "7zz": frozenset({"a", "u"}),
}  # fmt: skip
"""Programs that copy only with these sub-commands."""

_NONE: frozenset[str] = frozenset()
_WHOLE = program_catalogue.programs("whole_copier")
"""Programs that always take everything in a folder."""

_CONTAINERS = program_catalogue.programs("container")
_STARTS = frozenset({"run", "create"})
_VOLUME = re.compile(r"(?:-v|--volume=|--mount=)(.*)|--volume|--mount", re.DOTALL)
_SERVERS = program_catalogue.programs("file_server")
"""Programs that serve a folder to others: the named one, or else the one they run in."""

_MODULES = (("zipfile",), ("tarfile",), ("http.server",))
_LIKE_CP = program_catalogue.programs("cp_like")
_CERTAIN = program_catalogue.programs("certain_copier")


def takes_all(run: ProgramRun) -> bool:
    """Whether it certainly takes everything in a given folder: no list selects files."""
    return run.name in _CERTAIN and not any(word.startswith("--files-from") for word in run.argv[1:])


def sources(run: ProgramRun) -> Iterator[Source]:
    name, argv = run.name, run.argv
    if name in TARS:
        yield from _packed(run)
    elif name in _LIKE_CP:
        if any(_RECURSIVE.match(word) or word.startswith("--files-from") for word in argv[1:]):
            yield from _operands(run, last=name == "cp" and any(_TARGET.fullmatch(word) for word in argv))
    elif name in _CONTAINERS:
        yield from _given_to_container(run)
    elif name in _SERVERS or (name == "busybox" and "httpd" in argv[1:2]):
        served = list(_operands(run, last=True))
        yield from served or [(0, ".", "")]
    elif name.startswith("py") and argv[1:2] == ("-m",) and argv[2:3] in _MODULES:
        yield from _by_module(run)
    elif name in _WHOLE or not _VERBS.get(name, _NONE).isdisjoint(argv[1:5]):
        yield from _operands(run, last=True)


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
    """Whether it is a `tar` that creates an archive."""
    words = (word for at, word in enumerate(run.argv[1:]) if not at or word.startswith("-"))
    return run.name in TARS and any(_TAR_PACKS.fullmatch(word) for word in words)


def _packed(run: ProgramRun) -> Iterator[Source]:
    """What `tar` packs. `-C` applies to all words after it."""
    if not packs(run):
        return
    argv, folder, at = run.argv, "", 1
    if argv[1][:1] != "-":
        at = 2 + sum(argv[1].count(sign) for sign in "fbgTX")
        if "C" in argv[1]:
            folder, at = "".join(argv[at : at + 1]), at + 1
    skipped = {position for position, _ in patterns(run)}
    while at < len(argv):
        word = argv[at]
        if changed := _CHANGES_TO.fullmatch(word):
            attached = changed[1] or changed[2]
            at += not attached
            folder = _inside(folder, attached or "".join(argv[at : at + 1]))
        elif word.startswith("-") and word != "-":
            at += _TAR_VALUED.fullmatch(word) is not None
        elif at not in skipped:
            yield at, word, folder
        at += 1


def working_folders(run: ProgramRun) -> set[int]:
    """The positions of `-C` and its values in a `tar` that packs: they name nothing that it packs."""
    if not packs(run):
        return set()
    return {at for at, word in enumerate(run.argv) if _CHANGES_TO.fullmatch(run.argv[at - 1]) or _CHANGES_TO.fullmatch(word)}


def _inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and not name.startswith(("/", "~", "$")) else name


def _operands(run: ProgramRun, *, last: bool) -> Iterator[Source]:
    skipped = {position for position, _ in patterns(run)}
    short = {f"-{letter}" for letter in _SHORT_VALUED.get(run.name, "")}
    found: list[Source] = []
    at = 0
    while (at := at + 1) < len(run.argv):
        word = run.argv[at]
        if word.startswith("-") and word != "-":
            at += word in short or _VALUED.fullmatch(word) is not None
        elif at not in skipped:
            found.append((at, word, ""))
    yield from found if last else found[:-1]
