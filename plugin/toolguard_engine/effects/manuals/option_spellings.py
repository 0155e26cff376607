"""How options may be spelled in words of any program: for whoever asks for an option by its name and for no program.

What a rule asks for is the same in all programs, such as `--force` or `-f`: attached to a value, in a cluster, abbreviated,
switched off. Where a program has a manual, `option_parser` tells which of its words are options at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolguard_engine import lazy_re

_LETTER = lazy_re.compile(r"-[A-Za-z0-9?@#]\Z")
_ONE_DASH = lazy_re.compile(r"-[^-].")
_CLUSTER = lazy_re.compile(r"-[A-Za-z0-9]++")
_OFF = frozenset(("false", "f", "none", "no", "0", "off"))
HELP = frozenset(("--help", "-h"))
VERSION = frozenset(("--version", "-V"))
REHEARSAL = frozenset(("--dry-run", "--dryrun"))
"""Words with which a program of which nothing is known only shows something."""

_ABBREVIATED = 6
"""Two dashes and four letters; of a shorter option all but one."""


def is_letter(item: str) -> bool:
    """Whether it is an option of one letter."""
    return _LETTER.match(item) is not None


def operand_places(argv: Sequence[str], places: Sequence[int]) -> Sequence[int]:
    """Finds where, from these places on, the next word that is no option can stand: each option may have one value."""
    if len(places) == 1 and places[0] < len(argv) and argv[places[0]][:1] != "-":
        return places
    positions: list[int] = []
    seen = set(places)
    pending = list(seen)
    while pending:
        here = pending.pop()
        if here >= len(argv):
            continue
        word = argv[here]
        if word[:1] != "-" or word == "-":
            positions.append(here)
            continue
        valued = "=" not in word and word != "--" and here + 1 < len(argv) and argv[here + 1][:1] != "-"
        for after in (here + 1, here + 2) if valued else (here + 1,):
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return positions


def attached(word: str) -> str | None:
    """The path that may be attached to an option: what follows `=`, or what begins at a slash or a tilde. Empty if there is
    none; None if the word is no option."""
    if word[:1] != "-":
        return None
    at = min((sign_at for sign in "/~" if (sign_at := word.find(sign)) > 0), default=len(word))
    before, sign, value = word.partition("=")
    return value if sign and len(before) < at else word[at:]


def file_names(word: str) -> Iterator[str]:
    """The file in `list`, `--files=list`, `-Tlist`, `@list` and `name=@list`."""
    if word[:1] != "-":
        yield word
    elif word[1:2] != "-":
        yield word[2:].removeprefix("=")
    before, sign, after = word.partition("=")
    if sign:
        yield after
        yield after.removeprefix("@")
    elif before[:1] == "@":
        yield before[1:]


class OptionSpellings:
    """A set of options and other words, any one of which is asked for; the letters in `alone` are found in no cluster."""

    __slots__ = ("_abbreviated", "_exact", "_letters", "_longs")

    def __init__(self, items: Sequence[str], alone: str = "") -> None:
        self._letters = frozenset(item[1] for item in items if is_letter(item) and item[1] not in alone)
        self._longs = frozenset(item for item in items if item.startswith("--") and item != "--" and "=" not in item)
        self._abbreviated = frozenset(
            item[:length] for item in self._longs for length in range(min(_ABBREVIATED, len(item) - 1), len(item) + 1)
        )
        self._exact = frozenset([*items, *("-" + item for item in items if _ONE_DASH.match(item))])

    def is_in(self, words: Iterable[str]) -> bool:
        """Whether some word is one of them."""
        if not self._exact.isdisjoint(words):
            return True
        for word in words:  # noqa: SIM110 - a generator takes twice as long
            if word[:1] == "-" and word != "-" and self._is_one(word):
                return True
        return False

    def _is_one(self, word: str) -> bool:
        """Whether it is one of the options in another form: with a value, in a cluster, abbreviated."""
        head, valued, value = word.partition("=")
        if valued and value.lower() in _OFF:
            return False
        if valued and head in self._exact:
            return True
        if word[1] == "-":
            return head in self._abbreviated
        if self._letters.isdisjoint(head):
            return False
        cluster = _CLUSTER.match(head)
        return cluster is not None and not self._letters.isdisjoint(cluster[0])

    def is_revoked(self, word: str) -> bool:
        """Whether a word takes one of the options back: `--force=false`, `--no-force`."""
        if word[:1] != "-":
            return False
        head, switched, value = word.partition("=")
        if switched:
            return value.lower() in _OFF and self._is_one(head)
        return head.startswith("--no-") and f"--{head[5:]}" in self._longs
