"""What OpenClaw makes of a path in the arguments of its tools before it opens the file, which is after the guard has judged
the call.

Which repairs a tool makes was found out by letting it open files (`repair_catalogue`). A tool or a release that was not
tried may make any of them, so its paths are judged with and without each.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.host import file_addresses, literal_paths, patch_headers, repair_catalogue, similar_names
from toolguard_engine.host.repair_catalogue import Kind, PathRepair, RepairCatalogue

MAX_PATH = 4_096
MAX_FORMS = 24
"""Paths that one text may stand for."""

_WINDOW = 256
_MAX_DEPTH = 4
_MAX_ITEMS = 200
_MAX_REPEATS = 4
_PLAIN = lazy_re.compile(r"(?!.*odex\Z)(?:~(?=/|\Z))?[A-Za-z0-9_./+=,-]*", re.IGNORECASE | re.ASCII)
"""Texts that no repair changes and that nothing reads as anything but a path."""


class Surroundings(msgspec.Struct, frozen=True):
    """Where the paths of a call lead. `folder`: what relative paths start from, empty if unknown."""

    home: str = ""
    state_dir: str = ""
    folder: str = ""


Forms = Callable[[str, Surroundings], Iterable[str]]


@cache
def bundled() -> PathRepairs:
    """The repairs of the bundled catalogue."""
    return PathRepairs(repair_catalogue.load())


class PathRepairs:
    """The repairs of a catalogue."""

    def __init__(self, catalogue: RepairCatalogue) -> None:
        self._catalogue = catalogue
        self._steps: dict[tuple[str, str], tuple[Forms, ...]] = {}

    def knows(self, tool: str) -> bool:
        """Whether a tool has parameters with paths."""
        return tool in self._catalogue.parameters

    def opened(self, tool: str, params: dict[str, Any], release: str, around: Surroundings) -> dict[str, Any]:
        """These parameters with the paths that the tool opens. A path that may be one of several becomes a list of them."""
        names = self._catalogue.parameters.get(tool)
        if names is None:
            return params
        changed = {}
        for name in names:
            if name in params:
                value = self._value(params[name], tool, release, around, 0)
                if value is not params[name]:
                    changed[name] = value
        return {**params, **changed} if changed else params

    def named(self, tool: str, params: dict[str, Any]) -> Iterator[str]:
        """The texts in the parameters that hold the tool's paths."""
        names = self._catalogue.parameters.get(tool, ())
        todo: list[tuple[Any, int]] = [(params, 0)]
        while todo:
            value, depth = todo.pop()
            if isinstance(value, str):
                yield value
            elif depth <= _MAX_DEPTH and isinstance(value, list):
                todo += [(item, depth + 1) for item in value]
            elif depth <= _MAX_DEPTH and isinstance(value, dict):
                todo += [(item, depth + 1) for name, item in value.items() if name in names]

    def forms(self, text: str, tool: str, release: str, around: Surroundings) -> tuple[str, ...]:
        """The paths that the tool may open for this text; only the text itself if it is a plain path."""
        if len(text) > MAX_PATH or _PLAIN.fullmatch(text):
            return (text,)
        made = self._catalogue.releases.get(release, {}).get(tool)
        spelled = [text]
        for step in self._steps_of(tool, release, made):
            spelled = list(dict.fromkeys(form for spelling in spelled for form in step(spelling, around)))[:MAX_FORMS]
        if made is None:
            return tuple(dict.fromkeys([text, *spelled]))
        expands = "home" in made
        return tuple(
            dict.fromkeys(literal_paths.literal(form, around.folder, around.home, expands=expands) for form in spelled)
        )

    def _value(self, value: Any, tool: str, release: str, around: Surroundings, depth: int) -> Any:
        """Returns the value itself if nothing in it changes."""
        if isinstance(value, str) and tool in self._catalogue.patches:
            patch = patch_headers.rewritten(value, lambda path: self.forms(path, tool, release, around))
            return value if patch == value else patch
        if isinstance(value, str):
            forms = self.forms(value, tool, release, around)
            return value if forms == (value,) else forms[0] if len(forms) == 1 else list(forms)
        if depth < _MAX_DEPTH and isinstance(value, list):
            return self._list(value, tool, release, around, depth)
        if depth < _MAX_DEPTH and isinstance(value, dict):
            return self._members(value, tool, release, around, depth)
        return value

    def _list(self, value: list[Any], tool: str, release: str, around: Surroundings, depth: int) -> list[Any]:
        changed = [self._value(item, tool, release, around, depth + 1) for item in value[:_MAX_ITEMS]]
        if all(new is old for new, old in zip(changed, value, strict=False)):
            return value
        flat = [part for new in changed for part in (new if isinstance(new, list) else [new])]
        return [*flat, *value[_MAX_ITEMS:]]

    def _members(self, value: dict[str, Any], tool: str, release: str, around: Surroundings, depth: int) -> dict[str, Any]:
        known = self._catalogue.parameters[tool]
        changed = {
            name: self._value(member, tool, release, around, depth + 1)
            for name, member in value.items()
            if name in known or isinstance(member, dict | list)
        }
        return value if all(member is value[name] for name, member in changed.items()) else {**value, **changed}

    def _steps_of(self, tool: str, release: str, made: tuple[str, ...] | None) -> tuple[Forms, ...]:
        key = ("", "") if made is None else (tool, release)
        known = self._steps.get(key)
        if known is None:
            repairs = [repair for repair in self._catalogue.repairs if made is None or repair.name in made]
            known = self._steps[key] = tuple(_step(repair, maybe=made is None or repair.maybe) for repair in repairs)
        return known


