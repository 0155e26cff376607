"""Which folders a call makes. What is in a folder that was not there before is the agent's, so it may delete the folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import filled_folders
from toolguard_engine.effects.calls.made_files import is_known
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, classify, normal
from toolguard_engine.effects.landings import landings
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import file_programs
from toolguard_engine.effects.programs.wrappers import AWAY
from toolguard_engine.model.lazy import kept_with

MAX_FOLDERS = 50
MAX_DEPTH = 40
MAX_LENGTH = 1_000
"""Of paths with folders around them that may be made: each of those is looked at, and there are as many as it is deep."""

STEPS = 20
"""What it takes to look at a folder."""

_ENVIRONMENTS = frozenset({"virtualenv", "uv"})
_NAMES = program_catalogue.words("names_its_project")
_FILLS = program_catalogue.words("fills_its_project")
_MAKERS = program_catalogue.programs("empty_folder_maker")
_CHECKS_OUT = frozenset({"clone", "worktree add"})


def folders(reading: CallReading) -> list[str]:
    """Absolute paths, the first `MAX_FOLDERS`. Not those on other machines, nor of what may not run. A command that comes
    again makes the same ones, and finding that out costs as much again."""
    commands, work = reading.command_readings, reading.work
    if not commands:
        return _folders(reading)
    others = commands[
        1:
    ]  # not the one that this is kept with: in a circle, neither would go before the garbage collector comes
    asked = others, reading.command_where, reading.command_effects, reading.tool_effects
    known: tuple[object, list[str], float] | None = commands[0].__dict__.get(_KEPT)
    if known is not None and known[0] == asked:
        work.spend_at_once(known[2])
        return known[1]
    before = work.spent
    made = _folders(reading)
    if work.left >= 0:
        commands[0].__dict__[_KEPT] = asked, made, work.spent - before
    return made


_KEPT = f"{__name__}.folders"


def _folders(reading: CallReading) -> list[str]:
    if not any(map(_may_make, reading.command_readings)) and not filled_folders.writes(reading):
        return []
    nested: dict[str, None] = {}
    for path in chain(_by_name(reading), _filled(reading)):
        nested[path] = None
        if len(nested) == MAX_FOLDERS:
            break
    return list(nested)


@kept_with
def _may_make(command: Reading) -> bool:
    """Whether a program of this command may make a folder, whatever it writes."""
    return any(run.name in _MAKERS for run in command.runs) or filled_folders.may_fill(command)


def _by_name(reading: CallReading) -> Iterator[str]:
    """Those that it names as folders, and those around them that it makes too."""
    for run in reading.runs if reading.commands else ():
        if run.name not in _MAKERS or not AWAY.isdisjoint(run.via):
            continue
        for word in _named(run):
            path = normal(word, reading.command_where, run.cwd)
            if is_known(path) and path.count("/") > 1:
                yield from _above(path, run, reading)
                yield path


def _filled(reading: CallReading) -> Iterator[str]:
    """Those that it makes without naming them as folders. One that a program starts in is there already."""
    where = reading.command_where
    cwds = {run.cwd for run in reading.runs} if reading.commands else set[str]()
    there = {folder for cwd in cwds for folder in _leading_to(normal(".", where, cwd))}
    for path in filter(is_known, filled_folders.paths(reading)):
        yield from (folder for folder in _around(path, reading) if folder not in there)
        if path not in there and _may_be_made(path, where) and _is_plain(path, reading):
            yield path


def _above(path: str, run: ProgramRun, reading: CallReading) -> Iterator[str]:
    """The folders around it that `mkdir -p` makes where they are missing."""
    return _around(path, reading) if run.name == "mkdir" and run.words.has("--parents") else iter(())


def _around(path: str, reading: CallReading) -> Iterator[str]:
    """Folders around one that may be made with it; not those around the agent's own, and none of one that is very deep."""
    where, above = reading.command_where, path.rpartition("/")[0]
    while path.count("/") <= MAX_DEPTH and _may_be_made(above, where):
        if _is_plain(above, reading):
            yield above
        above = above.rpartition("/")[0]


