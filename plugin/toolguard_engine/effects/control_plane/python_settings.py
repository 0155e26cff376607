"""What a short Python script changes in a config that it loads as JSON and writes back, if it does nothing else:
`d = json.load(open(p)); d["a"]["b"] = 1; json.dump(d, open(p, "w"))`.

The script is followed statement by statement. Where it depends on anything else, the result is not known.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from toolguard_engine.effects.control_plane.gateway_settings import Path
from toolguard_engine.effects.control_plane.setting_changes import NOT_KNOWN, UNSET, ChangedSetting

MAX_CODE = 16_384
MAX_NODES = 1_500
_MODULES = frozenset({"json", "os", "os.path", "sys", "pathlib", "shutil"})
_MOVES = frozenset({"replace", "rename", "move"})
_COPIES = frozenset({"copy", "copy2", "copyfile"})


class _Unclear(Exception):  # noqa: N818 - what it does is not known
    pass


class _File(NamedTuple):
    path: str
    writes: bool = False


class _Setting(NamedTuple):
    """A part of the config that was loaded from a file."""

    file: str
    path: Path = ()


class _Text(NamedTuple):
    """The config as JSON."""

    of: Any


class _Name(NamedTuple):
    """A function or a module, by its whole name."""

    name: str


class Script(NamedTuple):
    """`changes`: of the config that is loaded from `source`; `written`: the files that it is written to, in the end.
    `whole`: what is written without loading anything."""

    source: str
    changes: tuple[ChangedSetting, ...]
    written: tuple[str, ...]
    whole: Any = None


def read(code: str) -> Script | None:
    """None if the script may do anything else."""
    if len(code) > MAX_CODE:
        return None
    try:
        tree = ast.parse(code)
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            return None
        return _Follower().result(tree.body)
    except (_Unclear, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


class _Follower:
    def __init__(self) -> None:
        self._names: dict[str, Any] = {
            name: _Name(name) for name in ("open", "print", "Path", "len", "str", "json", "os", "sys", "pathlib", "shutil")
        }
        self._source = ""
        self._changes: list[ChangedSetting] = []
        self._written: list[str] = []
        self._whole: Any = None

    def result(self, body: list[ast.stmt]) -> Script:
        self._run(body)
        if not self._written or bool(self._source) == (self._whole is not None):
            raise _Unclear
        return Script(self._source, tuple(self._changes), tuple(self._written), self._whole)

    def _run(self, body: list[ast.stmt]) -> None:
        for alias in body:
            if isinstance(alias, ast.Import | ast.ImportFrom):
                _check_import(alias)
            elif isinstance(alias, ast.Assign) and len(alias.targets) == 1:
                self._assign(alias.targets[0], self._value(alias.value))
            elif isinstance(alias, ast.Delete):
                for target in alias.targets:
                    self._set(target, UNSET)
            elif isinstance(alias, ast.With):
                self._open(alias.items)
                self._run(alias.body)
            elif isinstance(alias, ast.Expr):
                self._value(alias.value)
            else:
                raise _Unclear

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        else:
            self._set(target, value)

    def _set(self, target: ast.expr, value: Any) -> None:
        if not isinstance(target, ast.Subscript) or self._written:
            raise _Unclear
        base, key = self._value(target.value), self._value(target.slice)
        if not isinstance(base, _Setting) or not isinstance(key, str | int):
            raise _Unclear
        self._change((*base.path, str(key)), value)

    def _change(self, path: Path, value: Any) -> None:
        self._changes.append(ChangedSetting(path, NOT_KNOWN, NOT_KNOWN if _is_special(value) else value))

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self._names:
                raise _Unclear
            return self._names[node.id]
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Dict):
            if any(key is None for key in node.keys):
                raise _Unclear
            return {self._value(key): self._value(value) for key, value in zip(node.keys, node.values, strict=True) if key}
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(element) for element in node.elts]
        if isinstance(node, ast.Attribute):
            base = self._value(node.value)
            if isinstance(base, _Name):
                return _Name(f"{base.name}.{node.attr}")
            raise _Unclear
        if isinstance(node, ast.Subscript):
            return self._below(self._value(node.value), self._value(node.slice))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
            return _joined(self._value(node.left), self._value(node.right), slash=isinstance(node.op, ast.Div))
        raise _Unclear

    @staticmethod
    def _below(base: Any, key: Any) -> _Setting:
        if not isinstance(base, _Setting) or not isinstance(key, str | int):
            raise _Unclear
        return _Setting(base.file, (*base.path, str(key)))

    def _call(self, call: ast.Call) -> Any:
        given = [self._value(argument) for argument in call.args]
        options = {keyword.arg: self._value(keyword.value) for keyword in call.keywords}
        if isinstance(call.func, ast.Attribute):
            base = self._value(call.func.value)
            if not isinstance(base, _Name):
                return self._method(base, call.func.attr, given, options)
            name = f"{base.name}.{call.func.attr}"
        elif isinstance(call.func, ast.Name):
            callee = self._value(call.func)
            if not isinstance(callee, _Name):
                raise _Unclear
            name = callee.name
        else:
            raise _Unclear
        return self._function(name, given, options)

    def _open(self, items: list[ast.withitem]) -> None:
        for item in items:
            if item.optional_vars is not None:
                self._assign(item.optional_vars, self._value(item.context_expr))

    def _function(self, name: str, given: list[Any], options: dict[Any, Any]) -> Any:
        if name == "open":
            return _opened(given, options)
        if name in ("Path", "pathlib.Path", "os.path.expanduser", "str") and len(given) == 1:
            return _file(given[0])
        if name in ("Path.home", "pathlib.Path.home") and not given:
            return _File("~")
        if name == "os.path.join":
            return _joined(given[0], "/".join(str(part) for part in given[1:]), slash=True)
        if name.startswith("json."):
            return self._json(name, given)
        module, _, verb = name.partition(".")
        if module in ("os", "shutil") and verb in _MOVES | _COPIES and len(given) == 2:  # noqa: PLR2004 - from, to
            self._moved(_file(given[0]).path, _file(given[1]).path, keeps=verb in _COPIES)
            return None
        if name == "print" and "file" not in options:
            return None
        raise _Unclear

    def _json(self, name: str, given: list[Any]) -> Any:
        """A call of the module `json`."""
        if name == "json.load" and isinstance(given[0], _File):
            return self._loaded(given[0])
        if name == "json.loads" and isinstance(given[0], _Text):
            return given[0].of
        if name == "json.dumps":
            return _Text(_whole(given[0]))
        if name == "json.dump":
            self._write(_file(given[1]), _Text(_whole(given[0])))
            return None
        raise _Unclear

    def _method(self, base: Any, name: str, given: list[Any], options: dict[Any, Any]) -> Any:
        if isinstance(base, _Setting):
            return self._of_setting(base, name, given, options)
        file = base if isinstance(base, _File) else None
        if file is not None and name in ("read", "read_text"):
            return _Text(self._loaded(file))
        if file is not None and name in ("write", "write_text") and given:
            self._write(file, given[0])
            return None
        if file is not None and name == "open":
            return _opened([file, *given], options)
        if file is not None and name in ("close", "flush", "expanduser", "resolve"):
            return file
        if isinstance(base, _Text) and name in ("strip", "rstrip"):
            return base
        raise _Unclear

    def _update(self, base: _Setting, value: dict[Any, Any]) -> None:
        self._not_written()
        if not all(isinstance(key, str) for key in value):
            raise _Unclear
        for key, part in value.items():
            self._change((*base.path, key), part)

    def _of_setting(self, base: _Setting, name: str, given: list[Any], options: dict[Any, Any]) -> Any:
        if name in ("get", "setdefault", "pop") and given and isinstance(given[0], str | int):
            if name != "get":
                self._not_written()
            path = (*base.path, str(given[0]))
            if name == "pop":
                self._change(path, UNSET)
            elif name == "setdefault" and len(given) > 1 and given[1] != {}:
                self._change(path, given[1])
            return _Setting(base.file, path)
        if name == "update":
            self._update(base, {**(given[0] if given else {}), **options})
            return None
        if name in ("append", "extend", "insert", "remove", "clear", "sort"):
            self._not_written()
            self._change(base.path, NOT_KNOWN)
            return None
        raise _Unclear

    def _not_written(self) -> None:
        if self._written:
            raise _Unclear

    def _loaded(self, file: _File) -> _Setting:
        if file.writes or self._source not in ("", file.path):
            raise _Unclear
        self._source = file.path
        return _Setting(file.path)

    def _write(self, file: _File, text: Any) -> None:
        if isinstance(text, str) and text.strip() == "" and file.path in self._written:
            return
        if not isinstance(text, _Text):
            raise _Unclear
        if not isinstance(text.of, _Setting):
            self._whole = text.of
        self._written.append(file.path)

    def _moved(self, source: str, target: str, *, keeps: bool) -> None:
        if source in self._written:
            if not keeps:
                self._written.remove(source)
            self._written.append(target)
        elif source != self._source or not keeps or target == source:
            raise _Unclear


def _check_import(node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.Import):
        known = all(name.name in _MODULES and not name.asname for name in node.names)
    else:
        known = node.module == "pathlib" and [(name.name, name.asname) for name in node.names] == [("Path", None)]
    if not known:
        raise _Unclear


def _is_special(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_is_special, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _Setting | _File | _Text | _Name | complex | bytes)


def _whole(value: Any) -> Any:
    if (isinstance(value, _Setting) and not value.path) or (isinstance(value, dict) and not _is_special(value)):
        return value
    raise _Unclear


def _file(value: Any) -> _File:
    if isinstance(value, _File):
        return value
    if not isinstance(value, str):
        raise _Unclear
    return _File(value)


def _opened(given: list[Any], options: dict[Any, Any]) -> _File:
    mode = given[1] if len(given) > 1 else options.get("mode", "r")
    if not given or mode not in ("r", "w", "rt", "wt", "rb"):
        raise _Unclear
    return _File(_file(given[0]).path, mode[0] == "w")


def _joined(left: Any, right: Any, *, slash: bool) -> Any:
    if isinstance(left, _Text) and isinstance(right, str) and not slash and not right.strip():
        return left
    base, rest = _file(left), _file(right)
    if base.writes or rest.writes:
        raise _Unclear
    return _File(
        f"{base.path}/{rest.path}"
        if slash and not rest.path.startswith("/")
        else rest.path
        if slash
        else base.path + rest.path
    )
