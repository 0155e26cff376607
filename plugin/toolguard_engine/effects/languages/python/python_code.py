"""Reads Python code with the parser of the standard library; the entry point is `read`.

Text that cannot be parsed (another language, Python 2, a part of a program) is left to the search of `code_text`. Size and
nesting are bounded before parsing, steps while reading. What was read last is kept, since the walk of a command and the
search for its effects both ask for it.
"""

from __future__ import annotations

import ast
import re
import warnings

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.languages.code_deeds import CodeReading, Deed
from toolguard_engine.effects.languages.code_values import NOTHING, PART, Value
from toolguard_engine.effects.languages.folded_values import FAULTS
from toolguard_engine.effects.languages.python import new_fstrings
from toolguard_engine.effects.languages.python.python_calling import Exhausted
from toolguard_engine.effects.languages.python.python_methods import PythonLibraries
from toolguard_engine.effects.languages.python.python_reader import PythonReader

MAX_CODE = 64_000
MAX_BRACKETS = 60
MAX_PATHS = 100
_CHARACTERS = 8
"""That are parsed in one step of work."""

_BRACKETS = lazy_re.compile(r"[()\[\]{}]")
_PREFIX = r"\b(?:not|lambda|await)\b"
_CHAINS = lazy_re.compile(
    rf"(?:[-+~][\s(]{{0,9}}){{40}}|(?:{_PREFIX}(?:(?!{_PREFIX})[^\n]){{0,9}}){{40}}|(?:\*\*[^\n*]{{0,9}}){{60}}"
)
_TEXTS = lazy_re.compile(
    r"\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|\"(?>(?:[^\"\\\n]|\\.){0,9999})\"|'(?>(?:[^'\\\n]|\\.){0,9999})'|\#[^\n]*"
)
_COMMAND = lazy_re.compile(r"^([ \t]*)(?:[!]{1,2}|%(?:sx|system)\b|[\w, ]{1,60}=[ \t]*!)[ \t]*(\S[^\n]*)$", re.MULTILINE)
_CELL = lazy_re.compile(r"\s*%%(?:bash|sh|script|system|sx|!)\b[^\n]*\n(.*)", re.DOTALL)
_MAGIC = lazy_re.compile(r"^([ \t]*)%{1,2}[a-z]\w*[^\n]*$", re.MULTILINE)
_PRINT = lazy_re.compile(r"^([ \t]*)print[ \t]+(?!=)([^\n;]*)", re.MULTILINE)


def read(code: str) -> CodeReading | None:
    """What Python code does; None if it cannot be parsed."""
    return _kept(code, "python")


def _read(code: str, _: str) -> CodeReading | None:
    commands: list[Deed] = []
    code = code.replace(UNKNOWN, PART)
    if "!" in code or "%" in code:
        code = _without_magic(code, commands)
    tree = _parsed(code) or (_parsed(_PRINT.sub(r"\1print(\2)", code)) if "print " in code else None)
    if tree is None:
        return CodeReading(tuple(commands), whole=False) if commands else None
    reader = PythonReader(PythonLibraries())
    reader.state["any server"] = _accepts_any(code, tree)
    whole = _follow(reader, tree) and not reader.is_cut
    steps = reader.steps + len(code) // _CHARACTERS
    read_ = [deed.target for deed in reader.deeds if deed.kind == "read" and "**" not in deed.target]
    paths = tuple(dict.fromkeys(path for path in read_ if path not in code))[:MAX_PATHS]
    deeds_read = deeds.unverified(reader.deeds) if reader.state.get("any server") else reader.deeds
    return CodeReading((*commands, *deeds_read), steps, whole, paths, reader.opaque, tuple(reader.loads), reader.is_cut)


_kept = kept_code.kept(_read)


def _follow(reader: PythonReader, tree: ast.Module) -> bool:
    """Reads the whole tree; False if it is too much, or something in it is not expected."""

    def inner(text: str) -> Value:
        module = _parsed(text)
        if module is None:
            return NOTHING
        reader.state["any server"] = reader.state.get("any server") or _accepts_any(text, module)
        reader.nested += 1
        try:
            return reader.block(module.body)
        finally:
            reader.nested -= 1

    reader.state["read"] = inner
    try:
        reader.module(tree)
    except (Exhausted, RecursionError, *FAULTS):
        return False
    finally:
        reader.add(*(deeds.empty(path) for path, used in reader.state.get("opened", {}).items() if not used))
    return True


_UNVERIFIED = frozenset({"CERT_NONE", "VERIFY_NONE", "_create_unverified_context"})
_VERIFIES = frozenset({"verify", "verify_ssl"})


def _accepts_any(code: str, tree: ast.Module) -> bool:
    """Whether all requests of this code may accept any certificate. A request may say so for itself (`python_requests`)."""
    return deeds.accepts_any(code) and any(map(_makes_unverified, ast.walk(tree)))


def _makes_unverified(node: ast.AST) -> bool:
    """`ssl.CERT_NONE`, `session.verify = False`, `httpx.Client(verify=False)`, `TCPConnector(ssl=False)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name in _UNVERIFIED
        case ast.Assign(targets=[ast.Attribute(value=owner, attr=name)], value=ast.Constant(value=False)):
            return name in _VERIFIES and getattr(owner, "id", "") != "self"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), keywords=given):
            ways = _VERIFIES | {"ssl"} if name.endswith("Connector") else _VERIFIES if name[:1].isupper() else ()
            return any(
                getattr(keyword.value, "value", None) == "CERT_NONE"
                or (keyword.arg in ways and getattr(keyword.value, "value", None) is False)
                for keyword in given
                if keyword.arg == "cert_reqs" or keyword.arg in ways
            )
    return False


def _without_magic(code: str, commands: list[Deed]) -> str:
    """The code of a notebook's cell without its shell commands."""
    if cell := _CELL.fullmatch(code):
        commands.append(deeds.shell(cell[1]))
        return ""
    commands += [deeds.shell(match[2]) for match in _COMMAND.finditer(code)]
    return _MAGIC.sub(r"\1pass", _COMMAND.sub(r"\1pass", code))


def _parsed(code: str) -> ast.Module | None:
    if len(code) > MAX_CODE or _nested(code):
        return None
    tree = _tree(code)
    if tree is None and _NEW_FSTRING.search(code) and len(code) <= new_fstrings.MAX_CODE:
        return _tree(new_fstrings.as_sums(code))
    return tree


_NEW_FSTRING = lazy_re.compile(r"(?i)\b(?:f|rf|fr)[\"']")
"""Perhaps the start of a text that only a later Python reads."""


def _tree(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _nested(code: str) -> bool:
    """Whether it is nested so deeply that parsing it could exhaust the stack."""
    return _too_deep(code) and _too_deep(_TEXTS.sub("0", code))


def _too_deep(code: str) -> bool:
    depth = 0
    for match in _BRACKETS.finditer(code):
        depth += 1 if match[0] in "([{" else -1
        if depth > MAX_BRACKETS:
            return True
    return _CHAINS.search(code) is not None
