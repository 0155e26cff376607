"""Rules: what they look like, which of them speak about a call. Pure; `rules` reads them, `layers.rubric` weighs them.

A rule is a table in TOML:

    [[rule]]
    id = "vcs.push-force"           # "<pack>.<name>", unique
    run = ["git push"]              # programs with their sub-commands; or `effect = [...]`; or `tool = [...]`
    any = ["-f", "--force", "+*"]   # at least one of these options or words
    none = ["--dry-run", "-n"]      # none of these
    clarity = 2                     # what it adds to the tool's own clarity and stakes ...
    stakes = 3
    verdict = "block"               # ... or instead: never approvable
    reason = "It overwrites history that others may have."
    matches = ["git push -f"]       # examples: commands, or calls `{tool = "write", params = {...}}`, that it speaks about
    passes = ["git push"]           # and such that no rule of the whole book holds

What a rule may ask for; all that it names must hold of one and the same program, effect or call:

- `run`: `"git push"`, `"docker|podman rm"`, `"aws * delete-*"`. The first word is the program's name, alternatives by `|`,
  globs allowed. The others are the words behind it that are no options; an option before them may have one value
  (`git -C x push`), so a wanted word is looked for behind each option and the one word after it. `**` is up to four
  words, `!list|get` any word but these.
- `no_run`: programs (globs allowed) that it does not speak about.
- `any`, `all`, `none`: options and words. `-f` is found in a cluster (`-xfd`); `-delete` is one word, with one dash or two;
  `--force` also as `--force=x` and as a beginning of 4 letters or more (`--forc`; of `--hard` 3 do); everything else is a
  glob over a whole word. `--force=false` is no `--force`. For `none` no word counts behind a lone `--`, before what
  takes it back (`--no-dry-run`) or as the value of another option (`-m --help`), and its `-h` and `-V` count alone only.
  What is assigned before the program counts as a word for `none` (`RAILS_ENV=test`).
- `arg`, `no_arg`: a regular expression that some (no) word behind the program's name must contain.
- `via`: names of wrappers, one of which is around the program (`["xargs"]`).
- `unless`: a regular expression; words (for `arg`) and targets (for `effect`) that contain it do not count.
- `effect`: kinds (see `vocabulary`); `place`, `no_place`: where; `flags` (all of them), `no_flags` (none of them);
  `text`: a regular expression that the effect's target must contain.
- `tool`: names of tools; `params`: parameter name to regular expression (searched in its text).

`exec` and what else runs commands is judged by `run` and `effect`; every other tool by `effect` and `tool`. Rules that also
ask where a call comes from, when, or to which paths (`Rule.needs_view`) are looked up by `layers.constraints`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress

import msgspec

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import CARRIED, UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.letter_case import folded
from toolguard_engine.effects.manuals.option_spellings import operand_places
from toolguard_engine.rules.patterns import MANY, filtered
from toolguard_engine.rules.rule_form import Example, InvalidRuleError, Rule, rule_from
from toolguard_engine.rules.terms import (
    LONGEST,
    Search,
    Unwanted,
    WantedTerms,
    follows,
    found_in,
    found_in_some,
    is_glob,
    search_for,
    word_test,
)

__all__ = ["Example", "InvalidRuleError", "Match", "Rule", "Rulebook", "rule_from"]

CARRIED_RULE = "unknown.carried"
"""The rule that switches off, for all rules, what programs that are not known are given to run."""
CARRIER_REASON = "It is given to {}, which toolguard does not know, and judged as if that program ran it."
BLOCKED_SCORES = (3, 5)
"""What a rule that blocks adds where it is not certain that the command runs."""
_SHOWN = 120
_REMEMBERED = 4_000
_MAX_REMEMBERED_NAME = 200
_MANY_WORDS = 40
_ASKING = "hV"
"""`-h` and `-V` ask for help and the version where they stand alone; in a cluster as `-sV` they mean other things."""
_MOST_WORDS = 1_000
"""Of a longer command the words at its two ends count, half of them each: no rule could read all in time."""


class Match(msgspec.Struct, frozen=True):
    """A rule that speaks about a call: what it adds, or that it blocks; `target`: what it is about, as one can show it.

    `origin`: where that stands, if in a file that the call runs; `program`: what it is about, or what has the effect.
    """

    rule: str
    reason: str
    clarity: int = 0
    stakes: int = 0
    blocks: bool = False
    target: str = ""
    origin: str = ""
    program: ProgramRun | None = None


class _Form(msgspec.Struct, frozen=True):
    """One text of a rule's `run`: the rule's place in the book, the sub-commands it wants, and the last of them, which most
    commands do not have: as a set where its words are plain, and as a test."""

    at: int
    wanted: tuple[str, ...]
    is_last: Callable[[str], object]
    last: frozenset[str] | None


class _Program(msgspec.Struct, frozen=True):
    """The forms that speak about one program: by its first sub-command, and those that name none."""

    by_word: Mapping[str, tuple[_Form, ...]]
    other: tuple[_Form, ...]


class _About(msgspec.Struct, frozen=True):
    """What a rule asks of an effect whose kind and place fit. `plain`: it asks nothing of the program behind it."""

    at: int
    flags: frozenset[str]
    no_flags: frozenset[str]
    text: Search | None
    unless: Search | None
    plain: bool

    def fits(self, effect: Effect) -> bool:
        if not (self.flags <= effect.flags and self.no_flags.isdisjoint(effect.flags)):
            return False
        if self.text is not None and not found_in(self.text, effect.target):
            return False
        return self.unless is None or not found_in(self.unless, effect.target)


_JUDGED = f"{__name__}.for_command"


class _Terms:
    """What a rule asks of the words of a program."""

    __slots__ = ("_all", "_any", "_arg", "_no_arg", "_none", "_unless", "_via")

    def __init__(self, rule: Rule, *, shipped: bool) -> None:
        self._via = rule.via
        self._arg, self._no_arg, self._unless = _searches(rule.arg, rule.no_arg, rule.unless, shipped=shipped)
        self._any = WantedTerms(rule.any) if rule.any else None
        self._all = tuple(WantedTerms((item,)) for item in rule.all)
        self._none = Unwanted(rule.none, _ASKING) if rule.none else None

    def hold(self, run: ProgramRun) -> bool:
        words = run.argv[1:]
        if self._any is not None and not self._any.is_in(words):
            return False
        if self._all and not all(wanted.is_in(words) for wanted in self._all):
            return False
        if self._via and not any(name in run.via for name in self._via):
            return False
        if self._none is not None and self._none.lasts(run, _before_operands(run)):
            return False
        if self._arg is not None and not found_in_some(self._arg, words, self._unless):
            return False
        return self._no_arg is None or not found_in_some(self._no_arg, words)


def _before_operands(run: ProgramRun) -> tuple[str, ...]:
    """The words before a lone `--`, and what is assigned for the program: `RAILS_ENV=test rails db:reset`. An address of a
    database that is assigned too may be of any."""
    words = run.argv[1 : run.words.end or None]
    if not run.assigns or any(name.endswith("_URL") for name, _ in run.assigns):
        return words
    return (*words, *(f"{name}={value}" for name, value in run.assigns))


class _TermsByRule(dict[int, _Terms]):
    """The terms of each rule, by its place in the book, made when they are first asked for."""

    def __init__(self, rules: Sequence[Rule], shipped: int) -> None:
        super().__init__()
        self._rules, self._shipped = rules, shipped

    def __missing__(self, at: int) -> _Terms:
        terms = self[at] = _Terms(self._rules[at], shipped=at < self._shipped)
        return terms


class _OwnRules:
    """Those of one tool that ask for patterns, by one of these; many are written for thousands of names or hosts."""

    def __init__(self, rules: Sequence[Rule], known: Iterable[int], shipped: int) -> None:
        self._others = list[int]()
        self._by_pattern: dict[tuple[str, str], list[int]] = {}
        for at in known:
            if at < shipped or not rules[at].params:
                self._others.append(at)
            else:
                self._by_pattern.setdefault(rules[at].params[0], []).append(at)
        self._names = sorted({name for name, _ in self._by_pattern})
        self._patterns = frozenset(pattern for _, pattern in self._by_pattern)
        self._sought = filtered(self._patterns)

    def possible(self, params: Mapping[str, object]) -> list[int]:
        """Those that may fit, in the order of the book."""
        entries = self._others.copy()
        for name in self._names:
            if (value := params.get(name)) is not None:
                for pattern in self._sought.possible(_searched(value)) if self._sought else self._patterns:
                    entries += self._by_pattern.get((name, pattern), ())
        return sorted(entries)


class Rulebook:
    """All rules that count, looked up by program, effect and tool, so that a harmless call costs next to nothing."""

    def __init__(self, rules: Iterable[Rule], *, shipped: int = 0, carried: bool = True) -> None:
        """`shipped`: so many of the rules, from the first on, come with toolguard. `carried`: whether they also speak about
        what programs that are not known are given to run."""
        self.rules = tuple(rules)
        self._shipped = shipped
        self._carried = carried
        self.viewed = tuple(rule for rule in self.rules if rule.needs_view)
        """Those that are not looked up here but by `layers.constraints`."""
        self.waits = {rule.id: rule.pending_timeout for rule in self.rules if rule.pending_timeout}
        """For how many seconds calls of these rules wait, by their ids."""
        self._named: dict[str, list[tuple[int, str]]] = {}
        self._globbed: list[tuple[int, str, str]] = []
        self._effects: dict[str, list[int]] = {}
        self._by_place: dict[tuple[str, str], tuple[_About, ...]] = {}
        self._tools: dict[str, list[int]] = {}
        self._programs: dict[str, _Program | None] = {}
        self._own: dict[str, _OwnRules] = {}
        self._terms = _TermsByRule(self.rules, shipped)
        self._wanted: dict[int, list[_Wanted]] = {}
        for at, rule in enumerate(self.rules):
            if not rule.needs_view:
                self._enter(at, rule)

    def without(self, names: Iterable[str]) -> Rulebook:
        """The book with these rules (`"vcs.push-force"`) and packs (`"vcs"`) switched off."""
        off = frozenset(names)
        if not off:
            return self
        kept = [(rule.id not in off and rule.pack not in off) for rule in self.rules]
        carried = self._carried and off.isdisjoint((CARRIED_RULE, CARRIED_RULE.partition(".")[0]))
        return Rulebook(compress(self.rules, kept), shipped=sum(kept[: self._shipped]), carried=carried)

    def plus(self, rules: Iterable[Rule]) -> Rulebook:
        """The book with a user's own rules behind all others."""
        own = tuple(rules)
        return Rulebook((*self.rules, *own), shipped=self._shipped, carried=self._carried) if own else self

    def compiled(self) -> Iterator[None]:
        """Compiles the patterns of the rules that come with toolguard, one at each step; those for words as well."""
        for at, rule in enumerate(self.rules[: self._shipped]):
            if any(map(is_glob, (*rule.any, *rule.all, *rule.none))):
                _ = self._terms[at]
                yield
            for word in filter(is_glob, " ".join(rule.run).split()):
                word_test(word)
                yield
            asked = (rule.text, rule.unless, rule.arg, rule.no_arg, *(pattern for _, pattern in rule.params))
            for pattern in filter(None, asked):
                search_for(pattern, shipped=True)
                yield

    def for_command(self, reading: Reading, effects: tuple[Effect, ...]) -> tuple[Match, ...]:
        """The rules that speak about a command, each once, in the order of the book. Kept with a reading that is kept."""
        known = reading.__dict__.get(_JUDGED)
        if known is None or known[0] is not self or known[1] is not effects:
            known = reading.__dict__[_JUDGED] = (self, effects, self._for_command(reading, effects))
        matches: tuple[Match, ...] = known[2]
        return matches

    def _for_command(self, reading: Reading, effects: tuple[Effect, ...]) -> tuple[Match, ...]:
        matches: dict[int, Match] = {}
        runs = reading.runs if self._carried else [run for run in reading.runs if CARRIED not in run.via]
        for run, program in zip(runs, [self._program(run.name) for run in runs], strict=True):
            if program is not None:
                self._judge(program, run if len(run.argv) <= _MOST_WORDS else _ends(run), matches)
        for effect in effects:
            if not self._carried and effect.program is not None and CARRIED in effect.program.via:
                continue
            for about in self._about(effect):
                at = about.at
                if at not in matches and not self.rules[at].tool and self._effect_fits(about, effect):
                    matches[at] = _match(self.rules[at], effect.target, effect.program)
        return _in_order(matches)

    def for_call(self, tool: str, params: dict[str, object], effects: tuple[Effect, ...]) -> tuple[Match, ...]:
        """The rules that speak about a call of another tool."""
        matches: dict[int, Match] = {}
        for at in self._speaking_of(tool, params):
            rule = self.rules[at]
            if not rule.effect and self._params_fit(at, params):
                matches[at] = _match(rule, tool)
        for effect in effects:
            for about in self._about(effect):
                rule = self.rules[about.at]
                here = not rule.tool or (tool in rule.tool and self._params_fit(about.at, params))
                if about.at not in matches and here and self._effect_fits(about, effect):
                    matches[about.at] = _match(rule, effect.target, effect.program)
        return _in_order(matches)

    def _speaking_of(self, tool: str, params: Mapping[str, object]) -> Iterable[int]:
        """The rules of a tool, without own ones whose patterns cannot be in the parameters."""
        known = self._tools.get(tool, ())
        if len(known) < MANY:
            return known
        own = self._own.get(tool)
        if own is None:
            own = self._own[tool] = _OwnRules(self.rules, known, self._shipped)
        return own.possible(params)

    def _enter(self, at: int, rule: Rule) -> None:
        for kind in rule.effect:
            self._effects.setdefault(kind, []).append(at)
        for tool in rule.tool:
            self._tools.setdefault(tool, []).append(at)
        for text in () if rule.effect else rule.run:
            programs, _, words = text.partition(" ")
            programs = "|".join(name.rpartition("/")[2] or name for name in programs.split("|"))
            if is_glob(programs):
                self._globbed.append((at, folded(programs), words))
                continue
            for name in programs.split("|"):
                self._named.setdefault(folded(name), []).append((at, words))

    def _program(self, name: str) -> _Program | None:
        try:
            return self._programs[name]
        except KeyError:
            return self._learn(name)

    def _learn(self, name: str) -> _Program | None:
        """All that the book has about a program, kept for the next time unless the name is absurdly long."""
        low = folded(name)
        names = dict.fromkeys((low, program_catalogue.kind(low)))
        known = [entry for other_name in names for entry in self._named.get(other_name, ())]
        known += ((at, words) for at, glob, words in self._globbed if word_test(glob)(low))
        forms = [_form(at, words) for at, words in known if not _named_in(self.rules[at].no_run, name)]
        program = _program(forms)
        if len(name) > _MAX_REMEMBERED_NAME:
            return program
        if len(self._programs) >= _REMEMBERED:
            self._programs.clear()
        self._programs[name] = program
        return program

    def _judge(self, program: _Program, run: ProgramRun, matches: dict[int, Match]) -> None:
        argv = run.argv
        first = operand_places(argv, (1,))
        # Most rules begin with a verb (`git push ...`), and are looked up by it: rules about other verbs cost nothing.
        for start in first if program.by_word else ():
            for form in program.by_word.get(argv[start], ()):
                at = form.at
                if at in matches or not (len(form.wanted) == 1 or follows(argv, form.wanted, first)):
                    continue
                if self._terms[at].hold(run):
                    matches[at] = _match(self.rules[at], _shown(run), run)
        # Few words are compared with a pattern before `follows` tries all ways in which words may lie between them.
        few = argv[1:_MANY_WORDS] if len(argv) <= _MANY_WORDS else ()
        for form in program.other:
            at, wanted, last = form.at, form.wanted, form.last
            if at in matches or (last is not None and last.isdisjoint(argv)):
                continue
            if wanted and ((last is None and few and not any(map(form.is_last, few))) or not follows(argv, wanted, first)):
                continue
            if self._terms[at].hold(run):
                matches[at] = _match(self.rules[at], _shown(run), run)

    def _about(self, effect: Effect) -> tuple[_About, ...]:
        """The rules about effects of this kind in this place, in the order of the book."""
        key = effect.kind, effect.place
        known = self._by_place.get(key)
        if known is None:
            rules = ((at, self.rules[at]) for at in self._effects.get(effect.kind, ()))
            known = self._by_place[key] = tuple(
                self._asked_of_effect(at, rule)
                for at, rule in rules
                if (not rule.place or effect.place in rule.place) and effect.place not in rule.no_place
            )
        return known

    def _asked_of_effect(self, at: int, rule: Rule) -> _About:
        text, unless = _searches(rule.text, rule.unless, shipped=at < self._shipped)
        return _About(at, frozenset(rule.flags), frozenset(rule.no_flags), text, unless, _asks_no_program(rule))

    def _params_fit(self, at: int, params: Mapping[str, object]) -> bool:
        return all(
            _text_has(params.get(name), search_for(pattern, shipped=at < self._shipped))
            for name, pattern in self.rules[at].params
        )

    def _effect_fits(self, about: _About, effect: Effect) -> bool:
        return about.fits(effect) and (about.plain or self._program_fits(about.at, effect.program))

    def _program_fits(self, at: int, run: ProgramRun | None) -> bool:
        """Whether the program behind an effect is one that the rule means; rules that name none mean all."""
        rule = self.rules[at]
        if run is None:
            return not (rule.run or rule.any or rule.all or rule.arg or rule.via)
        if _named_in(rule.no_run, run.name):
            return False
        wanted = self._wanted.get(at)
        if wanted is None:
            wanted = self._wanted[at] = _wanted(rule)
        name = program_catalogue.kind(run.name)
        if wanted and not any(is_named(name) and follows(run.argv, rest) for is_named, rest in wanted):
            return False
        return self._terms[at].hold(run)


