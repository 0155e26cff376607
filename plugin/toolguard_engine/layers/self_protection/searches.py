"""Finds searches whose results would expose the guard's secrets or change its files.

A search from a folder above a secret may reach it: a possible finding, if nothing rules it out and something reads what is
found. It is certain if the search starts in the guard's folders or looks for the secret's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.landing import inside
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs.file_readers import found_in
from toolguard_engine.layers.self_protection import content_searches
from toolguard_engine.layers.self_protection.content_searches import SearchRequest
from toolguard_engine.layers.self_protection.exclusions import SEARCHERS, not_left_out, secrets
from toolguard_engine.layers.self_protection.file_lists import reads_list
from toolguard_engine.layers.self_protection.scene import (
    COPY,
    FILES,
    KEY,
    CommandScene,
    ProtectionFinding,
    base,
    hands_on,
    lies_below,
    of_secret,
    resolved,
    strongest,
)

_FD = program_catalogue.programs("fd")
_LOCATES = program_catalogue.programs("locate")
_PLAIN = lazy_re.compile(r"[\w.-]{0,200}")
_LISTS = frozenset(name for program in ("ls", "tree", "du") for name in manual_catalogue.aliases(program))
_DIFFS = frozenset(manual_catalogue.aliases("diff"))
_PATTERNS = manual_catalogue.spelled("find", "by-name")
_RUNS = manual_catalogue.spelled("find", "acts")
_NOT = frozenset({"!", "-not"})
_TELLS = program_catalogue.programs("search_result_teller")
_SHOWS = program_catalogue.programs("search_result_reader")
_READERS = program_catalogue.programs("content_reader")
_NO_CONTENT = program_catalogue.programs("search_result_keeper")
"""Programs that show no file contents."""

_FED = program_catalogue.programs("input_archiver")
_FED_BY = lazy_re.compile(r"-@|-T-?|--files-from(?:=-)?|--files0-from=-|-i@")
"""Options with which archivers read file names from their input."""

_LARGE = lazy_re.compile(r"\+\d{1,18}[kMG]")
_NO_FILES = frozenset({"d", "l", "b", "c", "p", "s"})
_MAX_GLOB = 256
_CATCH_ALL = frozenset({"", "*", "*.*", "?*", "*?"})
_CHANGERS = program_catalogue.programs("search_result_changer")
_CLAW = lazy_re.compile(r"toolguard|claw", re.IGNORECASE)


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    for run in scene.runs:
        if finding := _searched(run, scene):
            yield finding


def _searched(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    name = run.name
    if UNKNOWN in run.argv[1:] and (name in _READERS or run.moves_files) and scene.is_ours(".", run):
        return ProtectionFinding(KEY, certain=False)
    if name == "git" and run.words.verb == "diff":
        return _compared(run, scene) if run.words.has("--no-index") else None
    if name == "git" and "ls-files" in run.argv:
        return (
            _found(run, [], scene, whole="possible") if _holds(content_searches.git_folder(run) or ".", run, scene) else None
        )
    if name in SEARCHERS or name == "git":
        return _grepped(run, scene)
    if name == "find":
        return _by_find(run, scene)
    if name in _FD:
        return _by_fd(run, scene)
    if name in _LOCATES:
        return _found(run, [_loosely(word.text) for word in run.words.named("pattern")], scene, whole="possible")
    if name in _DIFFS:
        return _compared(run, scene)
    if name not in _LISTS:
        return None
    is_deep = run.words.trait("tells-paths")
    starts = run.words.texts or (".",)
    may_reach = any(_holds(word, run, scene) if is_deep else scene.is_ours(word, run) for word in starts)
    return _found(run, [], scene, whole="possible") if may_reach else None


def _compared(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """A recursive `diff` of folders, by git as well."""
    words, folder = run.words, content_searches.git_folder(run) if run.name == "git" else ""
    if run.name != "git" and (not words.recursive or words.trait("tells-names")):
        return None
    held = any(_holds(inside(folder, word.text), run, scene) for word in words.named("input"))
    return of_secret(KEY, certain=False) if held else None


def _grepped(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """A content search: lines of a secret that it may print, and what is done with the files that it lists."""
    return strongest(finding for asked in content_searches.read(run) if (finding := _by_request(asked, run, scene)))


def _by_request(asked: SearchRequest, run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    starts = [start for start in asked.starts if _holds(start, run, scene)]
    if asked.patterns and _CLAW.search(asked.patterns[0]) and starts:
        changed = any(other.name in _CHANGERS for other in _takers(run, scene)) or _writes_to_finds(run, scene)
        if changed:
            return ProtectionFinding(FILES)
    names = [key[-1].lower() for key in secrets(scene)]
    if not asked.recursive or not asked.lax or not starts or not asked.may_open(names):
        return None
    if not_left_out(run, scene, ((resolved(start, scene.host, scene.here(run)), start, 0) for start in starts)) is None:
        return None
    reads = not asked.names_only or any(_reads(other) for other in _takers(run, scene))
    return of_secret(KEY, certain=False) if reads else None


def _by_find(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    starts, tests = found_in(run)
    rest, starts = tuple(tests), starts or ["."]
    held = [word for word in starts if _holds(word, run, scene)]
    held = [word for word in held if not _rules_out(rest, resolved(word, scene.host, scene.here(run)), word, scene)]
    if not held:
        return None
    sought = [
        at for at, word in enumerate(rest[1:]) if word and rest[at] in _PATTERNS and (not at or rest[at - 1] not in _NOT)
    ]
    wanted = [rest[at + 1] for at in sought]
    inside = any(scene.is_ours(word, run) for word in held)
    whole = "certain" if inside and not any("/" in word for word in wanted) else "possible"
    return _found(run, [_name(word.lower()[:_MAX_GLOB], scene) for word in wanted], scene, whole=whole)


def spares_ours(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a `find` deletes, or prints, only names that none of the guard's files has, as far as they are known."""
    if run.name != "find":
        return False
    tests = found_in(run)[1]
    if not _UNPLAIN.isdisjoint(tests):
        return False
    before = tests[: tests.index("-delete")] if "-delete" in tests else tests  # what follows it filters nothing
    names = [value.lower()[:_MAX_GLOB] for test, value in pairwise(before) if test in _PATTERNS and test.endswith("name")]
    return any("/" not in name and not _fits(name, scene) for name in names)


