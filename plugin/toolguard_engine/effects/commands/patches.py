"""The files that a patch changes, with the lines that it adds: `git apply x.diff`, `patch -p1 < x.diff`."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun

MAX_FILES = 40
MAX_TEXT = 262_144
_APPLYING = frozenset({"apply", "am"})
_TARGET = lazy_re.compile(r"\+\+\+ ([^\t\n]{1,400})")


def applies(program: ProgramRun) -> bool:
    """Whether it applies a patch."""
    words = program.words
    return (program.name == "patch" or words.verb in _APPLYING) and not words.rehearses and "lists" not in words.acts


def file_of(program: ProgramRun) -> str:
    """The file with the patch; empty if it is the standard input."""
    return next((word.text for word in program.words.named("input")), "")


def added(diff: str) -> Iterator[tuple[str, str]]:
    """Each file as it may be named, with and without its first folder, and the lines that are added to it."""
    paths, lines, count = list[str](), list[str](), 0
    for line in diff[:MAX_TEXT].split("\n"):
        if match := _TARGET.match(line):
            yield from ((path, "\n".join(lines)) for path in paths)
            name = match[1].strip().strip('"')
            paths, lines = [*dict.fromkeys((name, name.partition("/")[2] or name))], []
            count += 1
            if count > MAX_FILES:
                return
        elif line.startswith("+"):
            lines.append(line[1:])
    yield from ((path, "\n".join(lines)) for path in paths)
