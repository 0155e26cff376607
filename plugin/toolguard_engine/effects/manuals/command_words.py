"""What the words of one command line are, by the program's manual: values only.

If an option is unknown, the word after it may be its value or not. Such a command line has several readings, and whoever
judges it takes the strictest (`ProgramRun.readings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from toolguard_engine.effects.manuals.manual_form import OptionEntry

_MODES = frozenset({"packs", "unpacks", "lists"})


class ParsedWord(msgspec.Struct, frozen=True):
    """A word with its position in `argv`, by which `given` finds the output of a substitution in it."""

    text: str
    at: int


class GivenOption(msgspec.Struct, frozen=True):
    """An option as it is given. `value`: empty where it has none; `word`: the position of the option itself; `valued`: it
    has a value, be it an empty one."""

    entry: OptionEntry
    value: ParsedWord
    word: int
    valued: bool = False


class CommandWords(msgspec.Struct, frozen=True):
    """One reading of a command line.

    `verb`: the sub-command, empty if there is none that the manual knows, and `verb_at` the position of its last word;
    `given`: the options in order; `operands`: the words that are neither options nor their values nor the verb; `roles`:
    what each operand is; `does`: what the manual says of the verb. `unknown`: the options that the manual does not have.
    `doubtful`: there are more unknown options than readings are made for. `end`: the position of `--`, 0 if there is none.
    """

    verb: str
    given: tuple[GivenOption, ...]
    operands: tuple[ParsedWord, ...]
    roles: tuple[tuple[str, ParsedWord], ...]
    does: frozenset[str]
    unknown: tuple[str, ...] = ()
    doubtful: bool = False
    verb_at: int = 0
    end: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The operands as texts."""
        return tuple([word.text for word in self.operands])

    @property
    def named_words(self) -> Sequence[ParsedWord]:
        """The operands and the values of options, in the order of their words."""
        values = [option.value for option in self.given if option.valued]
        return sorted((*self.operands, *values), key=_place) if values else self.operands

    @property
    def arguments(self) -> list[str]:
        """The same as texts."""
        return [word.text for word in self.named_words]

    @property
    def options(self) -> Iterator[tuple[str, ParsedWord]]:
        """The name, in its last spelling of the manual, and the value of each option."""
        return ((option.entry.name, option.value) for option in self.given)

    def option_words(self, argv: tuple[str, ...]) -> list[str]:
        """The words of `argv` that are options, as they are spelled."""
        end = self.end or len(argv)
        valued = {option.value.at for option in self.given if option.value.at != option.word}
        return [word for at, word in enumerate(argv[:end]) if at and word[:1] == "-" != word and at not in valued]

    @property
    def dashed_values(self) -> set[int]:
        """The positions of words that look like options but are the values of some."""
        values = (option.value for option in self.given if option.valued and option.value.at != option.word)
        return {value.at for value in values if value.text[:1] == "-"}

    def has(self, *names: str) -> bool:
        for option in self.given:
            for name in names:
                if name in option.entry.names:
                    return True
        return False

    def values(self, *names: str) -> Iterator[ParsedWord]:
        return (option.value for option in self.given if any(name in option.entry.names for name in names))

    def last(self, *names: str) -> str:
        """The last value, which is the one that counts in most programs; empty if there is none."""
        text = ""
        for value in self.values(*names):
            text = value.text
        return text

    def named(self, *roles: str) -> list[ParsedWord]:
        """The operands and the values of options that have one of these roles, in the order of their words."""
        words = [word for role, word in self.roles if role in roles]
        if self.given:
            words += [option.value for option in self.given if option.valued and option.entry.role in roles]
        return sorted(words, key=_place) if len(words) > 1 else words

    def one(self, role: str) -> str:
        """The last word with this role; empty if there is none."""
        words = self.named(role)
        return words[-1].text if words else ""

    @property
    def traits(self) -> frozenset[str]:
        """The traits of all options."""
        return frozenset[str]().union(*(option.entry.traits for option in self.given))

    def trait(self, name: str) -> bool:
        """Whether one of the options has this trait."""
        for option in self.given:  # noqa: SIM110 - a generator takes twice as long
            if name in option.entry.traits:
                return True
        return False

    @property
    def recursive(self) -> bool:
        """Whether it takes what lies in folders."""
        return "recurses" in self.does or self.trait("recursive")

    @property
    def acts(self) -> frozenset[str]:
        """What the program does: by its verb or by default, unless its options say something else."""
        if not self.given:
            return self.does
        modes = self.traits & _MODES
        if "lists" in modes and not self.unknown:
            return self.does - _MODES | {"lists"}
        return self.does - (_MODES if modes - {"lists"} else frozenset()) | modes - {"lists"}

    @property
    def rehearses(self) -> bool:
        """Whether nothing is done. An unknown option may revoke that."""
        rehearsed = False
        for option in self.given:
            rehearsed = (rehearsed or "rehearses" in option.entry.traits) and "performs" not in option.entry.traits
        return rehearsed and not self.unknown


def _place(word: ParsedWord) -> int:
    return word.at
