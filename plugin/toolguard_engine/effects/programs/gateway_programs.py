"""The gateway's own command line, `openclaw`, under all names by which it can be started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join, normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane import command_line
from toolguard_engine.effects.control_plane.command_line import OWN_PROGRAM, operations
from toolguard_engine.effects.control_plane.verb_catalogue import UNKNOWN_VERB
from toolguard_engine.effects.facts import message_texts, program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.manuals.option_spellings import attached
from toolguard_engine.effects.programs import Act

LAUNCHERS = program_catalogue.programs("node_launcher")
_PACKAGERS = program_catalogue.programs("node_package_runner")
_MANUAL = "npm"
"""What has the options of all of them."""

_RUNNING = frozenset({"run", "run-script", "node", "exec"})
_PACKAGE_VERBS = frozenset(
    {
        "add", "audit", "bin", "c", "cache", "ci", "config", "create", "dedupe", "deprecate", "dist-tag", "docs",
        "explain", "fund", "get", "i", "import", "in", "info", "init", "install", "link", "list", "ln", "login",
        "logout", "ls", "outdated", "owner", "pack", "patch", "ping", "prefix", "prune", "publish", "r", "rebuild",
        "remove", "repo", "rm", "root", "search", "set", "show", "star", "store", "team", "un", "uninstall", "unlink",
        "up", "update", "upgrade", "v", "version", "view", "whoami", "why",
    }
)  # fmt: skip
"""Verbs that run no program, nor are they the value of an option that is not known."""

_ENTRY = lazy_re.compile(
    r"(?:^|/)(?:openclaw|clawdbot)(?:/(?:dist/?|(?:dist/)?(?:index|entry|openclaw)(?:\.[cm]?js)?))?$", re.IGNORECASE
)
"""A complete path that an interpreter treats as the gateway's command line: the package, its folder or its script."""

_LOADED = lazy_re.compile(r"openclaw\.mjs\b|(?:openclaw|clawdbot)/dist/(?:index|entry)(?:\.[cm]?js)?\b", re.IGNORECASE)
"""Code that loads the command line, which then reads the words after the code."""

_CODE = lazy_re.compile(r"[\s()'\"`;]")
"""Characters by which a word is code and not a path."""

_ARGUMENTS = lazy_re.compile(r"argv|[$`\\]")
"""Signs that such code may pass other words to the command line than those after it."""

_FIRST = 12
"""Words among which the script of an interpreter is searched."""

_MAX_PATH = 1_000


def own_words(program: ProgramRun) -> tuple[str, ...] | None:
    """The words that `openclaw` gets if this program is it or starts it, else None."""
    if OWN_PROGRAM.search(program.argv[0]) or OWN_PROGRAM.search(program.name):
        return program.argv[1:]
    if program.name in _PACKAGERS:
        return _packaged(program)
    if program.name not in LAUNCHERS:
        return None
    for at, word in enumerate(program.argv[1:_FIRST], 1):
        if OWN_PROGRAM.search(word) or _LOADED.search(word) or _is_entry(word, program.cwd):
            return program.argv[at + 1 :]
    return None


def _is_entry(word: str, folder: str) -> bool:
    return attached(word) is None and len(word) < _MAX_PATH and _ENTRY.search(normpath(join(folder, word))) is not None


def _packaged(program: ProgramRun) -> tuple[str, ...] | None:
    """The words after `openclaw` if a package manager runs it: `pnpm openclaw x`, `npm run openclaw -- x`."""
    argv = program.argv[:_FIRST]
    places = (_own_word(argv, words, program.cwd) for words in option_parser.readings(_MANUAL, argv))
    at = next(filter(None, places), 0)
    return program.argv[at + 1 :] if at else None


def _own_word(argv: tuple[str, ...], words: CommandWords, cwd: str) -> int:
    """The position of `openclaw` in one reading; 0 if the package manager runs something else, or nothing."""
    folder = join(cwd, *(option.value.text for option in words.given if "places" in option.entry.traits))
    through_node = False
    for word in words.operands:
        if OWN_PROGRAM.search(word.text) or (through_node and _is_entry(word.text, folder)):
            before = set(argv[1 : word.at]) - {option.value.text for option in words.given}
            return word.at if _PACKAGE_VERBS.isdisjoint(before) else 0
        if word.text not in _RUNNING and word.text not in _PACKAGERS:
            return 0
        through_node = through_node or word.text == "node"
    return 0


def _hides_words(program: ProgramRun) -> bool:
    """Whether code loads the command line and may choose the words that it reads."""
    if program.name not in LAUNCHERS:
        return False
    codes = [(word, program.argv[at + 1 :]) for at, word in enumerate(program.argv) if at and _CODE.search(word)]
    given = program.stdin.text if program.stdin else None
    codes += [(given, ())] if given else []
    return any(_LOADED.search(code) and (not after or _ARGUMENTS.search(code)) for code, after in codes)


def done(program: ProgramRun, _: Where) -> Iterator[Effect]:
    if _hides_words(program):
        yield Effect("gateway", f"openclaw by {program.name}", "", frozenset([UNKNOWN_VERB]), program)
    words = own_words(program)
    if words is not None and (message := command_line.sent_message(words)) is not None:
        unclear = () if message.is_plain else ("attached",)
        flags = frozenset({"addressed", *unclear, *message_texts.flags([message.text])})
        yield Effect("message", message.target, "remote", flags, program)
    for operation in () if words is None else operations(words, program.stdin.text if program.stdin else None):
        if operation.effect != "guard":
            yield Effect("gateway", operation.target, "", frozenset([operation.effect]), program)


PROGRAMS: dict[str, Act] = dict.fromkeys(
    program_catalogue.programs("gateway_cli", "node_launcher", "node_package_runner"), done
)
