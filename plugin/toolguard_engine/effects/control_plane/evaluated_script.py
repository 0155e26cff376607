"""What a short Python script leaves in files, found out by doing what it does with texts and JSON in memory.

Only what the script reads, changes and writes by `json`, `open`, `pathlib`, `os.replace` and the methods of texts, lists and
dictionaries is done, with Python's own functions, so that names that stand for the same value and files that are emptied
before they are read mean what they mean when it runs. Whatever else it does leaves the result unknown. Nothing is opened.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Iterable, Iterator
from posixpath import join
from typing import Any

from toolguard_engine.effects.control_plane.memory_files import HandledFile, HandledPath, MemoryFiles, Unclear, text_of

MAX_CODE = 16_384
MAX_NODES = 1_500
MAX_STEPS = 5_000
MAX_LAYOUT = 8
MAX_UNITS = 500_000
"""Characters, and parts of values, that all operations together may touch."""

MODULES = ("json", "os", "sys", "pathlib", "shutil")
_PATH_METHODS = frozenset({"expanduser", "open", "read_text", "write_text", "resolve", "absolute", "exists", "is_file"})
_FUNCTIONS = frozenset({"open", "print", "len", "str", "int", "bool", "list", "dict", "sorted", "isinstance"})
_TYPES = {"str": str, "int": int, "bool": bool, "list": list, "dict": dict}
_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        {"replace", "strip", "rstrip", "lstrip", "split", "splitlines", "join", "startswith", "endswith", "lower", "upper",
         "removeprefix", "removesuffix", "count", "find"}
    ),
    dict: frozenset({"get", "setdefault", "pop", "update", "keys", "values", "items", "copy"}),
    list: frozenset({"append", "extend", "insert", "remove", "pop", "index", "copy", "count"}),
}  # fmt: skip
_JSON_OPTIONS = frozenset({"indent", "ensure_ascii", "sort_keys", "separators"})
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
}  # fmt: skip


_FAILURES = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""How Python fails at what a script has it do, which then fails as well."""


class _Named:
    """A module or a function by its whole name."""

    def __init__(self, name: str) -> None:
        self.name = name


def results(code: str, home: str, resolve: Callable[[str], str], read: Callable[[str], str | None]) -> dict[str, str] | None:
    """The texts of the files that it writes, by their whole paths; None where that is not known. `read`: the text of a file
    as it is before, None if it is not known."""
    if len(code) > MAX_CODE or "\0" in code:
        return None
    try:
        tree = ast.parse(code)
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            return None
        return _Script(home, resolve, read).run(tree.body)
    except (
        Unclear,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
    ):
        return None


