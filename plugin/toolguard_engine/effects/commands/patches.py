"""The files that a patch changes, with the lines that it adds: `git apply x.diff`, `patch -p1 < x.diff`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun

MAX_FILES = 40
MAX_TEXT = 262_144
_APPLYING = frozenset({"apply", "am"})
_ONLY_SHOWS = frozenset({"--check", "--stat", "--numstat", "--summary", "--dry-run"})
_NAMES_DIFF = frozenset({"-i", "--input"})
_VALUED = frozenset({"-p", "-d", "-C", "--directory", "-o", "--output", "-r", "-B", "-z", "--strip"})
_TARGET = lazy_re.compile(r"\+\+\+ ([^\t\n]{1,400})")


def applies(run: ProgramRun) -> bool:
    """Whether it applies a patch."""
    if not _ONLY_SHOWS.isdisjoint(run.argv):
        return False
    return run.name == "patch" or not _APPLYING.isdisjoint(run.argv[1:6])


def file_of(run: ProgramRun) -> str:
    """The file with the patch; empty if it is the standard input."""
    words = list(run.argv[1:])
    for option, value in pairwise(words):
        if option in _NAMES_DIFF:
            return value
    if run.name == "git":
        at = next(at for at, word in enumerate(words) if word in _APPLYING)
        named = [word for word in words[at + 1 :] if word[:1] != "-"]
        return named[0] if named else ""
    skipped = {value for option, value in pairwise(words) if option in _VALUED}
    named = [word for word in words if word[:1] != "-" and word not in skipped]
    return named[1] if len(named) > 1 else ""


def added(diff: str) -> Iterator[tuple[str, str]]:
    """Each file as it may be named, with and without its first folder, and the lines that are added to it."""
    paths, lines, count = list[str](), list[str](), 0
    for line in diff[:MAX_TEXT].split("\n"):
        if found := _TARGET.match(line):
            yield from ((path, "\n".join(lines)) for path in paths)
            name = found[1].strip().strip('"')
            paths, lines = [*dict.fromkeys((name, name.partition("/")[2] or name))], []
            count += 1
            if count > MAX_FILES:
                return
        elif line.startswith("+"):
            lines.append(line[1:])
    yield from ((path, "\n".join(lines)) for path in paths)
