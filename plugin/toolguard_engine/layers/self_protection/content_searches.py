"""Parses content searches (grep and others): patterns, starting folders, files opened, and what is printed."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.checked_out_files import working_tree
from toolguard_engine.effects.landings.landing import inside
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection.exclusions import SEARCHERS

_ALWAYS_DEEP = program_catalogue.programs("deep_searcher")
_SKIP_HIDDEN = program_catalogue.programs("hidden_skipper")
_MAX_PATTERN = 1_000
_ENOUGH = 3
"""No random secret contains this many given characters in a row."""

_GLUE = lazy_re.compile(r"\\[A-Za-z<>]|\[[^\]]{0,200}\]?|\\?.[?*]|.\\?\{[^}]{0,20}\}?|(?<!\\)[.^$()+]")
"""Parts of a regular expression that match no fixed text."""

_MAYBE_GROUP = lazy_re.compile(r"\)(?:[?*]|\\?\{)")
_ALTERNATIVES = lazy_re.compile(r"\\?\||\n")


class SearchRequest(Struct, frozen=True):
    """`names_only`: it prints no lines; `kinds`: globs over the names of the files it opens, empty for all."""

    patterns: tuple[str, ...]
    starts: tuple[str, ...]
    recursive: bool
    names_only: bool
    inverted: bool
    fixed: bool
    kinds: tuple[str, ...]
    hidden: bool

    @property
    def lax(self) -> bool:
        """Whether the patterns may match a line with any text."""
        return self.inverted or not self.patterns or not all(_literals(pattern, self.fixed) for pattern in self.patterns)

    def may_open(self, names: list[str]) -> bool:
        """Whether it opens files of these names in hidden folders."""
        kinds = [kind.rpartition("/")[2].lower() or "*" for kind in self.kinds]
        return self.hidden and (not kinds or any(fnmatchcase(name, kind) for name in names for kind in kinds))

    def passes_by(self, texts: list[str]) -> bool:
        """Whether none of these lines can match: each alternative needs a text that none of them contains."""
        needed = [_literals(pattern, self.fixed, least=2) for pattern in self.patterns]
        return all(
            alternatives and all(any(not any(part in text for text in texts) for part in parts) for parts in alternatives)
            for alternatives in needed
        )


def git_folder(run: ProgramRun) -> str:
    """The folder that the paths of git are relative to, where `-C` names one."""
    return next((working_tree(run, words)[1] for words in run.readings), "")


def read(run: ProgramRun) -> list[SearchRequest]:
    """What it searches for, for each reading of its words; empty if the program does not search contents."""
    if run.name == "git":
        searches = [words for words in run.readings if words.verb == "grep" and words.has("--no-index")]
        return [_asked(run, words, git_folder(run)) for words in searches]
    return [_asked(run, words, "") for words in run.readings] if run.name in SEARCHERS else []


def is_deep(run: ProgramRun, words: CommandWords) -> bool:
    """Whether it searches what lies in folders."""
    asked = words.recursive or any(value.text == "recurse" for value in words.values("--directories"))
    return asked or run.name == "git" or run.name in _ALWAYS_DEEP


def patterns_at(words: CommandWords) -> set[int]:
    """The positions of operands that are patterns."""
    return set() if words.has("--files") else {word.at for role, word in words.roles if role == "pattern"}


def _asked(run: ProgramRun, words: CommandWords, folder: str) -> SearchRequest:
    lists = words.has("--files")  # then there is no pattern
    paths = words.texts if lists else [word.text for role, word in words.roles if role == "input"]
    patterns = [] if lists else [word.text for word in words.named("pattern")]
    patterns += [""] * words.has("--file")
    globs = (value.text for value in words.values("--include", "--glob", "--iglob"))
    kinds = [glob for glob in globs if not glob.startswith("!")]
    return SearchRequest(
        tuple(patterns), tuple(inside(folder, path) for path in paths or (".",)), is_deep(run, words),
        words.trait("tells-names") or lists, words.has("--invert-match"),
        run.name == "fgrep" or words.has("--fixed-strings"),
        (*kinds, *(["no such name"] if words.has("--type", "--file-search-regex") else ())),
        run.name not in _SKIP_HIDDEN or words.has("--hidden", "--unrestricted", "--all-types", "-."),
    )  # fmt: skip


def _literals(pattern: str, fixed: bool, least: int = _ENOUGH) -> list[list[str]]:  # noqa: FBT001 - of two kinds of patterns
    """The texts that a matching line must contain, for each alternative; empty if any alternative has no long enough one."""
    pattern = pattern[:_MAX_PATTERN].lower()
    if UNKNOWN in pattern or (not fixed and _MAYBE_GROUP.search(pattern)):
        return []
    literals = []
    for alternative in pattern.split("\n") if fixed else _ALTERNATIVES.split(pattern):
        parts = [alternative] if fixed else [part.replace("\\", "") for part in _GLUE.sub("\n", alternative).split("\n")]
        literals.append([part for part in parts if len(part.strip()) >= least])
    return literals if all(literals) else []
