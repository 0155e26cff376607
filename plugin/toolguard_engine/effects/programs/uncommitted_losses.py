"""What Git discards that no commit has: changes in a working tree, files that it does not track, and stashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import Where, normal

Loss = Literal["reset", "changed", "untracked", "stashed"]

_CHECKS_OUT = frozenset({"checkout", "co", "restore", "switch"})
_STASHES = frozenset({"drop", "clear", "pop"})


def losses(program: ProgramRun, where: Where) -> Iterator[tuple[Loss, str]]:
    """Each with the folder or file that it is about; `reset` is about the whole working tree. `program`: Git."""
    for words in program.readings:
        folder = normal(".", where, program.cwd)
        for value in words.values("-C"):
            folder = normal(value.text, where, folder) if value.at < words.verb_at else folder
        if not folder.startswith("/") or UNKNOWN in folder or words.has("--dry-run"):
            continue
        verb, *more = (*words.verb.split(), *words.texts, "")
        forced = verb in _CHECKS_OUT and words.has("--force", "--discard-changes")
        if forced or (verb == "reset" and words.has("--hard", "--merge", "--keep")):
            yield "reset", folder
        elif verb in _CHECKS_OUT:
            yield from (("changed", normal(path, where, folder)) for path in words.texts if UNKNOWN not in path)
        elif verb == "clean":
            yield "untracked", folder
        elif verb == "stash" and not _STASHES.isdisjoint(more[:1]):
            yield "stashed", folder
