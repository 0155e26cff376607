"""All programs that a command line runs: the tree of `parse` walked in the order of execution, wrappers looked through.

`read` is the way in. Texts that become commands themselves (`sh -c`, `eval`, here-documents and pipes to a shell, literals
in an interpreter's code) are read by the same grammar, to a limit of depth and of size; where a limit is reached the
reading says so in its flaws. Loops over known words are unrolled, functions and aliases are followed.
"""

from __future__ import annotations

from functools import lru_cache

from toolguard_engine.shell.expand import State
from toolguard_engine.shell.model import UNKNOWN, Reading
from toolguard_engine.shell.specials import SPECIALS
from toolguard_engine.shell.walk import Walk


def read(command: str, variables: tuple[tuple[str, str], ...] = ()) -> Reading:
    """What `command` would run. `variables`: those that its environment is given by the call itself."""
    return _read(command, variables)


@lru_cache(maxsize=8)
def _read(command: str, variables: tuple[tuple[str, str], ...]) -> Reading:
    walk = Walk(SPECIALS)
    state = State(variables=dict(variables))
    walk.text(command.replace(UNKNOWN, "?"), state, None, piped=False, pipeline=0)
    return Reading(tuple(walk.runs), frozenset(walk.flaws))
