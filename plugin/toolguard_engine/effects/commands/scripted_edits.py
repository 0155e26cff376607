"""What a file contains after a short Python script has replaced texts in it, if the script does nothing else:
`s = open(p).read(); s = s.replace(old, new); open(p, "w").write(s)`, also with `re.sub` and `Path.read_text`.

The script is followed statement by statement, with the text of the file and the texts that the script shows. Where it
depends on anything else, the result is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from operator import eq, ge, gt, le, lt, ne
from posixpath import basename
from typing import Any

from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.commands.in_place_edits import replaced
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun

MAX_CODE = 16_384
MAX_NODES = 2_000
MAX_TEXT = 131_072
MAX_READ = 4_000_000
"""Characters that are searched in all."""

_SILENT = frozenset(
    """
    print len count find index startswith endswith exit exists is_file close flush seek truncate Exception SystemExit
    """.split()  # noqa: SIM905 - a table of names
)
"""Functions that the script may call besides: they write nothing, and nothing that they return is written."""

_MODULES = frozenset({"re", "sys", "os", "io", "pathlib"})
_NODES = (
    ast.Module, ast.Expr, ast.Assign, ast.Import, ast.ImportFrom, ast.alias, ast.Call, ast.Name, ast.Attribute, ast.Constant,
    ast.Load, ast.Store, ast.keyword, ast.With, ast.withitem, ast.If, ast.Assert, ast.Compare, ast.In, ast.NotIn, ast.Eq,
    ast.NotEq, ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.UnaryOp, ast.Not, ast.USub, ast.BoolOp, ast.And, ast.Or, ast.Raise,
    ast.JoinedStr, ast.FormattedValue, ast.Pass,
)  # fmt: skip

_FILE = object()
"""The file, opened or as a path."""

_UNKNOWN = object()
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: eq, ast.NotEq: ne, ast.Gt: gt, ast.GtE: ge, ast.Lt: lt, ast.LtE: le,
    ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
}  # fmt: skip
_FLAGS = {"S": "s", "DOTALL": "s", "M": "m", "MULTILINE": "m", "I": "i", "IGNORECASE": "i"}


class _Unclear(Exception):  # noqa: N818 - what it does is not known
    pass


class _Ends(Exception):  # noqa: N818 - the script ends early
    pass


def edited(program: ProgramRun, text: str, path: str) -> str | None:
    """The text of the file at this path after the script; None if that is not known."""
    source = code_sources.source(program)
    if source is None or source[0] != "python" or len(source[1]) > MAX_CODE or UNKNOWN in source[1] or len(text) > MAX_TEXT:
        return None
    try:
        return _Script(text, basename(path)).result(ast.parse(source[1]))
    except (_Unclear, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


class _Script:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._opens = ""
        self._written: str | None = None
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._left = MAX_READ

    def result(self, tree: ast.Module) -> str:
        nodes = list(ast.walk(tree))
        if len(nodes) > MAX_NODES or not all(isinstance(node, _NODES) for node in nodes):
            raise _Unclear
        if not any(isinstance(node, ast.Call) and _name(node) in _WRITES for node in nodes):
            raise _Unclear
        with suppress(_Ends):
            self._run(tree.body)
        return self._text if self._written is None else self._written

    def _open(self, items: list[ast.withitem]) -> None:
        for item in items:
            self._assign([item.optional_vars] if item.optional_vars else [], self._value(item.context_expr))

    def _run(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                _check_import(statement)
            elif isinstance(statement, ast.Expr):
                self._value(statement.value)
            elif isinstance(statement, ast.Assign):
                self._assign(statement.targets, self._value(statement.value))
            elif isinstance(statement, ast.With):
                self._open(statement.items)
                self._run(statement.body)
            elif isinstance(statement, ast.If):
                self._run(statement.body if self._is_true(statement.test) else statement.orelse)
            elif isinstance(statement, ast.Raise) or (
                isinstance(statement, ast.Assert) and not self._is_true(statement.test)
            ):
                raise _Ends

    def _assign(self, targets: list[ast.expr], value: Any) -> None:
        for target in targets:
            if not isinstance(target, ast.Name) or target.id in _SILENT | _MODULES | {"open", "Path"}:
                raise _Unclear
            self._names[target.id] = value

    def _is_true(self, test: ast.expr) -> bool:
        value = self._value(test)
        if value is _UNKNOWN:
            raise _Unclear
        return bool(value)

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._names.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Call):
            return self._call(node)
        inner = [self._value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if any(value in (_UNKNOWN, _FILE) for value in inner):
            return _UNKNOWN
        if isinstance(node, ast.Compare) and len(inner) == 2:  # noqa: PLR2004 - both sides
            self._spend(*inner)
            return _COMPARED[type(node.ops[0])](*inner)
        if isinstance(node, ast.BoolOp):
            return all(inner) if isinstance(node.op, ast.And) else any(inner)
        if isinstance(node, ast.UnaryOp):
            return not inner[0] if isinstance(node.op, ast.Not) else -inner[0]
        return _UNKNOWN

    def _call(self, call: ast.Call) -> Any:
        name = _name(call)
        if name in ("open", "Path") and not (isinstance(call.func, ast.Attribute) and not _is_of_module(call.func)):
            return self._opened(call)
        base = self._value(call.func.value) if isinstance(call.func, ast.Attribute) else _UNKNOWN
        given = [self._value(argument) for argument in call.args]
        options = {keyword.arg: self._value(keyword.value) for keyword in call.keywords}
        if "file" in options:
            raise _Unclear
        if base is _FILE:
            return self._of_file(name, given)
        if name == "replace" and isinstance(base, str) and not options:
            return self._replaced(base, given)
        if name == "sub" and _is_named(call.func, "re"):
            return self._substituted(call, given)
        if name in ("exit", "SystemExit"):
            raise _Ends
        if name not in _SILENT:
            raise _Unclear
        return self._counted(name, base, given)

    def _of_file(self, name: str, given: list[Any]) -> Any:
        if name == "open":
            return self._in_mode(given[:1])
        if name in ("read", "read_text") and not given:
            return self._text
        if name in _WRITES:
            if len(given) != 1 or not isinstance(given[0], str) or self._written is not None:
                raise _Unclear
            self._written = given[0]
        elif name not in _SILENT:
            raise _Unclear
        return name in ("exists", "is_file") or _UNKNOWN

    def _opened(self, call: ast.Call) -> object:
        """Only one file is opened, always by the same name."""
        given = [self._value(argument) for argument in call.args]
        modes = [self._value(keyword.value) for keyword in call.keywords if keyword.arg == "mode"]
        name = given[0] if given else ""
        if name is not _FILE:
            if not isinstance(name, str) or basename(name) != self._file or self._opens not in ("", name):
                raise _Unclear
            self._opens = name
        return self._in_mode([*given[1:2], *modes])

    @staticmethod
    def _in_mode(modes: list[Any]) -> object:
        if not all(isinstance(mode, str) and "a" not in mode for mode in modes):
            raise _Unclear
        return _FILE

    def _replaced(self, text: str, given: list[Any]) -> str:
        old, new, *most = given
        if not (isinstance(old, str) and isinstance(new, str) and old) or not all(
            isinstance(number, int) for number in most
        ):
            raise _Unclear
        self._spend(text)
        if len(text) + text.count(old) * len(new) > MAX_TEXT:
            raise _Unclear
        return text.replace(old, new, *most)

    def _substituted(self, call: ast.Call, given: list[Any]) -> str:
        flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
        signs = [_FLAGS.get(flag.attr) if isinstance(flag, ast.Attribute) else None for flag in flags]
        if len(given) != 3 or len(flags) != len(call.keywords) or None in signs:  # noqa: PLR2004 - pattern, new, text
            raise _Unclear
        pattern, new, text = given
        if not all(isinstance(value, str) for value in given):
            raise _Unclear
        self._spend(text)
        result = replaced("".join(f"(?{sign})" for sign in signs) + pattern, new, text)
        if result is None:
            raise _Unclear
        return result

    def _counted(self, name: str, base: Any, given: list[Any]) -> Any:
        """What conditions ask of a text."""
        if name == "len" and len(given) == 1 and isinstance(given[0], str):
            return len(given[0])
        if name in ("count", "find", "startswith", "endswith") and isinstance(base, str) and len(given) == 1:
            self._spend(base)
            return getattr(base, name)(given[0])
        return _UNKNOWN

    def _spend(self, *values: Any) -> None:
        self._left -= sum(len(value) for value in values if isinstance(value, str))
        if self._left < 0:
            raise _Unclear


_WRITES = ("write", "write_text")


def _check_import(node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.Import):
        known = all(name.name in _MODULES and not name.asname for name in node.names)
    else:
        known = node.module == "pathlib" and [(name.name, name.asname) for name in node.names] == [("Path", None)]
    if not known:
        raise _Unclear


def _is_of_module(node: ast.Attribute) -> bool:
    """`pathlib.Path`, `io.open`."""
    return _is_named(node, "pathlib") or _is_named(node, "io")


def _is_named(node: ast.expr, module: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
