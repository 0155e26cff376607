"""The packages' own modules, parsed once for all tests of their shape; `conftest.piece` keeps those in one process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))
