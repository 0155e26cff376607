"""What a program for `jq` changes in a config, if it does nothing but set and delete settings: `.a.b = 1 | del(.c)`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane.gateway_settings import Path
from toolguard_engine.effects.control_plane.setting_changes import NOT_KNOWN, UNSET, ChangedSetting, merged
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun

PROGRAMS = frozenset({"jq", "gojq", "jaq"})
MAX_PROGRAM = 4_000
MAX_STAGES = 60

_STRING = r'"(?>(?:[^"\\]|\\.){0,2000})"'
_STEP = rf"(?:\.[A-Za-z_]\w{{0,200}}|\.?\[\s{{0,9}}(?:{_STRING}|\d{{1,6}})\s{{0,9}}\]|\.{_STRING})"
_PATH = rf"(?:{_STEP}){{1,30}}"
_STEPS = lazy_re.compile(rf"\.([A-Za-z_]\w*)|\.?\[\s*({_STRING}|\d+)\s*\]|\.({_STRING})")
_ASSIGNS = lazy_re.compile(rf"\s{{0,99}}({_PATH})\s{{0,99}}([|+*]?=)(?!=)\s{{0,99}}(.{{1,4000}}?)\s{{0,99}}", re.DOTALL)
_DELETES = lazy_re.compile(
    rf"\s{{0,99}}del\(\s{{0,99}}({_PATH}(?:\s{{0,99}},\s{{0,99}}{_PATH}){{0,30}})\s{{0,99}}\)\s{{0,99}}"
)
_MERGES = lazy_re.compile(r"\s{0,99}\.\s{0,99}[+*]\s{0,99}(\{.{0,4000}\})\s{0,99}", re.DOTALL)
_ONE_PATH = lazy_re.compile(_PATH)
_VARIABLE = lazy_re.compile(r"\$(\w{1,60})")
_KEY = lazy_re.compile(rf"({_STRING})|([{{,]\s{{0,9}})([A-Za-z_]\w{{0,200}})(?=\s{{0,9}}:)")
_SIGNS = lazy_re.compile(rf"{_STRING}|[()\[\]{{}}|]")


class _Unclear(Exception):  # noqa: N818 - what it does is not known
    pass


def changes(program: ProgramRun) -> tuple[tuple[ChangedSetting, ...], tuple[str, ...]] | None:
    """The changes, and the files that it reads; None if the program may do anything else."""
    try:
        script, values, files = _words(program)
        settings = [change for stage in islice(_stages(script), MAX_STAGES) for change in _of_stage(stage, values)]
    except (_Unclear, ValueError, RecursionError):
        return None
    return tuple(settings), files


def _given(text: str, *, is_json: bool) -> Any:
    """The value of a variable that the command line sets."""
    if UNKNOWN in text:
        return NOT_KNOWN
    return json.loads(text) if is_json else text


def _words(program: ProgramRun) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    words = program.words
    sets = [option for option in words.given if option.entry.name in ("--arg", "--argjson")]
    if words.unknown or not all("harmless" in option.entry.traits or option in sets for option in words.given):
        raise _Unclear
    values = {
        name.value.text: _given(text.value.text, is_json=text.entry.name == "--argjson")
        for name, text in zip(sets[::2], sets[1::2], strict=True)
    }
    plain = [word.text for word in words.operands if word.text != "-"]
    if not plain or UNKNOWN in plain[0] or len(plain[0]) > MAX_PROGRAM:
        raise _Unclear
    return plain[0], values, tuple(plain[1:])


def _stages(script: str) -> Iterator[str]:
    """The parts between the pipes that are in no bracket."""
    depth = start = 0
    for sign in _SIGNS.finditer(script):
        if sign[0] == "|" and not depth and script[sign.end() : sign.end() + 1] != "=":
            yield script[start : sign.start()]
            start = sign.end()
        depth += (sign[0] in "([{") - (sign[0] in ")]}")
    yield script[start:]


def _of_stage(stage: str, values: dict[str, Any]) -> Iterator[ChangedSetting]:
    if stage.strip() == ".":
        return
    if match := _DELETES.fullmatch(stage):
        yield from (ChangedSetting(_path(hit[0]), NOT_KNOWN, UNSET) for hit in _ONE_PATH.finditer(match[1]))
    elif match := _MERGES.fullmatch(stage):
        yield from merged((), _value(match[1], values))
    elif match := _ASSIGNS.fullmatch(stage):
        path, sign, value = _path(match[1]), match[2], _value(match[3], values)
        if sign in ("+=", "*=") and isinstance(value, dict):
            yield from merged(path, value)
        else:
            yield ChangedSetting(path, NOT_KNOWN, value if sign in ("=", "|=") else NOT_KNOWN)
    else:
        raise _Unclear


def _path(text: str) -> Path:
    return tuple(step[1] or (_step(step[2]) if step[2] else json.loads(step[3])) for step in _STEPS.finditer(text))


def _step(text: str) -> str:
    return str(json.loads(text))


def _value(text: str, values: dict[str, Any]) -> Any:
    """A constant, a variable, or what is at another path; whatever else there is may have no result at all."""
    if name := _VARIABLE.fullmatch(text):
        if name[1] not in values:
            raise _Unclear
        return values[name[1]]
    if _ONE_PATH.fullmatch(text):
        return NOT_KNOWN
    return json.loads(_KEY.sub(lambda key: key[0] if key[1] else f'{key[2]}"{key[3]}"', text))
