"""What a program that copies or searches a folder excludes, and whether that covers the guard's secrets.

Only patterns that exclude every secret, or a folder above it, count, in words or in a file that was read. What is not known
excludes nothing. If a pattern is about the secrets, but the order of options or an exception decides, the result is unsure.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import filter as matching
from fnmatch import fnmatchcase
from typing import Literal

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection import listed_patterns
from toolguard_engine.layers.self_protection.scene import CommandScene, lies_below, resolved
from toolguard_engine.model.lazy import kept_with

Left = Literal["all", "unsure", "none"]
"""Whether all secrets are excluded, this is not known, or no exclusion concerns them."""

TARS = program_catalogue.programs("tar")
SEARCHERS = program_catalogue.programs("searcher")
COPIERS = program_catalogue.programs("tree_copier")
_ANYWHERE = program_catalogue.programs("open_excluder")
"""Programs for which a pattern without a folder matches names in any folder."""

_BY_PATH = program_catalogue.programs("path_excluder")
"""Programs for which an absolute path excludes that path."""

_MAX_PATTERNS = 200


@kept_with
def patterns(run: ProgramRun) -> list[tuple[int, str]]:
    """The exclusion patterns, each with the position of its word. If the command line can be read in several ways, only
    those that are patterns in all of them."""
    first, *others = map(_by_manual, run.readings) if run.readings else ([],)
    in_all = [frozenset(other) for other in others]
    return [pattern for pattern in first if all(pattern in other for other in in_all)]


def _by_manual(words: CommandWords) -> list[tuple[int, str]]:
    plain = [(word.at, word.text) for word in words.named("exclude")]
    rules = [(word.at, pattern) for word in words.named("filter") for pattern in _filtered(word.text)]
    globs = [(word.at, pattern) for word in words.values("--glob", "--iglob") for pattern in _negated(word.text)]
    return sorted(plain + rules + globs)


def _filtered(rule: str) -> Iterable[str]:
    """The pattern of an exclusion in a filter rule of `rsync` or `rclone`: it follows a minus."""
    kind, _, pattern = rule.replace("_", " ", 1).partition(" ")
    return [pattern] if kind in ("-", "exclude", "-p", "-s") else []


def _negated(glob: str) -> Iterable[str]:
    return [glob[1:]] if glob.startswith("!") else []


def without_patterns(run: ProgramRun) -> tuple[str, ...]:
    """The words of a program without its exclusion patterns."""
    if not run.moves_files and run.name not in COPIERS and run.name not in SEARCHERS:
        return run.argv
    left = {at for at, _ in patterns(run)}
    return tuple(word for at, word in enumerate(run.argv) if at not in left) if left else run.argv


def secrets(scene: CommandScene) -> tuple[tuple[str, ...], ...]:
    """The guard's secrets of this host, as parts of their paths."""
    state = tuple(part for part in scene.protected.state.split("/") if part)
    own, *more = scene.protected.keys
    return (own, *(key for key in more if key[: len(state)] == state or key[-1] not in protected_paths.KEYS))


def not_left_out(run: ProgramRun, scene: CommandScene, folders: Iterable[tuple[str, str, int]]) -> str | None:
    """How the command spells the first of these folders of which a program may take secrets; None if it takes none of any.
    Each is a folder, as `left_out` takes it, its spelling, and the position of a word."""
    for number, (root, named, end) in enumerate(dict.fromkeys(folders)):
        if number == _MAX_FOLDERS or left_out(run, scene, root, named, end) != "all":
            return named
    return None


_MAX_FOLDERS = 4
"""Folders with secrets, for each of which all patterns of a program are compared. Honest commands have one or two."""


def left_out(run: ProgramRun, scene: CommandScene, root: str, named: str, end: int = 0) -> Left:
    """`root`: the folder that is copied or searched; `named`: how the command spells it.

    Only exclusions before the word at `end` count; 0 for all. What is not known excludes nothing: a list that was not read,
    or what a file on the disk decides.
    """
    below = [key for key in secrets(scene) if lies_below(key, root)]
    lists = listed_patterns.excluded(run, scene) if run.moves_files else []
    patterns_of = [
        *patterns(run),
        *((pattern_list.at, pattern) for pattern_list in lists for pattern in pattern_list.patterns),
    ][:_MAX_PATTERNS]
    exceptions = [*_exceptions(run), *(pattern_list.at for pattern_list in lists if pattern_list.may_have_exceptions)]
    if exceptions and run.name in _FIRST_COUNTS:
        end, exceptions = min([*exceptions, *([end] if end else [])]), []
    names = {part for key in below for part in key}
    counting = [pattern for at, pattern in patterns_of if (not end or at < end) and _may_cover(pattern, names)]
    covered = (any(_covers(pattern, key, root, named, run, scene) for pattern in counting) for key in below)
    if below and not exceptions and all(covered):
        return "all"
    is_unsure = any(_mentions(pattern, scene) for _, pattern in patterns_of) or _is_left_out_otherwise(run, scene, below)
    return "unsure" if is_unsure else "none"


