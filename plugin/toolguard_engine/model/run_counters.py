"""What detectors count in a run, each for itself.

A detector defines `DetectorCounters` of its own, all of whose members have defaults, and asks `run.counters.get(...)` for
them. All of them are stored as one table, together with the run's history, so no two have a member of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec


class DetectorCounters(msgspec.Struct, omit_defaults=True):
    """What one detector counts in a run."""

    @property
    def matters(self) -> bool:
        """Whether an engine after this one should know of it."""
        return False


C = TypeVar("C", bound=DetectorCounters)


def _kinds(kind: type[DetectorCounters]) -> Iterator[type[DetectorCounters]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _kinds(subclass)


class CounterSet:
    """The counters of one run. `stored`: what an engine before this one has stored; a detector gets its part of it when it
    first asks. Members that none asks for are those of other versions, and stay."""

    __slots__ = ("_known", "_stored")

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        self._known: dict[type[DetectorCounters], Any] = {}
        self._stored = dict(stored or {})

    def get(self, kind: type[C]) -> C:
        counters: C | None = self._known.get(kind)
        if counters is None:
            counters = self._known[kind] = self._read(kind)
        return counters

    def _read(self, kind: type[C]) -> C:
        given = {name: self._stored.pop(name) for name in kind.__struct_fields__ if name in self._stored}
        try:
            return msgspec.convert(given, kind, str_keys=True) if given else kind()
        except msgspec.ValidationError:  # no engine wrote that: what was counted is not known
            return kind()

    @property
    def matters(self) -> bool:
        """Whether an engine after this one should know of any of them. What only other versions count does not say."""
        for kind in _kinds(DetectorCounters) if self._stored else ():
            if not self._stored.keys().isdisjoint(kind.__struct_fields__):
                self.get(kind)
        return any(counters.matters for counters in self._known.values())

    def stored(self) -> dict[str, Any]:
        """Returns one table of plain values."""
        plain = self._stored.copy()
        for counters in self._known.values():
            plain |= msgspec.to_builtins(counters, str_keys=True)
        return plain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CounterSet) and self.stored() == other.stored()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CounterSet({self.stored()})"
