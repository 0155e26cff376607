"""What a rule's words mean: sub-commands, options, globs and regular expressions, and whether a program's words fit them.

The rules:
- What a rule asks for is looked up in a table or tested in time that grows with the text alone: a regular expression
  that a person wrote is searched by RE2 (`patterns`), one that comes with toolguard by `re`, which is faster on short
  texts (a test bounds what it can cost); of a text of more than `LONGEST` characters only the two ends of that length are
  searched.
- An option that is switched off (`--force=false`) is not there. Behind a lone `--` nothing lets a call through, nor does
  what is taken back later (`--dry-run --no-dry-run`) or is the value of another option (`-o -s`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import option_parser, option_spellings
from toolguard_engine.effects.manuals.option_spellings import OptionSpellings, operand_places
from toolguard_engine.rules import patterns

Search = Callable[[str], object]

LONGEST = 4_000
"""No longer text is searched as a whole."""

_WILD = lazy_re.compile(r"[*?\[]")
_LONGEST_NAME = 200
_FAR = 4


def is_glob(word: str) -> bool:
    """Whether a wanted word is more than a list of names."""
    return word[:1] == "!" or _WILD.search(word) is not None


@lru_cache(maxsize=4_000)
def word_test(wanted: str) -> Callable[[str], object]:
    """A test for one sub-command or program name: alternatives by `|`, each of which may be a glob; `!` is none of them."""
    if wanted[:1] == "!":
        unwanted = word_test(wanted[1:])
        return lambda word: not unwanted(word)
    if wanted == "*":
        return str.__len__
    choices = wanted.split("|")
    plain = frozenset(choice for choice in choices if not is_glob(choice))
    if len(plain) == len(choices):
        return plain.__contains__
    heads = tuple(choice[:-1] for choice in choices if choice[-1] == "*" and not is_glob(choice[:-1]))
    tails = tuple(choice[1:] for choice in choices if choice[0] == "*" and not is_glob(choice[1:]))
    others = [choice for choice in choices if is_glob(choice.strip("*")) or (choice[0] == choice[-1] == "*")]
    others += [choice for choice in choices if choice not in plain and "*" in choice.strip("*")]
    match = re.compile("|".join(map(translate, dict.fromkeys(others))) or "(?!)").match

    def test(word: str) -> object:
        if word in plain or word.startswith(heads) or word.endswith(tails):
            return True
        return bool(others) and len(word) <= _LONGEST_NAME and match(word)

    return test


def follows(argv: Sequence[str], wanted: Sequence[str], first: Sequence[int] | None = None) -> bool:
    """Whether these sub-commands stand behind the program's name. `**` is up to four words of any kind.

    `first`: what `operand_places` says of the place behind the name, where it is known.
    """
    places: Sequence[int] = (1,) if first is None else first
    for word in wanted:
        if word == "**":
            places = _further(argv, places)
            continue
        test = word_test(word)
        places = [start + 1 for start in operand_places(argv, places) if test(argv[start])]
        if not places:
            return False
    return True


def _further(argv: Sequence[str], places: Sequence[int]) -> Sequence[int]:
    """These places, and those up to four words behind them."""
    reached = dict.fromkeys(places)
    for _ in range(_FAR):
        places = [start + 1 for start in operand_places(argv, places) if start + 1 not in reached]
        if not places:
            break
        reached.update(dict.fromkeys(places))
    return tuple(reached)


class WantedTerms:
    """A set of options and words, any one of which is asked for; the letters in `alone` are found in no cluster."""

    __slots__ = ("_globs", "_options")

    def __init__(self, items: Iterable[str], alone: str = "") -> None:
        globs = [item for item in items if _WILD.search(item) and not option_spellings.is_letter(item)]
        self._options = OptionSpellings([item for item in items if item not in globs], alone)
        self._globs = re.compile("|".join(map(translate, globs))) if globs else None

    def is_in(self, words: Sequence[str]) -> bool:
        """Whether some word is one of them."""
        if self._globs is not None:
            for word in words:
                if self._globs.match(word[:LONGEST]):
                    return True
        return self._options.is_in(words)


class Unwanted(WantedTerms):
    """Options and words that let a call through: those count that are neither taken back nor the value of an option."""

    __slots__ = ()

    def lasts(self, run: ProgramRun, words: Sequence[str]) -> bool:
        """Whether one of them counts in the end. `words`: those of the program from its first argument on, and others."""
        if not self.is_in(words):
            return False
        values = _values_at(run)
        kept: list[str] = []
        for at, word in enumerate(words, 1):
            if self._options.is_revoked(word):
                kept.clear()
            elif at not in values:
                kept.append(word)
        return self.is_in(kept)


def _values_at(run: ProgramRun) -> set[int]:
    """The positions of words that look like options and are the values of some. Options that its manual does not have mean
    what they mean in most programs."""
    return {*run.words.dashed_values, *option_parser.read_words("*", run.argv).dashed_values}


@lru_cache(maxsize=4_000)
def search_for(pattern: str, *, shipped: bool = False) -> Search:
    """Tells whether a rule's regular expression is somewhere in a text; `shipped`: the rule comes with toolguard."""
    return re.compile(pattern).search if shipped else patterns.compiled(pattern).search


def found_in(search: Search, text: str) -> bool:
    """Whether it is somewhere in the text, of which only the ends count where it is very long."""
    if len(text) <= LONGEST:
        return bool(search(text))
    return bool(search(text[:LONGEST]) or search(text[-LONGEST:]))


def found_in_some(search: Search, words: Sequence[str], unless: Search | None = None) -> bool:
    """Whether it is somewhere in one of the words in which `unless` is not."""
    for word in words:
        result = search(word) if len(word) <= LONGEST else found_in(search, word)
        if result and (unless is None or not found_in(unless, word)):
            return True
    return False