_Wanted = tuple[Callable[[str], object], list[str]]
"""A test for the name of a program, and the sub-commands behind it."""


def _wanted(rule: Rule) -> list[_Wanted]:
    """The programs that a rule means."""
    wanted = (text.split() for text in rule.run)
    return [(word_test(folded(name)), rest) for name, *rest in wanted]


@lru_cache(maxsize=8_000)
def _form(at: int, text: str) -> _Form:
    """Many programs have it: those that no rule names have all forms of any program."""
    wanted = text.split()
    if not wanted:
        return _Form(at, (), str.__len__, None)
    words = wanted[-1].split("|")
    last = None if any(map(is_glob, (wanted[-1], *words))) else frozenset(words)
    return _Form(at, tuple(wanted), word_test(wanted[-1]), last)


def _asks_no_program(rule: Rule) -> bool:
    asked = (rule.run, rule.no_run, rule.any, rule.all, rule.none, rule.arg, rule.no_arg, rule.via)
    return not any(asked)


def _program(forms: list[_Form]) -> _Program | None:
    if not forms:
        return None
    by_word: dict[str, list[_Form]] = {}
    other: list[_Form] = []
    for form in forms:
        if not form.wanted or is_glob(form.wanted[0]):
            other.append(form)
            continue
        for word in form.wanted[0].split("|"):
            by_word.setdefault(word, []).append(form)
    return _Program({word: tuple(known) for word, known in by_word.items()}, tuple(other))


