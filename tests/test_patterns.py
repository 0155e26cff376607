"""Laws for every regular expression of ours.

Python before 3.11.5 matches a possessive quantifier behind a group wrongly where the group can be matched in several ways
(its issue gh-106052): `(?:a|b)*+`. The same is written `(?>(?:a|b)*)`; behind a single character or class it is right.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

from sources import nodes, parsed

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ("plugin", "cli", "manifests") for path in sorted((ROOT / folder).rglob("*.py"))]
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")


def test_no_possessive_group() -> None:
    assert [place for path in SOURCES for place in possessive_groups(path)] == []


def possessive_groups(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    if not POSSESSIVE_GROUP.search(text):
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token for token in tokens if token.type == tokenize.STRING and POSSESSIVE_GROUP.search(token.string)]
    return [f"{path.relative_to(ROOT)}:{token.start[0]}" for token in found]


def test_the_engine_compiles_none_while_its_modules_are_imported() -> None:
    """A module's pattern is one of `lazy_re`: compiling them all took a third of the time until the engine was ready."""
    folder = ROOT / "plugin/toolguard_engine"
    sources = (path for path in sorted(folder.rglob("*.py")) if path.name != "lazy_re.py")
    assert [place for path in sources for place in compiled_at_import(path)] == []


def compiled_at_import(path: Path) -> list[str]:
    if "compile" not in path.read_text("utf-8"):
        return []
    tree = parsed(path)
    functions = [node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    later = {id(node) for function in functions for node in ast.walk(function)}
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and node.attr == "compile" and id(node) not in later
        if ast.unparse(node) == "re.compile"
    ]