_FIRST_COUNTS = frozenset(manual_catalogue.aliases("rsync"))
"""Programs for which the first rule that fits a file decides."""


@kept_with
def _exceptions(run: ProgramRun) -> list[int]:
    """The positions of what may take back an exclusion, or give its pattern another meaning."""
    if not run.moves_files:
        return [option.word for words in run.readings for option in words.given if option.entry.role in _UNREAD]
    given = [option.word for words in run.readings for option in words.given if "selects" in option.entry.traits]
    rules = (word for words in run.readings for word in words.named("filter"))
    return given + [word.at for word in rules if not _only_excludes(word.text)]


_UNREAD = frozenset({"exclude-from", "exclude-regex", "include", "include-from"})
"""Roles of values that make it unknown what a program excludes which does nothing but search."""


def _only_excludes(rule: str) -> bool:
    """Whether a filter rule, or the file that it names, has no exceptions."""
    return bool(_filtered(rule)) or _EXCLUDING_FILE.match(rule) is not None


_EXCLUDING_FILE = lazy_re.compile(r"(?:[.:]|merge|dir-merge),?[enws]{0,4}-")


def _is_left_out_otherwise(run: ProgramRun, scene: CommandScene, below: list[tuple[str, ...]]) -> bool:
    """Whether the secrets may be left out by something else than an exclusion pattern."""
    if not run.moves_files:
        return bool(_exceptions(run))
    names = {part.strip(".") for key in secrets(scene) for part in key}
    expressions = _expressions(run)
    if any(".*" in text or any(name in text for name in names) for text in expressions):
        return True
    wanted = [
        *_included(run),
        *(pattern for pattern_list in listed_patterns.included(run, scene) for pattern in pattern_list.patterns),
    ]
    return bool(wanted) and not any(_may_take(pattern, key, scene) for pattern in wanted[:_MAX_PATTERNS] for key in below)


@kept_with
def _expressions(run: ProgramRun) -> list[str]:
    """The regular expressions for what it leaves out."""
    return [word.text for words in run.readings for word in words.named("exclude-regex")]


@kept_with
def _included(run: ProgramRun) -> list[str]:
    """The patterns of the only files that it takes, in every reading of its words."""
    first, *others = ({word.text for word in words.named("include")} for words in run.readings)
    return [pattern for text in first.intersection(*others) for pattern in text.split(";")]


def _may_take(pattern: str, key: tuple[str, ...], scene: CommandScene) -> bool:
    if not _REGEX.isdisjoint(pattern) or _mentions(pattern, scene):
        return True
    return any(fnmatchcase(name.lower(), pattern.lower()) for name in (key[-1], "/".join(key), "/" + "/".join(key)))


_REGEX = frozenset("{}[]()^$|+\\\0")
"""Characters that stand for several texts in the patterns of some programs."""


def _mentions(pattern: str, scene: CommandScene) -> bool:
    """Whether one of the names in a pattern, which may be any if the pattern names none, is that of a secret's path."""
    names = {part for key in secrets(scene) for part in key}
    parts = [part for part in pattern.split("/") if part]
    telling = [part for part in parts if part.strip("*")] or parts
    return any(part in names or matching(names, part) for part in telling)


def _may_cover(pattern: str, names: set[str]) -> bool:
    """Whether a pattern ends in one of the names in the paths of secrets."""
    last = _whole_folder(pattern).rpartition("/")[2]
    return last in names or bool(matching(names, last))


def _whole_folder(pattern: str) -> str:
    """A pattern without its kind, and without what says that it means all that is in a folder."""
    pattern = pattern.removeprefix("sh:").removeprefix("fm:")
    while pattern.endswith(("/", "/*", "/**", "/***")):
        pattern = pattern.rpartition("/")[0]
    return pattern


def _covers(pattern: str, key: tuple[str, ...], root: str, named: str, run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a pattern excludes the secret, or a folder above it inside the root."""
    above = len([part for part in root.split("/") if part])
    if run.name == "rclone" and not pattern.endswith("/**"):
        return False
    pattern = _whole_folder(pattern)
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
