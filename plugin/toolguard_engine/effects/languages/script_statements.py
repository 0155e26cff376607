"""Statements of scripting languages that are no expressions: loops, declarations, imports."""

from __future__ import annotations

from collections.abc import Callable

from toolguard_engine.effects.languages.code_values import NOTHING, Library, Value, text
from toolguard_engine.effects.languages.lua.lua_syntax import LUA
from toolguard_engine.effects.languages.perl.perl_syntax import PERL
from toolguard_engine.effects.languages.script_calling import CallReader
from toolguard_engine.effects.languages.script_run import element
from toolguard_engine.effects.languages.script_syntax import Syntax


def _loop(reader: CallReader, at: int, end: int) -> int:
    """`for (const f of list)`, `foreach my $f (list)`, `foreach (list as $f)`, `for f in list`."""
    tokens = reader.tokens
    start, variable = at + 1, at + 1
    while (
        start < end and tokens[start].kind == "name" and tokens[start].text in ("my", "our", "await", "let", "const", "var")
    ):
        start += 1
    if start < end and tokens[start].kind == "name" and reader.run.syntax is PERL:
        if not reader.is_sign(start + 1, end, "("):
            return -1
        listed = reader.items(start + 2, min(tokens[start + 1].match, end))
        reader.run.names[tokens[start].text] = element(_flat(listed))
        return tokens[start + 1].match + 1
    if reader.is_sign(start, end, "("):
        inner, close = start + 1, min(tokens[start].match, end)
        by = reader.skip_to(inner, close, "of", "in", "as")
        if by >= close:
            if reader.run.syntax is PERL and reader.skip_to(inner, close, ";") >= close:
                reader.run.names["$_"] = element(_flat(reader.items(inner, close)))
                return close + 1
            return start + 1
        if tokens[by].text == "as":
            value = reader.expression(inner, by)[0]
            pair = reader.skip_to(by + 1, close, "=>")
            reader.bind(pair + 1 if pair < close else by + 1, close, element(value))
        else:
            while inner < by and tokens[inner].text in ("const", "let", "var"):
                inner += 1
            value = reader.expression(by + 1, close)[0]
            reader.bind(inner, by, NOTHING if tokens[by].text == "in" and reader.run.syntax.keys else element(value))
        return close + 1
    by = reader.skip_to(variable, end, "in")
    if by >= end:
        return -1
    value, after = reader.expression(by + 1, end)
    reader.bind_all((variable, by), [element(value), element(value)] if reader.run.syntax is LUA else [element(value)])
    return after


def _flat(values: list[Value]) -> list[Value]:
    return [member for value in values for member in (value if isinstance(value, list) else [value])]


def _declared(reader: CallReader, at: int, end: int) -> int:
    """`const {a, b: c} = value, d = other;`"""
    at += 1
    while at < end:
        sign = reader.skip_to(at, end, "=", "of", "in", ",")
        if not reader.is_sign(sign, end, "="):
            if reader.is_sign(sign, end, ","):
                at = sign + 1
                continue
            return at if sign < end else at + 1
        value, after = reader.expression(sign + 1, end)
        reader.bind(at, sign, value)
        if not reader.is_sign(after, end, ","):
            return max(after, sign + 1)
        at = after + 1
    return at


def _imported(reader: CallReader, at: int, end: int) -> int:
    """`import a, {b as c} from "m"`, `import * as d from "m"`."""
    if reader.is_sign(at + 1, end, "(", "."):
        return -1
    last = next((n for n in range(at + 1, min(end, at + 61)) if reader.tokens[n].kind == "string"), -1)
    if last < 0:
        return -1
    named = reader.filled(reader.tokens[last])
    reader.run.load(reader.tokens[at].text, named)
    module = Library(reader.run.library.full(text(named)))
    inside, name = False, ""
    for position in range(at + 1, last):
        token = reader.tokens[position]
        if token.kind == "sign":
            inside = inside or token.text == "{"
        elif token.text not in ("as", "from", "type"):
            following = reader.tokens[position + 1]
            if following.text == "as" and inside:
                name = token.text
            elif inside:
                reader.run.names[token.text] = reader.run_member(module, name or token.text)
                name = ""
            else:
                reader.run.names[token.text] = module
    return last + 1


