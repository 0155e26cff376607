"""Makes the one file from which engines and commands import the engine's modules (`toolguard_engine.packed_code`)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import TypeVar

from toolguard_engine import packed_code
from toolguard_engine.packed_code import Module
from toolguard_engine.stores import atomic

MODE = 0o644
Node = TypeVar("Node", ast.Module, ast.FunctionDef)


def pack() -> bool:
    """Whether the file is there and fits the sources afterwards. Where it cannot be made, they are imported without it."""
    try:
        modules = dict(_modules())
        if packed_code.stamps() == {name: module[2:] for name, module in modules.items()}:
            return True
        if sys.dont_write_bytecode:
            return False
        data = packed_code.packed({name: (module, compiled(Path(module[0]))) for name, module in modules.items()})
        Path(packed_code.FILE).parent.mkdir(exist_ok=True)
        atomic.replace(Path(packed_code.FILE), data, MODE)
    except (OSError, SyntaxError, ValueError):  # no right to write there, or sources that are being replaced
        return False
    return True


def remove() -> None:
    """Removes the file: no installer knows of it, and `pip uninstall` would leave its folder behind."""
    with suppress(OSError):
        Path(packed_code.FILE).unlink()


def _modules() -> Iterator[tuple[str, Module]]:
    """All modules but the package itself, whose import is what has the others loaded from the file."""
    root = Path(packed_code.ROOT)
    for source in sorted(root.rglob("*.py")):
        *folders, name = (root.name, *source.relative_to(root).with_suffix("").parts)
        is_package, status = name == "__init__", source.stat()
        if folders != [root.name] or not is_package:
            parts = folders if is_package else [*folders, name]
            yield ".".join(parts), (str(source), is_package, status.st_mtime_ns, status.st_size)


def compiled(source: Path) -> CodeType:
    """What Python would compile, without what `_Slim` leaves out."""
    tree = _Slim().visit(ast.parse(source.read_bytes(), str(source)))
    code: CodeType = compile(tree, str(source), "exec", dont_inherit=True)
    return code


class _Slim(ast.NodeTransformer):
    """Leaves out docstrings of modules and functions, and annotations of functions. Classes keep both: they are made from
    them."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        return self._without_docstring(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        args = node.args
        for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if argument is not None:
                argument.annotation = None
        node.returns = None
        return self._without_docstring(node)

    def _without_docstring(self, node: Node) -> Node:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
        self.generic_visit(node)
        return node
