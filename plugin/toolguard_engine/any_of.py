"""Whether any of many patterns is somewhere in a long text, with one search (google-re2) in place of one for each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

SHORT = 1_000
"""Up to so many characters, looking for each by itself is as fast."""


class AnyOf:
    """Patterns in the syntax of RE2, over bytes. They are compiled when they are first used."""

    def __init__(self, patterns: Iterable[bytes]) -> None:
        self._pattern = b"|".join(patterns)

    @cached_property
    def _search(self) -> Any:
        import re2  # noqa: PLC0415 - only for a long text: its library takes 10 ms to load

        options = re2.Options()
        options.encoding, options.never_capture = re2.Options.Encoding.LATIN1, True
        return re2.compile(self._pattern, options).search

    def may_be_in(self, data: bytes) -> bool:
        """Whether one of them is in a text; always true of a short one."""
        return len(data) < SHORT or self._search(data) is not None
