"""The gateway's own command line, `openclaw`, under all names by which it is started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join, normpath

from toolguard_engine.controlplane.catalogue import UNKNOWN_VERB
from toolguard_engine.controlplane.commandline import OWN_PROGRAM, deeds
from toolguard_engine.shell.acts import Act
from toolguard_engine.shell.model import Effect, Run
from toolguard_engine.shell.places import Where

LAUNCHERS = ("node", "nodejs", "bun", "deno", "tsx", "ts-node", "volta", "fnm", "mise", "asdf")
_PACKAGERS = frozenset({"npm", "pnpm", "yarn", "corepack"})
_RUNNING = frozenset({"run", "run-script", "node", "exec", "--"})
_FOLDER_OPTIONS = frozenset({"-C", "--dir", "--cwd", "--prefix"})
_VALUED = _FOLDER_OPTIONS | {
    "-F", "-w", "--cache", "--filter", "--globalconfig", "--loglevel", "--modules-folder", "--registry", "--reporter",
    "--script-shell", "--store-dir", "--use-yarnrc", "--userconfig", "--workspace",
}  # fmt: skip
"""Options of the package managers that take the next word as their value."""

_PACKAGE_VERBS = frozenset(
    {
        "add", "audit", "bin", "c", "cache", "ci", "config", "create", "dedupe", "deprecate", "dist-tag", "docs",
        "explain", "fund", "get", "i", "import", "in", "info", "init", "install", "link", "list", "ln", "login",
        "logout", "ls", "outdated", "owner", "pack", "patch", "ping", "prefix", "prune", "publish", "r", "rebuild",
        "remove", "repo", "rm", "root", "search", "set", "show", "star", "store", "team", "un", "uninstall", "unlink",
        "up", "update", "upgrade", "v", "version", "view", "whoami", "why",
    }
)  # fmt: skip
"""Their verbs that run no program; a word behind an option that is none of them may be the value of the option."""

_ENTRY = re.compile(
    r"(?:^|/)(?:openclaw|clawdbot)(?:/(?:dist/?|(?:dist/)?(?:index|entry|openclaw)(?:\.[cm]?js)?))?$", re.IGNORECASE
)
"""A whole path that an interpreter takes for the gateway's command line: the package, its folder or its script."""

_LOADED = re.compile(r"openclaw\.mjs\b|(?:openclaw|clawdbot)/dist/(?:index|entry)(?:\.[cm]?js)?\b", re.IGNORECASE)
"""In a piece of code: it loads the command line, which then reads the words behind the code."""

_CODE = re.compile(r"[\s()'\"`;]")
"""In a word that is code and no path."""

_ARGUMENTS = re.compile(r"argv|[$`\\]")
"""In such code: it may give the command line other words than those behind it."""

_FIRST = 12
"""Among so many words the script of an interpreter stands."""

_MAX_PATH = 1_000


def own_words(run: Run) -> tuple[str, ...] | None:
    """The words that `openclaw` gets, where this program is it or starts it; else None."""
    if OWN_PROGRAM.search(run.argv[0]) or OWN_PROGRAM.search(run.name):
        return run.argv[1:]
    if run.name in _PACKAGERS:
        return _packaged(run)
    if run.name not in LAUNCHERS:
        return None
    for at, word in enumerate(run.argv[1:_FIRST], 1):
        if OWN_PROGRAM.search(word) or _LOADED.search(word) or _is_entry(word, run.cwd):
            return run.argv[at + 1 :]
    return None


def _is_entry(word: str, folder: str) -> bool:
    return word[:1] != "-" and len(word) < _MAX_PATH and _ENTRY.search(normpath(join(folder, word))) is not None


def _packaged(run: Run) -> tuple[str, ...] | None:
    """The words behind `openclaw` where a package manager runs it: `pnpm openclaw x`, `npm run openclaw -- x`."""
    option, folder, through_node = "", run.cwd, False
    for at, word in enumerate(run.argv[1:_FIRST], 1):
        before, option = option, word if word[:1] == "-" and "=" not in word else ""
        if before in _VALUED:
            folder = join(folder, word) if before in _FOLDER_OPTIONS else folder
        elif OWN_PROGRAM.search(word) or (through_node and _is_entry(word, folder)):
            return run.argv[at + 1 :]
        elif _ends_search(word, before):
            return None
        through_node = through_node or word == "node"
    return None


def _ends_search(word: str, before: str) -> bool:
    """Whether a package manager does something else with this word than run a program; `before`: the option before it."""
    if word[:1] == "-" or word in _RUNNING or word in _PACKAGERS:
        return False
    return not before.strip("-") or word in _PACKAGE_VERBS


def _hides_words(run: Run) -> bool:
    """Whether code loads the command line and may choose the words that it reads."""
    if run.name not in LAUNCHERS:
        return False
    codes = [(word, run.argv[at + 1 :]) for at, word in enumerate(run.argv) if at and _CODE.search(word)]
    given = run.stdin.text if run.stdin else None
    codes += [(given, ())] if given else []
    return any(_LOADED.search(code) and (not behind or _ARGUMENTS.search(code)) for code, behind in codes)


def done(run: Run, _: Where) -> Iterator[Effect]:
    if _hides_words(run):
        yield Effect("gateway", f"openclaw by {run.name}", "", frozenset([UNKNOWN_VERB]), run)
    words = own_words(run)
    for deed in () if words is None else deeds(words, run.stdin.text if run.stdin else None):
        if deed.effect != "guard":
            yield Effect("gateway", deed.target, "", frozenset([deed.effect]), run)


PROGRAMS: dict[str, Act] = dict.fromkeys(("openclaw", "clawdbot", *LAUNCHERS, *_PACKAGERS), done)
