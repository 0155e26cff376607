"""The gateway's own command line, `openclaw`, under all names by which it is started."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine.controlplane.commandline import OWN_PROGRAM, deeds
from toolguard_engine.shell.acts import Act
from toolguard_engine.shell.model import Effect, Run
from toolguard_engine.shell.places import Where

LAUNCHERS = ("node", "nodejs", "bun", "deno", "tsx", "ts-node", "volta", "fnm", "mise", "asdf")
_HERE = frozenset(
    {".", "./", "openclaw.mjs", "./openclaw.mjs", "dist/index.js", "dist/entry.js", "dist/index.mjs", "dist/entry.mjs"}
)
_PACKAGERS = frozenset({"npm", "pnpm", "yarn", "corepack"})
_RUNNING = frozenset({"run", "run-script", "node", "exec", "--"})
_LOADED = re.compile(r"openclaw\.mjs\b|(?:openclaw|clawdbot)/dist/(?:index|entry)\.m?js\b", re.IGNORECASE)
"""In a piece of code: it loads the command line, which then reads the words behind the code."""

_FIRST = 12
"""Among so many words the script of an interpreter stands."""


def own_words(run: Run) -> tuple[str, ...] | None:
    """The words that `openclaw` gets, where this program is it or starts it; else None."""
    if OWN_PROGRAM.search(run.argv[0]) or OWN_PROGRAM.search(run.name):
        return run.argv[1:]
    if run.name in _PACKAGERS:
        return _packaged(run.argv)
    if run.name not in LAUNCHERS:
        return None
    folder = run.cwd.rstrip("/").rpartition("/")[2]
    for at, word in enumerate(run.argv[1:_FIRST], 1):
        if OWN_PROGRAM.search(word) or _LOADED.search(word) or (folder in ("openclaw", "clawdbot") and word in _HERE):
            return run.argv[at + 1 :]
    return None


def _packaged(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words behind `openclaw` where a package manager runs it: `pnpm openclaw x`, `npm run openclaw -- x`."""
    for at, word in enumerate(argv[1:_FIRST], 1):
        if OWN_PROGRAM.search(word):
            return argv[at + 1 :]
        if word not in _RUNNING and word not in _PACKAGERS and word[:1] != "-":
            return None
    return None


def done(run: Run, _: Where) -> Iterator[Effect]:
    words = own_words(run)
    for deed in () if words is None else deeds(words, run.stdin.text if run.stdin else None):
        if deed.effect != "guard":
            yield Effect("gateway", deed.target, "", frozenset([deed.effect]), run)


PROGRAMS: dict[str, Act] = dict.fromkeys(("openclaw", "clawdbot", *LAUNCHERS, *_PACKAGERS), done)
