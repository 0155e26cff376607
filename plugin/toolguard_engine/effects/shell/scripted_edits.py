"""What a file contains after a short Python script has replaced texts in it, if the script does nothing else:
`s = open(p).read(); s = s.replace(old, new); open(p, "w").write(s)`, also with `re.sub` and `Path.read_text`.

What is written must come from the file itself and from replacements by texts that the script shows. All of them are made, in
the order of the script, whether they are conditional or not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from posixpath import basename

from toolguard_engine.effects.programs import interpreters
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.shell.in_place_edits import replaced

MAX_CODE = 16_384
MAX_NODES = 2_000
MAX_TEXT = 131_072
MAX_DEPTH = 12
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

Edit = Callable[[str], str]


class _Unclear(Exception):  # noqa: N818 - what it does is not known
    pass


def edited(run: ProgramRun, text: str, path: str) -> str | None:
    """The text of the file at this path after the script; None if that is not known."""
    found = interpreters.source(run)
    if found is None or found[0] != "python" or len(found[1]) > MAX_CODE or UNKNOWN in found[1] or len(text) > MAX_TEXT:
        return None
    try:
        edits = list(_Script(ast.parse(found[1]), basename(path)).edits())
        for edit in edits:
            text = edit(text)
    except (_Unclear, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return text if edits else None


class _Script:
    def __init__(self, tree: ast.Module, file: str) -> None:
        self._file = file
        self._nodes = list(ast.walk(tree))
        if len(self._nodes) > MAX_NODES or not all(isinstance(node, _NODES) for node in self._nodes):
            raise _Unclear
        self._names: dict[str, list[ast.expr]] = {}
        for node in self._nodes:
            self._enter(node)

    def _enter(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import) and all(each.name in _MODULES and not each.asname for each in node.names):
            return
        if isinstance(node, ast.ImportFrom) and node.module == "pathlib" and [each.name for each in node.names] == ["Path"]:
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            raise _Unclear
        pairs = [(target, node.value) for target in node.targets] if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.withitem) and node.optional_vars is not None:
            pairs.append((node.optional_vars, node.context_expr))
        for target, value in pairs:
            if not isinstance(target, ast.Name) or target.id in _SILENT | _MODULES | {"open", "Path"}:
                raise _Unclear
            self._names.setdefault(target.id, []).append(value)

    def edits(self) -> Iterator[Edit]:
        """In the order in which the calls end."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0)):
            name = _name(call)
            if any(each.arg == "file" for each in call.keywords):
                raise _Unclear
            if name in ("replace", "sub", "subn"):
                yield self._edit(call, name)
            elif name in ("write", "write_text"):
                if len(call.args) != 1 or call.keywords or not self._is_derived(call.args[0], 0):
                    raise _Unclear
            elif name in ("open", "Path"):
                self._same_file(call)
            elif name not in _SILENT and name not in ("read", "read_text"):
                raise _Unclear

    def _edit(self, call: ast.Call, name: str) -> Edit:
        if len(call.args) < 2 or not self._is_derived(call, 0):  # noqa: PLR2004 - what, and by what
            raise _Unclear
        old, new = (self._constant(given) for given in call.args[:2])
        return partial(_replacing, old, new) if name == "replace" else partial(_substituting, old, new)

    def _is_derived(self, node: ast.expr, depth: int, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it is the text of the file, perhaps with replacements."""
        if depth > MAX_DEPTH:
            return False
        if isinstance(node, ast.Name):
            values = [] if node.id in seen else self._names.get(node.id, [])
            return (node.id in seen) or (
                bool(values) and all(self._is_derived(each, depth + 1, seen | {node.id}) for each in values)
            )
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        base = node.func.value
        if node.func.attr == "replace":
            return self._is_derived(base, depth + 1, seen)
        if node.func.attr in ("sub", "subn"):
            is_module = isinstance(base, ast.Name) and base.id == "re"
            return is_module and len(node.args) > 2 and self._is_derived(node.args[2], depth + 1, seen)  # noqa: PLR2004
        return node.func.attr in ("read", "read_text") and not node.args and self._is_file(base, depth + 1)

    def _is_file(self, node: ast.expr, depth: int) -> bool:
        """Whether it is the opened file or its path."""
        if isinstance(node, ast.Name):
            values = self._names.get(node.id, []) if depth <= MAX_DEPTH else []
            return bool(values) and all(self._is_file(each, depth + 1) for each in values)
        if not isinstance(node, ast.Call):
            return False
        name = _name(node)
        if name == "open" and isinstance(node.func, ast.Attribute) and not _is_of_module(node.func):
            return self._is_file(node.func.value, depth + 1)
        return name in ("open", "Path")

    def _same_file(self, call: ast.Call) -> None:
        """Only one file is opened."""
        if isinstance(call.func, ast.Attribute) and not _is_of_module(call.func):
            if not self._is_file(call.func.value, 0):
                raise _Unclear
        elif not call.args or (basename(self._constant(call.args[0])) != self._file):
            raise _Unclear

    def _constant(self, node: ast.expr) -> str:
        """A text that the script shows."""
        if isinstance(node, ast.Name) and len(values := self._names.get(node.id, [])) == 1:
            node = values[0]
        if isinstance(node, ast.Call) and _name(node) == "Path" and node.args:
            node = node.args[0]
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise _Unclear
        return node.value


def _is_of_module(node: ast.Attribute) -> bool:
    """`pathlib.Path`, `io.open`."""
    return isinstance(node.value, ast.Name) and node.value.id in ("pathlib", "io")


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _replacing(old: str, new: str, text: str) -> str:
    if not old or len(text) + text.count(old) * len(new) > MAX_TEXT:
        raise _Unclear
    return text.replace(old, new)


def _substituting(pattern: str, new: str, text: str) -> str:
    if (found := replaced(pattern, new, text)) is None:
        raise _Unclear
    return found
