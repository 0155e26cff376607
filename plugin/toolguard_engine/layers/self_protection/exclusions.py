"""What a program that copies or searches a folder excludes, and whether that covers the guard's secrets.

Only patterns that exclude every secret, or a folder above it, count. If a list in a file, the order of options or an
exception from an exclusion decides, the result is unsure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Literal

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.shell.command import ProgramRun
from toolguard_engine.layers.self_protection.scene import CommandScene, lies_below, resolved

Left = Literal["all", "unsure", "none"]
"""Whether all secrets are excluded, this is not known, or no exclusion concerns them."""

TARS = program_catalogue.programs("tar")
SEARCHERS = program_catalogue.programs("searcher")
COPIERS = program_catalogue.programs("tree_copier")
_LONG = frozenset(
    {"--exclude", "--iexclude", "--exclude-dir", "--ignore", "--ignore-dir", "--ignore-path", "--exclude-path", "--filter"}
)
_UNREAD = frozenset({
    "--exclude-from", "--exclude-file", "--exclude-filelist", "--filter-from", "--exclude-globbing-filelist",
    "--exclude-regexp", "--pattern", "--include", "--include-from", "--include-filelist",
})  # fmt: skip
"""Options that make it unknown what a program without a manual excludes."""

_FD = program_catalogue.programs("fd")
_ANYWHERE = program_catalogue.programs("open_excluder")
"""Programs for which a pattern without a folder matches names in any folder."""

_BY_PATH = program_catalogue.programs("path_excluder")
"""Programs for which an absolute path excludes that path."""

_MAX_PATTERNS = 200


def patterns(run: ProgramRun) -> Iterator[tuple[int, str]]:
    """The exclusion patterns, each with the position of its word. If the command line can be read in several ways, only
    those that are patterns in all of them."""
    if run.readings:
        first, *others = map(_by_manual, run.readings)
        yield from (found for found in first if all(found in other for other in others))
        return
    argv, at = run.argv, 0
    while (at := at + 1) < len(argv):
        word = argv[at]
        name, sign, value = word.partition("=")
        if name in _LONG:
            if not sign:
                at += 1
                value = "".join(argv[at : at + 1])
            yield from ((at, pattern) for pattern in _filtered(value) if name == "--filter")
            if name != "--filter":
                yield at, value
        elif word in ("-g", "--glob", "--iglob") and run.name == "rg":
            at += 1
            yield from ((at, pattern) for pattern in _negated("".join(argv[at : at + 1])))
        elif name in ("--glob", "--iglob") and run.name == "rg":
            yield from ((at, pattern) for pattern in _negated(value))
        elif word == "-E" and run.name in _FD:
            at += 1
            yield at, "".join(argv[at : at + 1])


def _by_manual(words: CommandWords) -> list[tuple[int, str]]:
    plain = [(word.at, word.text) for word in words.named("exclude")]
    rules = [(word.at, pattern) for word in words.named("filter") for pattern in _filtered(word.text)]
    return sorted(plain + rules)


def _filtered(rule: str) -> Iterable[str]:
    """The pattern of an exclusion in a filter rule of `rsync` or `rclone`: it follows a minus."""
    kind, _, pattern = rule.replace("_", " ", 1).partition(" ")
    return [pattern] if kind in ("-", "exclude", "-p", "-s") else []


def _negated(glob: str) -> Iterable[str]:
    return [glob[1:]] if glob.startswith("!") else []


def without_patterns(run: ProgramRun) -> tuple[str, ...]:
    """The words of a program without its exclusion patterns."""
    if not run.readings and run.name not in COPIERS and run.name not in SEARCHERS:
        return run.argv
    left = {at for at, _ in patterns(run)}
    return tuple(word for at, word in enumerate(run.argv) if at not in left) if left else run.argv


def secrets(scene: CommandScene) -> tuple[tuple[str, ...], ...]:
    """The guard's secrets of this host, as parts of their paths."""
    state = tuple(part for part in scene.protected.state.split("/") if part)
    own, *more = scene.protected.keys
    return (own, *(key for key in more if key[: len(state)] == state or key[-1] != "key"))


def left_out(run: ProgramRun, scene: CommandScene, root: str, named: str, end: int = 0) -> Left:
    """`root`: the folder that is copied or searched; `named`: how the command spells it.

    Only exclusions before the word at `end` count; 0 for all.
    """
    below = [key for key in secrets(scene) if lies_below(key, root)]
    found = [(at, pattern) for at, pattern in patterns(run)][:_MAX_PATTERNS]
    counting = [pattern for at, pattern in found if not end or at < end]
    unread = _is_unread(run)
    if below and not unread and all(any(_covers(each, key, root, named, run, scene) for each in counting) for key in below):
        return "all"
    return "unsure" if unread or (found and any(_mentions(pattern, scene) for _, pattern in found)) else "none"


def _is_unread(run: ProgramRun) -> bool:
    """Whether something else than the patterns decides what is excluded: lists in files, exceptions, another syntax."""
    if not run.readings:
        return any(word.partition("=")[0] in _UNREAD for word in run.argv)
    rules = (word.text for words in run.readings for word in words.named("filter"))
    return any(words.trait("selects") for words in run.readings) or any(rule[:1] in ("+", "P") for rule in rules)


def _mentions(pattern: str, scene: CommandScene) -> bool:
    names = {part for key in secrets(scene) for part in key}
    return any(part in names or any(fnmatchcase(name, part) for name in names) for part in pattern.split("/") if part)


def _covers(pattern: str, key: tuple[str, ...], root: str, named: str, run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a pattern excludes the secret, or a folder above it inside the root."""
    above = len([part for part in root.split("/") if part])
    pattern = pattern.removeprefix("sh:").removeprefix("fm:")
    if run.name == "rclone" and not pattern.endswith("/**"):
        return False
    while pattern.endswith(("/", "/*", "/**", "/***")):
        pattern = pattern.rpartition("/")[0]
    if pattern.startswith(("~", "$", "/")):
        wanted = [part for part in resolved(pattern, scene.host, scene.here(run)).split("/") if part]
        given = run.name in _BY_PATH or (run.name in TARS and named.startswith(("/", "~", "$")))
        return given and above < len(wanted) <= len(key) and _fit(wanted, key[: len(wanted)])
    bare = pattern.startswith("*/") and named.strip("./") == "" and run.name not in _ANYWHERE
    wanted = [part for part in pattern.split("/") if part not in ("", ".", "*", "**")]
    if not wanted or bare or not (run.name in _ANYWHERE or pattern.startswith("*")):
        return False
    inside = key[above:]
    return any(_fit(wanted, inside[at : at + len(wanted)]) for at in range(len(inside)))


def _fit(wanted: list[str], parts: tuple[str, ...]) -> bool:
    return len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted))
