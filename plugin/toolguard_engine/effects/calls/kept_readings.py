"""The last commands as they were read: agents run the same ones again and again, and reading one takes several times as long
as finding out whether it still means the same.

What counts is that each file that a command asked for is the same one, and that agents made the same files of those that it
might run (`RunFiles.is_as`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from toolguard_engine.effects.commands.kept_files import KeptFiles
from toolguard_engine.effects.facts.command import Effect, Reading
from toolguard_engine.effects.facts.places import Where

MAX_SIZE = 4_000_000
"""Bytes that all of them take, about."""

MAX_EACH = 1_000_000
OF_READING, OF_PROGRAM, OF_FACT = 1_850, 700, 80
"""Bytes of a reading, for each program in it and for each path that is asked about."""


class KeptReading(NamedTuple):
    readings: tuple[Reading, ...]
    effects: tuple[tuple[Effect, ...], ...]
    """On the paths as they are named."""
    files: KeptFiles
    steps: float
    effect_steps: float
    """What reading it and finding its effects cost: it costs as much again, so that the same call ends in the same way."""


_Key = tuple[tuple[str, ...], Where]


class KeptReadings:
    def __init__(self) -> None:
        self._found: OrderedDict[_Key, tuple[KeptReading, int]] = OrderedDict()
        self.size = 0

    def recall(self, commands: tuple[str, ...], where: Where) -> KeptReading | None:
        """What these commands meant the last time, in the same folder."""
        key = commands, where
        if (kept := self._found.get(key)) is None:
            return None
        self._found.move_to_end(key)
        return kept[0]

    def keep(self, commands: tuple[str, ...], where: Where, kept: KeptReading, asks: int) -> None:
        """`asks`: the paths of files that were asked about."""
        size = _size(commands, kept.readings, asks)
        self._drop((commands, where))
        if size > MAX_EACH:
            return
        self._found[commands, where] = kept, size
        self.size += size
        while self.size > MAX_SIZE:
            self._drop(next(iter(self._found)))

    def clear(self) -> None:
        self._found.clear()
        self.size = 0

    def _drop(self, key: _Key) -> None:
        if (known := self._found.pop(key, None)) is not None:
            self.size -= known[1]


def _size(commands: tuple[str, ...], readings: tuple[Reading, ...], asks: int) -> int:
    """The words of a command are kept beside its text."""
    size = OF_READING + OF_FACT * asks
    for command, reading in zip(commands, readings, strict=True):
        size += 2 * len(command) + OF_PROGRAM * len(reading.runs)
    return size


KEPT = KeptReadings()
