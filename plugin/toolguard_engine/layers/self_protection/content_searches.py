"""Parses content searches (grep and others): patterns, starting folders, files opened, and what is printed."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.checked_out_files import working_tree
from toolguard_engine.effects.landings.landing import inside
from toolguard_engine.layers.self_protection.exclusions import SEARCHERS

_VALUED = {"rg": "efgtTABCmdjErM", "ag": "ABCGmp", "ack": "ABCm", "git": "eABCm"}
_VALUED_GREP = "efABCmdD"
_LONG_VALUED = frozenset(
    {
        "--regexp", "--file", "--include", "--exclude", "--exclude-dir", "--glob", "--iglob", "--type", "--type-not",
        "--max-count", "--max-depth", "--context", "--after-context", "--before-context", "--directories", "--threads",
        "--replace", "--ignore",
        "--ignore-dir", "--binary-files", "--sort", "--pre", "--max-columns", "--color", "--colors",
    }
)  # fmt: skip
_NAMES_ONLY = frozenset({"--files-with-matches", "--files-without-match", "--count", "--quiet", "--silent", "--files"})
_ALWAYS_DEEP = program_catalogue.programs("deep_searcher")
_SKIP_HIDDEN = program_catalogue.programs("hidden_skipper")
_HIDDEN = frozenset({"--hidden", "--unrestricted", "--all-types", "-."})
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
        """Whether a random line may match."""
        return self.inverted or not self.patterns or not all(_literals(each, self.fixed) for each in self.patterns)

    def may_open(self, names: list[str]) -> bool:
        """Whether it opens files of these names in hidden folders."""
        kinds = [kind.rpartition("/")[2].lower() or "*" for kind in self.kinds]
        return self.hidden and (not kinds or any(fnmatchcase(name, kind) for name in names for kind in kinds))

    def passes_by(self, texts: list[str]) -> bool:
        """Whether none of these lines can match: each alternative needs a text that none of them contains."""
        needed = [_literals(each, self.fixed, least=2) for each in self.patterns]
        return all(
            alternatives and all(any(not any(part in text for text in texts) for part in parts) for parts in alternatives)
            for alternatives in needed
        )


def git_folder(run: ProgramRun) -> str:
    """The folder that the paths of git are relative to, where `-C` names one."""
    return next((working_tree(run, words)[1] for words in run.readings), "")


def read(run: ProgramRun) -> SearchRequest | None:
    """None if the program does not search contents."""
    argv, name, folder = run.argv[1:], run.name, ""
    if name == "git":
        at = next((at for at, word in enumerate(argv) if word == "grep"), -1)
        if at < 0 or "--no-index" not in argv:
            return None
        folder = git_folder(run)
        argv = argv[at + 1 :]
    elif name not in SEARCHERS:
        return None
    valued = _VALUED.get(name, _VALUED_GREP)
    patterns: list[str] = []
    kinds: list[str] = []
    operands: list[str] = []
    letters, longs = "", set()
    at = -1
    while (at := at + 1) < len(argv):
        word = argv[at]
        if word == "--":
            operands += argv[at + 1 :]
            break
        if word.startswith("--"):
            option, sign, value = word.partition("=")
            longs.add(option)
            if option in _LONG_VALUED and not sign:
                at += 1
                value = "".join(argv[at : at + 1])
            patterns += [value] if option == "--regexp" else [""] if option == "--file" else []
            kinds += [value] if option in ("--include", "--glob", "--iglob") and not value.startswith("!") else []
            kinds += ["no such name"] if option == "--type" else []
            longs |= {f"--directories={value}"} if option == "--directories" else set()
            continue
        if not word.startswith("-") or len(word) == 1:
            operands.append(word)
            continue
        letter = next((sign for sign in word[1:] if sign in valued), "")
        before, _, value = word[1:].partition(letter) if letter else (word[1:], "", "")
        letters += before + letter
        if letter and not value:
            at += 1
            value = "".join(argv[at : at + 1])
        patterns += [value] if letter == "e" else [""] if letter == "f" else []
        kinds += ["no such name"] if letter in ("t", "G") else [value] if letter == "g" and not value.startswith("!") else []
        longs |= {"--directories=recurse"} if letter == "d" and value == "recurse" else set()
    if not patterns and "--files" not in longs:
        patterns, operands = operands[:1], operands[1:]
    recursive = (
        name in _ALWAYS_DEEP
        or name == "git"
        or bool(longs & {"--recursive", "--dereference-recursive", "--directories=recurse"})
    )
    recursive = recursive or (name != "rg" and bool(set("rR") & set(letters)))
    hidden = name not in _SKIP_HIDDEN or bool(longs & _HIDDEN) or letters.count("u") > (name == "rg") or "." in letters
    return SearchRequest(
        tuple(patterns), tuple(inside(folder, each) for each in operands or (".",)), recursive,
        bool(longs & _NAMES_ONLY) or bool(set("lLcq") & set(letters)),
        "v" in letters or "--invert-match" in longs, "F" in letters or name == "fgrep" or "--fixed-strings" in longs,
        tuple(kinds), hidden,
    )  # fmt: skip


def _literals(pattern: str, fixed: bool, least: int = _ENOUGH) -> list[list[str]]:  # noqa: FBT001 - of two kinds of patterns
    """For each alternative, the texts that a matching line must contain; empty if any alternative has no long enough one."""
    pattern = pattern[:_MAX_PATTERN].lower()
    if UNKNOWN in pattern or (not fixed and _MAYBE_GROUP.search(pattern)):
        return []
    found = []
    for alternative in pattern.split("\n") if fixed else _ALTERNATIVES.split(pattern):
        parts = [alternative] if fixed else [part.replace("\\", "") for part in _GLUE.sub("\n", alternative).split("\n")]
        found.append([part for part in parts if len(part.strip()) >= least])
    return found if all(found) else []