class _Script:
    def __init__(self, home: str, resolve: Callable[[str], str], read: Callable[[str], str | None]) -> None:
        self._home = home
        self._files = MemoryFiles(resolve, read)
        self._names: dict[str, Any] = {name: _Named(name) for name in _FUNCTIONS}
        self._steps, self._left = 0, MAX_UNITS
        self._values: dict[type, Callable[[Any], Any]] = {
            ast.Constant: self._constant, ast.Name: self._name, ast.Attribute: self._attribute, ast.Call: self._call,
            ast.Subscript: self._subscript, ast.Dict: self._new_dict, ast.List: self._new_list, ast.Tuple: self._new_tuple,
            ast.BinOp: self._joined, ast.JoinedStr: self._text_of_parts, ast.IfExp: self._chosen,
            ast.UnaryOp: self._turned, ast.BoolOp: self._logical, ast.Compare: self._compared, ast.ListComp: self._listed,
        }  # fmt: skip

    def run(self, body: list[ast.stmt]) -> dict[str, str]:
        self._run(body)
        return self._files.written

    def _run(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._step()
            self._statement(statement)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Unclear

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.Assign):
            value = self._value(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            self._assign(node.target, self._added(self._value(_loading(node.target)), self._value(node.value)))
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._delete(target)
        elif isinstance(node, ast.Expr):
            self._value(node.value)
        else:
            self._block(node)

    def _block(self, node: ast.stmt) -> None:
        if isinstance(node, ast.With):
            files = [self._entered(item) for item in node.items]
            self._run(node.body)
            for file in files:
                self._files.close(file)
        elif isinstance(node, ast.If):
            self._run(node.body if self._value(node.test) else node.orelse)
        elif isinstance(node, ast.For) and not node.orelse:
            for value in self._each(node.iter):
                self._assign(node.target, value)
                self._run(node.body)
        elif isinstance(node, ast.Assert) and self._value(node.test):
            return
        elif not isinstance(node, ast.Pass):
            raise Unclear

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name not in (*MODULES, "os.path") or (name.asname and "." in name.name):
                    raise Unclear
                bound = name.asname or name.name.partition(".")[0]
                self._names[bound] = _Named(name.name if name.asname else bound)
        elif node.level or node.module not in MODULES:
            raise Unclear
        else:
            for name in node.names:
                if name.name == "*":
                    raise Unclear
                self._names[name.asname or name.name] = _Named(f"{node.module}.{name.name}")

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, list | tuple) and len(value) == len(target.elts):
            for part, given in zip(target.elts, value, strict=True):
                self._assign(part, given)
        elif isinstance(target, ast.Subscript):
            base = self._value(target.value)
            if type(base) not in (dict, list):
                raise Unclear
            base[self._key(target.slice)] = self._plain(value)
        else:
            raise Unclear

    def _delete(self, target: ast.expr) -> None:
        if not isinstance(target, ast.Subscript):
            raise Unclear
        base = self._value(target.value)
        if type(base) not in (dict, list):
            raise Unclear
        del base[self._key(target.slice)]

    def _key(self, node: ast.expr) -> Any:
        key = self._value(node)
        if not isinstance(key, str | int):
            raise Unclear
        return key

    def _each(self, node: ast.expr) -> Iterator[Any]:
        iterable = self._value(node)
        if type(iterable) not in (list, tuple, dict, str, type({}.keys()), type({}.values()), type({}.items())):
            raise Unclear
        yield from list(iterable)

    def _value(self, node: ast.expr) -> Any:
        self._step()
        handler = self._values.get(type(node))
        if handler is None:
            raise Unclear
        return handler(node)

    @staticmethod
    def _constant(node: ast.Constant) -> Any:
        return _scalar(node.value)

    def _name(self, node: ast.Name) -> Any:
        if node.id not in self._names:
            raise Unclear
        return self._names[node.id]

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self._value(node.value)
        if isinstance(base, _Named):
            return _Named(f"{base.name}.{node.attr}")
        if isinstance(base, HandledPath) and node.attr in ("name", "parent"):
            whole, _, last = base.path.rpartition("/")
            return last if node.attr == "name" else HandledPath(whole or "/")
        raise Unclear

    def _subscript(self, node: ast.Subscript) -> Any:
        base, key = self._value(node.value), self._key(node.slice)
        if isinstance(base, _Named) and (base.name, key) == ("os.environ", "HOME"):
            return self._home
        if type(base) not in (dict, list, tuple):
            raise Unclear
        return base[key]

    def _new_dict(self, node: ast.Dict) -> dict[Any, Any]:
        members: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            given = self._plain(self._value(value))
            if key is None and type(given) is not dict:
                raise Unclear
            members |= given if key is None else {self._key(key): given}
        return members

    def _new_list(self, node: ast.List) -> list[Any]:
        return [self._plain(self._value(element)) for element in node.elts]

    def _new_tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple([self._value(element) for element in node.elts])

    def _joined(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Add):
            return self._added(left, right)
        if not isinstance(node.op, ast.Div) or not isinstance(left, HandledPath) or not isinstance(right, str):
            raise Unclear
        return HandledPath(self._bounded(join(left.path, right)))

    def _text_of_parts(self, node: ast.JoinedStr) -> str:
        joined = ""
        for part in node.values:
            joined = self._bounded(joined + self._formatted(part))
        return str(joined)

    def _chosen(self, node: ast.IfExp) -> Any:
        return self._value(node.body if self._value(node.test) else node.orelse)

    def _turned(self, node: ast.UnaryOp) -> Any:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, ast.USub) and type(value) in (int, float):
            return -value
        raise Unclear

    def _logical(self, node: ast.BoolOp) -> Any:
        result: Any = None
        for operand in node.values:
            result = self._value(operand)
            if bool(result) is isinstance(node.op, ast.Or):
                break
        return result

    def _compared(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARED:
            raise Unclear
        one, other = self._plain(self._value(node.left)), self._plain(self._value(node.comparators[0]))
        return _COMPARED[type(node.ops[0])](one, other)

    def _listed(self, node: ast.ListComp) -> list[Any]:
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise Unclear
        return list(self._comprehended(node.elt, node.generators[0]))

    def _comprehended(self, element: ast.expr, only: ast.comprehension) -> Iterator[Any]:
        if not isinstance(only.target, ast.Name):
            raise Unclear
        before = self._names.get(only.target.id)
        for value in self._each(only.iter):
            self._names[only.target.id] = value
            if all(self._value(test) for test in only.ifs):
                yield self._plain(self._value(element))
        self._names[only.target.id] = before
        if before is None:
            del self._names[only.target.id]

    def _formatted(self, node: ast.expr) -> str:
        if isinstance(node, ast.FormattedValue):
            if node.format_spec is not None or node.conversion != -1:
                raise Unclear
            value = self._value(node.value)
            return value.path if isinstance(value, HandledPath) else str(_scalar(value))
        return str(self._value(node))

    def _added(self, one: Any, other: Any) -> Any:
        if type(one) is not type(other) or type(one) not in (str, list, int):
            raise Unclear
        return self._bounded(one + other)

    def _bounded(self, value: Any) -> Any:
        """The value of an operation, which counts by its size."""
        if isinstance(value, str | list | dict):
            self._spend(len(value))
        return value

    def _spend(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            raise Unclear

    def _plain(self, value: Any) -> Any:
        """A value of JSON, or one made of it. What it consists of counts each time: a list may be in itself many times."""
        waiting = [value]
        while waiting:
            item = waiting.pop()
            self._spend(1)
            if isinstance(item, HandledPath | HandledFile | _Named):
                raise Unclear
            waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
        return value

    def _call(self, call: ast.Call) -> Any:
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
            keyword.arg is None for keyword in call.keywords
        ):
            raise Unclear
        if isinstance(call.func, ast.Attribute):
            base = self._value(call.func.value)
            given, options = self._given(call)
            if not isinstance(base, _Named):
                return self._method(base, call.func.attr, given, options)
            return self._function(f"{base.name}.{call.func.attr}", given, options)
        named = self._value(call.func)
        if not isinstance(named, _Named):
            raise Unclear
        return self._function(named.name, *self._given(call))

    def _given(self, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        named = {str(keyword.arg): self._value(keyword.value) for keyword in call.keywords}
        return [self._value(argument) for argument in call.args], {
            key: value for key, value in named.items() if key != "encoding"
        }

    def _function(self, name: str, given: list[Any], options: dict[str, Any]) -> Any:
        if name.startswith("json."):
            return self._json(name, given, options)
        if name == "print":
            if "file" in options:
                raise Unclear
            return None
        if name == "open":
            return self._files.opened(*given, **options)
        if options:
            raise Unclear
        if name in ("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"):
            return HandledPath(join(*map(text_of, given)))
        if name == "pathlib.Path.home":
            return HandledPath(self._home)
        if name == "os.path.expanduser" and len(given) == 1:
            return self._expanded(text_of(given[0]))
        if name == "os.path.join":
            return join(*map(text_of, given))
        if name in ("os.environ.get", "os.getenv") and given[:1] == ["HOME"]:
            return self._home
        if name in ("os.path.exists", "os.path.isfile") and len(given) == 1:
            return self._files.content(text_of(given[0])) is not None
        if name in ("os.replace", "os.rename", "shutil.move", "shutil.copy", "shutil.copy2", "shutil.copyfile"):
            self._files.moved(*map(text_of, given), keeps="copy" in name)
            return None
        return self._builtin(name, given)

    def _builtin(self, name: str, given: list[Any]) -> Any:
        if name == "isinstance" and len(given) == 2 and isinstance(given[1], _Named):  # noqa: PLR2004 - value, type
            return isinstance(self._plain(given[0]), _TYPES[given[1].name])
        if len(given) != 1:
            raise Unclear
        if name == "len":
            return len(self._plain(given[0]))
        if name == "str":
            return given[0].path if isinstance(given[0], HandledPath) else str(_scalar(given[0]))
        if name == "sorted":
            return sorted(self._plain(given[0]))
        if name in _TYPES:
            return _TYPES[name](self._plain(given[0]))
        raise Unclear

    def _json(self, name: str, given: list[Any], options: dict[str, Any]) -> Any:
        if name == "json.loads" and len(given) == 1 and not options and isinstance(given[0], str):
            return json.loads(given[0])
        if name == "json.load" and len(given) == 1 and not options and isinstance(given[0], HandledFile):
            return json.loads(self._files.rest(given[0]))
        if not _JSON_OPTIONS.issuperset(options) or not all(map(_is_layout, options.values())):
            raise Unclear
        if name == "json.dumps" and len(given) == 1:
            return self._bounded(json.dumps(self._plain(given[0]), **options))
        if name == "json.dump" and len(given) == 2 and isinstance(given[1], HandledFile):  # noqa: PLR2004 - value, file
            self._files.append(given[1], self._bounded(json.dumps(self._plain(given[0]), **options)))
            return None
        raise Unclear

    def _method(self, base: Any, name: str, given: list[Any], options: dict[str, Any]) -> Any:
        if isinstance(base, HandledPath) and name in _PATH_METHODS:
            return self._of_path(base, name, given, options)
        if isinstance(base, HandledFile) and not options:
            return self._of_file(base, name, given)
        if name not in _METHODS.get(type(base), ()) or (options and name != "update"):
            raise Unclear
        self._foresee(base, name, given)
        return self._bounded(
            getattr(base, name)(*map(self._plain, given), **{key: self._plain(value) for key, value in options.items()})
        )

    def _foresee(self, base: Any, name: str, given: list[Any]) -> None:
        """Counts what would be made before it is made."""
        if isinstance(base, str):
            self._spend(len(base) + sum(len(argument) for argument in given if isinstance(argument, str)))
        if isinstance(base, str) and name == "replace" and all(isinstance(argument, str) for argument in given[:2]):
            self._spend((base.count(given[0]) + 1) * len(given[1]))
        elif isinstance(base, str) and name == "join":
            self._spend((len(base) + 1) * len(given[0]) + sum(map(len, given[0])))

    def _of_path(self, base: HandledPath, name: str, given: list[Any], options: dict[str, Any]) -> Any:
        if name == "expanduser":
            return HandledPath(self._expanded(base.path))
        if name == "open":
            return self._files.opened(base, *given, **options)
        if name in ("exists", "is_file"):
            return self._files.content(base.path) is not None
        if name == "read_text":
            return self._files.rest(self._files.opened(base))
        if name == "write_text" and len(given) == 1 and not options:
            file = self._files.opened(base, "w")
            self._files.append(file, self._bounded(given[0]))
            self._files.close(file)
            return len(given[0])
        return base

    def _of_file(self, base: HandledFile, name: str, given: list[Any]) -> Any:
        if name == "read" and not given:
            return self._files.rest(base)
        if name == "write" and len(given) == 1:
            self._files.append(base, self._bounded(given[0]))
            return len(given[0])
        if name == "close":
            return self._files.close(base)
        if name in ("flush", "seek", "truncate") and base.writes and not given and name == "flush":
            return None
        raise Unclear

    def _entered(self, item: ast.withitem) -> HandledFile:
        file = self._value(item.context_expr)
        if not isinstance(file, HandledFile):
            raise Unclear
        if item.optional_vars is not None:
            self._assign(item.optional_vars, file)
        return file

    def _expanded(self, path: str) -> str:
        return self._home + path[1:] if path == "~" or path.startswith("~/") else path


def _is_layout(value: Any) -> bool:
    """Whether an option of `json.dumps` adds little to each part."""
    if isinstance(value, tuple):
        return all(map(_is_layout, value))
    if isinstance(value, str):
        return len(value) <= MAX_LAYOUT
    return value is None or (isinstance(value, int) and value <= MAX_LAYOUT)


def _loading(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    if isinstance(node, ast.Subscript):
        return ast.Subscript(node.value, node.slice, ast.Load())
    raise Unclear


def _scalar(value: Any) -> Any:
    if not isinstance(value, str | int | float | bool | None):
        raise Unclear
    return value
