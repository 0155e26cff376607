"""Which files a program reads by a row in the table of runners: those it is named, and those it reads by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice
from posixpath import join

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.commands.runner_table import SETTINGS, Runner
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.commands.walk_state import is_away
from toolguard_engine.effects.facts.command import STDIN, FilePlace, ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.model.file_search import IN_ANY_FOLDER

MAX_WRITTEN = 400
"""Files of one command."""

MAX_WORDS = 4_000
"""Of one program; of more words it is not read what they name."""

NO_CODE = (".json", ".yaml", ".yml", ".toml", ".snap", ".md", ".css", ".lock", ".d.ts")
"""What is no code of an interpreter, though its name fits: `.eslintrc.json`."""

_UNITS = (".service", ".timer", ".path", ".socket")


def read_files(walk: Walk, row: Runner, program: ProgramRun, folder: str) -> Iterator[FilePlace]:
    """Those that options and operands name, and those that it reads by itself."""
    named = [value for value in option_values(program, row.options) if value and value not in STDIN] if row.options else []
    words = operands(program, row) if row.operands or row.inside or row.places else []
    named_first = [*named, *(word for word in words if _is_operand(row, word))]
    for name in dict.fromkeys(named_first):
        paths = _spellings(row, join(folder, name) if row.instead else name)
        if (row.always or any(concerns(walk, path, program) for path in paths)) and (
            file := found_file(walk, paths, "", program)
        ):
            yield file
    if row.instead and named:
        return
    for where in _folders(row, words, folder):
        yield from _by_itself(walk, row, program, where)


def _spellings(row: Runner, path: str) -> tuple[str, ...]:
    """A module of Python may be named without the ending of its file."""
    is_module = row.language == "python3" and "/" not in path and not path.endswith(".py") and not row.operands
    return (f"{path.replace('.', '/')}.py",) if is_module else (path,)


def _is_operand(row: Runner, word: str) -> bool:
    word = word.partition("::")[0] if "::" in word else word
    return bool(row.operands) and (row.operands == ("*",) or word.endswith(row.operands))


def _folders(row: Runner, words: list[str], folder: str) -> list[str]:
    if row.places:
        return [""]
    if not row.inside:
        return [folder]
    return [join(folder, word) for word in words if word in (".", "./") or "/" in word or row.language == "shell"]


def _at_places(walk: Walk, row: Runner, program: ProgramRun) -> Iterator[FilePlace]:
    """The files that a program finds by names without a folder: services, units."""
    for word in operands(program, row):
        name = word.rpartition("/")[2]
        stem = name.rpartition(".")[0] if name.endswith(_UNITS) else name
        template = f"{stem.partition('@')[0]}@" if "@" in stem else stem
        places = (part.replace("{stem}", stem).replace("{template}", template) for part in row.places.split("|"))
        if "/" not in word and stem and (file := found_file(walk, tuple(dict.fromkeys(places)), "", program)):
            yield file


def _by_itself(walk: Walk, row: Runner, program: ProgramRun, folder: str) -> Iterator[FilePlace]:
    if row.places:
        yield from _at_places(walk, row, program)
        return
    if not row.always and _are_untouched(walk, row, program, folder):
        yield from made_elsewhere(walk, row, program, folder)
        return
    for group in (_at_home(names, program) for names in _exact(row.reads)):
        _will_run(walk, row, group, folder, program)
        if (row.always or any(concerns(walk, join(folder, name), program) for name in group)) and (
            file := found_file(walk, group, folder, program)
        ):
            yield file
    yield from made_elsewhere(walk, row, program, folder)


def _are_untouched(walk: Walk, row: Runner, program: ProgramRun, folder: str) -> bool:
    """A quick look at all files of a row: whether neither this command nor an agent made any of them, as is usual."""
    if walk.running is None or is_away(program) or any(name == "HOME" for name, _ in program.assigns):
        return False
    own, at_home = _names_in(row.reads, folder)
    if (walk.written.texts or walk.written.opaque) and walk.written.may_change((*own, *at_home), program.cwd):
        return False
    paths = walk.running.paths(own, program.cwd)
    others = walk.running.paths(at_home, program.cwd) if at_home else ()
    if paths is None or others is None:
        return False
    if row.language not in SETTINGS:
        walk.will_run_all(paths, program)
    return walk.running.are_untouched(paths) and (not others or walk.running.are_untouched(others))


@cache
def _exact(reads: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """The groups of names without wildcards."""
    return tuple(group for group in reads if not any("*" in name for name in group))


@lru_cache(maxsize=1024)
def _names_in(reads: tuple[tuple[str, ...], ...], folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names in the folder, and those in the home folder."""
    names = dict.fromkeys(name for group in _exact(reads) for name in group)
    own, at_home = [name for name in names if name[:1] != "~"], [name for name in names if name[:1] == "~"]
    return tuple(join(folder, name) for name in own), tuple(join(folder, name) for name in at_home)


