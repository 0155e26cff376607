"""What was found out about paths while a command is read, so that programs that ask the same find it at once."""

from __future__ import annotations

MAX_NAMED = 2_000


class FoundPaths:
    """`named`: the paths of words, by word and folder; `above`: the folders above those in which programs run, by folder;
    `made_above`: the files of agents in these, by their names and that folder; `sources`: what `RunFiles` finds of where the
    content of a path comes from, since the last copy; `sought`: paths that were asked about together."""

    __slots__ = ("above", "made_above", "named", "sought", "sources")

    def __init__(self) -> None:
        self.named: dict[tuple[str, str], str] = {}
        self.above: dict[str, list[str]] = {}
        self.made_above: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}
        self.sources: dict[str, str] = {}
        self.sought: dict[tuple[str, ...], None] = {}

    def name(self, word: str, cwd: str, path: str) -> str:
        """The path that a word names in a folder, kept."""
        if len(self.named) < MAX_NAMED:
            self.named[word, cwd] = path
        return path
