"""What rules ask about one call: the paths that it names or touches, the texts of its parameters. Made when asked for.

Bounded: where not all of a call could be looked at, `Paths.all_seen` and `CallFacts.has` say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

from toolguard_engine.effects.calls import call_paths
from toolguard_engine.effects.calls.call_paths import Named
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.rules.path_globs import Path, PathGlob, whole
from toolguard_engine.rules.patterns import PatternFilter, compiled
from toolguard_engine.rules.rulebook import Rulebook

MAX_PARTS = 8_000
"""Names in all paths of a call together."""

MAX_SEARCHED = 262_144
"""Characters of one text that are searched."""

MAX_EFFORT = 100_000_000
"""Characters times instructions (`patterns.Pattern.size`) of all searches in one call together: usually 5 ms, two seconds
where a text was made for a pattern with which each character leads to another state."""


class Paths(msgspec.Struct, frozen=True):
    """Each path once. `hidden`: there are others of which not even the beginning is known."""

    paths: tuple[Path, ...]
    all_seen: bool = True
    hidden: bool = False


class CallFacts:
    """One call and what it would do. `sought`: patterns that many rules ask for."""

    def __init__(self, reading: CallReading, effects: tuple[Effect, ...], sought: PatternFilter | None = None) -> None:
        self.reading, self.effects = reading, effects
        self.call, self.params = reading.call, reading.params
        self._texts: dict[str, tuple[list[str], bool]] = {}
        self._effort = MAX_EFFORT
        self._sought = sought
        self._possible: dict[str, frozenset[str]] = {}

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(effect.kind for effect in self.effects)

    def does(self, book: Rulebook) -> bool:
        """Whether a rule of this book is about a program or an effect of the call."""
        if any(book.for_command(command, self.effects) for command in self.reading.command_readings):
            return True
        return bool(book.for_call(self.reading.tool, self.params, self.effects))

    @cached_property
    def paths(self) -> Paths:
        """All that the call names, and all that it would do something to."""
        in_params, all_seen = call_paths.of_params(self.reading.tool, self.params)
        effects, somewhere = self.effects, bool(self.reading.where.cwd)
        named = [(path, "", False) for path in in_params]
        named += [path for run in self.reading.runs for path in call_paths.of_run(run, somewhere=somewhere)]
        return self._whole([*named, *call_paths.of_effects(effects), *call_paths.of_codes(effects)], all_seen=all_seen)

    def may_reach(self, needles: Iterable[str], globs: Iterable[PathGlob]) -> bool:
        """Whether one of these globs, which have these `needle`s, could cover a path of the call: a quick look."""
        reached = self.paths
        if not reached.all_seen:
            return True
        text = "\n".join([path.low for path in reached.paths])
        for needle in needles:
            if needle in text:
                return True
        odd = [path for path in reached.paths if path.wild or path.deep]
        return any(glob.may_fit(path) for path in odd for glob in globs)

    def touched(self, kinds: Iterable[str]) -> Paths:
        """The paths to which something of these kinds is done; all paths where some of that is done to no file."""
        wanted = self.kinds.intersection(kinds)
        if not wanted <= call_paths.FILE_KINDS:
            return self.paths
        effects = [effect for effect in self.effects if effect.kind in wanted]
        return self._whole([*call_paths.of_effects(effects)])

    def _whole(self, named: list[Named], *, all_seen: bool = True) -> Paths:
        paths: dict[tuple[str, bool], Path] = {}
        left, hidden = MAX_PARTS, False
        for text, cwd, deep in named:
            full = whole(text.removeprefix("@"), self.reading.where, cwd)
            if not full:
                hidden = True
                continue
            left -= full.count("/") + 1
            if left < 0:
                return Paths(tuple(paths.values()), all_seen=False)
            if (full, deep) not in paths:
                paths[full, deep] = Path(full, deep=deep)
        return Paths(tuple(paths.values()), all_seen and "flood" not in self.kinds, hidden)

    def possible(self, name: str) -> frozenset[str] | None:
        """The sought patterns that may be in a parameter's text; None where that cannot be told of all of it."""
        texts, all_seen = self._texts_at(name)
        if self._sought is None or not all_seen:
            return None
        if name not in self._possible:
            self._possible[name] = frozenset[str]().union(*map(self._sought.possible, texts))
        return self._possible[name]

    def has(self, name: str, pattern: str, *, unseen: bool) -> bool:
        """Whether a parameter's text contains this pattern; `unseen`: the answer where not all could be searched."""
        texts, all_seen = self._texts_at(name)
        wanted = compiled(pattern)
        for text in texts:
            cost = min(len(text), MAX_SEARCHED) * wanted.size
            if cost > self._effort:
                all_seen = False
                continue
            self._effort -= cost
            if wanted.search(text[:MAX_SEARCHED]):
                return True
        return unseen and not all_seen

    def _texts_at(self, name: str) -> tuple[list[str], bool]:
        known = self._texts.get(name)
        if known is None:
            known = self._texts[name] = self._texts_of(name)
        return known

    def _texts_of(self, name: str) -> tuple[list[str], bool]:
        """The texts of a parameter, those of a command also as its programs get them; and whether that is all."""
        texts, all_seen = _texts(_at(self.params, name))
        all_seen = all_seen and all(len(text) <= MAX_SEARCHED for text in texts)
        if name in ("command", "*"):
            texts += [_spoken(run) for run in self.reading.runs]
        return list(dict.fromkeys(texts)), all_seen


def _spoken(run: ProgramRun) -> str:
    return " ".join((run.name, *run.argv[1:])).replace(UNKNOWN, "?")


def _at(params: dict[str, Any], name: str) -> list[Any]:
    """The values under a dotted name; a list on the way stands for all that is in it. `*`: all values."""
    if name == "*":
        return [params]
    if name in params:
        return [params[name]]
    here: list[Any] = [params]
    for step in name.split("."):
        inside: list[Any] = []
        for value in here:
            inside += value[: call_paths.MAX_VALUES] if isinstance(value, list) and not step.isdecimal() else [value]
        here = [value[step] for value in inside if isinstance(value, dict) and step in value] + [
            value[int(step)] for value in here if isinstance(value, list) and step.isdecimal() and int(step) < len(value)
        ]
    return here


def _texts(values: list[Any]) -> tuple[list[str], bool]:
    """All texts in some values, numbers and truth values as JSON has them; a list of words also as one text. And whether
    that is all of them."""
    texts: list[str] = []
    inside, all_seen = call_paths.all_values(values)
    for value in inside:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            words = [item for item in value[: call_paths.MAX_VALUES] if isinstance(item, str)]
            texts += [" ".join(words)] if len(words) > 1 else []
        elif value is not None and not isinstance(value, dict):
            texts.append(msgspec.json.encode(value).decode())
    return texts, all_seen
