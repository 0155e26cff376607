"""Requests in GraphQL that take something away: the fields that a mutation calls say so in their names."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re

MAX_TEXT = 20_000
"""Characters of a request that are searched."""

_MUTATION = lazy_re.compile(r"\bmutation\b[^{]{0,300}\{", re.IGNORECASE)
_VERB = "delete|remove|destroy|purge|revoke|transfer|terminate|wipe"
_TAKES_AWAY = lazy_re.compile(
    rf"(?:[\s:{{]|\\n)(?:(?:{_VERB})(?:[A-Z_]\w{{0,60}})?|\w{{1,60}}(?:_(?:{_VERB})|(?:{_VERB.title()})))\s{{0,9}}\("
)
"""A field that is called: `volumeDelete(`, `deleteRef (`, `delete_user(`."""


def takes_away(text: str) -> bool:
    """Whether a text holds a mutation, be it in JSON or not, whose fields delete or hand over something."""
    match = _MUTATION.search(text, 0, MAX_TEXT)
    return match is not None and _TAKES_AWAY.search(text, match.end() - 1, MAX_TEXT) is not None