_UNPLAIN = frozenset().union(*(manual_catalogue.spelled("find", trait) for trait in ("acts", "joins", "negates"))) | _NOT
_UNPLAIN = _UNPLAIN - {"-delete"} | {",", "(", ")"}


def _name(pattern: str, scene: CommandScene) -> str:
    """A pattern's glob over names; `*` if a path pattern matches a secret under any name."""
    name = base(pattern)
    keys = [key for key in secrets(scene) if name != pattern and fnmatchcase("/" + "/".join(key).lower(), pattern)]
    return "*" if keys and not all(fnmatchcase(key[-1].lower(), name) for key in keys) else name


def _rules_out(rest: tuple[str, ...], start: str, named: str, scene: CommandScene) -> bool:
    """Whether the tests of `find` exclude every secret below `start`. An `-o` without `-prune` may undo a test."""
    below = [key for key in secrets(scene) if lies_below(key, start)]
    if sum(word in ("-o", "-or", ",") for word in rest) > rest.count("-prune"):
        return False
    depth = len(_parts(start))
    for option, value in pairwise(rest):
        if option == "-maxdepth" and value.isdecimal() and all(len(key) - depth > int(value[:9]) for key in below):
            return bool(below)
        if (option == "-size" and _LARGE.fullmatch(value)) or (option == "-type" and value in _NO_FILES):
            return True
    return bool(below) and all(_is_passed_by(key, rest, start, named, scene) for key in below)


def _is_passed_by(key: tuple[str, ...], rest: tuple[str, ...], start: str, named: str, scene: CommandScene) -> bool:
    """Whether a folder above the secret is pruned, or its path is excluded."""
    depth = len(_parts(start))
    for at, (option, value) in enumerate(pairwise(rest)):
        if option not in _PATTERNS:
            continue
        pattern = value.lower()[:_MAX_GLOB]
        if option.endswith("name") and "whole" not in option:
            if "-prune" in rest[at + 2 : at + 4] and any(fnmatchcase(part, pattern) for part in key[depth:]):
                return True
            continue
        pattern = resolved(pattern, scene.host, "/") if pattern.startswith(("~", "$")) else pattern
        written = start if named.startswith(("/", "~", "$")) else named.rstrip("/")
        paths = ["/".join((written.lower(), *key[depth:end])) for end in range(depth + 1, len(key) + 1)]
        negated = at > 0 and rest[at - 1] in _NOT
        if (negated and fnmatchcase(paths[-1], pattern)) or (
            "-prune" in rest[at + 2 : at + 4] and any(fnmatchcase(path, pattern) for path in paths)
        ):
            return True
    return False


