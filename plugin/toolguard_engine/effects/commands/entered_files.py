"""The files, and parts of files, that are being judged while a command is walked: each runs the next one."""

from __future__ import annotations

from toolguard_engine.effects.facts.command import FilePlace

MAX_DEPTH = 4
"""Files that run files."""

MAX_PARTS = 8
"""Targets and scripts that run others, of the same file."""

MAX_TAKEN_IN = 40
"""The same of files of agents that take in one another."""

MAX_AGAIN = 3
"""How often a file that no agent made is judged where only such files run it, whatever they give it. A Makefile may run the
same script in each of its targets, and of a person's own code only what is certain counts."""


class EnteredFiles:
    __slots__ = ("_again", "_made", "_open")

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []
        self._made = 0
        """How many of these are files of agents."""
        self._again: dict[tuple[str, str], int] = {}

    def has(self, path: str, part: str | None = None) -> bool:
        """Whether a file, or this part of it, is being judged."""
        return any(path == entered and part in (None, other) for entered, other in self._open)

    def is_too_deep(self, file: FilePlace, *, taken_in: bool) -> bool:
        """`taken_in`: by other code, where deep chains are ordinary."""
        is_chain = taken_in and file.made
        depth = len({path for path, _ in self._open} | {file.path})
        return len(self._open) >= (MAX_TAKEN_IN if is_chain else MAX_PARTS) or depth > (
            MAX_TAKEN_IN if is_chain else MAX_DEPTH
        )

    def is_known_well(self, file: FilePlace, part: str) -> bool:
        """Whether it has been judged often enough, being run by files that no agent made; counts this time."""
        if file.made or self._made or not self._open:
            return False
        again = self._again[file.path, part] = self._again.get((file.path, part), 0) + 1
        return again > MAX_AGAIN

    def enter(self, file: FilePlace, part: str) -> None:
        self._open.append((file.path, part))
        self._made += file.made

    def leave(self, file: FilePlace, part: str) -> None:
        self._open.remove((file.path, part))
        self._made -= file.made
