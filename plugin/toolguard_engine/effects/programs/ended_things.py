"""A part of the principle `destroys`: everything that is ended at once, put back, or deleted by an option that says so."""

from __future__ import annotations

import itertools

from toolguard_engine.effects.programs import principles

_FIRST = 3
_ENDS = principles.pattern("destroys", "ends")
_ALL = principles.pattern("destroys", "all")
_SOLE = principles.pattern("destroys", "sole")
_THING = principles.pattern("destroys", "thing")
_MANAGES = principles.pattern("destroys", "manages")
_BACK = principles.pattern("destroys", "back")
_DATABASE = principles.pattern("destroys", "database")
_OVERWRITES_ALL = principles.pattern("destroys", "overwrites")
_DELETES = principles.pattern("destroys", "deletes")
_SURE = principles.pattern("destroys", "sure")
"""Options with which nobody is asked."""
_ENDER = principles.pattern("destroys", "ender")
"""Names of programs that end or delete what other words name."""

_ANY = principles.pattern("destroys", "all", "sure", "sole", "thing", "back", "overwrites", "deletes")
"""One of these is a word of all that is found here."""


def ended(name: str, words: list[str]) -> str:
    """Everything that is ended at once, or what an option deletes without a question."""
    if not any(map(_ANY.fullmatch, words)):
        return ""
    everything = next(filter(_ALL.fullmatch, words), "")
    for before, after in itertools.pairwise(words) if everything else ():
        if after == everything and _ENDS.fullmatch(before):
            return f"{before} {after}"
    sure = any(map(_SURE.fullmatch, words))
    if _ENDER.fullmatch(name) and (everything or sure):
        return " ".join(words)
    if len(words) == 1 and _MANAGES.fullmatch(name) and _SOLE.fullmatch(words[0]):
        return words[0]
    if thing := next(filter(_THING.fullmatch, words), ""):
        return thing
    if back := next((word for word in words[:-1][:_FIRST] if _BACK.fullmatch(word)), ""):
        return f"{back} {words[-1]}"
    over = next(filter(_OVERWRITES_ALL.fullmatch, words), "")
    if over and any(map(_DATABASE.fullmatch, words)):
        return over
    return next(filter(_DELETES.fullmatch, words), "") if sure else ""