def _by_fd(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    wanted, starts = _fd(run.words)
    held = [word for word in starts or (".",) if _holds(word, run, scene)]
    if not held:
        return None
    sought = any(_fits(pattern, scene) and pattern not in ("*", "**") for pattern in wanted)
    if not sought and not run.words.has("--hidden", "--unrestricted"):
        return None
    if not_left_out(run, scene, ((resolved(word, scene.host, scene.here(run)), word, 0) for word in held)) is None:
        return None
    return _found(run, wanted, scene, whole="possible")


def _fd(words: CommandWords) -> tuple[list[str], tuple[str, ...]]:
    """The patterns of `fd`, as globs over names, and its starting folders."""
    end = next((option.word for option in words.given if "acts" in option.entry.traits), None)
    own = [word.text for word in words.operands if end is None or word.at < end]
    ending = next((value.text for value in words.values("--extension")), "").lstrip(".").lower()
    return [_loosely("".join(own[:1])) + (f".{ending}" if ending else "")], tuple(own[1:])


def _loosely(pattern: str) -> str:
    """A glob for names that contain this text; `*` if it is not plain text."""
    return f"*{pattern.lower()}*" if pattern.strip(".") and _PLAIN.fullmatch(pattern) else "*"


def _takers(run: ProgramRun, scene: CommandScene) -> tuple[ProgramRun, ...]:
    """Programs that may receive what this one finds."""
    pipeline = scene.pipelines[run.pipeline]
    inner = tuple(other for other in pipeline if run.name in other.via)
    if scene.is_read_later(run):
        return (*inner, *scene.takers, *(other for other in scene.runs if reads_list(other)))
    if not hands_on(run):
        return inner
    fed = (other for other in pipeline if other.name in _FED or any(_FED_BY.fullmatch(word) for word in other.argv[1:]))
    return (*inner, *scene.takers, *fed)


def _writes_to_finds(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether files that it finds may be overwritten: `| while read f; do : > $f; done`."""
    return (hands_on(run) or scene.is_read_later(run)) and bool(scene.writers)


def _found(run: ProgramRun, wanted: list[str], scene: CommandScene, *, whole: str) -> ProtectionFinding | None:
    """`wanted`: globs over names. `whole`: `certain` or `possible`, if a search for any name finds a secret."""
    takers = _takers(run, scene)
    runs = [base(word) for at, word in enumerate(run.argv) if at and run.argv[at - 1] in _RUNS]
    runs += [other.name for other in takers]
    runs += ["-delete"] if "-delete" in run.argv else []
    runs += [">"] if _writes_to_finds(run, scene) else []
    if not runs or (wanted and not any(_fits(pattern, scene) for pattern in wanted)) or _is_narrowed(run, scene):
        return None
    catch_all = _CATCH_ALL.issuperset(wanted)
    names = ("key", *map(str.lower, scene.protected.secret_names))
    chosen = set(wanted) - _CATCH_ALL
    secret = any(fnmatchcase(name, pattern) or pattern.endswith("guard/key") for pattern in chosen for name in names)
    if secret and not all(name in _TELLS for name in runs):
        return of_secret(KEY, certain=run.name not in _LOCATES)
    if not all(name in _SHOWS for name in runs):
        return ProtectionFinding(FILES, certain=whole == "certain" or any(name in _CHANGERS for name in runs))
    shows = (whole == "certain" and not all(name in _TELLS for name in runs)) or any(map(_reads, takers))
    return of_secret(COPY, certain=False) if catch_all and shows else None


def _reads(run: ProgramRun) -> bool:
    """Whether a program that receives files may show their contents. A search for a fixed text does not."""
    if run.name in _NO_CONTENT:
        return False
    asked = content_searches.read(run) if run.name in SEARCHERS else []
    return not asked or any(request.lax and not request.names_only for request in asked)


def _is_narrowed(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a `grep` after it filters out all of the guard's paths."""
    paths = [*("/".join(key).lower() for key in secrets(scene)), *scene.protected.starts, *protected_paths.FILE_NAMES]
    for other in scene.pipelines[run.pipeline]:
        if other.name in SEARCHERS and not any(UNKNOWN in word for word in other.argv):
            asked = content_searches.read(other)
            if asked and all(not request.inverted and request.patterns and request.passes_by(paths) for request in asked):
                return True
    return False


def _fits(pattern: str, scene: CommandScene) -> bool:
    names = (*protected_paths.FILE_NAMES, *map(str.lower, scene.protected.kept))
    return any(fnmatchcase(name, pattern) for name in names)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _holds(path: str, run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a folder belongs to the gateway's state, or holds a protected place or a secret."""
    if UNKNOWN in path:
        return False
    return scene.holds_ours(path, run) or scene.holds_secret(resolved(path, scene.host, scene.here(run)))
