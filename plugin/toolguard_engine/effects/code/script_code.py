"""Reads code of scripting languages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from toolguard_engine.effects.code import code_deeds as deeds
from toolguard_engine.effects.code.code_deeds import CodeReading
from toolguard_engine.effects.code.javascript_calls import JAVASCRIPT_LIBRARY
from toolguard_engine.effects.code.script_walk import LanguageLibrary, walked

LIBRARIES: dict[str, LanguageLibrary] = {"javascript": JAVASCRIPT_LIBRARY}
_STEP = 2
"""Steps of work for each operand."""

_KEPT = 8


@lru_cache(maxsize=_KEPT)
def _read(code: str, language: str) -> CodeReading:
    run = walked(code, language, LIBRARIES[language])
    return CodeReading(tuple(dict.fromkeys(run.deeds)), run.steps * _STEP, run.whole)


def reader(language: str) -> Callable[[str], CodeReading]:
    """What reads a language."""
    return lambda code: _read(code, language)


READERS = {language: reader(language) for language in LIBRARIES}
