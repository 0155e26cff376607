"""Loops that start programs in the background and wait for none of them: `while :; do job & done`."""

from __future__ import annotations

from itertools import islice

from toolguard_engine.effects.shell.command import ProgramRun
from toolguard_engine.effects.shell.syntax_tree import Group, Script, Simple

NAME = "job-flood"
RUN = ProgramRun((NAME,), NAME)
"""Stands for such a loop among the programs that run; the rules match it by its name."""

MANY = 1_000
"""As many programs at once as no machine is meant to run."""
_LAST = 8


def endless(loop: Group) -> bool:
    """Whether the condition of `while` never fails and each round only starts something in the background."""
    condition, *body = loop.bodies or [[]]
    first = condition[0].commands[0] if len(condition) == 1 and condition[0].commands else None
    if not isinstance(first, Simple) or first.words not in ([":"], ["true"], ["sleep", "0"], ["[", "1", "]"]):
        return False
    return bool(body) and all(map(_only_starts, body))


def counted(loop: Group, runs: list[ProgramRun]) -> bool:
    """Whether `for` counts to a large number, as far as the program that counts says it, and waits for no round."""
    if not all(map(_only_starts, loop.bodies)):
        return False
    counters = (run for run in islice(reversed(runs), _LAST) if run.name in ("seq", "jot"))
    return any(word.isdigit() and len(word) < _LAST and int(word) >= MANY for run in counters for word in run.argv[-1:])


def _only_starts(body: Script) -> bool:
    return bool(body) and all(pipeline.background for pipeline in body)
