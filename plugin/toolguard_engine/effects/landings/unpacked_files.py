"""Where programs that unpack archives put what is in them. The names in an archive are not known.

An archiver needs nothing here but its manual, unless the names of files decide where they land.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.landing import Landing, Lands, ListedLands, inside, last_part
from toolguard_engine.effects.manuals import find_expression, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords

TARS = program_catalogue.programs("tar")
_TAR_ENDS = lazy_re.compile(r"\.(?:tar(?:\.\w{1,5})?|t[abglx]z\w?|tzst)\Z")
_OWN_FOLDERS = {"unsquashfs": "squashfs-root"}
"""Programs that make a folder of this name if none is named."""


def unpacked(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """A folder counts from the one before it (`tar -C a -C b`); every folder on the way may get files. Members that are
    named land there for certain, but others may as well, through links in the archive."""
    if not _creates(words):
        return
    folders, at = [(word.at, word.text) for word in words.named("target")], ""
    for word in words.named("folder"):
        at = inside(at, word.text)
        folders.append((word.at, at))
    if words.has("--one-top-level") and not words.last("--one-top-level"):
        top = _top_level(words.one("archive"))
        folders = [(place, inside(folder, top)) for place, folder in folders or [(0, ".")]]
    own = _OWN_FOLDERS.get(program.name, ".")
    yield from (Landing(UNKNOWN, folder) for _, folder in folders or [(0, own)])
    in_order = program.name in TARS
    for word in words.named("member")[:_MAX_NAMES]:
        if name := word.text.lstrip("/"):
            before = [folder for place, folder in folders if place < word.at or not in_order]
            yield Landing(UNKNOWN, before[-1] if before else own, name)
    if words.trait("absolute"):
        yield Landing(UNKNOWN, "/", when="absolute-names")


def _creates(words: CommandWords) -> bool:
    """Whether it unpacks files. A command that gets their content instead may do the same."""
    prints = any("prints" in option.entry.traits and option.entry.takes == "nothing" for option in words.given)
    return ("unpacks" in words.acts or "restores" in words.does) and not prints and not words.rehearses


def _top_level(archive: str) -> str:
    """The folder that `--one-top-level` makes."""
    return _TAR_ENDS.sub("", last_part(archive)) if archive not in ("", "-") else UNKNOWN


_MAX_NAMES = 200
_RELATIVE = frozenset({"rpm2cpio", "rpm2archive"})
"""Programs that print archives without absolute names."""


def _cpio(program: ProgramRun, words: CommandWords, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    """It uses absolute names in an archive, unless patterns say which files are wanted."""
    if not words.has("--pass-through"):
        yield from unpacked(program, words)
        fed = before[-1].name if before else ""
        if _creates(words) and program.name != "bsdcpio" and not words.trait("relative") and fed not in _RELATIVE:
            yield from _with_absolute_names([word.text for word in words.operands])
    elif words.operands:
        yield from _listed(program, before, words.operands[-1].text)


def _with_absolute_names(patterns: list[str]) -> Iterator[Landing]:
    if not patterns or any(pattern[:1] in "/*?[" or UNKNOWN in pattern for pattern in patterns):
        yield Landing(UNKNOWN, "/", when="absolute-names")


def _listed(program: ProgramRun, before: tuple[ProgramRun, ...], target: str) -> Iterator[Landing]:
    """What names on standard input say is copied to the same names below the target."""
    text = program.stdin_text
    if text and text.count("\n") + text.count("\0") < _MAX_NAMES:
        for name in filter(None, re.split(r"[\n\0]", text)):
            yield from _kept_path(name, target, deep=False)
        return
    finder = next((inner for inner in reversed(before) if inner.name == "find"), None)
    if finder is not None and program.stdin is not None and program.stdin.programs == ("find",):
        for start in find_expression.split(finder.argv)[0] or ["."]:
            yield from _kept_path(start, target, deep=True)
    else:
        yield Landing(UNKNOWN, target)


def _kept_path(source: str, target: str, *, deep: bool) -> Iterator[Landing]:
    """Copied under the whole path that is named."""
    name = source.lstrip("/") if last_part(source) else ""
    if UNKNOWN in source or name.startswith(("~", "$")):
        name = ""
    yield Landing(source, target, name, deep or not name)


def _pax(program: ProgramRun, words: CommandWords, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    named = [word.text for word in words.operands]
    if not words.has("-w"):
        yield from unpacked(program, words)
        if _creates(words):
            yield from _with_absolute_names(named)
    elif words.has("-r") and named:
        *sources, target = named
        if words.has("-s"):
            yield Landing(UNKNOWN, target)
        elif sources:
            for source in sources:
                yield from _kept_path(source, target, deep=True)
        else:
            yield from _listed(program, before, target)


_PYTHON_MODULES = frozenset({"zipfile", "tarfile"})


def by_python_module(program: ProgramRun) -> Iterator[Landing]:
    """`python -m zipfile -e a.zip d`, `python -m tarfile -e a.tar d`, `python -m pip install --target d x`."""
    at = next((at for at, word in enumerate(program.argv) if word == "-m" and program.argv[at + 1 : at + 2]), 0)
    module, *words = program.argv[at + 1 :] if at else ("",)
    if module == "pip" and "install" in words:
        yield from _among(words)
    if module not in _PYTHON_MODULES or not any(word in ("-e", "--extract") for word in words):
        return
    named = option_parser.plain(("", *words)).texts
    yield Landing(UNKNOWN, named[1] if len(named) > 1 else ".")


_PREFIX = lazy_re.compile(r"(?:--?[\w-]{1,40}=|[A-Za-z_]{1,40}=|dir:|file:)")
_MAX_WORDS = 60


def by_verb(program: ProgramRun) -> Iterator[Landing]:
    """A program without a manual whose verb says that it brings files: into any of the folders that it is given."""
    yield from _among(program.argv[2:_MAX_WORDS])


def _among(words: Sequence[str]) -> Iterator[Landing]:
    for word in words:
        folder = _PREFIX.sub("", word, count=1)
        if folder[:1] in _ROOTED or folder.rstrip("/") in ("..", "../..") or (folder != word and folder in _HERE):
            yield Landing(UNKNOWN, folder)


_ROOTED = frozenset("/~")
_HERE = frozenset({".", "./"})


def _patch(_: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """A patch names the files that it changes, unless the command does."""
    if words.rehearses or words.has("--output"):
        return
    folder, named = words.last("--directory") or ".", words.named("target")
    yield Landing(UNKNOWN, inside(folder, named[0].text) if named else folder, deep=not named)


PROGRAMS: dict[str, Lands] = {"patch": _patch}
LISTED: dict[str, ListedLands] = {"cpio": _cpio, "pax": _pax}
"""Programs that may be given the names of files on standard input. Both by the first name of their manuals."""