def _step(repair: PathRepair, *, maybe: bool) -> Forms:
    pattern = re.compile(f"(?:{repair.pattern})", re.IGNORECASE if repair.ignore_case else re.NOFLAG)
    make = _KINDS[repair.kind]

    def step(text: str, around: Surroundings) -> Iterable[str]:
        made = list(make(repair, pattern, text, around))
        return [*made, text] if maybe or not made else made

    return step


def _cut(repair: PathRepair, pattern: re.Pattern[str], text: str, _: Surroundings) -> Iterable[str]:
    """Once, and as often as it can be repeated: with some settings, the gateway repairs a path twice."""
    for _again in range(_MAX_REPEATS):
        shorter = _cut_once(repair, pattern, text)
        if shorter == text:
            return
        text = shorter
        yield text


def _cut_once(repair: PathRepair, pattern: re.Pattern[str], text: str) -> str:
    def put(match: re.Match[str]) -> str:
        return repair.put.replace("$1", match[1].lower()) if "$1" in repair.put else repair.put

    if repair.at == "anywhere":
        return pattern.sub(put, text)
    if repair.at in ("start", "both") and (match := pattern.match(text)):
        text = put(match) + text[match.end() :]
    return _without_end(pattern, text, put) if repair.at in ("end", "both") else text


def _without_end(pattern: re.Pattern[str], text: str, put: Callable[[re.Match[str]], str]) -> str:
    """Looks for the end a window at a time: a search through all of the text for a run that ends with it takes quadratic
    time."""
    at_end = re.compile(rf"{pattern.pattern}\Z", pattern.flags)
    while match := at_end.search(text, begin := max(0, len(text) - _WINDOW)):
        text = text[: match.start()] + put(match)
        if match.start() > begin or not begin:
            break
    return text


def _url(_: PathRepair, pattern: re.Pattern[str], text: str, __: Surroundings) -> Iterable[str]:
    return file_addresses.paths(text) if pattern.match(text) else ()


def _store(repair: PathRepair, pattern: re.Pattern[str], text: str, around: Surroundings) -> Iterable[str]:
    if match := pattern.match(text):
        yield f"{around.state_dir}/{repair.put}/{file_addresses.decoded(text[match.end() :])}"


def _similar(_: PathRepair, __: re.Pattern[str], text: str, ___: Surroundings) -> Iterable[str]:
    return similar_names.collect(text)


def _drive(_: PathRepair, pattern: re.Pattern[str], text: str, __: Surroundings) -> Iterable[str]:
    return (ntpath.normpath(text),) if pattern.match(text) else ()


def _home(_: PathRepair, __: re.Pattern[str], text: str, ___: Surroundings) -> Iterable[str]:
    return (text,)


_KINDS: dict[Kind, Callable[[PathRepair, re.Pattern[str], str, Surroundings], Iterable[str]]] = {
    "cut": _cut, "url": _url, "store": _store, "similar": _similar, "drive": _drive, "home": _home,
}  # fmt: skip