def _may_be_made(path: str, where: Where) -> bool:
    return path.count("/") > 1 and path not in _own(where)


@lru_cache(maxsize=8)
def _own(where: Where) -> frozenset[str]:
    """The folders that are the agent's own, and those around them."""
    own = (where.home, where.cwd, where.workspace, where.state_dir)
    return frozenset(path for folder in own if folder for path in _leading_to(folder))


def _leading_to(folder: str) -> Iterator[str]:
    """A folder and those around it."""
    text = f"{folder}/"
    return (text[:at] for at, sign in enumerate(text) if sign == "/")


def _is_plain(path: str, reading: CallReading) -> bool:
    """Whether it has no name that a person's folders have: whether something was there is not always known."""
    if len(path) > MAX_LENGTH:
        return False
    reading.work.spend_at_once(STEPS)
    kind, flags = classify(path, reading.command_where)
    return kind in _PLAIN and _PERSONAL.isdisjoint(flags)


_PLAIN = frozenset({"in-home", "in-workspace"})
_PERSONAL = frozenset({"personal-file", "dotfile"})


def filled(reading: CallReading) -> list[str]:
    """Paths to which a call moves what it does not name (`mv "$f" box/`), or on which it shows what lies elsewhere. That may
    be a person's only copy, so folders around them are not the agent's any more. `/`: where the target is not named, or
    where there are too many."""
    if not reading.commands or not any(map(_may_carry, reading.command_readings)):
        return []
    targets: dict[str, None] = {}
    for run in reading.runs:
        if _puts_unknown(run):
            words = run.argv[1:] if len(run.argv) <= MAX_WORDS else ("/",)
            for piece in chain.from_iterable(map(_PIECES.split, words)):
                targets[normal(piece.partition(UNKNOWN)[0] or "/", reading.command_where, run.cwd)] = None
        if run.name in _MOVERS and AWAY.isdisjoint(run.via):
            for before, after in file_programs.copied(run, reading.command_where):
                if before.startswith(UNKNOWN):
                    targets[normal(after.partition(UNKNOWN)[0] or "/", reading.command_where, run.cwd)] = None
    return list(targets) if len(targets) <= MAX_TARGETS else ["/"]


@kept_with
def _may_carry(command: Reading) -> bool:
    """Whether a program of this command mounts or moves something."""
    return any(run.name in _MOVERS or _puts_unknown(run) for run in command.runs)


def _puts_unknown(run: ProgramRun) -> bool:
    """Whether it mounts something, or moves something and it is not known what."""
    verbs = () if run.name in _MOVERS or run.name in _MAKERS else (run.name, *run.argv[1:4])
    return run.name in _MOUNTERS or any(map(_CARRIES.fullmatch, verbs)) or run.words.trait("mounts")


MAX_WORDS = 60
MAX_TARGETS = 100
_PIECES = lazy_re.compile(r"[:=,]")
_CARRIES = lazy_re.compile(r"(?:\w{1,20}-)?(?:mv|move|mount|bind)(?:-\w{1,20})?")
_MOUNTERS = manual_catalogue.aliases("bindfs")
_MOVERS = manual_catalogue.aliases("mv")


def _named(run: ProgramRun) -> Iterator[str]:
    words = run.words
    if run.name == "mkdir" or (run.name == "install" and "-d" in run.argv):
        yield from words.texts
    elif run.name == "git":
        if words.verb in _CHECKS_OUT:
            yield from (landing.folder for landing in landings(run))
    elif run.name.startswith("python"):
        if run.argv[1:3] == ("-m", "venv"):
            yield from run.argv[3:] if len(run.argv) == 4 else ()  # noqa: PLR2004 - python -m venv FOLDER
    elif run.name in _ENVIRONMENTS:
        named = words.texts[1:] if words.texts[:1] == ("venv",) else words.texts if run.name != "uv" else ()
        yield from named[:1]
    elif words.texts[:1]:
        command = f"{run.name}:{words.texts[0]}"
        yield from words.texts[1:2] if command in _NAMES else words.texts[2:3] if command in _FILLS else ()
