"""Follows Python code in the order of its text: names, branches, loops, functions and classes, without running anything.

Both branches of a condition are read; a loop is read once for each of the first known items, or once. Functions are read
where they are called, and once at the end if nothing calls them. What a call of a library does is left to `Libraries`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages.code_values import (
    MAX_ITEMS,
    NOTHING,
    PART,
    Function,
    Instance,
    Library,
    Unknown,
    Value,
    choices,
    either,
    items,
    sourced,
    sources,
)
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_syntax import asked_end, may_end

MAX_LOOP = 12


class PythonReader(PythonCalling):
    """Reads the statements and expressions of modules."""

    def module(self, tree: ast.Module) -> Value:
        """Reads a whole module; returns the value of its last expression."""
        last = self.block(tree.body)
        done, self.uncalled = 0, True
        while done < len(self._defined):
            function, owner = self._defined[done]
            done += 1
            if id(function.node) not in self._called and not isinstance(function.node, ast.ClassDef):
                first = [self._made.get(id(owner.node)) or self.invoke(owner, Arguments())] if owner else []
                self.invoke(function, Arguments(first), whole=False)
        return last

    def block(self, body: list[ast.stmt]) -> Value:
        last: Value = NOTHING
        for statement in body:
            self.spend(1)
            handler = _STATEMENTS.get(type(statement))
            last = handler(self, statement) if handler else self._parts(statement)
        return last

    def _parts(self, node: ast.AST) -> Value:
        """Reads everything in a node that has no meaning of its own here."""
        parts: list[Value] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                parts.append(self.value(child))
            elif isinstance(child, ast.stmt):
                self.block([child])
            elif isinstance(child, ast.match_case):
                self.block(child.body)
        return Unknown(sources=sources(*parts)) if parts else NOTHING

    def _branches(self, *bodies: Callable[[], object]) -> None:
        """Reads alternatives from the same names; afterwards a name has the value from any of them."""
        names = self._scopes[-1]
        before, ends = dict(names), []
        for body in bodies:
            body()
            ends.append(dict(names))
            names.clear()
            names.update(before)
        for name in dict.fromkeys(name for end in ends for name in end):
            values = [end[name] for end in ends if name in end]
            if any(value is not before.get(name) for value in values):
                names[name] = either(values)

    def if_(self, node: ast.If) -> None:
        self.value(node.test)
        rest: list[ast.stmt] = node.orelse

        def first() -> None:
            self._refine(node.test)
            self.block(node.body)

        self._branches(first, lambda: self.block(rest))

    def _refine(self, test: ast.expr) -> None:
        """What a search finds has the ending that the branch's condition asks for."""
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        for part in parts:
            name, ends = asked_end(part)
            value = self.lookup(name) if name else None
            if name and isinstance(value, str) and value.endswith("*"):
                wanted = self._known_texts(ends)
                if wanted:
                    self._scopes[-1][name] = either([sourced(value + ending, sources(value)) for ending in wanted])

    def _known_texts(self, node: ast.expr | None) -> list[str]:
        """The texts that an expression is, or has as items."""
        value = self.value(node) if node is not None else NOTHING
        return [part for part in (items(value) or [value]) if isinstance(part, str) and UNKNOWN not in part]

    def for_each(self, node: ast.For | ast.AsyncFor) -> None:
        values = self._iterated(self.value(node.iter))
        self._loops += 1
        for value in values:
            self.bind(node.target, value)
            self.block(node.body)
        self._loops -= 1
        self.block(node.orelse)

    def _iterated(self, value: Value) -> list[Value]:
        """The items that a loop is read with: one unknown item if there are too many or none is known."""
        members = [member for one in choices(value) for member in self._items(one)]
        if 0 < len(members) <= max(MAX_LOOP >> self._loops, 2):
            return members
        if members:
            return [either(members)]
        kind = value.kind if isinstance(value, Unknown) else ""
        return [Unknown(f"{kind}[]" if kind else "", sources(value))]

    def _items(self, value: Value) -> list[Value]:
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, list | tuple):
            return list(value)
        if isinstance(value, str) and 1 < len(value) <= MAX_LOOP and UNKNOWN not in value:
            return list(value)
        return [value] if isinstance(value, str) and "*" in value else []

    def while_(self, node: ast.While) -> None:
        self.value(node.test)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value) and not may_end(node)
        before, self.looping = self.looping, len(self._calling) if endless else self.looping
        self.endless += endless
        if endless and all(isinstance(statement, ast.Pass) for statement in node.body):
            self.libraries.other(self, "while", Arguments())
        self._branches(lambda: self.block(node.body), lambda: None)
        self.endless -= endless
        self.looping = before
        self.block(node.orelse)

    def try_(self, node: ast.Try) -> None:
        self.block(node.body)
        for handler in node.handlers:
            self._branches(lambda handler=handler: self.block(handler.body), lambda: None)  # type: ignore[misc]
        self.block(node.orelse)
        self.block(node.finalbody)

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.value(decorator)
        function = Function(node, self._scopes[-1])
        self._scopes[-1][node.name] = function
        self._defined.append((function, None))

    def class_(self, node: ast.ClassDef) -> None:
        made: dict[str, Value] = {}
        for base in node.bases:
            made.update(self.libraries.inherited(ast.unparse(base)))
        function = Function(node, made)
        start = len(self._defined)
        self._scopes.append(made)
        self.block(node.body)
        self._scopes.pop()
        for at, (method, owner) in enumerate(self._defined[start:], start):
            if owner is None and method.names is made:
                method.names = self._scopes[-1]
                self._defined[at] = (method, None if isinstance(method.node, ast.Lambda) else function)
        self._scopes[-1][node.name] = function

    def return_(self, node: ast.Return) -> None:
        value = self.value(node.value) if node.value is not None else None
        if self._returned:
            self._returned[-1].append(value)

    def import_(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self._scopes[-1][alias.asname or name] = Library(name)

    def import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._stars.append(node.module or "")
            else:
                self._scopes[-1][alias.asname or alias.name] = self.member(Library(node.module or ""), alias.name)

    def assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def augmented(self, node: ast.AugAssign) -> None:
        before, more = self.value(node.target), self.value(node.value)
        self.bind(node.target, self.built(folding.operation(type(node.op).__name__, before, more)))

    def bind(self, target: ast.expr, value: Value) -> None:
        """Gives a value to what stands on the left of an assignment."""
        if isinstance(target, ast.Name):
            self._scopes[-1][target.id] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, [value])
        elif isinstance(target, ast.Tuple | ast.List):
            parts = list(value) if isinstance(value, list | tuple) and len(value) == len(target.elts) else []
            for at, part in enumerate(target.elts):
                self.bind(part, parts[at] if parts else Unknown(sources=sources(value)))
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            if isinstance(base, Instance):
                base.names[target.attr] = value
        elif isinstance(target, ast.Subscript):
            self._put(self.value(target.value), self.value(target.slice), value)

    def _put(self, base: Value, key: Value, value: Value) -> None:
        """Gives a value to an item of an object."""
        if isinstance(base, dict) and isinstance(key, str | int) and len(base) < MAX_ITEMS:
            base[key] = value
        elif isinstance(base, dict) and isinstance(key, Unknown):
            base[UNKNOWN] = Unknown(sources=sources(base.get(UNKNOWN, NOTHING), value, key))
        elif isinstance(base, Unknown):
            self.libraries.method(self, base, "__setitem__", Arguments([key, value]))

    def value(self, node: ast.expr) -> Value:
        self.spend(1)
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            return self._parts(node)
        result = handler(self, node)
        return result if type(node) in _AS_IT_IS else self.built(result)

    def constant(self, node: ast.Constant) -> Value:
        value = node.value
        return value.replace(UNKNOWN, "?").replace(PART, UNKNOWN) if isinstance(value, str) else value

    def fstring(self, node: ast.JoinedStr) -> Value:
        parts = [self.value(part) for part in node.values]
        return folding.each_choice(lambda *all_: folding.joined(list(all_)), *parts)

    def formatted(self, node: ast.FormattedValue) -> Value:
        return self.value(node.value)

    def operation(self, node: ast.BinOp) -> Value:
        result = folding.operation(type(node.op).__name__, self.value(node.left), self.value(node.right))
        if result is NOTHING and isinstance(node.op, ast.Mult):
            self.libraries.other(self, "*", Arguments([self.value(node.left), self.value(node.right)]))
        return result

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        known = isinstance(value, int) and isinstance(node.op, ast.USub)
        return -value if known else Unknown(sources=sources(value))

    def boolean(self, node: ast.BoolOp) -> Value:
        return either(self.value(part) for part in node.values)

    def choice(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return either([self.value(node.body), self.value(node.orelse)])

    def list_(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        members: list[Value] = []
        for part in node.elts[:MAX_ITEMS]:
            value = self.value(part.value if isinstance(part, ast.Starred) else part)
            if isinstance(part, ast.Starred):
                members += self._iterated(value)
            else:
                members.append(value)
        return tuple(members) if isinstance(node, ast.Tuple) else members

    def dict_(self, node: ast.Dict) -> Value:
        members: dict[Value, Value] = {}
        for at, (key, part) in enumerate(zip(node.keys[:MAX_ITEMS], node.values, strict=False)):
            value = self.value(part)
            name = self.value(key) if key is not None else None
            if key is None and isinstance(value, dict):
                members.update(value)
            else:
                members[name if isinstance(name, str | int) else f"{UNKNOWN}{at}"] = value
        return members

    def subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = [
                self.value(end) if end is not None else None for end in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            if not all(end is None or isinstance(end, int) for end in ends):
                return Unknown(sources=sources(base))
            key: Value = slice(*ends)
        else:
            key = self.value(node.slice)
        if isinstance(base, Unknown | Library):
            return self.libraries.method(self, base, "__getitem__", Arguments([key])) or Unknown(sources=sources(base))
        if isinstance(base, dict) and UNKNOWN in base and isinstance(key, str | Unknown) and key not in base:
            return base[UNKNOWN]
        return folding.each_choice(folding.item, base, key)

    def attribute(self, node: ast.Attribute) -> Value:
        return self.member(self.value(node.value), node.attr)

    def lambda_(self, node: ast.Lambda) -> Value:
        function = Function(node, self._scopes[-1])
        self._defined.append((function, None))
        return function

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        self._scopes.append({})
        results: list[Value] = []
        try:
            self._generate(node, 0, results)
        finally:
            self._scopes.pop()
        return results

    def _generate(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, at: int, results: list[Value]
    ) -> None:
        if at == len(node.generators):
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            values = [self.value(part) for part in parts]
            results.append(values[0] if len(values) == 1 else tuple(values))
            return
        generator = node.generators[at]
        for value in self._iterated(self.value(generator.iter)):
            self.bind(generator.target, value)
            for test in generator.ifs:
                self.value(test)
                self._refine(test)
            self._generate(node, at + 1, results)

    def named(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def yield_(self, node: ast.Yield | ast.YieldFrom) -> Value:
        value = self.value(node.value) if node.value is not None else None
        if self._returned:
            self._returned[-1].append([value] if isinstance(node, ast.Yield) else value)
        return NOTHING

    def passed(self, node: ast.Await | ast.Starred) -> Value:
        return self.value(node.value)


_STATEMENTS: dict[type[ast.stmt], Callable[[PythonReader, Any], Value]] = {
    ast.Expr: lambda reader, node: reader.value(node.value),
    ast.Assign: PythonReader.assign, ast.AnnAssign: PythonReader.annotated, ast.AugAssign: PythonReader.augmented,
    ast.If: PythonReader.if_, ast.For: PythonReader.for_each, ast.AsyncFor: PythonReader.for_each,
    ast.While: PythonReader.while_, ast.Try: PythonReader.try_, ast.TryStar: PythonReader.try_, ast.With: PythonReader.with_,
    ast.AsyncWith: PythonReader.with_, ast.FunctionDef: PythonReader.define, ast.AsyncFunctionDef: PythonReader.define,
    ast.ClassDef: PythonReader.class_, ast.Return: PythonReader.return_, ast.Import: PythonReader.import_,
    ast.ImportFrom: PythonReader.import_from,
}  # fmt: skip
_AS_IT_IS = frozenset({ast.Constant, ast.Name, ast.Attribute, ast.Starred, ast.Await})
"""Expressions whose values nothing has made."""

_EXPRESSIONS: dict[type[ast.expr], Callable[[PythonReader, Any], Value]] = {
    ast.Constant: PythonReader.constant, ast.Name: lambda reader, node: reader.lookup(node.id),
    ast.JoinedStr: PythonReader.fstring, ast.FormattedValue: PythonReader.formatted, ast.BinOp: PythonReader.operation,
    ast.UnaryOp: PythonReader.unary, ast.BoolOp: PythonReader.boolean, ast.IfExp: PythonReader.choice,
    ast.List: PythonReader.list_, ast.Tuple: PythonReader.list_, ast.Set: PythonReader.list_, ast.Dict: PythonReader.dict_,
    ast.Subscript: PythonReader.subscript, ast.Attribute: PythonReader.attribute, ast.Lambda: PythonReader.lambda_,
    ast.ListComp: PythonReader.comprehension, ast.SetComp: PythonReader.comprehension,
    ast.GeneratorExp: PythonReader.comprehension, ast.DictComp: PythonReader.comprehension,
    ast.NamedExpr: PythonReader.named, ast.Yield: PythonReader.yield_, ast.YieldFrom: PythonReader.yield_,
    ast.Await: PythonReader.passed, ast.Starred: PythonReader.passed, ast.Call: PythonReader.call_,
}  # fmt: skip
