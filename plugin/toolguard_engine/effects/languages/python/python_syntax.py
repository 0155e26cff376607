"""What the syntax tree of Python code says without being followed."""

from __future__ import annotations

import ast


def is_called_by_pytest(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether it is a test or a fixture; anything else gets its arguments from somebody else."""
    if isinstance(function, ast.Lambda):
        return False
    return function.name.startswith("test") or any(
        "fixture" in ast.unparse(decorator)[:200] for decorator in function.decorator_list
    )


def asked_end(test: ast.expr) -> tuple[str, ast.expr | None]:
    """`name.endswith(".x")`, `name.suffix == ".x"`: the variable and the end of its text."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "endswith" and test.args:
        asked = test.func.value
        return (_variable(asked), test.args[0])
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Attribute) and isinstance(test.ops[0], ast.Eq | ast.In):
        return (_variable(test.left.value), test.comparators[0]) if test.left.attr == "suffix" else ("", None)
    return ("", None)


def _variable(node: ast.expr) -> str:
    """The variable that a text is made from: `f`, `str(f)`, `f.name`, `f.lower()`."""
    for _ in range(3):
        if isinstance(node, ast.Call):
            node = node.args[0] if node.args else node.func
        elif isinstance(node, ast.Attribute):
            node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_ASKING = frozenset({"requests", "httpx"})
_WAITS = frozenset({"sleep", "input", "recv", "accept", "get", "wait", "read", "readline", "join", "poll", "select", "exit"})


def may_end(loop: ast.While) -> bool:
    """Whether an endless loop may be left, or waits for something each time."""
    nodes = list(ast.walk(loop))
    asks = any(_asks(node) for node in nodes)
    for node in nodes:
        if isinstance(node, ast.Break | ast.Return | ast.Raise | ast.Yield) or (isinstance(node, ast.Await) and not asks):
            return True
        if isinstance(node, ast.Call) and not _asks(node) and _waits(node.func, asks=asks):
            return True
    return False


def _waits(function: ast.expr, *, asks: bool) -> bool:
    """Whether a function waits for something. `asks`: the loop sends requests, so that `read` reads an answer."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _WAITS and not (asks and name == "read")


def _asks(node: ast.AST) -> bool:
    """`requests.get(url)`, `session.get("https://...")`: no wait for a queue, and what it reads is the answer."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in ("get", "post"):
        return False
    first = node.args[0] if node.args else None
    is_address = isinstance(first, ast.Constant) and str(first.value).startswith("http")
    return is_address or getattr(node.func.value, "id", "") in _ASKING
