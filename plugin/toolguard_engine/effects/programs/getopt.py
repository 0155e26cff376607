"""Parses a program's options as getopt does: clusters, separate or attached values, abbreviated long options.

For programs that have no manual (`effects.manuals`). Unknown options are treated as having no value, so what follows them
counts as an operand. This can only show more.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from toolguard_engine.effects.facts.command import ProgramRun, StdinSource
from toolguard_engine.effects.manuals.command_words import ParsedWord

_SHORTEST = 5  # "--dat": the shortest beginning of a long option that is taken for it


class OptionTable(msgspec.Struct, frozen=True):
    """`options`: name and value in order, the value empty if there is none; `operands`: the other words."""

    options: tuple[tuple[str, ParsedWord], ...]
    operands: tuple[ParsedWord, ...]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> Iterator[ParsedWord]:
        return (value for name, value in self.options if name in names)

    def last(self, *names: str) -> str:
        """The last value, which is the one that counts in most programs; empty if there is none."""
        found = ""
        for value in self.values(*names):
            found = value.text
        return found


def options(program: ProgramRun, valued: frozenset[str], *, start: int = 1) -> OptionTable:
    """Parses `argv` from `start`. `valued`: the options that take a value, such as `-o` and `--output`."""
    found: list[tuple[str, ParsedWord]] = []
    operands: list[ParsedWord] = []
    argv, at = program.argv, start
    letters: set[str] = set()
    while at < len(argv):
        word = argv[at]
        if word == "--":
            operands.extend(ParsedWord(argv[i], i) for i in range(at + 1, len(argv)))
            break
        if word.startswith("--"):
            at = _long(argv, at, valued, found)
        elif word.startswith("-") and len(word) > 1:
            at = _cluster(argv, at, valued, found, letters)
        else:
            operands.append(ParsedWord(word, at))
            at += 1
    return OptionTable(tuple(found), tuple(operands))


def given(program: ProgramRun, at: int) -> StdinSource | None:
    """The output of a substitution in this word."""
    for position, feed in program.given:
        if position == at:
            return feed
    return None


def _long(argv: tuple[str, ...], at: int, valued: frozenset[str], found: list[tuple[str, ParsedWord]]) -> int:
    name, attached, value = argv[at].partition("=")
    name = _full_name(name, valued)
    if attached:
        found.append((name, ParsedWord(value, at)))
        return at + 1
    if name in valued and at + 1 < len(argv):
        found.append((name, ParsedWord(argv[at + 1], at + 1)))
        return at + 2
    found.append((name, ParsedWord("", at)))
    return at + 1


def _full_name(name: str, valued: frozenset[str]) -> str:
    if name in valued or len(name) < _SHORTEST:
        return name
    longer = [option for option in valued if option.startswith(name)]
    return longer[0] if len(longer) == 1 else name


def _cluster(
    argv: tuple[str, ...], at: int, valued: frozenset[str], found: list[tuple[str, ParsedWord]], letters: set[str]
) -> int:
    """`letters`: options without a value found so far, each of which is enough on its own."""
    word = argv[at]
    if word in valued and at + 1 < len(argv):
        found.append((word, ParsedWord(argv[at + 1], at + 1)))
        return at + 2
    for i, letter in enumerate(word[1:64], start=1):
        name = f"-{letter}"
        if name not in valued:
            if name not in letters:
                letters.add(name)
                found.append((name, ParsedWord("", at)))
            continue
        if word[i + 1 :]:
            found.append((name, ParsedWord(word[i + 1 :], at)))
            return at + 1
        if at + 1 < len(argv):
            found.append((name, ParsedWord(argv[at + 1], at + 1)))
            return at + 2
    return at + 1
