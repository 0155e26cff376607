"""Commands that a database's client hands to a shell: `.shell`, `\\!`, `system`, and outputs and inputs that are pipes."""

from __future__ import annotations

import re

_STARTED = re.compile(
    r"""
    ^[ \t]{0,20}(?:\.(?:shell|system)\b|\\!|:?!{1,2}|(?:system|shell)\b(?![ \t]{0,20}=))[ \t]{0,20}(?P<line>\S[^\n]{0,4000})
    |^[ \t]{0,20}(?:\.(?:import|once|output|read|excel|log)|\\(?:o|g|gx|w|i|copy|s))\b[^|\n]{0,400}\|(?P<pipe>[^\n]{1,4000})
    |\bprogram[ \t]{1,20}'(?P<program>[^'\n]{1,4000})'
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
MAX_FOUND = 50


def started(text: str) -> list[str]:
    """The command lines in a text for such a client."""
    found = []
    for match, _ in zip(_STARTED.finditer(text), range(MAX_FOUND), strict=False):
        line = (match["line"] or match["pipe"] or match["program"]).strip()
        found.append(line.rstrip("\"'").removesuffix(";") if match["pipe"] else line.removesuffix(";"))
    return [line for line in found if line]
