"""What is known of the rehearsals of a command: runs on a copy of the user's files. `server.rehearsals` has them."""

from __future__ import annotations

from typing import Protocol

import msgspec

from toolguard_engine.model.call import Call


class Rehearsed(msgspec.Struct, frozen=True):
    """`effects`: what a run did that a person has to see, the worst first; empty if there was none, or nothing to see.
    `record`: the file that lists it, which an approval is bound to; `done`: the effects on files, by kind and path.
    `unavailable`: why there can be no rehearsal."""

    effects: tuple[str, ...] = ()
    record: str = ""
    done: tuple[tuple[str, str], ...] = ()
    unavailable: str = ""


class Rehearsals(Protocol):
    def rehearse(self, call: Call) -> Rehearsed:
        """Never raises."""

    def is_trusted(self, program: str) -> bool:
        """Whether the program that a shell finds by this name is one that no agent can have put there."""


class NoRehearsals:
    """There can be none."""

    def rehearse(self, call: Call) -> Rehearsed:  # noqa: ARG002
        return Rehearsed(unavailable="commands are not contained")

    def is_trusted(self, program: str) -> bool:  # noqa: ARG002
        return False
