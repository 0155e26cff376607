"""Which folders a call may make without naming them as folders: those around what it writes or puts out, those where builds
put what they build, and those that its code names and makes. Whether it does is looked at: there is nothing at such a path
before it runs, and something afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from posixpath import join

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import code_literals
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.effects.programs.wrappers import AWAY, WRAPPERS
from toolguard_engine.model.lazy import kept, kept_with
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.quick_search import may_be_in

MAX_NAMED = 30
_WRITES = frozenset({"write", "mcp-write", "pack"})
_OUT = lazy_re.compile(
    r"(?:-o|(?P<long>--?(?:out|output|dest|outdir|out-dir|output-dir|output-directory|target-dir|export-\w{1,20})))"
    r"(?:=(?P<value>(?s:.*)))?"
)
_BUILDERS = program_catalogue.programs("build_tool")
_RUNNERS = program_catalogue.programs("build_runner")
_READERS = program_catalogue.programs("safe_reader")
_BUILDS = lazy_re.compile(r"build|compile|bundle|dist|pack|generate|codegen|docs?\b|site|release")
_BUILT = tuple(sorted(program_catalogue.words("built_folder")))
_ENDING = lazy_re.compile(r"\.(?:Rmd|qmd|ipynb)\b")
_NO_NAME = lazy_re.compile(r"[^\w./~-]")
_MAX_NAME = 200
_MAKES = lazy_re.compile(r"mkdir|makedirs|mkpath|MkdirAll|create_dir|dir\.create|ensure_?[dD]ir")
_COMMENT = lazy_re.compile(r"#|//|--")


@kept
def paths(reading: CallReading) -> list[str]:
    """Absolute, or with an unknown part; files too, since an output may be either."""
    named: dict[str, None] = {}
    for path in filter(None, chain(_written(reading), _by_programs(reading), _in_code(reading))):
        named[path] = None
        if len(named) == MAX_NAMED:
            break
    return list(named)


def writes(reading: CallReading) -> bool:
    """Whether it writes or packs anything."""
    return any(effect.kind in _WRITES for effect in _effects(reading))


@kept_with
def may_fill(command: Reading) -> bool:
    """Whether a program of this command may, whatever it writes. Most commands come again, and have none."""
    runs = [run for run in command.runs if AWAY.isdisjoint(run.via)]
    return _renders(runs) or any(code_sources.language(run.name) or any(_put_out(run)) or any(_built(run)) for run in runs)


def _effects(reading: CallReading) -> Iterator[Effect]:
    return chain(reading.tool_effects, *(reading.command_effects if reading.commands else ()))


def _written(reading: CallReading) -> Iterator[str]:
    for effect in _effects(reading):
        if effect.kind in _WRITES and (effect.program is None or AWAY.isdisjoint(effect.program.via)):
            yield _around(effect, reading)


def _by_programs(reading: CallReading) -> Iterator[str]:
    where = reading.command_where
    runs = [run for run in reading.runs if AWAY.isdisjoint(run.via)] if reading.commands else []
    renders = _renders(runs)
    for run in runs:
        for word in chain(_put_out(run), _built(run), _figures(run) if renders else ()):
            yield normal(word, where, run.cwd)


def _renders(runs: list[ProgramRun]) -> bool:
    """Whether a document with code in it is named."""
    return _ENDING.search("\n".join([word for run in runs for word in run.argv[1:MAX_NAMED]])) is not None


def _around(effect: Effect, reading: CallReading) -> str:
    """The folder around what is written, as far as it is known."""
    where = reading.where if effect.program is None else reading.command_where
    path = normal(effect.target, where, effect.program.cwd if effect.program else "").partition(UNKNOWN)[0]
    glob = GLOB.search(path)
    return (path if glob is None else path[: glob.start()]).rpartition("/")[0]


def _put_out(run: ProgramRun) -> Iterator[str]:
    """The values of options that say where something is put, and the folders around them. Programs with a manual say with
    their effects what they write; `-o` means an output only of those that build; words of wrappers are another program's."""
    if run.readings or run.name in WRAPPERS or run.name in _READERS:
        return
    builds = run.name in _BUILDERS or run.name in _RUNNERS
    words = run.argv[1 : MAX_NAMED + 1]
    for at, word in enumerate(words, 1):
        if (option := _OUT.fullmatch(word)) is None or not (builds or option["long"]):
            continue
        path = "".join(words[at : at + 1]) if option["value"] is None else option["value"]
        if path:
            yield from filter(None, (path, path.rpartition("/")[0]))


def _built(run: ProgramRun) -> Iterator[str]:
    builds = run.name in _BUILDERS or (run.name in _RUNNERS and any(map(_BUILDS.search, run.argv[1:4])))
    return (join(run.cwd, name) for name in _BUILT) if builds else iter(())


def _figures(run: ProgramRun) -> Iterator[str]:
    """Where the figures of a document with code in it are put when it is rendered."""
    endings = ((word, match.start()) for word in run.argv[1:MAX_NAMED] for match in _ENDING.finditer(word))
    names = (_NO_NAME.split(word[max(0, at - _MAX_NAME) : at])[-1] for word, at in islice(endings, MAX_NAMED))
    return (f"{name}_files" for name in names if name)


def _in_code(reading: CallReading) -> Iterator[str]:
    """What code that makes folders has as literals."""
    runs = tuple(run for run in reading.runs if code_sources.language(run.name)) if reading.commands else ()
    texts = [source[1] for source in map(code_sources.source, runs) if source is not None]
    texts += [file.text for file in reading.running.judged.values()] if runs else []
    if any(map(makes_folders, dict.fromkeys(texts))):
        try:
            yield from islice(code_literals.paths(reading, runs, reading.command_where), MAX_NAMED)
        except TooIntricate:
            return


def makes_folders(text: str) -> bool:
    """Whether code makes folders, other than in a comment."""
    if not may_be_in(_MAKES, text):
        return False
    match = _MAKES.search(text)
    while match:
        begin = text.rfind("\n", 0, match.start()) + 1
        if _COMMENT.search(text, begin, match.start()) is None:
            return True
        end = text.find("\n", match.end())
        match = _MAKES.search(text, end) if end >= 0 else None
    return False