def _ends(run: ProgramRun) -> ProgramRun:
    half = _MOST_WORDS // 2
    return ProgramRun((*run.argv[:half], *run.argv[-half:]), run.name, run.via)


def _named_in(names: tuple[str, ...], name: str) -> bool:
    return bool(names) and bool(word_test("|".join(names))(name))


def _searches(*patterns: str, shipped: bool) -> tuple[Search | None, ...]:
    return tuple(search_for(pattern, shipped=shipped) if pattern else None for pattern in patterns)


def _text_has(value: object, search: Search) -> bool:
    return value is not None and found_in(search, value if isinstance(value, str) else str(value))


def _searched(value: object) -> str:
    """What of a parameter is searched, see `found_in`."""
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n{text[-LONGEST:]}"


def _match(rule: Rule, target: str, run: ProgramRun | None = None) -> Match:
    if run is not None and run.via and CARRIED in run.via:
        return _carried(rule, target, run)
    origin = run.origin.shown(target) if run is not None and run.origin is not None else ""
    return Match(rule.id, rule.reason, rule.clarity, rule.stakes, rule.verdict == "block", target, origin, run)


def _carried(rule: Rule, target: str, run: ProgramRun) -> Match:
    """What a program that is not known was given may be no command at all, so it is held and never blocked for good."""
    carrier = run.via[run.via.index(CARRIED) + 1]
    reason = f"{rule.reason} {CARRIER_REASON.format(carrier[:_SHOWN])}"
    clarity, stakes = BLOCKED_SCORES if rule.verdict == "block" else (rule.clarity, rule.stakes)
    return Match(rule.id, reason, clarity, stakes, target=target)


def _shown(run: ProgramRun) -> str:
    text = " ".join((run.name, *run.argv[1:])).replace(UNKNOWN, "?")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _in_order(matches: dict[int, Match]) -> tuple[Match, ...]:
    return tuple(matches[at] for at in sorted(matches)) if matches else ()