def _at_home(group: tuple[str, ...], program: ProgramRun) -> tuple[str, ...]:
    """The names with the home folder that this very command sets."""
    home = next((value for name, value in program.assigns if name == "HOME"), "")
    return tuple(f"{home}{name[1:]}" if name[:2] == "~/" else name for name in group) if home else group


def _will_run(walk: Walk, row: Runner, group: tuple[str, ...], folder: str, program: ProgramRun) -> None:
    """What this command or a later call puts there runs, whether anything lies there now or not."""
    if not row.always and row.language not in SETTINGS:
        for name in group:
            if name[:1] != "~":
                walk.will_run(join(folder, name), program)


def made_elsewhere(walk: Walk, row: Runner, program: ProgramRun, folder: str) -> Iterator[FilePlace]:
    """Files that agents made: of names known by patterns, in the folders below or above."""
    running = walk.running
    patterns, names = _elsewhere(row.reads, row.below, row.above)
    if running is None or not (patterns or names) or is_away(program):
        return
    where = join(program.cwd, folder) if folder else program.cwd
    paths: list[str] = []
    for pattern in patterns:
        yield from _written_named(walk, pattern, where, program)
        paths += running.made_named(pattern, where)
    if names:
        paths += running.made_above(names, where)
    for path in dict.fromkeys(paths):
        if path.endswith(NO_CODE) and code_sources.language(row.language):
            continue
        walk.will_run(path, program)
        if file := running.text(path, "", sure=False):
            yield file


@cache
def _elsewhere(
    reads: tuple[tuple[str, ...], ...],
    below: bool,  # noqa: FBT001 - a key of the cache
    above: bool,  # noqa: FBT001
) -> tuple[tuple[re.Pattern[str], ...], tuple[str, ...]]:
    """The patterns of names that are looked for in a folder and below it, and the names in the folders above."""
    names = tuple(name for group in reads for name in group)
    exact, open_ = tuple(name for name in names if "*" not in name), tuple(name for name in names if "*" in name)
    parts = (exact, open_) if below or open_ else ()
    patterns = tuple(name_pattern(part, below) for part in parts if part)
    return patterns, tuple(name for name in exact if name[:1] != "~") if above else ()


def _written_named(walk: Walk, pattern: re.Pattern[str], folder: str, program: ProgramRun) -> Iterator[FilePlace]:
    """What this very command wrote in the folder."""
    if walk.running is None or not walk.written.texts or not (above := walk.running.path(folder or ".", "")):
        return
    if len(walk.written.texts) > MAX_WRITTEN:
        walk.flaws.add("long")
    places = tuple(islice(walk.written.texts, MAX_WRITTEN))
    paths = walk.running.paths(places, "") or [walk.running.path(place, "") for place in places]
    for place, path in zip(places, paths, strict=True):
        if (
            path.startswith(f"{above}/")
            and pattern.match(path, len(above) + 1)
            and (text := walk.written.possible_text(place, ""))
        ):
            walk.will_run(place, program)
            yield FilePlace(place, place, text, made=True)


