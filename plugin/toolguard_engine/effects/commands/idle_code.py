"""Code of files that does nothing the effects tell of, as that of most tests: found out once for each text.

An effect depends on the text, the program with its surroundings, and whether an agent made the file. So code is known by
all of these; code with words, variables or redirections of its own is not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import unknown_programs
from toolguard_engine.model.text_answers import digest

KEPT = 2_000
_known: OrderedDict[Hashable, None] = OrderedDict()


def is_idle(program: ProgramRun, where: Where) -> bool:
    """Whether it is known to have no effects."""
    if (key := _key(program, where)) is None or key not in _known:
        return False
    _known.move_to_end(key)
    return True


def has_none(program: ProgramRun, where: Where) -> None:
    """No effects were found for a program."""
    key = _key(program, where)
    if key is not None and not unknown_programs.effects(program, where):  # of these, some count beside other programs only
        _known[key] = None
        if len(_known) > KEPT:
            _known.popitem(last=False)


def _key(program: ProgramRun, where: Where) -> Hashable | None:
    file, feed = program.origin, program.stdin
    if file is None or feed is None or feed.text is None or feed.text != file.text or feed.programs or feed.files:
        return None
    if program.argv != (program.name, "-") or program.redirects or program.assigns or program.given or program.unset:
        return None
    return digest(file.text), program.name, program.via, program.piped, program.cwd, file.made, where
