"""Options of a program, as getopt reads them: clusters, values behind them or attached, long ones and their beginnings.

Unknown options are taken as such without a value: what follows them then counts as an operand, which only ever shows more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_engine.shell.model import Feed, Run

_SHORTEST = 5  # "--dat": the shortest beginning of a long option that is taken for it


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its position in `argv`, so that `given` can be asked what a substitution in it prints."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Options:
    """`options`: name and value in order, the value empty where there is none; `operands`: the other words."""

    options: tuple[tuple[str, Word], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> Iterator[Word]:
        return (value for name, value in self.options if name in names)

    def last(self, *names: str) -> str:
        """The last value, as most programs let the last one count; empty where there is none."""
        found = ""
        for value in self.values(*names):
            found = value.text
        return found


def options(run: Run, valued: frozenset[str], *, start: int = 1) -> Options:
    """Reads `argv` from `start`; `valued` names the options that take a value, as `-o` and `--output`."""
    found: list[tuple[str, Word]] = []
    operands: list[Word] = []
    argv, at = run.argv, start
    letters: set[str] = set()
    while at < len(argv):
        word = argv[at]
        if word == "--":
            operands.extend(Word(argv[i], i) for i in range(at + 1, len(argv)))
            break
        if word.startswith("--"):
            at = _long(argv, at, valued, found)
        elif word.startswith("-") and len(word) > 1:
            at = _cluster(argv, at, valued, found, letters)
        else:
            operands.append(Word(word, at))
            at += 1
    return Options(tuple(found), tuple(operands))


def given(run: Run, at: int) -> Feed | None:
    """What a substitution in this word prints."""
    for position, feed in run.given:
        if position == at:
            return feed
    return None


def _long(argv: tuple[str, ...], at: int, valued: frozenset[str], found: list[tuple[str, Word]]) -> int:
    name, attached, value = argv[at].partition("=")
    name = _whole(name, valued)
    if attached:
        found.append((name, Word(value, at)))
        return at + 1
    if name in valued and at + 1 < len(argv):
        found.append((name, Word(argv[at + 1], at + 1)))
        return at + 2
    found.append((name, Word("", at)))
    return at + 1


def _whole(name: str, valued: frozenset[str]) -> str:
    if name in valued or len(name) < _SHORTEST:
        return name
    longer = [option for option in valued if option.startswith(name)]
    return longer[0] if len(longer) == 1 else name


def _cluster(
    argv: tuple[str, ...], at: int, valued: frozenset[str], found: list[tuple[str, Word]], letters: set[str]
) -> int:
    """`letters`: options without a value that were found already, each of which says enough."""
    word = argv[at]
    if word in valued and at + 1 < len(argv):
        found.append((word, Word(argv[at + 1], at + 1)))
        return at + 2
    for i, letter in enumerate(word[1:64], start=1):
        name = f"-{letter}"
        if name not in valued:
            if name not in letters:
                letters.add(name)
                found.append((name, Word("", at)))
            continue
        if word[i + 1 :]:
            found.append((name, Word(word[i + 1 :], at)))
            return at + 1
        if at + 1 < len(argv):
            found.append((name, Word(argv[at + 1], at + 1)))
            return at + 2
    return at + 1