@cache
def name_pattern(names: tuple[str, ...], below: bool) -> re.Pattern[str]:  # noqa: FBT001 - a key of the cache
    """A pattern of paths from the folder on: names with `*` mean names in one folder."""
    between = IN_ANY_FOLDER if below else ""
    known = (name for name in names if name[:1] != "~" and (below or "*" in name))
    one_of = "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in known)
    return re.compile(f"{between}(?:{one_of})\\Z")


_NAME = lazy_re.compile(r"[\w.~/@-]{1,200}+")
_TAKES = lazy_re.compile(
    r"\b(?:include\w{0,12}|import\w{0,12}|extends|apply from|source\w{0,4}|from|load|files?)\b[ \t:='\"(\[]{1,20}"
    r"([\w.~/@*-]{1,200}+)"
)
MAX_NAMES = 4_000


def names_in(file: FilePlace) -> Iterator[str]:
    """The paths of files that a file names: of the same kind, or behind a word that says that it takes them in."""
    folder, _, name = file.path.rpartition("/")
    for file_name in _names_of(file.text, f".{name.rpartition('.')[2]}"):
        yield join(folder, file_name)
        yield file_name


@lru_cache(maxsize=8)
def _names_of(text: str, ending: str) -> tuple[str, ...]:
    """Kept: the same file is run again and again."""
    names = (match[0] for match in _NAME.finditer(text) if match[0].endswith(ending))
    taken = (match[1] for match in _TAKES.finditer(text))
    return tuple(dict.fromkeys((*islice(names, MAX_NAMES), *islice(taken, MAX_NAMES))))


def concerns(walk: Walk, path: str, program: ProgramRun) -> bool:
    """Whether this very command or an agent before made a file, or brought it along with its folder."""
    if walk.written.possible_text(path, program.cwd) is not None or walk.written.is_unknown(path, program.cwd):
        return True
    return walk.running is not None and not is_away(program) and walk.running.is_brought(path, program.cwd)


def found_file(walk: Walk, names: tuple[str, ...], folder: str, program: ProgramRun) -> FilePlace | None:
    """The first of these files, as this command wrote it or as it is on this machine; else what may be one of them."""
    paths = [join(folder, name) for name in names]
    for path in paths:
        walk.will_run(path, program)
    for path in paths:
        if (
            walk.written.possible_text(path, program.cwd) is not None
            and (text := walk.written.run_text(path, program.cwd)) is not None
        ):
            return FilePlace(path, path, text, made=True)
        if walk.running is not None and not is_away(program) and (file := walk.running.text(path, program.cwd, sure=False)):
            return file
    for path in paths:
        if (text := walk.written.run_text(path, program.cwd)) is not None:
            return FilePlace(path, path, text, made=True)
    return None


def option_values(program: ProgramRun, names: Iterable[str]) -> Iterator[str]:
    """The values of options of a row."""
    return option_parser.values(program.argv[:MAX_WORDS], names)


def targets(program: ProgramRun, row: Runner) -> list[str]:
    """The operands that are no assignments."""
    return _named(word.text for word in _words(program, row).operands)


def operands(program: ProgramRun, row: Runner, *, verbs: bool = False) -> list[str]:
    """The same without `verbs`, unless these count. The value of an option that the row does not have may be a file that is
    run as well, as in `pip install -e .`."""
    words, argv = _words(program, row), program.argv
    known = {value.at for value in words.values(*row.options, *row.folder)}
    named = _named(word.text for word in words.named_words if word.at not in known and word.text == argv[word.at])
    own = {word for verb in row.verbs for word in verb}
    return named if verbs else [word for word in named if word not in own]


def _words(program: ProgramRun, row: Runner) -> CommandWords:
    if program.readings:
        return program.words
    return option_parser.plain(program.argv[:MAX_WORDS], {*row.options, *row.folder})


def _named(words: Iterable[str]) -> list[str]:
    shown = (word for word in islice(words, MAX_WORDS) if "=" not in word and word not in STDIN)
    return [word.partition("::")[0] if "::" in word else word for word in shown]
