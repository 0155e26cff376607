"""The paths that a call names: in its parameters, in the words of its programs, and in the code of interpreters.

In doubt a word counts as a path. Paths that code assembles or that a file contains are not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import call_texts
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.manuals.option_spellings import attached
from toolguard_engine.effects.tools import tools

MAX_VALUES = 2_000
MAX_TEXT = 16_384
"""Characters of a parameter that may be a list of paths."""

MAX_CODE = 65_536

FILE_KINDS = frozenset(
    """
    delete empty write device-write format move link read search disguise encrypt pack permissions owner load mcp-read
    mcp-write
    """.split()  # noqa: SIM905 - a table
)
"""Kinds of effects whose target is a path."""

Named = tuple[str, str, bool]
"""A path, the folder it is relative to, and whether everything below it is meant too."""

_DEEP_KINDS = frozenset(["move", "pack", "search"])
_DEEP_FLAGS = frozenset(["recursive", "whole", "each", "mirror"])
_WORDS_ONLY = program_catalogue.programs("words_only")
"""Programs none of whose words is a file that they use."""

_WALKERS = program_catalogue.programs("walker")
_WALKERS_IF_ASKED = program_catalogue.programs("walker_if_asked")
"""Programs that descend into folders only with an option."""

_RECURSIVE = lazy_re.compile(r"-[A-Za-z0-9]*[rR]|--(?:dereference-)?recursive|--directories=recurse|recurse$")
_PATH_GIVERS = program_catalogue.programs("path_giver")
"""Programs that make a folder, with everything in it, appear at another path."""

_VALUED: dict[str, tuple[str, ...]] = {
    "image": ("image", "images"),
    "pdf": ("pdf", "pdfs"),
    "view_image": ("image",),
    "glob": ("pattern",),
    "find": ("pattern",),
    "sessions_spawn": ("cwd",),
}
"""Parameters of known tools that hold a path but are not named like one."""

_LISTED = lazy_re.compile(r"[,;\n]")
_ABSOLUTE = lazy_re.compile(r"\s{0,9}@?(?:[/~]|file:)")
_QUOTED = lazy_re.compile(r"""['"`][<>+ ]{0,4}(?=[/~])([^'"`\n]{1,4000})['"`]""")
_PIECES = lazy_re.compile(r"""['"`]\s{0,9}\)?\s{0,9}[,+/.]\s{0,9}['"`]""")
_WALKS = lazy_re.compile(r"walk|glob|listdir|scandir|iterdir|readdir|copytree|find|tree|Dir\b|recursive")


def of_params(tool: str, params: dict[str, Any]) -> tuple[list[str], bool]:
    """The files that the parameters name, and whether all parameters could be searched.

    In an undescribed tool, any text that begins like an absolute path is one, wherever it is.
    """
    if tool in call_texts.EXEC_TOOLS:
        return [], True
    paths = list(call_texts.paths(tool, params))
    for name in _VALUED.get(tool, ()):
        value = params.get(name)
        paths += [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)][:MAX_VALUES]
    if tool in tools.DESCRIBED:
        return paths, True
    texts, all_seen = _all_texts(params)
    for text in texts:
        parts = (part.strip() for part in _LISTED.split(text[:MAX_TEXT]))
        paths += [part for part in (text, *parts) if _ABSOLUTE.match(part)]
    return list(dict.fromkeys(paths)), all_seen


def all_values(roots: list[Any]) -> tuple[list[Any], bool]:
    """These values and everything in them, at most `MAX_VALUES`, and whether that is all."""
    values: list[Any] = []
    waiting = list(roots)
    while waiting and len(values) < MAX_VALUES:
        value = waiting.pop()
        values.append(value)
        if isinstance(value, dict):
            waiting += list(value.values())[: MAX_VALUES + 1]
        elif isinstance(value, list):
            waiting += value[: MAX_VALUES + 1]
    return values, not waiting


def _all_texts(params: dict[str, Any]) -> tuple[list[str], bool]:
    """All texts in the parameters, including keys, and whether that is all."""
    texts: list[str] = []
    values, all_seen = all_values([params])
    for value in values:
        if isinstance(value, dict):
            texts += [name for name in list(value)[:MAX_VALUES] if isinstance(name, str)]
        elif isinstance(value, str):
            texts.append(value)
    return texts, all_seen


def of_effects(effects: Iterable[Effect]) -> Iterator[Named]:
    """The paths of effects on files of this machine."""
    for effect in effects:
        if effect.kind in FILE_KINDS and effect.place != "remote" and effect.target:
            deep = effect.kind in _DEEP_KINDS or not _DEEP_FLAGS.isdisjoint(effect.flags)
            yield effect.target, effect.program.cwd if effect.program else "", deep


def of_codes(effects: Iterable[Effect]) -> Iterator[Named]:
    """Absolute paths in the string literals of interpreter code, also in pieces: `join("/srv", "prod")`."""
    for effect in effects:
        if effect.kind == "code":
            code = effect.target[:MAX_CODE]
            deep = _WALKS.search(code) is not None
            for text in (code, _PIECES.sub("/", code)):
                yield from ((match[1].strip(), "", deep) for match in _QUOTED.finditer(text))


def of_run(program: ProgramRun, *, somewhere: bool) -> Iterator[Named]:
    """Words of a program that may be files, and the folder it runs in. `somewhere`: that folder is known."""
    for redirect in program.redirects:
        if redirect.kind != "text":
            yield redirect.target, program.cwd, False
    if program.name in _WORDS_ONLY:
        return
    walks = _walks(program)
    if program.cwd or somewhere:
        yield ".", program.cwd, walks and not any(_is_place(word) for word in program.argv[1:])
    if "/" in program.argv[0]:
        yield program.argv[0], program.cwd, False
    deep = walks or program.name in _PATH_GIVERS
    for word in program.argv[1:]:
        for path in _paths_in(word):
            yield path, program.cwd, deep


def _walks(program: ProgramRun) -> bool:
    """Whether it descends into the folders that it is given."""
    if program.name in _WALKERS:
        return True
    return program.name in _WALKERS_IF_ASKED and (
        program.name == "rgrep" or any(_RECURSIVE.match(word) for word in program.argv[1:])
    )


def _is_place(word: str) -> bool:
    return attached(word) is None and ("/" in word or word in (".", "..") or word[:1] == "~")


def _paths_in(word: str) -> Iterator[str]:
    """The word itself, and the part of it after an option or a `=`, or before a `:`."""
    if (path := attached(word)) is not None:
        if path:
            yield path
        if ":" in path:
            yield path.partition(":")[0]
        return
    if "://" in word and not word.startswith("file:"):
        return
    yield word
    if "=" in word:
        yield word.partition("=")[2]
    if ":" in word and word[:1] in "/~.":
        yield word.partition(":")[0]
