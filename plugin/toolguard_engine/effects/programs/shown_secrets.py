"""The principle `reveals`: words that have a program show a secret, whatever the program."""

from __future__ import annotations

import itertools

from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals.option_parser import value_in
from toolguard_engine.effects.programs import principles

Words = tuple[str, ...]

_REVEALS = principles.pattern("reveals", "shows_it")
_SHOW = principles.pattern("reveals", "shows")
_NAMED = principles.pattern("reveals", "secret")
_OF_KEYS = principles.pattern("reveals", "keeper")
"""Names of programs that keep secrets: what they are asked to show is one."""
_KEYRING = principles.pattern("reveals", "keyring")
_PRIVATE = principles.pattern("reveals", "private")
_TAKEN_OUT = principles.pattern("reveals", "taken_out")
_OPENS = principles.pattern("reveals", "opens")
_OPENER = principles.pattern("reveals", "opener")
_GETS = principles.pattern("reveals", "gets")
_KEPT = principles.pattern("reveals", "kept")
_VARIABLES = principles.pattern("reveals", "variables")
_PLAIN = principles.pattern("reveals", "plain")
_WHOLE = principles.pattern("reveals", "whole")
_ASKED = principles.pattern("reveals", "asked")
_MADE = principles.pattern("reveals", "made")
_ISSUED = principles.pattern("reveals", "issued")
_ISSUES = principles.pattern("reveals", "issues")
_COLUMNS = principles.pattern("reveals", "columns")
_COLUMN = principles.pattern("reveals", "column")
"""What is asked for of an answer: a member of it, or a column."""


def reveals(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    plain = [word.lower() for word in words]
    if _OF_KEYS.fullmatch(program.name) and (shown := _of_keeper(plain)):
        return shown
    if (plain and _OPENS.fullmatch(plain[0])) or _OPENER.fullmatch(program.name):
        return "".join(plain[:1]) or program.name
    if shown := _named(plain) or _private(plain):
        return shown
    if any(map(_UNSEALS.fullmatch, (program.name, *plain[:2]))) and (sealed := next(filter(_SEALED.fullmatch, plain), "")):
        return sealed
    if _TERMINAL in words and (made := next(filter(_MADE.fullmatch, (*plain, program.name)), "")):
        return made
    return _kept_secret(plain)


def _named(words: list[str]) -> str:
    """A word, or two that follow each other, which show a secret."""
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        if _REVEALS.fullmatch(word):
            return word
        if _COLUMNS.fullmatch(word) and _COLUMN.fullmatch(word.partition("=")[2] or following):
            return f"{word} {following}"
        if following and _are_of_secrets(word, following):
            return f"{word} {following}"
    return ""


def _private(words: list[str]) -> str:
    """The private part of a key, which is asked for by name."""
    first = words[:_FIRST]
    if not any(map(_MADE_OF.fullmatch, first)) and (bare := next(filter(_BARE.fullmatch, first), "")):
        return bare
    return next(filter(_INNER.fullmatch, words), "") if any(map(_INSPECTS.fullmatch, first)) else ""


_FIRST = 3
_BARE = principles.pattern("reveals", "bare")
_MADE_OF = principles.pattern("reveals", "made_of")
_INSPECTS = principles.pattern("reveals", "inspects")
_INNER = principles.pattern("reveals", "inner")
_SEALED = principles.pattern("reveals", "sealed")
_UNSEALS = principles.pattern("reveals", "unseals")
_TERMINAL = "/dev/stdout"


def _of_keeper(words: list[str]) -> str:
    """What a program that keeps secrets is asked to show."""
    if words and _SHOW.fullmatch(words[0]):
        return words[0]
    return next((word for word in words if _ASKED.fullmatch(word) or _PRIVATE.fullmatch(word)), "")


def _are_of_secrets(word: str, following: str) -> bool:
    """Whether two words that follow each other show a secret."""
    if _SHOW.fullmatch(word):
        return _NAMED.fullmatch(following) is not None
    if _LISTED.fullmatch(word) and _TAKEN_OUT.fullmatch(following):
        return True
    if _ISSUED.fullmatch(word) and _ISSUES.fullmatch(following):
        return True
    if _KEYRING.fullmatch(word) and (_WHOLE.fullmatch(following) or _PRIVATE.fullmatch(following)):
        return True
    return _NAMED.fullmatch(word) is not None and _SHOW.fullmatch(following) is not None and not _LISTED.fullmatch(word)


def _kept_secret(words: list[str]) -> str:
    """What is got from where secrets are kept, or variables whose values are asked for."""
    verb = next((at for at, word in enumerate(words) if _GETS.fullmatch(word)), -1)
    for word in words[verb + 1 :] if verb >= 0 else ():
        if "/" in word and _KEPT.fullmatch(value_in(word)):
            return f"{words[verb]} {word}"
    if any(map(_VARIABLES.fullmatch, words[:2])) and any(map(_PLAIN.fullmatch, words)):
        return " ".join(words)
    return ""


_LISTED = principles.pattern("reveals", "listed")
"""`secrets list` and the like show names only; `get` of a secret is not among the words for it."""
