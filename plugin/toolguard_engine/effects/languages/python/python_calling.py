"""The state of a reader of Python code, and how it follows calls."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from typing import Protocol

import msgspec

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages.code_deeds import MAX_LOADS, Deed
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Either,
    Function,
    Instance,
    Library,
    Sources,
    Unknown,
    Value,
    choices,
    either,
    sources,
    text,
    texts,
)
from toolguard_engine.effects.languages.python.python_syntax import is_called_by_pytest
from toolguard_engine.model.work_limit import BUILT, steps_to_build

MAX_STEPS = 6_000
MAX_CALLS = 80
MAX_INLINE = 6
MAX_DEEDS = 300
MAX_NESTED = 3


class Exhausted(Exception):  # noqa: N818 - not an error: the limit of steps is reached
    pass


class Arguments(msgspec.Struct):
    """The arguments of a call."""

    args: list[Value] = []
    named: dict[str, Value] = {}

    def get(self, position: int, *names: str) -> Value:
        """An argument by its position or one of its names; None if it is absent."""
        if 0 <= position < len(self.args):
            return self.args[position]
        return next((self.named[name] for name in names if name in self.named), None)

    def texts(self, position: int, *names: str) -> list[str]:
        value = self.get(position, *names)
        return [] if value is None else texts(value)

    def text(self, position: int, *names: str) -> str:
        """The argument as text; empty if it is absent."""
        value = self.get(position, *names)
        return "" if value is None else text(value)

    @property
    def all(self) -> list[Value]:
        return [*self.args, *self.named.values()]


class Libraries(Protocol):
    """What is known of libraries. `call` and `method` return None for what they do not know."""

    def call(self, code: PythonCalling, name: str, given: Arguments) -> Value: ...
    def method(self, code: PythonCalling, value: Value, name: str, given: Arguments) -> Value: ...
    def constant(self, name: str) -> Value: ...
    def named(self, name: str) -> Value: ...
    def inherited(self, name: str) -> dict[str, Value]: ...
    def other(self, code: PythonCalling, name: str, given: Arguments) -> None: ...
    def reads(self, name: str, given: Arguments) -> list[str]: ...


_BOUND = "bound."
"""Begins the kind of a method that is taken from a path and called later; `text` is the path."""

_PATH_METHODS = frozenset(["unlink", "rmdir", "rename", "replace", "write_text", "write_bytes", "chmod", "symlink_to"])
_FIXTURES: dict[str, Value] = {"tmp_path": "/tmp/pytest", "tmpdir": "/tmp/pytest"}  # noqa: S108 - a name
"""The folders that pytest gives to tests that ask for them by these names."""


class PythonCalling(ABC):
    """Names, functions and calls of the code that is read; `PythonReader` reads statements and expressions on top of it.

    `deeds`: what was found; `state`: what the libraries remember; `endless`: inside an endless loop; `opaque`: something
    that runs is not known; `uncalled`: inside a function that nothing calls.
    """

    def __init__(self, libraries: Libraries) -> None:
        self.libraries = libraries
        self.deeds: list[Deed] = []
        self.loads: dict[tuple[str, str], None] = {}
        self.state: dict[str, Value] = {}
        self.steps = 0
        self.nested = 0
        self.endless = 0
        self.looping = -1
        self.opaque = False
        self.is_cut = False
        self.uncalled = False
        self._scopes: list[dict[str, Value]] = [{}]
        self._stars: list[str] = []
        self._defined: list[tuple[Function, Function | None]] = []
        self._called: set[int] = set()
        self._made: dict[int, Instance] = {}
        self._calling: list[int] = []
        self._calls = 0
        self._returned: list[list[Value]] = []
        self._loops = 0

    @property
    def repeats(self) -> bool:
        """Whether this is in an endless loop, and not in a function that it calls."""
        return bool(self.endless) and self.looping == len(self._calling)

    def add(self, *deeds: Deed) -> None:
        for deed in deeds:
            if len(self.deeds) >= MAX_DEEDS:
                self.is_cut = True
            elif deed not in self.deeds[-8:]:
                self.deeds.append(deed)

    def load(self, word: str, *names: str) -> None:
        """Code is taken in from files, as `CodeReading.loads` has it."""
        for name in names:
            if name.strip(UNKNOWN):
                self.loads[word, name] = None
        if len(self.loads) > MAX_LOADS:
            self.loads.popitem()
            self.is_cut = True

    def runs_unknown(self) -> None:
        """Notes that something runs of which nothing is known. In a function that nothing calls, nothing could be known."""
        self.opaque = self.opaque or not self.uncalled

    def spend(self, steps: int) -> None:
        """Counts work that a library does."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise Exhausted

    def built(self, value: Value) -> Value:
        """A value that was made just now, paid for."""
        for choice in choices(value):
            if isinstance(choice, str | bytes) and len(choice) >= BUILT:
                self.spend(steps_to_build(len(choice)))
        return value

    @abstractmethod
    def block(self, body: list[ast.stmt]) -> Value:
        """Reads statements; returns the value of the last one if it is an expression."""

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """Reads an expression."""

    def lookup(self, name: str) -> Value:
        """The value of a variable; a library of that name if the code has none."""
        for names in reversed(self._scopes):
            if name in names:
                return names[name]
        for module in self._stars:
            if (value := self.libraries.named(f"{module}.{name}")) is not None:
                return value
        value = self.libraries.constant(name)
        return Library(name) if value is None else value

    def member(self, base: Value, name: str) -> Value:
        if isinstance(base, Library):
            full = f"{base.name}.{name}"
            constant = self.libraries.constant(full)
            return Library(full) if constant is None else constant
        if isinstance(base, Instance):
            return base.names.get(name) or base.made_by.names.get(name) or NOTHING
        if isinstance(base, Function) and name in base.names and isinstance(base.node, ast.ClassDef):
            return base.names[name]
        if isinstance(base, Either):
            return either(self.member(option, name) for option in base.values)
        method = self.libraries.method(self, base, f".{name}", Arguments())
        if method is None and isinstance(base, Unknown):
            return Unknown(f"{base.kind}.{name}" if base.kind else "", base.sources, base.text, base.mode)
        if method is None and isinstance(base, str) and name in _PATH_METHODS:
            return Unknown(f"{_BOUND}{name}", sources(base), base)
        return NOTHING if method is None else method

    def call_(self, node: ast.Call) -> Value:
        given = Arguments()
        callee = node.func
        base = self.value(callee.value) if isinstance(callee, ast.Attribute) else None
        for arg in node.args:
            value = self.value(arg)
            if isinstance(arg, ast.Starred):
                given.args += list(value) if isinstance(value, list | tuple) else [value]
            else:
                given.args.append(value)
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg:
                given.named[keyword.arg] = value
            elif isinstance(value, dict):
                given.named.update({str(name): part for name, part in value.items()})
        if isinstance(callee, ast.Attribute):
            return self.method(base, callee.attr, given, callee)
        return self.apply(self.value(callee), given, callee)

    def method(self, base: Value, name: str, given: Arguments, node: ast.expr | None = None) -> Value:
        if isinstance(base, Either):
            return either([self.method(option, name, given, node) for option in base.values])
        if isinstance(base, Library):
            return self.apply(self.member(base, name), given, node)
        if isinstance(base, Instance | Function):
            function = self.member(base, name)
            if isinstance(function, Function) and isinstance(base, Instance) and name not in base.names:
                return self.invoke(function, Arguments([base, *given.args], given.named))
            return self.apply(function, given, node)
        function = self.libraries.method(self, base, name, given)
        if function is not None:
            return function
        kind = f"{base.kind}.{name}" if isinstance(base, Unknown) and base.kind else name
        return self._unknown(kind, given, node, sources(base))

    def apply(self, callee: Value, given: Arguments, node: ast.expr | None = None) -> Value:
        """Calls a value."""
        if isinstance(callee, Either):
            return either([self.apply(option, given, node) for option in callee.values])
        if isinstance(callee, Function):
            return self.invoke(callee, given)
        if isinstance(callee, Unknown) and callee.kind.startswith(_BOUND):
            return self.method(callee.text, callee.kind.removeprefix(_BOUND), given, node)
        name = callee.name if isinstance(callee, Library) else callee.kind if isinstance(callee, Unknown) else ""
        if name:
            result = self.libraries.call(self, name, given)
            if result is not None:
                return result
        return self._unknown(name, given, node, sources(callee))

    def _unknown(self, name: str, given: Arguments, node: ast.expr | None, own: Sources) -> Value:
        """A call that nothing is known of: it may call the functions it is given and pass on its arguments."""
        for value in given.all:
            if isinstance(value, Unknown) and value.kind.startswith(_BOUND):
                self.apply(value, Arguments())
            if isinstance(value, Function) and not isinstance(value.node, ast.ClassDef):
                more = given.named.get("args")
                self.invoke(value, Arguments(list(more) if isinstance(more, list | tuple) else []), whole=False)
        if node is not None:
            self.state["node"] = node
            self.libraries.other(self, name, given)
        read = [f"file:{path}" for path in self.libraries.reads(name, given)]
        return Unknown(name, (*own, *read, *(source for source in sources(*given.all) if source not in own)))

    def invoke(self, function: Function, given: Arguments, *, whole: bool = True) -> Value:
        """Calls a function of the code. `whole`: its arguments are known to be all."""
        node = function.node
        if id(node) in self._calling or self._calls >= MAX_CALLS or len(self._calling) >= MAX_INLINE:
            return Unknown(sources=sources(*given.all))
        self._called.add(id(node))
        self._calls += 1
        if isinstance(node, ast.ClassDef):
            made = self._made[id(node)] = Instance(function)
            start = function.names.get("__init__")
            if isinstance(start, Function):
                self.invoke(start, Arguments([made, *given.args], given.named))
            elif node.decorator_list or node.bases:
                made.names.update(_fields(node, given))
            return made
        self._calling.append(id(node))
        self._returned.append([])
        scopes, self._scopes = (
            self._scopes,
            [self._scopes[0], function.names, self._parameters(node, given, whole=whole)],
        )
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            self.block(node.body)
            result = self._returned[-1]
            return either(result) if result else None
        finally:
            self._scopes = scopes
            self._calling.pop()
            self._returned.pop()

    def _parameters(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, given: Arguments, *, whole: bool
    ) -> dict[str, Value]:
        node = function.args
        names = [arg.arg for arg in (*node.posonlyargs, *node.args)]
        fixtures = _FIXTURES if is_called_by_pytest(function) else {}
        values: dict[str, Value] = {name: fixtures.get(name, NOTHING) for name in names}
        values.update((arg.arg, NOTHING) for arg in node.kwonlyargs)
        for name, default in zip(reversed(names), reversed(node.defaults), strict=False):
            values[name] = self.value(default)
        for arg, default_ in zip(node.kwonlyargs, node.kw_defaults, strict=False):
            if default_ is not None:
                values[arg.arg] = self.value(default_)
        values.update(zip(names, given.args, strict=False))
        values.update({name: value for name, value in given.named.items() if name in values})
        if node.vararg:
            values[node.vararg.arg] = given.args[len(names) :] if whole else [NOTHING]
        if node.kwarg:
            values[node.kwarg.arg] = {name: value for name, value in given.named.items() if name not in values}
        return values


def _fields(node: ast.ClassDef, given: Arguments) -> dict[str, Value]:
    """The fields of a data class, a named tuple or a model, by the arguments that it is created with."""
    names = [
        field.target.id for field in node.body if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    ]
    by_name = {name: value for name, value in given.named.items() if name in names}
    return {**dict(zip(names, given.args, strict=False)), **by_name}
