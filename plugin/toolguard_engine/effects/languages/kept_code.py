"""What code was read as, kept by its text: a call asks for the reading of the same code several times, and a project's tests
run again and again. Only the digest of a long text is kept with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from toolguard_engine.effects.languages.code_deeds import CodeReading, Deed
from toolguard_engine.model.text_answers import digest

MAX_UNITS = 12_000
"""Of all readings. Each one has a unit, and others for each of its deeds and paths: about 300 bytes each."""

MAX_OF_ONE = 2_000
OF_TEXT = 256
"""Characters of a deed for one unit more."""

CHARACTERS = 5
"""That are parsed, for one step of work beside those of following them."""

_SHORT = 64

_Key = tuple[str, str | bytes]


class KeptCode:
    """The last ones that were asked for."""

    def __init__(self, most: int = MAX_UNITS) -> None:
        self._most = most
        self._units = 0
        self._known: OrderedDict[_Key, CodeReading | None] = OrderedDict()
        self.steps = 0.0
        """What reading has taken so far, in the steps of `WorkLimit`; what is known already takes none."""

    def read(self, code: str, language: str, read: Callable[[str, str], CodeReading | None]) -> CodeReading | None:
        """`read`: what reads code of a language if it is not known."""
        key = language, code if len(code) <= _SHORT else digest(code)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        reading = read(code, language)
        self.steps += len(code) / CHARACTERS + (reading.steps if reading is not None else 0)
        if (units := _units(reading)) <= MAX_OF_ONE:
            self._known[key] = reading
            self._units += units
            while self._units > self._most:
                self._units -= _units(self._known.popitem(last=False)[1])
        return reading

    def clear(self) -> None:
        self._known.clear()
        self._units = 0


def _units(reading: CodeReading | None) -> int:
    if reading is None:
        return 1
    return (
        1
        + sum(1 + _length(deed) // OF_TEXT for deed in reading.deeds)
        + sum(1 + len(path) // OF_TEXT for path in (*reading.paths, *(name for _, name in reading.loads)))
    )


def _length(deed: Deed) -> int:
    """Characters of its texts."""
    feeds = (feed.text or "" for feed in (deed.feed, deed.within) if feed is not None)
    texts = (*deed.argv, deed.text, deed.target, *(redirect.target for redirect in deed.redirects), *feeds)
    return sum(map(len, texts))


_KEPT = KeptCode()


def steps() -> float:
    """The steps for all that was read so far."""
    return _KEPT.steps


def clear() -> None:
    """Forgets all that was read so far, but not how many steps it took."""
    _KEPT.clear()


def kept(read: Callable[[str, str], CodeReading | None]) -> Callable[[str, str], CodeReading | None]:
    """The same function of code and its language, which reads each text once."""
    return lambda code, language: _KEPT.read(code, language, read)
