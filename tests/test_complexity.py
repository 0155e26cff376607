"""How hard functions are to follow: their cognitive complexity, counted as flake8-cognitive-complexity does.

That package has had no release since 2022, so its rules are here. A branch or a loop counts 1 and 1 more for each one around
it, an `else` 1, each chain of `and` or `or` 1, and a function that calls itself 1.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sources import nodes, parsed

EFFECTS = Path(__file__).parent.parent / "plugin/toolguard_engine/effects"
MOST = 15
SHARE = 0.03
"""Of the functions that may be more complex. What is split to get below the limit should become clearer by it."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def complexity(function: FunctionNode) -> int:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    calls_itself = any(isinstance(called, ast.Name) and called.id == function.name for called in calls)
    return sum(_of_node(node, 0) for node in function.body) + calls_itself


def _of_node(node: ast.AST, depth: int) -> int:
    own = 0
    if isinstance(node, ast.BoolOp):
        return sum(isinstance(inner, ast.BoolOp) for inner in ast.walk(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        depth += 1
    elif isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        own = max(1, depth)  # the `elif` counts for itself
    elif isinstance(node, ast.If | ast.For | ast.While | ast.IfExp | ast.ExceptHandler):
        depth += 1
        own = depth + (isinstance(node, ast.If | ast.For | ast.While) and bool(node.orelse))
    return own + sum(_of_node(child, depth) for child in ast.iter_child_nodes(node))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return a", 0),
        ("if a:\n  return b", 1),
        ("if a:\n  b\nelse:\n  c", 2),
        ("if a:\n  b\nelif c:\n  d\nelse:\n  e", 3),
        ("for a in b:\n  if c:\n    d", 3),
        ("return a if b else c", 1),
        ("return a and b or c", 2),
        ("return f(a)", 1),
        ("try:\n  a\nexcept b:\n  c", 1),
    ],
)
def test_count(code: str, expected: int) -> None:
    tree = ast.parse("def f():\n" + "\n".join(f"  {line}" for line in code.splitlines()))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert complexity(function) == expected


def test_few_functions_of_effects_are_hard_to_follow() -> None:
    found = [
        (complexity(node), f"{path.relative_to(EFFECTS)}: {node.name}")
        for path in sorted(EFFECTS.rglob("*.py"))
        for node in nodes(parsed(path))
        if isinstance(node, FunctionNode)
    ]
    hard = sorted((each for each in found if each[0] > MOST), reverse=True)
    assert len(hard) <= SHARE * len(found), hard[: len(hard) - int(SHARE * len(found)) + 20]
