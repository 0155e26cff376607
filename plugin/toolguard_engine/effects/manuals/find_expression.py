"""The words of `find`: options, the folders that it searches, and an expression of tests and actions."""

from __future__ import annotations

from toolguard_engine.effects.manuals import manual_catalogue

_LEADING = manual_catalogue.spelled("find", "leads")


def split(argv: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The folders, and the words of the expression."""
    at = 1
    while at < len(argv) and (argv[at] in _LEADING or argv[at][:2] == "-O"):
        at += 1
    start = at
    while at < len(argv) and argv[at][:1] != "-" and argv[at] not in ("(", "!"):
        at += 1
    return list(argv[start:at]), list(argv[at:])
