"""Reads a command line by a program's manual. Pure: from words to `CommandWords`.

Options may stand before, between and after operands; behind `--` there are none. An option that the manual does not have may
take the next word or not. `readings` goes through both, and returns more than one reading only for such a command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords, GivenOption, ParsedWord
from toolguard_engine.effects.manuals.manual_form import Manual, OptionEntry

MAX_UNKNOWN = 6
"""Unknown options for which readings are made; one command line has at most twice as many readings."""

_SHORTEST = 3
"""Two dashes and a letter."""

MAX_READ = 6_000
"""Words that all readings of one command line go through together, about."""

_MAX_CLUSTER = 64
_VERB_WORDS = 4
_PAIR = 2
_NONE = ParsedWord("", 0)
MAX_KEPT_WORDS, MAX_KEPT_TEXT = 12, 200
"""Of a program whose readings are kept."""

Takes = Callable[[int], bool]
"""Whether the unknown option with this number takes the next word."""


def readings(name: str, argv: tuple[str, ...]) -> tuple[CommandWords, ...]:
    """All readings of a command line, the one first in which unknown options take no value; none without a manual."""
    if manual_catalogue.manual(name) is None:
        return ()
    return _known(name, argv) if len(argv) <= MAX_KEPT_WORDS and sum(map(len, argv)) <= MAX_KEPT_TEXT else _of(name, argv)


def read_words(name: str, argv: tuple[str, ...]) -> CommandWords:
    """The first reading by the manual; without one, the plain reading."""
    parsed = readings(name, argv)
    return parsed[0] if parsed else plain(argv)


def plain(argv: tuple[str, ...], valued: Container[str] = ()) -> CommandWords:
    """The words of a program without a manual: no option takes the next word, but those in `valued`. One dash may begin a
    long option or a cluster of letters, so `-abc` counts as `-abc`, `-a`, `-b` and `-c`."""
    given: list[GivenOption] = []
    operands: list[ParsedWord] = []
    end = taken = 0
    for at, word in enumerate(islice(argv, 1, None), 1):
        if taken == at:
            continue
        if word == "--":
            end = at
            operands += (ParsedWord(argv[rest], rest) for rest in range(at + 1, len(argv)))
            break
        if word[:1] != "-" or word == "-":
            operands.append(ParsedWord(word, at))
            continue
        name, sign, value = word.partition("=")
        letters = () if name[1:2] == "-" else tuple(f"-{letter}" for letter in name[1:_MAX_CLUSTER])
        entry = OptionEntry((*letters, name))
        if word in valued and at + 1 < len(argv):
            taken = at + 1
            given.append(GivenOption(entry, ParsedWord(argv[taken], taken), at, valued=True))
            continue
        given.append(GivenOption(entry, ParsedWord(value, at) if sign else _NONE, at, bool(sign)))
    return CommandWords("", tuple(given), tuple(operands), (), frozenset(), end=end)


def names(argv: tuple[str, ...]) -> list[str]:
    """The names of all words that look like options, also behind `--`, where they may be those of another program."""
    return [word.partition("=")[0] for word in islice(argv, 1, None) if word[:1] == "-" and word not in ("-", "--")]


def values(argv: tuple[str, ...], options: Iterable[str]) -> Iterator[str]:
    """The values of these options, wherever they stand and in each form that some program has: `-f FILE`, `-fFILE`,
    `-kf FILE`, `--file FILE`, `--file=FILE`, `-file:FILE`. For programs of which only these options are known."""
    known = tuple(options)
    for at, word in enumerate(islice(argv, 1, None), 1):
        if word[:1] != "-":
            continue
        name, sign, value = word.partition("=")
        following = argv[at + 1] if at + 1 < len(argv) else ""
        if name in known:
            yield value if sign else following
        elif word[1:2] != "-":
            yield from _short_value(word, following, known)


def value(argv: tuple[str, ...], options: Iterable[str]) -> str:
    """The first of these values; empty if there is none."""
    return next(values(argv, options), "")


def _short_value(word: str, following: str, known: tuple[str, ...]) -> Iterator[str]:
    name, sign, attached = word.partition(":")
    if sign and name in known:
        yield attached
    elif word[:2] in known:
        yield word[2:].removeprefix("=")
    elif f"-{word[-1]}" in known:
        yield following


def past_options(
    words: Sequence[str], at: int, valued: Container[str], plain: Container[str], *, ends: bool
) -> tuple[int, list[int]]:
    """Finds the first word from a place on that is no option, where options outside `valued` take no value. Returns its
    place, and the places behind words that may be the values of options that are in neither set. `ends`: nothing follows
    `--`."""
    others: list[int] = []
    while at < len(words) and words[at][:1] == "-" != words[at]:
        word = words[at]
        if word == "--" and ends:
            return len(words), others
        if "=" in word or word in plain or word == "--":
            at += 1
        elif word in valued:
            at += 2
        else:
            if at + 1 < len(words) and words[at + 1][:1] != "-":
                others.append(at + 2)
            at += 1
    return at, others


def value_in(word: str) -> str:
    """What may name something in a word: the attached value of an option, or the word itself if it is none."""
    return word if word[:1] != "-" or word == "-" else word.partition("=")[2]


def values_in(word: str) -> tuple[str, str]:
    """What may name something in a word of any program: what follows `=`, else the word itself, and what may be attached to
    a letter."""
    return word.rpartition("=")[2], word[2:] if word[:1] == "-" else word


def path_in(word: str) -> str:
    """The path in a word; one attached to an option begins at its first slash or tilde."""
    if word[:1] != "-":
        return word
    starts = [at for sign in ("/", "~", "..") if (at := word.find(sign)) >= 0]
    return word[min(starts) :] if starts else ""


def _of(name: str, argv: tuple[str, ...]) -> tuple[CommandWords, ...]:
    manual = manual_catalogue.manual(name)
    return tuple(readings_by(manual, argv)) if manual is not None else ()


_known = lru_cache(maxsize=512)(_of)
"""Agents put the same programs into new commands again and again."""


def readings_by(manual: Manual, argv: tuple[str, ...]) -> Iterator[CommandWords]:
    """All readings by this manual."""
    plain = parse(manual, argv, _never)
    yield plain
    if not plain.unknown:
        return
    count = min(len(plain.unknown), most_unknown(argv))
    seen = [(plain.given, plain.operands)]
    for takes in (*map(_first, range(1, count + 1)), *map(_from, range(1, count))):
        reading = parse(manual, argv, takes)
        if (reading.given, reading.operands) not in seen:
            seen.append((reading.given, reading.operands))
            yield reading


def first_reading(manual: Manual, argv: tuple[str, ...]) -> CommandWords:
    """The reading in which unknown options take no value."""
    return parse(manual, argv, _never)


def most_unknown(argv: tuple[str, ...]) -> int:
    """The unknown options for which there are readings: fewer for many words, since each reading goes through all."""
    return max(1, min(MAX_UNKNOWN, MAX_READ // (2 * len(argv))))


def _never(_: int) -> bool:
    return False


def _first(count: int) -> Takes:
    """The first options take a value, so that the last words are operands."""
    return lambda number: number < count


def _from(count: int) -> Takes:
    """The last options take a value, so that the first words are operands."""
    return lambda number: number >= count


def parse(manual: Manual, argv: tuple[str, ...], takes: Takes) -> CommandWords:
    """One reading: `takes` decides about each unknown option."""
    verb = argv[1] if manual.verbs and len(argv) > 1 and argv[1] in manual.plain_verbs else ""
    read = _OptionReader(manual, verb, argv, takes).read()
    if manual.verbs and not verb and (verb := _verb(manual, read)):
        read = _OptionReader(manual, verb, argv, takes).read()
    usage = manual.usages[verb] if verb else manual.usage
    own = len(verb.split())
    has_roles = bool(usage.words or manual.lists)
    operands = read.operands[own:]
    return CommandWords(
        verb,
        tuple(read.given),
        tuple(operands),
        tuple(_roles(usage.words, read.given, operands, lists=manual.lists and read.end)) if has_roles else (),
        usage.does,
        tuple(read.unknown),
        bool(read.unknown) and len(read.unknown) > most_unknown(argv),
        read.operands[own - 1].at if 0 < own <= len(read.operands) else 0,
        read.end if read.end < len(argv) else 0,
    )


def _verb(manual: Manual, read: _OptionReader) -> str:
    """The longest verb of the manual that the operands begin with."""
    words = [word.text for word in read.operands[:_VERB_WORDS]]
    for count in range(len(words), 0, -1):
        verb = " ".join(words[:count])
        if verb in manual.usages:
            return verb
    return ""


def _roles(
    words: tuple[str, ...], given: list[GivenOption], operands: list[ParsedWord], *, lists: int
) -> Iterator[tuple[str, ParsedWord]]:
    """What each operand is. A role that an option has taken is not one of the words any more."""
    taken = {role for option in given if option.valued for role in _TAKES.get(option.entry.role, ())}
    left = list(operands)
    if lists:
        yield from (("names", word) for word in left if word.text[:1] == "@" and word.at < lists)
        left = [word for word in left if word.text[:1] != "@" or word.at >= lists]
    wanted = [role for role in words if role.removesuffix("...") not in taken or role.endswith("...")]
    if wanted and wanted[-1].endswith("/"):
        if left[1:] and left[-1].text.endswith("/"):
            yield wanted[-1].rstrip("/"), left.pop()
        wanted.pop()
    at = next((at for at, role in enumerate(wanted) if role.endswith("...")), len(wanted))
    front, after = wanted[:at], wanted[at + 1 :]
    yield from zip(front, left, strict=False)
    rest = left[len(front) :]
    if at < len(wanted):
        many = max(len(rest) - len(after), 1)
        yield from ((wanted[at].removesuffix("..."), word) for word in rest[:many])
        yield from zip(after, rest[many:], strict=False)


_TAKES = {
    "target": ("target",), "archive": ("archive",), "source": ("source",), "pattern": ("pattern",),
    "pattern-from": ("pattern",), "script": ("script", "script-from"), "script-from": ("script", "script-from"),
    "mode": ("mode",), "owner": ("owner",),
}  # fmt: skip
"""Which of the words is none any more if an option has a value with this role."""

SIGNAL = lazy_re.compile(
    r"-((?:sig)?(?:hup|int|quit|ill|trap|abrt|iot|emt|bus|fpe|kill|usr[12]|segv|pipe|alrm|term|stkflt|cld|chld|cont|stop|tstp"
    r"|tt(?:in|ou)|urg|xcpu|xfsz|vtalrm|prof|winch|info|io|poll|pwr|lost|sys|unused|rt(?:min(?:\+\d{1,2})?|max(?:-\d{1,2})?))"
    r"|\d{1,12})",
    re.IGNORECASE,
)
_SIGNS, _SIGNS_OF_SHELLS = ("-",), ("-", "+")

_TRUE = frozenset({"1", "t", "true"})
_SOOTHING = frozenset({"rehearses", "lists", "prints"})
"""Traits of options with which a program does less."""


def _switched(entry: OptionEntry, value: str) -> OptionEntry:
    """A switch with a value: programs in Go read `--dry-run=false` as the opposite."""
    if entry.takes not in ("nothing", "attached") or value.lower() in _TRUE or _SOOTHING.isdisjoint(entry.traits):
        return entry
    return OptionEntry(entry.names, entry.takes, entry.role, entry.traits - _SOOTHING | _revoked(entry))


def _revoked(entry: OptionEntry) -> frozenset[str]:
    """What the opposite of an option does."""
    return frozenset({"performs"} if "rehearses" in entry.traits else ())


def _takes_next(entry: OptionEntry, word: str) -> bool:
    """Whether an option without an attached value has this word after it as its value."""
    match entry.takes:
        case "value":
            return True
        case "maybe":
            return word[:1] != "-"
        case "number":
            return _is_number(word)
        case _:
            return False


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


class _OptionReader:
    """Goes through the words once. `end`: the position of `--`, or of the end."""

    def __init__(self, manual: Manual, verb: str, argv: tuple[str, ...], takes: Takes) -> None:
        self.manual = manual
        self.verb = verb
        self.known = manual.known_before(verb)
        self.argv = argv
        self.takes = takes
        self.given: list[GivenOption] = []
        self.operands: list[ParsedWord] = []
        self.unknown: list[str] = []
        self.end = len(argv)
        self.last = len(verb.split()) + manual.stops - 1
        self._signs = _SIGNS_OF_SHELLS if manual.form == "shell" else _SIGNS
        self._seen: set[str] = set()

    def read(self) -> _OptionReader:
        at = 1
        if self.manual.bundle and len(self.argv) > 1 and self.argv[1][:1] not in ("-", ""):
            # `tar xzf a.tgz`: only the first word may leave out its dash; behind it words without one are operands.
            at = self._bundle(self.argv[1], 1)
        while at < len(self.argv):
            word = self.argv[at]
            if word == "--" or (word == "-" and self.manual.form == "shell"):
                self.end = at
                self.operands += (ParsedWord(self.argv[rest], rest) for rest in range(at + 1, len(self.argv)))
                break
            if word[:1] not in self._signs or word == "-":
                if self.manual.stops and len(self.operands) >= self.last:
                    self.operands += (ParsedWord(self.argv[rest], rest) for rest in range(at, len(self.argv)))
                    break
                self.operands.append(ParsedWord(word, at))
                # An operand may be the verb, and the options behind it are those of the verb: `git -C x diff --output y`.
                self.known = self.manual.known(self.verb)
                at += 1
            elif self.manual.signals and (after := self._signal(at)):
                at = after
            elif self.manual.form == "switches":
                at = self._switch(at)
            elif self.manual.form == "long" or word[:2] == "--":
                at = self._long(at)
            elif self.manual.form == "shell":
                at = self._long(at) if word in self.known else self._bundle(word[1:], at)
            else:
                at = self._cluster(at)
            if self._end_given:
                self.operands += (ParsedWord(self.argv[rest], rest) for rest in range(at, len(self.argv)))
                break
        return self

    def _signal(self, at: int) -> int:
        """Takes a word that is a signal, or a negative number after one. Returns the next position, 0 if it is neither."""
        match = SIGNAL.fullmatch(self.argv[at])
        if match is None:
            return 0
        entry = self.known["--signal"]
        if all(option.entry is not entry for option in self.given):
            self._add(entry, ParsedWord(match[1], at), at, valued=True)
            return at + 1
        if not match[1].isdigit():
            return 0
        after = len(self.argv) if self.manual.stops else at + 1
        self.operands += (ParsedWord(self.argv[place_after], place_after) for place_after in range(at, after))
        return after

    @property
    def _end_given(self) -> bool:
        """Whether an option was given behind which there are none."""
        return self.manual.has_end and bool(self.given) and "ends" in self.given[-1].entry.traits

    def _bundle(self, letters: str, word: int) -> int:
        """A word whose letters take the words after it in turn."""
        at = word + 1
        for letter in letters[:_MAX_CLUSTER]:
            entry = self.known.get(f"-{letter}")
            if entry is None:
                at = self._unknown(f"-{letter}", at)
            elif entry.takes in ("value", "maybe"):
                at = self._value(entry, at, word)
            else:
                self._add(entry, _NONE, word)
        return at

    def _long(self, at: int) -> int:
        name, sign, value = self.argv[at].partition("=")
        entry = self._entry(name)
        if entry is None:
            if sign:
                self.unknown.append(name)
                return at + 1
            return self._unknown(name, at + 1)
        if sign:
            self._add(_switched(entry, value), ParsedWord(value, at), at, valued=True)
            return at + 1
        return self._value(entry, at + 1, at)

    def _entry(self, name: str) -> OptionEntry | None:
        """The option by its name, an unambiguous beginning of it, or its negation."""
        known = self.known.get(name)
        if known is None and self.manual.form == "long":
            return self.known.get(name[1:])  # most of these programs take two dashes for one
        if known is not None:
            return known
        if self.manual.abbreviates and len(name) >= _SHORTEST:
            longer = self.manual.beginning_with(name, self.known)
            if (first := next(longer, None)) is not None and all(entry is first for entry in longer):
                return first
        negated = self.known.get(f"--{name[5:]}") or self.known.get(f"-{name[5:]}") if name.startswith("--no-") else None
        return OptionEntry((name,), traits=_revoked(negated)) if negated is not None else None

    def _value(self, entry: OptionEntry, at: int, word: int) -> int:
        """Takes the words from `at` on that the option has as its value."""
        if entry.takes == "many":
            start = at
            while at < len(self.argv) and self.argv[at][:1] != "-" and self.argv[at] != "@":
                self._add(entry, ParsedWord(self.argv[at], at), word, valued=True)
                at += 1
            if at == start:
                self._add(entry, _NONE, word)
            return at + (self.argv[at : at + 1] == ("@",))  # it ends the words of `zip -x a b @`
        if entry.takes == "pair":
            for after in range(at, min(at + _PAIR, len(self.argv))):
                self._add(entry, ParsedWord(self.argv[after], after), word, valued=True)
            return at + _PAIR
        if at < len(self.argv) and _takes_next(entry, self.argv[at]):
            self._add(entry, ParsedWord(self.argv[at], at), word, valued=True)
            return at + 1
        self._add(entry, _NONE, word)
        return at

    def _cluster(self, at: int) -> int:
        word, i = self.argv[at], 1
        while i < min(len(word), _MAX_CLUSTER):
            # Some programs have options of two letters beside those of one (`7z -ao`, `zip -TT`): the longer name is taken.
            pair = self.known.get(f"-{word[i : i + _PAIR]}") if i + 1 < len(word) else None
            entry = pair or self.known.get(f"-{word[i]}")
            i += _PAIR if pair else 1
            rest = word[i:]
            if entry is None:
                number = len(self.unknown)
                if not rest:
                    return self._unknown(f"-{word[i - 1]}", at + 1)
                self.unknown.append(f"-{word[i - 1]}")
                if self.takes(number):  # in this reading it takes a value, and the rest of the word is that value
                    return at + 1
            elif entry.takes == "nothing" or (entry.takes == "number" and rest and not _is_number(rest)):
                if "operand" in entry.traits:
                    self.operands.append(ParsedWord(word, at))
                    break
                self._add(entry, _NONE, at)
            elif rest:
                self._add(entry, ParsedWord(rest.removeprefix("=") if pair else rest, at), at, valued=True)
                return at + 1
            else:
                return self._value(entry, at + 1, at)
        return at + 1

    def _switch(self, at: int) -> int:
        """The longest name that the word begins with; the rest of the word is its value."""
        word = self.argv[at]
        low = word.lower()
        for size in range(min(len(word), _MAX_CLUSTER), 1, -1):
            if (entry := self.known.get(low[:size])) is not None:
                self._add(entry, ParsedWord(word[size:], at), at, valued=bool(word[size:]))
                return at + 1
        self.unknown.append(word[:_MAX_CLUSTER])
        return at + 1

    def _unknown(self, name: str, at: int) -> int:
        """An unknown option at the end of its word: the next word may be its value."""
        self.unknown.append(name)
        if at < len(self.argv) and self.takes(len(self.unknown) - 1):
            return at + 1
        return at

    def _add(self, entry: OptionEntry, value: ParsedWord, word: int, *, valued: bool = False) -> None:
        """Adds an option. One without a value is added once: that is enough, and bounds what many letters cost."""
        if not valued and not entry.traits:
            if entry.name in self._seen:
                return
            self._seen.add(entry.name)
        self.given.append(GivenOption(entry, value, word, valued))
