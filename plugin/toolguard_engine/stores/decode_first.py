"""Made for processes in which more than one thread decodes.

msgspec reads a type when it is first decoded into, and a second thread that decodes into it meanwhile finds it half read:
the process dies of that (msgspec 0.22). So all types are read before there is a second thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

JUDGING = ("effects", "guard", "host", "layers", "metrics.result_types", "rules", "server", "wording")
"""The parts of the engine whose types are read by what `server.preload` loads, or are only built."""

_OF_JUDGING = ("msgspec.", *(f"toolguard_engine.{name}." for name in JUDGING))


def read() -> None:
    """Reads all types that are defined by now and can be decoded."""
    _read(())


def read_stored() -> None:
    """The same for a process that has called `server.preload`: half of all types are only built there, and reading one that
    is not decoded takes as long."""
    _read(_OF_JUDGING)


def _read(but: tuple[str, ...]) -> None:
    for kind in _below(msgspec.Struct):
        if not f"{kind.__module__}.".startswith(but):
            with suppress(TypeError, NameError):  # types that are only built, such as nodes of the shell's syntax tree
                msgspec.json.Decoder(kind)


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _below(subclass)
