"""The paths that a call names, as its parameters, the words of its programs and the code of interpreters have them.

In doubt a word is a path. What no text says is not found: a path that code puts together, or that a file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from toolguard_engine import toolacts
from toolguard_engine.layers import calltexts
from toolguard_engine.shell.model import Effect, Run

MAX_VALUES = 2_000
MAX_TEXT = 16_384
"""Characters of a parameter that may be a list of paths."""

MAX_CODE = 65_536

FILE_KINDS = frozenset(
    """
    delete empty write device-write format move link read search disguise encrypt pack permissions owner load mcp-read
    mcp-write
    """.split()  # noqa: SIM905 - a table of names
)
"""Kinds of effects of which the target is a path."""

Named = tuple[str, str, bool]
"""A path, the folder that it is relative to, and whether all below is meant too."""

_DEEP_KINDS = frozenset(["move", "pack", "search"])
_DEEP_FLAGS = frozenset(["recursive", "whole", "each", "mirror"])
_SAYING = frozenset("cd pushd popd echo printf pwd : true false test [ [[ export set unset alias type which".split())  # noqa: SIM905
"""Programs of which no word is a file that they use."""

_WALKERS = frozenset("find gfind fd fdfind rg ag ack tree du ncdu".split())  # noqa: SIM905
_WALKERS_IF = frozenset("grep egrep fgrep zgrep rgrep ls dir vdir diff scp".split())  # noqa: SIM905
"""Programs that go through all below with an option only."""

_RECURSIVE = re.compile(r"-[A-Za-z0-9]*[rR]|--(?:dereference-)?recursive|--directories=recurse|recurse$")
_GIVERS = frozenset("ln mount docker podman nerdctl bwrap".split())  # noqa: SIM905
"""Programs that give a folder another place, with all that is in it."""

_VALUED: dict[str, tuple[str, ...]] = {
    "image": ("image", "images"),
    "pdf": ("pdf", "pdfs"),
    "view_image": ("image",),
    "glob": ("pattern",),
    "find": ("pattern",),
    "sessions_spawn": ("cwd",),
}
"""Parameters of known tools that hold a path and are not called like one."""

_LISTED = re.compile(r"\s*[,;\n]\s*")
_ABSOLUTE = re.compile(r"\s{0,9}@?(?:[/~]|file:)")
_QUOTED = re.compile(r"""['"`][<>+ ]{0,4}(?=[/~])([^'"`\n]{1,4000})['"`]""")
_PIECES = re.compile(r"""['"`]\s{0,9}\)?\s{0,9}[,+/.]\s{0,9}['"`]""")
_WALKS = re.compile(r"walk|glob|listdir|scandir|iterdir|readdir|copytree|find|tree|Dir\b|recursive")


def of_params(tool: str, params: dict[str, Any]) -> tuple[list[str], bool]:
    """The files that the parameters name, and whether all of them could be looked at.

    Of a tool that nobody described, each text that begins like an absolute path is one, wherever it stands.
    """
    if tool in calltexts.EXEC_TOOLS:
        return [], True
    found = list(calltexts.paths(tool, params))
    for name in _VALUED.get(tool, ()):
        value = params.get(name)
        found += [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)][:MAX_VALUES]
    if tool in toolacts.DESCRIBED:
        return found, True
    texts, all_seen = _all_texts(params)
    for text in texts:
        found += [part for part in (text, *_LISTED.split(text[:MAX_TEXT])) if _ABSOLUTE.match(part)]
    return list(dict.fromkeys(found)), all_seen


def all_values(roots: list[Any]) -> tuple[list[Any], bool]:
    """These values and all that is in them, at most `MAX_VALUES`, and whether these are all."""
    found: list[Any] = []
    waiting = list(roots)
    while waiting and len(found) < MAX_VALUES:
        value = waiting.pop()
        found.append(value)
        if isinstance(value, dict):
            waiting += list(value.values())[: MAX_VALUES + 1]
        elif isinstance(value, list):
            waiting += value[: MAX_VALUES + 1]
    return found, not waiting


def _all_texts(params: dict[str, Any]) -> tuple[list[str], bool]:
    """All texts in the parameters, names too, and whether these are all."""
    found: list[str] = []
    values, all_seen = all_values([params])
    for value in values:
        if isinstance(value, dict):
            found += [name for name in list(value)[:MAX_VALUES] if isinstance(name, str)]
        elif isinstance(value, str):
            found.append(value)
    return found, all_seen


def of_effects(effects: Iterable[Effect]) -> Iterator[Named]:
    """What is done to files of this machine."""
    for effect in effects:
        if effect.kind in FILE_KINDS and effect.place != "remote" and effect.target:
            deep = effect.kind in _DEEP_KINDS or not _DEEP_FLAGS.isdisjoint(effect.flags)
            yield effect.target, effect.run.cwd if effect.run else "", deep


def of_codes(effects: Iterable[Effect]) -> Iterator[Named]:
    """Absolute paths that code of an interpreter has between quotes, also in pieces: `join("/srv", "prod")`."""
    for effect in effects:
        if effect.kind == "code":
            code = effect.target[:MAX_CODE]
            deep = _WALKS.search(code) is not None
            for said in (code, _PIECES.sub("/", code)):
                yield from ((match[1].strip(), "", deep) for match in _QUOTED.finditer(said))


def of_run(run: Run, *, somewhere: bool) -> Iterator[Named]:
    """What a program is given that may be a file, and the folder that it runs in. `somewhere`: that folder is known."""
    for redirect in run.redirects:
        if redirect.kind != "text":
            yield redirect.target, run.cwd, False
    if run.name in _SAYING:
        return
    walks = _walks(run)
    if run.cwd or somewhere:
        yield ".", run.cwd, walks and not any(_is_place(word) for word in run.argv[1:])
    if "/" in run.argv[0]:
        yield run.argv[0], run.cwd, False
    deep = walks or run.name in _GIVERS
    for word in run.argv[1:]:
        for path in _paths_in(word):
            yield path, run.cwd, deep


def _walks(run: Run) -> bool:
    """Whether it goes through all that is below the folders that it is given."""
    if run.name in _WALKERS:
        return True
    return run.name in _WALKERS_IF and (run.name == "rgrep" or any(_RECURSIVE.match(word) for word in run.argv[1:]))


def _is_place(word: str) -> bool:
    return word[:1] != "-" and ("/" in word or word in (".", "..") or word[:1] == "~")


def _paths_in(word: str) -> Iterator[str]:
    """The word, and what stands in it behind an option or a `=`, or before a `:`."""
    if word[:1] == "-":
        at = min((found for sign in "/~" if (found := word.find(sign)) > 0), default=0)
        if at and "=" not in word[:at]:
            word = word[at:]
        elif "=" in word:
            word = word.partition("=")[2]
        else:
            return
        yield word
        if ":" in word:
            yield word.partition(":")[0]
        return
    if "://" in word and not word.startswith("file:"):
        return
    yield word
    if "=" in word:
        yield word.partition("=")[2]
    if ":" in word and word[:1] in "/~.":
        yield word.partition(":")[0]
