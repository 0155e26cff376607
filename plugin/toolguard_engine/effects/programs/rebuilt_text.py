"""Folders that a command deletes and then builds again: `rm -rf lib && tsc`, `rm -rf out/x && mkdir -p out/x`.

Applies only to workspace folders whose name marks them as generated, or that a later program of the same command creates by
name; never to one that holds what people write.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.place_names import word_set

_OUTPUT = lazy_re.compile(
    r"lib|libs|es|es\d+|es20\d\d|esm|cjs|mjs|umd|amd|iife|system|commonjs|modules?|types|typings|dts|browser|bundles?|compiled"
    r"|releases?|pkg|_?site|website|bin|artifacts?"
    r"|\.?(?:[^\W_]{1,30}[-_.]){0,4}(?:dist|build|builds|built|out|output|outputs|gen|generated)(?:[-_.]?[^\W_]{1,30}){0,2}"
)
_WRITTEN = word_set(
    "src source sources app apps packages test tests spec specs doc docs data db database databases config configs"
    " content assets static public migrations backup backups uploads scripts examples home .git .github .ssh vendor"
)
_BUILDERS = program_catalogue.programs("build_tool")
_RUNNERS = program_catalogue.programs("build_runner")
_BUILDS = lazy_re.compile(
    r"build|compile|bundle|dist|pack|generate|codegen|babel|rollup|webpack|tsc|make|transpile|docs?\b|types|prepare"
)
_OUT = lazy_re.compile(r"-(?:o|d|O)|--(?:out|output|dest|dist|target|declaration)[-\w]*|-out[-\w]*")
_MAKERS = program_catalogue.programs("folder_maker")
_COPIERS = program_catalogue.programs("artefact_copier")
MAX_LATER = 20
"""Later programs that are examined."""


def marked(seen: Reading, effects: list[Effect]) -> Iterator[Effect]:
    """The effects, with the flag `rebuilt` on what is built again."""
    order = {id(program): at for at, program in enumerate(seen.runs, 1)}
    for effect in effects:
        after = order.get(id(effect.program), 0) if possible(effect) else 0
        again = after and _again(effect.target, seen.runs[after : after + MAX_LATER])
        yield replace(effect, flags=effect.flags | {"rebuilt"}) if again else effect


def possible(effect: Effect) -> bool:
    """A cheap test whether the effect qualifies at all."""
    if effect.kind != "delete" or effect.place != "in-workspace":
        return False
    return "recursive" in effect.flags and "each" not in effect.flags


def _again(target: str, later: tuple[ProgramRun, ...]) -> bool:
    path = _plain(target)
    parts = path.split("/")
    name = parts[-1].lower()
    if UNKNOWN in path or ".." in parts or not name or name in _WRITTEN - {"docs", "doc"}:
        return False
    output = _OUTPUT.fullmatch(name) is not None
    return any((output and _builds(program)) or _makes(program, path, name) for program in later)


def _plain(path: str) -> str:
    return path.removesuffix("/*").rstrip("/").removeprefix("./")


def _builds(program: ProgramRun) -> bool:
    if program.name in _BUILDERS:
        return True
    return program.name in _RUNNERS and any(_BUILDS.search(word) for word in program.argv[1:4])


def _makes(program: ProgramRun, path: str, name: str) -> bool:
    """Whether a program creates this very folder."""
    given = program.argv[1:]
    own = name not in _WRITTEN
    if program.name in _MAKERS:
        return own and any(_within(word, path) for word in given)
    if program.name in _COPIERS:
        return own and bool(given) and _within(given[-1], path)
    if any(_within(redirect.target, path) for redirect in program.redirects if redirect.kind not in ("read", "text")):
        return own
    for word, following in zip(given, (*given[1:], ""), strict=False):
        option, sign, value = word.partition("=")
        if _OUT.fullmatch(option) and _within(value if sign else following, path):
            return True
    return False


def _within(word: str, path: str) -> bool:
    word = _plain(word)
    return word == path or word.startswith(path + "/")