def _named_function(reader: CallReader, at: int, end: int) -> int:
    if reader.is_sign(at + 1, end, "(") and reader.is_sign(reader.tokens[at + 1].match + 1, end, "=>"):
        return -1  # `fn(x) => x` is an expression
    if (at + 1 < end and reader.tokens[at + 1].kind == "name") or reader.is_sign(at + 1, end, "*", "(", "{"):
        return reader.function(at, end)[1]
    return -1


def _names_something(reader: CallReader, at: int, end: int) -> bool:
    """Whether a name follows, so that the word is no variable."""
    return at + 1 < end and reader.tokens[at + 1].kind == "name" and reader.tokens[at].text not in reader.run.names


def _space(reader: CallReader, at: int, end: int) -> int:
    """`package a.b;`, `namespace a { }`: what stands in the brackets runs. Behind a variable of that name anything may
    stand, on the next line."""
    if not _names_something(reader, at, end):
        return -1
    after = _past_names(reader, at + 1, end, ".", "::")
    return after if after == end or reader.tokens[after].kind == "end" or reader.is_sign(after, end, ";", "{") else -1


def _past_names(reader: CallReader, at: int, end: int, *between: str) -> int:
    """Where names, numbers and these signs end."""
    while at < end and (reader.tokens[at].kind in ("name", "number") or reader.is_sign(at, end, *between)):
        at += 1
    return at


def _described(reader: CallReader, at: int, end: int) -> int:
    """`type a = b`, `interface a { }`."""
    if not _names_something(reader, at, end):
        return -1
    if reader.tokens[at].text == "type":
        return _type(reader, at, end)
    opened = _past_names(reader, at + 1, end, ".", ",", "<", ">", "[", "]")
    is_head = reader.is_sign(opened, end, "{") and not _begins_statement(reader, at + 1, opened)
    return reader.tokens[opened].match + 1 if is_head else -1


def _begins_statement(reader: CallReader, at: int, end: int) -> bool:
    """Whether one of these words begins a statement, whose block runs."""
    return any(reader.tokens[place].text in reader.passed | reader.prefixes for place in range(at, end))


def _type(reader: CallReader, at: int, end: int) -> int:
    sign = reader.skip_to(at, end, "=")
    return reader.operand(sign + 1, end)[1] if sign < end else -1


def _class(reader: CallReader, at: int, end: int) -> int:
    opened = reader.skip_to(at, end, "{")
    if reader.run.syntax.closes:
        return at + 2
    if at + 1 < end:
        reader.run.names["class"] = reader.tokens[at + 1].text
    return opened + 1 if opened < end else -1


def _use(reader: CallReader, at: int, end: int) -> int:
    while at < end and reader.tokens[at].kind != "end" and not reader.is_sign(at, end, ";"):
        at += 1
    return at


def _set(reader: CallReader, at: int, end: int) -> int:
    """AppleScript: `set name to value`."""
    by = reader.skip_to(at + 1, end, "to")
    if by >= end:
        return -1
    value, after = reader.expression(by + 1, end)
    reader.bind(at + 1, by, value)
    return after


Handler = Callable[[CallReader, int, int], int]
"""Reads the statement that begins with a word; returns where it ends, -1 if it is none."""

_KINDS: dict[str, Handler] = {
    "loops": _loop, "declares": _declared, "imports": _imported, "functions": _named_function, "classes": _class,
    "spaces": _space, "types": _described, "uses": _use, "sets": _set,
}  # fmt: skip
_TABLES: dict[int, dict[str, Handler]] = {}


def handlers(syntax: Syntax) -> dict[str, Handler]:
    """What reads the statements of a language, by the words with which they begin."""
    table = _TABLES.get(id(syntax))
    if table is None:
        words = syntax.keywords.kinds
        table = _TABLES[id(syntax)] = {word: handler for kind, handler in _KINDS.items() for word in words[kind]}
    return table
