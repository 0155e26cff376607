"""Interpreter code as the self-protection checks search it. What was found in long code is kept by its text: the tests of a
project run again and again, and an agent edits a few of them in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from toolguard_engine.model.text_answers import kept_by_text
from toolguard_engine.quick_search import first_in

T = TypeVar("T")
KEPT_CODES = 500
MAX_ANSWERS = 128
"""About one text: more than the patterns and names that are asked for, with a few hosts and folders."""


def _as_it_is(code: str) -> str:
    return code


@partial(kept_by_text, most=KEPT_CODES)
def _answers(_: str, __: Callable[[str], str]) -> dict[Hashable, Any]:
    """What is known of a text in this form, by what was asked."""
    return {}


class SearchedCode:
    """`form`: a function whose result is searched instead of the code; `also`: what is searched behind it."""

    def __init__(self, code: str, form: Callable[[str], str] = _as_it_is, also: SearchedCode | None = None) -> None:
        self.code = code
        self._form = form
        self._also = also
        self._known = _answers(code, form)

    @property
    def text(self) -> str:
        """All that is searched. To make it takes longer than to find what is known of it."""
        return self._form(self.code) if self._also is None else f"{self._form(self.code)}\n{self._also.text}"

    def has(self, pattern: re.Pattern[str]) -> bool:
        return self._found(pattern, partial(_has, pattern)) or (self._also is not None and self._also.has(pattern))

    def __contains__(self, word: str) -> bool:
        return self._found(word, lambda text: word in text) or (self._also is not None and word in self._also)

    def all(self, question: Hashable, find: Callable[[str], frozenset[T]]) -> frozenset[T]:
        """What a function finds in the code and in what is behind it. `question`: all that its result depends on besides."""
        answer = self._found(question, find)
        return answer if self._also is None else answer | self._also.all(question, find)

    def _found(self, question: Hashable, find: Callable[[str], T]) -> T:
        if question in self._known:
            return self._known[question]  # type: ignore[no-any-return]
        answer = find(self._form(self.code))
        if len(self._known) < MAX_ANSWERS:
            self._known[question] = answer
        return answer


def _has(pattern: re.Pattern[str], text: str) -> bool:
    return first_in(pattern, text) is not None
