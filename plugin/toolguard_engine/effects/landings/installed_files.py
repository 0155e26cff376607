"""Where package managers and generators put what they bring: a package or a template decides which files these are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.landing import Landing, inside
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.option_parser import value_in

MANAGERS = program_catalogue.programs("node_package_manager")
_FOLDER = lazy_re.compile(r"(?:--(?:prefix|dir|cwd|modules-folder)|-C)(?:=(.*))?", re.DOTALL)
_INSTALLS = frozenset({"i", "in", "install", "add", "ci", "clean-install", "update", "up", "upgrade", "link", "dedupe"})
_GENERATES = frozenset({"create", "init", "dlx", "x"})
_GENERATORS = lazy_re.compile(r"create-[\w.-]{1,80}|degit|tiged|giget|gitpick|cookiecutter|cruft|copier")
_MAX_WORDS = 60


def by_package_manager(program: ProgramRun) -> Iterator[Landing]:
    """`npm install --prefix x`: packages land in `x/node_modules`; `npm create vite x` fills the folder itself."""
    words = program.argv[1:_MAX_WORDS]
    folders = [match[1] for word in words if (match := _FOLDER.fullmatch(word)) and match[1]]
    folders += [value for option, value in pairwise(words) if _FOLDER.fullmatch(option) and "=" not in option]
    verb = next((word for word in words if word in _INSTALLS | _GENERATES), "")
    if verb in _INSTALLS and (folders or not _is_global(program)):
        yield from (Landing(UNKNOWN, folder, "node_modules") for folder in folders or ["."])
    elif verb and len(made := option_parser.plain(tuple(words[words.index(verb) :])).texts) > 1:
        yield Landing(UNKNOWN, inside(folders[0] if folders else "", made[1]))


def _is_global(program: ProgramRun) -> bool:
    """Whether packages are installed for all projects, wherever it runs."""
    words = program.words
    if not (words.has("--global") or words.last("--location") == "global"):
        return program.argv[1:2] == ("global",)
    return not any(map(_NOT_GLOBAL.match, program.argv))


_NOT_GLOBAL = lazy_re.compile(r"--no-g|--(?:global|location)(?:=(?!global\Z)|\Z)(?<!--global)")


def is_generator(name: str) -> bool:
    """Whether a program fills a folder from a template."""
    return _GENERATORS.fullmatch(name) is not None


def by_generator(program: ProgramRun) -> Iterator[Landing]:
    """Yields what lands in any of the folders that a generator is given, or in its own if it is given none, or only a
    template (not `create-x`)."""
    named = [named for word in program.argv[1:_MAX_WORDS] if (named := value_in(word))]
    yield from (Landing(UNKNOWN, word) for word in named)
    if len(named) < (1 if program.name.startswith("create-") else _TEMPLATE_AND_FOLDER):
        yield Landing(UNKNOWN, ".")


_TEMPLATE_AND_FOLDER = 2
