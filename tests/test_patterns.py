"""A law for every regular expression of ours.

Python before 3.11.5 matches a possessive quantifier behind a group wrongly where the group can be matched in several ways
(its issue gh-106052): `(?:a|b)*+`. The same is written `(?>(?:a|b)*)`; behind a single character or class it is right.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ("plugin", "cli", "manifests") for path in sorted((ROOT / folder).rglob("*.py"))]
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_possessive_group(path: Path) -> None:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
    texts = [(token.start[0], token.string) for token in tokens if token.type == tokenize.STRING]
    assert [line for line, text in texts if POSSESSIVE_GROUP.search(text)] == []
