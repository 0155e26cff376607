"""Loops that start programs in the background and wait for none of them: `while :; do job & done`."""

from __future__ import annotations

from itertools import islice

from toolguard_engine.effects.shell.command import ProgramRun
from toolguard_engine.effects.shell.syntax_tree import Group, Pipeline, Script, Simple

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
    ever = _NEVER_TRUE if loop.kind == "until" else _ALWAYS_TRUE
    return isinstance(first, Simple) and first.words in ever and bool(body) and all(map(_only_starts, body))


_ALWAYS_TRUE = ([":"], ["true"], ["sleep", "0"], ["[", "1", "]"])
_NEVER_TRUE = (["false"],)


def counted(loop: Group, runs: list[ProgramRun]) -> bool:
    """Whether `for` counts to a large number, as far as the program that counts says it, and waits for no round."""
    if not all(map(_only_starts, loop.bodies)):
        return False
    counters = (run for run in islice(reversed(runs), _LAST) if run.name in ("seq", "jot"))
    return any(word.isdigit() and len(word) < _LAST and int(word) >= MANY for run in counters for word in run.argv[-1:])


def _only_starts(body: Script) -> bool:
    """Whether a body starts something in the background, and does nothing else that takes time."""
    return any(map(_starts, body)) and all(_starts(pipeline) or _is_instant(pipeline) for pipeline in body)


def _starts(pipeline: Pipeline) -> bool:
    only = pipeline.commands[0] if len(pipeline.commands) == 1 else None
    return pipeline.background or (isinstance(only, Group) and only.kind in "({" and all(map(_only_starts, only.bodies)))


def _is_instant(pipeline: Pipeline) -> bool:
    return all(isinstance(command, Simple) and command.words[:1] in _INSTANT for command in pipeline.commands)


_INSTANT = (["disown"], [":"], ["true"], ["echo"], ["let"], ["(("])
