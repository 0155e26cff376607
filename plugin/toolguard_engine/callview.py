"""What constraints ask about one call: the paths that it names or touches, the texts of its parameters. Made when asked for.

Bounded: where not all of a call could be looked at, `Paths.all_seen` and `found` say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from toolguard_engine import callpaths
from toolguard_engine.callpaths import Named
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers import calltexts
from toolguard_engine.layers.rubric import where_of
from toolguard_engine.model import Call, Host
from toolguard_engine.pathglobs import Path, PathGlob, whole
from toolguard_engine.rulecost import LONGEST, effort
from toolguard_engine.ruleterms import compiled
from toolguard_engine.shell.model import UNKNOWN, Run
from toolguard_engine.shell.places import Where
from toolguard_engine.shell.unwrap import read

MAX_PARTS = 8_000
"""Names in all paths of a call together."""

MAX_SEARCHED = 262_144
"""Characters of one text that are searched."""

MAX_EFFORT = 30_000_000
"""Steps (`rulecost.effort`) of all searches in one call together, about a tenth of a second at worst."""

_STEP = LONGEST * 3 // 4
"""A longer text is searched piece by piece; the pieces overlap by a quarter."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Each path once. `hidden`: there are others of which not even the beginning is known."""

    paths: tuple[Path, ...]
    all_seen: bool = True
    hidden: bool = False


class View:
    """One call. `tool`: as `toolsearch.tool_name` spells it."""

    def __init__(self, call: Call, tool: str, found: Judgement, host: Host) -> None:
        self.call, self.tool, self.found = call, tool, found
        self.params: dict[str, Any] = call.params if isinstance(call.params, dict) else {}
        self._host = host
        self._texts: dict[str, tuple[list[str], bool]] = {}
        self._effort = MAX_EFFORT

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(effect.kind for effect in self.found.effects)

    @cached_property
    def _where(self) -> Where:
        return where_of(self.call, self.params if self.tool in calltexts.EXEC_TOOLS else {}, self._host)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All programs that the call would run."""
        return tuple(run for command in calltexts.commands(self.tool, self.params) for run in read(command).runs)

    @cached_property
    def paths(self) -> Paths:
        """All that the call names, and all that it would do something to."""
        in_params, all_seen = callpaths.of_params(self.tool, self.params)
        effects, somewhere = self.found.effects, bool(self._where.cwd)
        named = [(path, "", False) for path in in_params]
        named += [path for run in self.runs for path in callpaths.of_run(run, somewhere=somewhere)]
        return self._whole([*named, *callpaths.of_effects(effects), *callpaths.of_codes(effects)], all_seen=all_seen)

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
        if not wanted <= callpaths.FILE_KINDS:
            return self.paths
        effects = [effect for effect in self.found.effects if effect.kind in wanted]
        return self._whole([*callpaths.of_effects(effects)])

    def _whole(self, named: list[Named], *, all_seen: bool = True) -> Paths:
        found: dict[tuple[str, bool], Path] = {}
        left, hidden = MAX_PARTS, False
        for text, cwd, deep in named:
            full = whole(text.removeprefix("@"), self._where, cwd)
            if not full:
                hidden = True
                continue
            if (full, deep) in found:
                continue
            path = Path(full, deep=deep)
            left -= full.count("/") + 1
            if left < 0:
                return Paths(tuple(found.values()), all_seen=False)
            found[full, deep] = path
        return Paths(tuple(found.values()), all_seen and "flood" not in self.kinds, hidden)

    def has(self, name: str, pattern: str, *, unseen: bool) -> bool:
        """Whether a parameter's text contains this pattern; `unseen`: the answer where not all could be searched."""
        known = self._texts.get(name)
        if known is None:
            known = self._texts[name] = self._texts_of(name)
        texts, all_seen = known
        for text in texts:
            cost = effort(pattern, text[:MAX_SEARCHED])
            if cost > self._effort:
                all_seen = False
                continue
            self._effort -= cost
            if found(pattern, text):
                return True
        return unseen and not all_seen

    def _texts_of(self, name: str) -> tuple[list[str], bool]:
        """The texts of a parameter, those of a command also as its programs get them; and whether that is all."""
        texts, all_seen = _texts(_at(self.params, name))
        all_seen = all_seen and all(len(text) <= MAX_SEARCHED for text in texts)
        if name in ("command", "*"):
            texts += [_spoken(run) for run in self.runs]
        return list(dict.fromkeys(texts)), all_seen


def _spoken(run: Run) -> str:
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
            inside += value[: callpaths.MAX_VALUES] if isinstance(value, list) and not step.isdecimal() else [value]
        here = [value[step] for value in inside if isinstance(value, dict) and step in value] + [
            value[int(step)] for value in here if isinstance(value, list) and step.isdecimal() and int(step) < len(value)
        ]
    return here


def _texts(values: list[Any]) -> tuple[list[str], bool]:
    """All texts in some values, numbers and truth values as JSON has them; a list of words also as one text. And whether
    that is all of them."""
    found: list[str] = []
    inside, all_seen = callpaths.all_values(values)
    for value in inside:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            words = [item for item in value[: callpaths.MAX_VALUES] if isinstance(item, str)]
            found += [" ".join(words)] if len(words) > 1 else []
        elif value is not None and not isinstance(value, dict):
            found.append(msgspec.json.encode(value).decode())
    return found, all_seen


def found(pattern: str, text: str) -> bool:
    """Whether a pattern is somewhere in the first `MAX_SEARCHED` characters of a text."""
    search = compiled(pattern).search
    if len(text) <= LONGEST:
        return search(text) is not None
    text = text[:MAX_SEARCHED]
    starts = range(0, max(1, len(text) - LONGEST + _STEP), _STEP)
    return any(search(text, start, start + LONGEST) is not None for start in starts)
