"""Walks the tokens of a script once, in the order of its text, and works out what it does.

Conditions are not weighed: all branches run. A loop runs once, with its variable standing for one of the known elements.
Functions run where they are called; those that nothing calls run at the end with unknown arguments. `script_calls` and the
libraries of the languages know what calls do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from toolguard_engine.effects.code.code_deeds import INPUT, Deed, shell, write
from toolguard_engine.effects.code.python_values import (
    FROM_ENVIRONMENT,
    NOTHING,
    Either,
    Library,
    Unknown,
    Value,
    choices,
    either,
    feed,
    items,
    sourced,
    sources,
    text,
)
from toolguard_engine.effects.code.script_tokens import (
    APPLESCRIPT,
    AWK,
    JAVASCRIPT,
    LUA,
    PERL,
    PHP,
    POWERSHELL,
    RUBY,
    SYNTAXES,
    Syntax,
    Token,
    Tokens,
    unescaped,
)
from toolguard_engine.effects.shell.command import UNKNOWN

MAX_STEPS = 8_000
MAX_DEPTH = 40
MAX_CALLS = 6
"""How deep functions of the code call each other."""

MAX_CHOICES = 16
MAX_DEEDS = 300
_MAX_PREFIXES = 12
_MAX_TEXT = 65_536

Act = Callable[["ScriptRun", list[Value], Value], Value]
"""What a call does. Given: the run, the arguments, what the method belongs to."""


class LanguageLibrary(msgspec.Struct, frozen=True):
    """What the names of a language mean. `constants`: values of names; `functions`: calls by full name; `methods`: calls by
    their last name, whatever they belong to; `full`: the full name that a module or name has; `member`: other members;
    `environment`: names of the whole environment; `command`: a
    command that is not in `functions`, for languages of commands;
    `program`: the interpreter."""

    constants: Mapping[str, Value]
    functions: Mapping[str, Act]
    methods: Mapping[str, Act]
    full: Callable[[str], str] = lambda name: name
    member: Callable[[ScriptRun, str], Value] = lambda run, name: None
    environment: frozenset[str] = frozenset()
    command: Callable[[ScriptRun, str, list[Value]], Value] | None = None
    program: str = ""


@dataclass(eq=False, slots=True)
class Routine:
    """A function of the code: its parameters and its body as ranges of tokens. `value`: the body is one expression."""

    reader: Reader
    params: tuple[int, int]
    body: tuple[int, int]
    value: bool = False
    called: bool = False
    bound: tuple[Value, ...] = ()


@dataclass(eq=False, slots=True)
class ScriptRun:
    """What is known while a script is walked. `quiet`: deeds on wholly unknown things do not count."""

    syntax: Syntax
    library: LanguageLibrary
    names: dict[str, Value] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    routines: list[Routine] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)
    steps: int = 0
    depth: int = 0
    calls: int = 0
    whole: bool = True
    quiet: bool = False
    printing: bool = False

    @property
    def words(self) -> frozenset[str]:
        """Names that are operators."""
        return _BINARY_WORDS.get(id(self.syntax), _NONE)

    def text(self, code: str) -> Value:
        """Walks a text of the same language; the value of its last expression."""
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH or self.steps > MAX_STEPS:
                self.whole = False
                return NOTHING
            tokens = Tokens(code, self.syntax)
            self.whole = self.whole and tokens.whole
            return Reader(self, tokens.found).block(0, len(tokens.found))
        except RecursionError:
            self.whole = False
            return NOTHING
        finally:
            self.depth -= 1

    def rest(self) -> None:
        """Functions that nothing called."""
        self.quiet = True
        for routine in self.routines[:MAX_CHOICES]:
            if not routine.called:
                self.invoke(routine, [])
        self.quiet = False

    def add(self, *deeds: Deed) -> None:
        for deed in deeds:
            if len(self.deeds) >= MAX_DEEDS:
                self.whole = False
            elif not (self.quiet and _all_unknown(deed)):
                self.deeds.append(deed)

    def invoke(self, routine: Routine, args: list[Value]) -> Value:
        """What a function of the code returns for these arguments."""
        routine.called = True
        if self.calls >= MAX_CALLS or self.steps > MAX_STEPS:
            self.whole = self.whole and self.steps <= MAX_STEPS
            return NOTHING
        self.calls += 1
        before, returned = dict(self.names), self.returned
        self.returned = []
        try:
            args = [*routine.bound, *args]
            names = routine.reader.bind_all(routine.params, args)
            self.names["@_"] = self.names["arguments"] = args
            value = routine.reader.expression(*routine.body)[0] if routine.value else routine.reader.block(*routine.body)
            return either(self.returned) if self.returned else value
        finally:
            self.calls -= 1
            self.returned = returned
            for name in (*names, "@_", "arguments"):
                if name in before:
                    self.names[name] = before[name]
                else:
                    self.names.pop(name, None)

    def call(self, callee: Value, args: list[Value], base: Value = None) -> Value:
        for each in choices(callee):
            if isinstance(each, Routine):
                return self.invoke(each, args)
        args = [self._settled(arg) for arg in args]
        callee = choices(callee)[0]
        name = callee.name if isinstance(callee, Library) else ""
        full = self.library.full(name)
        act = self.library.functions.get(full)
        if act is None:
            act = self.library.methods.get(full.rpartition(".")[2])
        if act is not None:
            found = act(self, args, base)
            if found is not None:
                return found
        return self.unknown(name, args, base)

    def _settled(self, value: Value, depth: int = 2) -> Value:
        """An argument with the environment as a value."""
        if isinstance(value, Library) and value.name in self.library.environment:
            return ENVIRONMENT
        if not depth or not self.library.environment or not isinstance(value, dict | list):
            return value
        parts = [self._settled(part, depth - 1) for part in items(value)]
        if all(one is other for one, other in zip(parts, items(value), strict=True)):
            return value
        return dict(zip(parts[::2], parts[1::2], strict=True)) if isinstance(value, dict) else parts

    def unknown(self, name: str, args: list[Value], base: Value) -> Value:
        """The result of a call that is not known; functions among its arguments are called."""
        origin = sources(base, *args)
        for arg in args[:MAX_CHOICES]:
            if isinstance(arg, Routine):
                self.invoke(arg, [Unknown(sources=origin)] * 2)
        return Unknown(kind=f"{name}()", sources=origin)


ENVIRONMENT = Unknown(kind="environment", sources=(FROM_ENVIRONMENT,))


def _all_unknown(deed: Deed) -> bool:
    words = [word for word in deed.argv[1:] if word[:1] != "-"] + [each.target for each in deed.redirects]
    return not any(word.strip(UNKNOWN + "./") for word in (*words, deed.text, deed.target))


def distributed(fold: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """Applies an operation to each of the values that its operands may be."""
    found = [fold(one, other) for one in choices(left) for other in choices(right)][:MAX_CHOICES]
    return found[0] if len(found) == 1 else Either(tuple(found))


def one_of(values: list[Value]) -> Value:
    """One of the elements of a list."""
    return Either(tuple(values[:MAX_CHOICES])) if len(values) > 1 else values[0] if values else NOTHING


def element(value: Value) -> Value:
    """What a loop over a value gets."""
    found: list[Value] = []
    for each in choices(value):
        if isinstance(each, list | tuple):
            found += each
        elif isinstance(each, dict):
            found += list(each)
        elif isinstance(each, str):
            found.append(each)
        else:
            found.append(Unknown(sources=sources(each)))
    return one_of(found)


def concatenated(left: Value, right: Value) -> Value:
    if isinstance(left, list) and isinstance(right, list):
        return [*left, *right][:200]
    return distributed(lambda one, other: sourced((text(one) + text(other))[:_MAX_TEXT], sources(one, other)), left, right)


_ASSIGNING = frozenset({"=", "+=", ".=", "||=", "??=", "&&=", "//=", ":=", "-=", "*=", "/=", "|=", "&=", "%=", "^=", "**="})
_NONE: frozenset[str] = frozenset()
_PREFIXES = frozenset({"!", "-", "+", "~", "...", "\\", "&", "*", "++", "--", "@", "?", "%"})
_PREFIX_WORDS = frozenset(
    "new await typeof void delete yield throw not my our local state async defined return const let var echo print puts p say"
    " else elif then do try begin if unless while until case when export default in and or global static public private"
    " protected readonly declare set to abstract override scalar require_once include_once param".split()
)
_BINARY = frozenset(
    "+ - * / % == != === !== < > <= >= & | ^ << <<~ =~ !~ <=> .. ... ** && || ?? // . x & ~".split()
)
_BINARY_WORDS: dict[int, frozenset[str]] = {
    id(JAVASCRIPT): frozenset({"instanceof", "in"}),
    id(PERL): frozenset({"and", "or", "xor", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "x", "isa"}),
    id(PHP): frozenset({"and", "or", "xor", "instanceof"}),
    id(RUBY): frozenset({"and", "or"}),
    id(LUA): frozenset({"and", "or"}),
    id(APPLESCRIPT): frozenset({"and", "or", "contains", "is", "mod"}),
    id(POWERSHELL): frozenset(
        "-eq -ne -like -match -replace -join -split -and -or -f -notlike -notmatch -gt -lt -ge -le -in -contains -is".split()
    ),
}
_TYPES = frozenset({"as", "satisfies"})
_INLINE = frozenset(
    "if while switch unless until elsif elseif with catch do else try finally begin then end export default case BEGIN END ensure"
    " rescue when loop tell declare async".split()
)
_SKIPPED = {"package", "interface", "type", "namespace"}
_FILLS: dict[int, re.Pattern[str]] = {
    id(JAVASCRIPT): re.compile(r"(?<!\\)\$\{"),
    id(RUBY): re.compile(r"(?<!\\)#\{"),
    id(PERL): re.compile(
        r"(?<!\\)(?:\$\{?\w++(?:::\w++)*+\}?(?:(?:->)?(?:\[[^\]\n]{1,40}\]|\{[^}\n]{1,40}\}))*+|@\{\[|@\{|@\w++|\$\{)"
    ),
    id(PHP): re.compile(r"(?<!\\)(?:\{(?=\$)|\$\{|\$\w++(?:->\w++|\[[^\]\n]{1,40}\])?)"),
    id(POWERSHELL): re.compile(r"(?<!`)(?:\$\(|\$\{|\$(?:\w++:)?\w++(?:\.\w++(?!\())?)"),
}
_OPENS = {"{": "}", "[": "]", "(": ")"}
_BLOCKS = frozenset("def do if unless case while until begin class module for function repeat".split())
_MODIFIERS = frozenset({"if", "unless", "while", "until", "for"})


class Reader:
    """Walks one list of tokens. Positions are indices of it; `end` is the first one that does not belong."""

    def __init__(self, run: ScriptRun, tokens: list[Token]) -> None:
        self.run, self.tokens = run, tokens

    # --- statements -------------------------------------------------------------------------------------------------------

    def block(self, at: int, end: int) -> Value:
        value: Value = NOTHING
        while at < end and self.run.steps <= MAX_STEPS:
            before = at
            found, at = self.statement(at, end)
            if found is not None:
                value = found
            at = max(at, before + 1)
        if at < end:
            self.run.whole = False
        return value

    def statement(self, at: int, end: int) -> tuple[Value, int]:
        token = self.tokens[at]
        if token.kind == "end" or (token.kind == "sign" and token.text in ";,)}]{"):
            return None, at + 1
        if token.kind == "name":
            handler = _STATEMENTS.get(token.text)
            if handler is not None and (found := handler(self, at, end)) >= 0:
                return None, found
            if token.text in _INLINE:
                return None, at + 1
            if (found := self._method(at, end)) >= 0:
                return None, found
        count = len(self.run.deeds)
        value, after = self.expression(at, end)
        if after < end and self.tokens[after].text in ("for", "foreach") and self.run.syntax is PERL:
            listed, last = self.expression(after + 1, end)
            del self.run.deeds[count:]
            self.run.names["$_"] = element(listed)
            self.expression(at, after)
            return None, last
        return value, after

    def is_sign(self, at: int, end: int, *signs: str) -> bool:
        return at < end and self.tokens[at].kind == "sign" and self.tokens[at].text in signs

    def _method(self, at: int, end: int) -> int:
        """`name(params) {` in a class."""
        if not self.is_sign(at + 1, end, "(") or self.run.syntax.ends or self.run.syntax in (AWK, PERL, POWERSHELL):
            return -1
        close = self.tokens[at + 1].match
        if not self.is_sign(close + 1, end, "{") or self.tokens[at].text in ("catch", "if", "for", "while", "switch", "foreach"):
            return -1
        stop = self.tokens[close + 1].match
        routine = Routine(self, (at + 2, close), (close + 2, min(stop, end)))
        self.run.routines.append(routine)
        self.run.names.setdefault(self.tokens[at].text, routine)
        return stop + 1

    def skip_to(self, at: int, end: int, *signs: str) -> int:
        """The first of these signs outside brackets, else the end of the statement."""
        while at < end:
            token = self.tokens[at]
            if token.kind == "sign":
                if token.text in signs:
                    return at
                if token.text in ")]};":
                    return end
            elif token.kind == "end":
                return end
            elif token.text in signs:
                return at
            at = token.match + 1 if token.match > at else at + 1
        return end

    # --- names ------------------------------------------------------------------------------------------------------------

    def bind_all(self, params: tuple[int, int], args: list[Value]) -> list[str]:
        """Gives parameters their values; the names that were set."""
        at, end = params
        names: list[str] = []
        for count in range(MAX_CHOICES):
            if at >= end:
                break
            after = self._comma(at, end)
            names += self.bind(at, after, args[count] if count < len(args) else NOTHING)
            at = after + 1
        return names

    def _comma(self, at: int, end: int) -> int:
        while at < end and not (self.tokens[at].kind == "sign" and self.tokens[at].text == ","):
            at = self.tokens[at].match + 1 if self.tokens[at].match > at else at + 1
        return min(at, end)

    def bind(self, at: int, end: int, value: Value) -> list[str]:
        """`name`, `name = default`, `{a, b: c}`, `[a, b]`, `name: type`."""
        if self.is_sign(at, end, "..."):
            at += 1
        if at >= end:
            return []
        token = self.tokens[at]
        if token.kind == "sign" and token.text in ("{", "[", "("):
            names: list[str] = []
            inner, stop, count = at + 1, min(token.match, end), 0
            while inner < stop and count < MAX_CHOICES:
                after = self._comma(inner, stop)
                key = self.tokens[inner].text
                if token.text == "{":
                    part = self.run_member(value, key)
                    start = inner + 2 if self.is_sign(inner + 1, after, ":", "=>") else inner
                else:
                    part, start = item_at(value, count), inner
                names += self.bind(start, after, part)
                inner, count = after + 1, count + 1
            return names
        while at + 1 < end and token.kind == "name" and self.tokens[at + 1].kind == "name" and token.text != "$":
            at += 1
            token = self.tokens[at]
        if token.kind != "name":
            return []
        default = self.skip_to(at + 1, end, "=")
        if value is NOTHING and default < end:
            value = self.expression(default + 1, end)[0]
        self.run.names[token.text] = value
        return [token.text]

    def lookup(self, name: str) -> Value:
        run = self.run
        if name in run.names:
            return run.names[name]
        if name in run.library.constants:
            return run.library.constants[name]
        found = run.library.member(run, name)
        return Library(name) if found is None else found

    def run_member(self, value: Value, key: str) -> Value:
        """`value.key`."""
        if isinstance(value, Either):
            value = value.values[0]
        if isinstance(value, dict):
            return value.get(key, Unknown(sources=sources(value)) if key.isidentifier() else NOTHING)
        if isinstance(value, Library):
            full = self.run.library.full(f"{value.name}.{key}")
            if full in self.run.library.constants:
                return self.run.library.constants[full]
            if full in self.run.names:
                return self.run.names[full]
            found = self.run.library.member(self.run, full)
            return Library(full) if found is None else found
        return Unknown(sources=sources(value)) if value is not None else NOTHING

    # --- expressions ------------------------------------------------------------------------------------------------------

    def expression(self, at: int, end: int, *, loose: bool = True) -> tuple[Value, int]:
        run = self.run
        run.depth += 1
        try:
            if run.depth > MAX_DEPTH:
                run.whole = False
                return NOTHING, end
            value, at, target = self.operand(at, end)
            while at < end:
                token = self.tokens[at]
                if token.kind == "sign":
                    if token.text in _ASSIGNING:
                        value, at = self._assigned(value, target, at, end)
                    elif token.text == "?" and self.run.syntax is not RUBY or token.text == "?" and token.spaced:
                        value, at = self._chosen(at, end)
                    elif token.text in run.syntax.concat or token.text in _BINARY:
                        value, at = self._combined(value, target, at, end)
                    elif token.text == "|" and run.syntax in (AWK, POWERSHELL):
                        value, at = self._combined(value, target, at, end)
                    else:
                        break
                elif token.kind == "name" and token.text in run.words:
                    if token.text in ("and", "or") and not loose:
                        break
                    right, at, _ = self.operand(at + 1, end)
                    value = value if token.text in ("and", "or") else Unknown(sources=sources(value, right))
                elif token.kind == "name" and token.text in _TYPES and run.syntax is JAVASCRIPT:
                    at = self.operand(at + 1, end)[1]
                elif run.syntax is AWK and token.kind in ("string", "name", "number") and token.text not in _AWK_WORDS:
                    right, at, _ = self.operand(at, end)
                    value = concatenated(value, right)
                elif run.syntax is RUBY and token.kind == "string" and isinstance(value, str):
                    right, at, _ = self.operand(at, end)
                    value = concatenated(value, right)
                else:
                    break
            return value, at
        finally:
            run.depth -= 1

    def _assigned(self, value: Value, target: tuple[int, int] | None, at: int, end: int) -> tuple[Value, int]:
        sign = self.tokens[at].text
        right, at = self.expression(at + 1, end)
        if sign[:-1] in self.run.syntax.concat:
            right = concatenated(value if isinstance(value, str | Unknown | Either | list) else "", right)
        elif sign in ("||=", "??=", "//="):
            right = value if isinstance(value, str) else right
        if target is not None:
            self.assign(target, right)
        return right, at

    def assign(self, target: tuple[int, int], value: Value) -> None:
        first, last = target
        token = self.tokens[first]
        if last - first == 1 and token.kind == "name":
            self.run.names[token.text] = value
        elif token.kind == "sign" and token.text in ("(", "[", "{"):
            self.bind(first, last, value)
        elif token.kind == "name" and self.is_sign(first + 1, last, "["):
            held = self.run.names.get(token.text)
            key = self.expression(first + 2, self.tokens[first + 1].match)[0] if self.tokens[first + 1].match > first + 2 else None
            if isinstance(held, dict) and isinstance(key, str):
                held[key] = value
            elif isinstance(held, list) and len(held) < MAX_CHOICES:
                held.append(value)
        elif token.kind == "name" and last - first == 3 and self.is_sign(first + 1, last, ".", "->"):  # noqa: PLR2004 - a.b
            held = self.run.names.get(token.text)
            if isinstance(held, dict):
                held[self.tokens[last - 1].text] = value
            else:
                self.run.names[f"{token.text}.{self.tokens[last - 1].text}"] = value

    def _chosen(self, at: int, end: int) -> tuple[Value, int]:
        """`? one : other`."""
        one, at = self.expression(at + 1, end)
        if not self.is_sign(at, end, ":"):
            return one, at
        other, at = self.expression(at + 1, end)
        return one_of([*choices(one), *choices(other)]), at

    def _combined(self, value: Value, target: tuple[int, int] | None, at: int, end: int) -> tuple[Value, int]:
        sign = self.tokens[at].text
        if sign in ("||", "??", "//") and self.run.syntax.patterns | (sign != "//"):
            right, at = self.expression(at + 1, end)
            return (value if isinstance(value, str) and value.strip(UNKNOWN) else right), at
        if sign == "|" and self.run.syntax in (AWK, POWERSHELL):
            return PIPES[self.run.syntax is AWK](self, value, at, end)
        if sign == "&&":
            return self.expression(at + 1, end)
        if sign == ">" and self.run.printing:
            append = self.is_sign(at + 1, end, ">")
            path, at = self.expression(at + 1 + append, end)
            self.run.add(*(write(text(one), feed(value), append=append) for one in choices(path)))
            return value, at
        right, after, _ = self.operand(at + 1, end)
        if sign == "/" and self.run.syntax is RUBY:
            return (concatenated(concatenated(value, "/"), right) if isinstance(value, str) else NOTHING), after
        if sign in self.run.syntax.concat:
            value = concatenated(value, right)
            if sign == "<<" and target is not None:
                self.assign(target, value)
            return value, after
        if sign in ("=~", "!~"):
            return value, after
        return Unknown(sources=sources(value, right)), after

    def operand(self, at: int, end: int) -> tuple[Value, int, tuple[int, int] | None]:
        run, tokens = self.run, self.tokens
        run.steps += 1
        for _ in range(_MAX_PREFIXES):
            if at >= end:
                return NOTHING, at, None
            token = tokens[at]
            if (token.kind == "sign" and token.text in _PREFIXES) or (
                token.kind == "name" and token.text in _PREFIX_WORDS and token.text not in run.names and not self._called(at, end)
            ):
                if token.text == "return":
                    value, at = self.expression(at + 1, end)
                    run.returned.append(value)
                    return value, at, None
                if token.text in ("print", "printf") and run.syntax is AWK:
                    run.printing = True
                    value, at = self.listed(at + 1, end)
                    run.printing = False
                    return one_of(value[:1]) if len(value) == 1 else " ".join(map(text, value)), at, None
                at += 1
                continue
            break
        if at >= end:
            return NOTHING, at, None
        start = at
        value, at = self.primary(at, end)
        value, at = self.postfix(value, start, at, end)
        return value, at, (start, at)

    def _called(self, at: int, end: int) -> bool:
        """Whether a word that may be a keyword is a name here: `print(`, `p.x`, `delete:`."""
        return self.is_sign(at + 1, end, ".", "=", ":", "=>", ",", "?.") or (
            self.is_sign(at + 1, end, "(") and self.tokens[at].text in self.run.library.functions
        )

    def primary(self, at: int, end: int) -> tuple[Value, int]:
        token, run_command = self.tokens[at], self.run.library.command is not None
        if token.kind == "string":
            if run_command and at and self.is_sign(at - 1, end, "&"):
                return self.commanded(at, end)
            return self.filled(token), at + 1
        if token.kind == "command":
            command = self.filled(token)
            for each in choices(command):
                self.run.add(shell(text(each)))
            return Unknown(sources=("program:ls",)), at + 1
        if token.kind == "words":
            return token.text.split()[:200], at + 1
        if token.kind == "number":
            return int(token.text) if token.text.isdigit() and len(token.text) < 9 else token.text, at + 1  # noqa: PLR2004
        if token.kind == "name":
            return self.named(token, at, end)
        if token.kind == "sign" and token.text in _OPENS:
            return self.bracketed(token, at, end)
        if token.kind == "pattern":
            return token.text, at + 1
        if token.text == "$" and self.run.syntax is AWK:
            return FROM_INPUT, self.primary(at + 1, end)[1] if at + 1 < end else end
        if token.text == ":" and self.run.syntax is RUBY and at + 1 < end:
            return self.tokens[at + 1].text, at + 2
        return NOTHING, at if token.text in ",;)]}:=>" else at + 1

    def bracketed(self, token: Token, at: int, end: int) -> tuple[Value, int]:
        close = min(token.match, end)
        if token.text == "(":
            if self.is_sign(close + 1, end, "=>"):
                return self.arrow((at + 1, close), close + 1, end)
            found = self.items(at + 1, close)
            return (found[0] if len(found) == 1 else found if found else []), close + 1
        if token.text == "[" and self.run.library.command is not None:
            return [Library("".join(each.text for each in self.tokens[at + 1 : close][:20]))], close + 1
        if token.text == "[":
            return self.items(at + 1, close), close + 1
        if self.run.syntax is LUA or self._is_object(at, close):
            return self.object(at + 1, close), close + 1
        if self.run.syntax in (PERL, POWERSHELL, RUBY):  # a block as an argument
            return self.routine((at + 1, at + 1), (at + 1, close)), close + 1
        return self.object(at + 1, close), close + 1

    def _is_object(self, at: int, close: int) -> bool:
        return close == at + 1 or self.is_sign(at + 2, close, ":", "=>", ",", "=") or self.is_sign(at + 1, close, "...")

    def items(self, at: int, end: int) -> list[Value]:
        found: list[Value] = []
        while at < end and self.run.steps <= MAX_STEPS:
            before = at
            spread = self.is_sign(at, end, "...", "@")
            if self.is_sign(at, end, ",", "=>"):
                at += 1
                continue
            value, at = self.expression(at, end)
            if (spread or self.run.syntax is PERL) and isinstance(value, list):
                found += value
            else:
                found.append(value)
            at = self._comma(at, end) if not self.is_sign(at, end, "=>", ":") else at + 1
            at = max(at, before + 1)
        return found[:200]

    def listed(self, at: int, end: int) -> tuple[list[Value], int]:
        """Values between commas, up to the end of the statement."""
        found: list[Value] = []
        while at < end:
            before = at
            value, at = self.expression(at, end, loose=False)
            if at > before:
                found.append(value)
            if not self.is_sign(at, end, ",", "=>"):
                break
            at += 1
        flat = [each for value in found for each in (value if isinstance(value, list) and self.run.syntax is PERL else [value])]
        return flat[:200], at

    def object(self, at: int, end: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while at < end and self.run.steps <= MAX_STEPS:
            after = self._comma(at, end)
            if after == at:
                at += 1
                continue
            if self.is_sign(at, after, "..."):
                value = self.expression(at + 1, after)[0]
                found.update(value if isinstance(value, dict) else {f"...{at}": value})
            else:
                sign = self.skip_to(at, after, ":", "=>", "=")
                key = self.tokens[at].text
                if self.is_sign(at, after, "["):
                    key = text(self.expression(at + 1, after)[0])
                if sign < after:
                    found[key] = self.expression(sign + 1, after)[0]
                elif self._method(at, after) < 0:
                    found[key] = self.expression(at, after)[0]
            at = after + 1
        return found

    def routine(self, params: tuple[int, int], body: tuple[int, int], *, value: bool = False) -> Routine:
        found = Routine(self, params, body, value)
        self.run.routines.append(found)
        return found

    def arrow(self, params: tuple[int, int], at: int, end: int) -> tuple[Value, int]:
        """`params => body`; `at` is the arrow."""
        if self.is_sign(at + 1, end, "{"):
            close = min(self.tokens[at + 1].match, end)
            return self.routine(params, (at + 2, close)), close + 1
        after = self._comma(at + 1, end)
        stop = self.skip_to(at + 1, after, ";")
        return self.routine(params, (at + 1, stop), value=True), stop

    def function(self, at: int, end: int) -> tuple[Value, int]:
        """`function name(params) { }`, `sub name { }`; `at` is the keyword."""
        start = at + 1
        name = ""
        while start < end and (self.tokens[start].kind == "name" or self.tokens[start].text in ("*", ".", ":")):
            name += self.tokens[start].text
            start += 1
        params = (start, start)
        if self.is_sign(start, end, "("):
            params = (start + 1, min(self.tokens[start].match, end))
            start = params[1] + 1
        if self.run.syntax.ends:
            close = self.ending(at, end)
            found = self.routine(params, (start, close))
        else:
            opened = self.skip_to(start, end, "{")
            if opened >= end:
                return NOTHING, start
            close = min(self.tokens[opened].match, end)
            found = self.routine(params, (opened + 1, close))
        if name:
            name = name.lower() if self.run.library.command is not None else name
            self.run.names[name.lstrip("*")] = found
        return found, close + 1

    def ending(self, at: int, end: int) -> int:
        """The `end` of the block that a keyword opens."""
        depth, fresh = 0, True
        for position in range(at, end):
            token = self.tokens[position]
            if token.kind == "name":
                if token.text in _BLOCKS and (fresh or token.text not in _MODIFIERS) and not self.is_sign(position - 1, end, "."):
                    loop = self.run.syntax is RUBY and token.text == "do" and self._loop_before(position)
                    depth += not loop and not (self.run.syntax is LUA and token.text in ("while", "for"))
                elif token.text in ("end", "until") and (token.text == "end" or self.run.syntax is LUA):
                    depth -= 1
                    if depth <= 0:
                        return position
            fresh = token.kind == "end" or token.text in (";", "=", "then", "do", "else") or (token.kind == "sign" and token.text == "(")
            fresh = fresh or self.run.syntax is LUA
        return end

    def _loop_before(self, at: int) -> bool:
        for position in range(at - 1, max(at - 30, -1), -1):
            token = self.tokens[position]
            if token.kind == "end" or token.text == ";":
                return False
            if token.text in ("while", "until", "for"):
                return True
        return False

    def named(self, token: Token, at: int, end: int) -> tuple[Value, int]:
        name, run = token.text, self.run
        if name in ("function", "sub", "fn", "def") and name not in run.names:
            if name == "fn":
                close = self.tokens[at + 1].match if self.is_sign(at + 1, end, "(") else -1
                if self.is_sign(close + 1, end, "=>"):
                    return self.arrow((at + 2, close), close + 1, end)
            elif not self.is_sign(at + 1, end, ".", "=>", ",", "="):
                return self.function(at, end)
        if self.is_sign(at + 1, end, "=>") and run.syntax is JAVASCRIPT:
            return self.arrow((at, at + 1), at + 1, end)
        if name in ("lambda", "proc") and run.syntax is RUBY:
            return NOTHING, at + 1
        if run.library.command is not None:
            if name[:1] in "$@-" and _is_path(name):
                return self.word(at, end)
            if name[:1] not in "$@-":
                return self.commanded(at, end)
        if run.syntax is PERL and token.text[:1] in "@%$&" and len(name) > 1:
            return self._variable(name, at, end), at + 1
        return self.lookup(name), at + 1

    def _variable(self, name: str, at: int, end: int) -> Value:
        """Perl: `$h{x}` and `$a[0]` are parts of `%h` and `@a`."""
        name = name.replace("{", "").replace("}", "")
        if self.is_sign(at + 1, end, "{") and not self.tokens[at + 1].spaced and f"%{name[1:]}" != "%_":
            return self.lookup(f"%{name[1:]}")
        if self.is_sign(at + 1, end, "[") and name[:1] == "$" and f"@{name[1:]}" in self.run.names:
            return self.lookup(f"@{name[1:]}")
        return self.lookup(name)

    def postfix(self, value: Value, start: int, at: int, end: int) -> tuple[Value, int]:
        run, tokens = self.run, self.tokens
        base: Value = None
        named = True
        while at < end:
            token = tokens[at]
            if token.kind == "sign":
                if (token.text in (".", "?.", "->", "::") or (token.text == ":" and run.syntax is LUA)) and not (token.text in run.syntax.concat):
                    if self.is_sign(at + 1, end, "[", "(", "{"):
                        at += 1
                        continue
                    if at + 1 >= end or tokens[at + 1].kind not in ("name", "number"):
                        break
                    if isinstance(value, Library) and run.syntax is RUBY:
                        value = self._without_arguments(value, base)
                    base, value = value, self._joined(value, tokens[at + 1].text)
                    at, named = at + 2, True
                    continue
                if token.text == "(" and not (token.spaced and run.syntax in (AWK, POWERSHELL)):
                    value, at = self._call(value, base, at, end)
                    base, named = None, False
                    continue
                if token.text == "[" and not (token.spaced and run.syntax.bare) or (
                    token.text == "{" and run.syntax is PERL and not token.spaced
                ):
                    base, value, at = value, *self._indexed(value, at, end)
                    continue
                if token.text == "!" and run.syntax is JAVASCRIPT and not token.spaced:
                    at += 1
                    continue
                if token.text in ("++", "--"):
                    at += 1
                    continue
            elif token.kind == "string" and token.fills and run.syntax is JAVASCRIPT and isinstance(value, Library):
                value, at = run.call(value, [self.filled(token)], base), at + 1
                continue
            bare = self._bare(value, base, at, end)
            if bare is not None:
                value, at = bare
                base, named = None, False
                continue
            break
        if named and isinstance(value, Library) and run.syntax in (RUBY, PERL) and not (at < end and tokens[at].text in _ASSIGNING):
            value = self._without_arguments(value, base)
        return value, at

    def _without_arguments(self, value: Library, base: Value) -> Value:
        run = self.run
        full = run.library.full(value.name)
        known = full in run.library.functions or full.rpartition(".")[2] in run.library.methods
        if known and ("." in full or (full == "unlink" and run.syntax is PERL)):
            return run.call(value, [], base)
        return value

    def _joined(self, value: Value, key: str) -> Value:
        """The member of a value; of one that is not a library, the method with the value as what it belongs to."""
        first = choices(value)[0]
        if isinstance(first, Library | dict):
            return self.run_member(first, key)
        if isinstance(first, str) and key.lower() in _OWN_NAME and not self.run.syntax.ends:
            return value
        return Library(f".{key}")

    def _call(self, value: Value, base: Value, at: int, end: int) -> tuple[Value, int]:
        close = min(self.tokens[at].match, end)
        args = self.items(at + 1, close)
        at = close + 1
        block, at = self._block(at, end)
        return self.run.call(value, [*args, *block], base), at

    def _block(self, at: int, end: int) -> tuple[list[Value], int]:
        """Ruby: `{ |x| ... }` and `do |x| ... end` behind a call."""
        if self.run.syntax is not RUBY or at >= end:
            return [], at
        if self.is_sign(at, end, "{"):
            close, inner = min(self.tokens[at].match, end), at + 1
        elif self.tokens[at].kind == "name" and self.tokens[at].text == "do":
            close, inner = self.ending(at, end), at + 1
        else:
            return [], at
        params = (inner, inner)
        if self.is_sign(inner, close, "|"):
            stop = self.skip_to(inner + 1, close, "|")
            params, inner = (inner + 1, stop), stop + 1
        return [self.routine(params, (inner, close))], close + 1

    def _bare(self, value: Value, base: Value, at: int, end: int) -> tuple[Value, int] | None:
        """A call without parentheses: `unlink "x"`, `Dir.each_child d do |f|`."""
        run, token = self.run, self.tokens[at]
        if run.library.command is not None:
            return None
        if not run.syntax.bare or not isinstance(value, Library | Routine):
            return None
        if run.syntax is RUBY and ((token.kind == "sign" and token.text == "{") or token.text == "do"):
            block, after = self._block(at, end)
            return (run.call(value, block, base), after) if block and isinstance(value, Library) else None
        if isinstance(value, Library):
            full = run.library.full(value.name)
            if full not in run.library.functions and full.rpartition(".")[2] not in run.library.methods:
                return None
        begins = token.kind in ("string", "number", "words", "command") or (
            token.kind == "name" and token.text not in run.words and token.text not in _MODIFIERS | {"do", "then", "foreach"}
        )
        begins = begins or (token.kind == "sign" and token.text in ("[", "\\", "<", "*", ":", "{", "&") and token.spaced)
        begins = begins or (run.syntax is PERL and token.kind == "sign" and token.text in ("@", "{"))
        if not begins:
            return None
        if run.syntax is PERL and self.is_sign(at, end, "{"):  # grep { } @list
            close = min(token.match, end)
            args, after = self.listed(close + 1, end)
            return run.call(value, [self.routine((at, at), (at + 1, close)), *args], base), after
        args, after = self.listed(at, end)
        block, after = self._block(after, end)
        return run.call(value, [*args, *block], base), after

    def commanded(self, at: int, end: int) -> tuple[Value, int]:
        """PowerShell: a command, its options and operands, up to the end of the statement."""
        run, token = self.run, self.tokens[at]
        called, at = (self.filled(token), at + 1) if token.kind == "string" else self.word(at, end)
        name = text(called)
        args: list[Value] = []
        words: list[Value] = []
        options: dict[str, Value] = {}
        while at < end and not self._ends_command(at, end):
            token, before = self.tokens[at], at
            if token.kind == "sign" and token.text == "{":
                args.append(self.routine((at, at), (at + 1, min(token.match, end))))
                at = min(token.match, end) + 1
                continue
            if token.kind == "sign" and token.text == ",":
                at += 1
                continue
            value, at = self.word(at, end)
            words.append(value)
            at = max(at, before + 1)
            if token.kind == "name" and token.text[:1] == "-":
                key = token.text[1:].lower()
                options[key] = True
                if key not in _SWITCHES and at < end and not self._ends_command(at, end) and self.tokens[at].text[:1] != "-":
                    options[key], at = self.word(at, end)
                    words.append(options[key])
            else:
                args.append(value)
        lower = name.lower()
        if isinstance(own := run.names.get(name, run.names.get(lower)), Routine):
            return run.invoke(own, args), at
        if lower in run.library.functions:
            return run.call(Library(lower), [*args, options], None), at
        return (run.library.command(run, name, words) if run.library.command else NOTHING), at

    def _ends_command(self, at: int, end: int) -> bool:
        return self.tokens[at].kind == "end" or self.is_sign(at, end, ";", "|", ")", "}", "&&", "||", "]")

    def word(self, at: int, end: int) -> tuple[Value, int]:
        """One word of a command: a value, or text as it is written."""
        token = self.tokens[at]
        after = at + 1
        value_sign = token.kind == "sign" and token.text in ("(", "[", "@")
        if token.kind == "string" or value_sign or (token.text[:1] == "$" and not _is_path(token.text)):
            if self.is_sign(at, end, "@") and self.is_sign(after, end, "(", "{"):
                return self.primary(after, end)
            if self.is_sign(at, end, "$") and self.is_sign(after, end, "("):
                return self.primary(after, end)
            value, after = self.primary(at, end)
            return self.postfix(value, at, after, end)
        written = token.text
        while after < end and not self.tokens[after].spaced and self.tokens[after].kind in ("name", "number", "sign"):
            if self._ends_command(after, end) or self.is_sign(after, end, ",", "(", "{"):
                break
            written += self.tokens[after].text
            after += 1
        return self.filled(Token("string", written.replace("\\", "/"), fills=True)), after

    def _indexed(self, value: Value, at: int, end: int) -> tuple[Value, int]:
        close = min(self.tokens[at].match, end)
        key: Value = NOTHING
        if close == at + 2 and self.tokens[at + 1].kind == "name" and self.run.syntax in (PERL, PHP):
            word = self.tokens[at + 1].text
            key = self.lookup(word) if word[:1] == "$" else word
        elif close > at + 1:
            key = self.expression(at + 1, close)[0]
        key = choices(key)[0]
        first = choices(value)[0]
        if isinstance(first, Library) and isinstance(key, str) and key.strip(UNKNOWN):
            return self.run_member(first, key), close + 1
        if isinstance(first, dict) and isinstance(key, str):
            return self.run_member(first, key), close + 1
        if isinstance(key, int):
            return item_at(first, key), close + 1
        return (element(value) if isinstance(first, list) else Unknown(sources=sources(value))), close + 1

    # --- texts ------------------------------------------------------------------------------------------------------------

    def filled(self, token: Token) -> Value:
        """The text of a string with what is filled into it."""
        run = self.run
        if not token.fills:
            return token.text
        pattern = _FILLS.get(id(run.syntax))
        if pattern is None:
            return unescaped(token.text, run.syntax.escape)
        value: Value = ""
        source, at = token.text, 0
        for _ in range(60):
            found = pattern.search(source, at)
            if found is None:
                break
            value = concatenated(value, unescaped(source[at : found.start()], run.syntax.escape))
            piece, at = self._piece(source, found)
            value = concatenated(value, run.text(piece) if piece else "")
        return concatenated(value, unescaped(source[at:], run.syntax.escape))

    def _piece(self, source: str, found: re.Match[str]) -> tuple[str, int]:
        """The expression that is filled in, and where the text goes on."""
        opened = found.group()[-1]
        if opened not in _OPENS:
            return found.group(), found.end()
        depth, closing = 1, _OPENS[opened]
        for at in range(found.end(), len(source)):
            depth += (source[at] == opened) - (source[at] == closing)
            if not depth:
                inner = source[found.end() : at]
                if found.group() == "${" and self.run.syntax is not JAVASCRIPT:
                    inner = "$" + inner
                after = at + 1
                return inner, after + (found.group() == "@{[" and source[after : after + 1] == "}")
        return "", len(source)


PIPED = "|"
"""The name of what is piped to a command of PowerShell."""

_SWITCHES = frozenset(
    "recurse r rec force fo f append raw usebasicparsing passthru verbose confirm whatif file directory name noprofile wait nonewline unique rf fr s l la".split()
)
FROM_INPUT = Unknown(sources=("input",))
"""What the standard input of the script brings."""

_OWN_NAME = frozenset({"name", "fullname", "path"})
"""Members of an entry of a folder that name it."""

_AWK_WORDS = frozenset({"getline", "in", "if", "else", "while", "for", "do", "next", "exit", "BEGIN", "END", "function"})


def _is_path(word: str) -> bool:
    return "/" in word or "\\" in word


def item_at(value: Value, at: int) -> Value:
    value = choices(value)[0]
    if isinstance(value, list | tuple):
        return value[at] if -len(value) <= at < len(value) else NOTHING
    return Unknown(sources=sources(value)) if value is not None else NOTHING


# --- statements of single languages ---------------------------------------------------------------------------------------


def _loop(reader: Reader, at: int, end: int) -> int:
    """`for (const f of list)`, `foreach my $f (list)`, `foreach (list as $f)`, `for f in list`."""
    tokens = reader.tokens
    start, variable = at + 1, at + 1
    while start < end and tokens[start].kind == "name" and tokens[start].text in ("my", "our", "await", "let", "const", "var"):
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
            reader.bind(inner, by, element(value) if tokens[by].text == "of" or reader.run.syntax is POWERSHELL else NOTHING)
        return close + 1
    by = reader.skip_to(variable, end, "in")
    if by >= end:
        return -1
    value, after = reader.expression(by + 1, end)
    reader.bind_all((variable, by), [element(value), element(value)] if reader.run.syntax is LUA else [element(value)])
    return after


def _flat(values: list[Value]) -> list[Value]:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def _declared(reader: Reader, at: int, end: int) -> int:
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


def _imported(reader: Reader, at: int, end: int) -> int:
    """`import a, {b as c} from "m"`, `import * as d from "m"`."""
    if reader.is_sign(at + 1, end, "(", "."):
        return -1
    last = at + 1
    while last < end and reader.tokens[last].kind != "string" and last < at + 60:
        last += 1
    if last >= end or reader.tokens[last].kind != "string":
        return -1
    module = Library(reader.run.library.full(reader.tokens[last].text))
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


def _named_function(reader: Reader, at: int, end: int) -> int:
    if at + 1 < end and reader.tokens[at + 1].kind == "name" or reader.is_sign(at + 1, end, "*", "(", "{"):
        return reader.function(at, end)[1]
    return -1


def _skipped(reader: Reader, at: int, end: int) -> int:
    if at + 1 >= end or reader.tokens[at + 1].kind != "name" or reader.tokens[at].text in reader.run.names:
        return -1
    if reader.run.syntax is JAVASCRIPT and reader.tokens[at].text in ("interface", "namespace", "package"):
        opened = reader.skip_to(at, end, "{")
        return reader.tokens[opened].match + 1 if opened < end else -1
    return reader.skip_to(at, end, ";", "=") if reader.tokens[at].text != "type" else _type(reader, at, end)


def _type(reader: Reader, at: int, end: int) -> int:
    sign = reader.skip_to(at, end, "=")
    return reader.operand(sign + 1, end)[1] if sign < end else -1


def _class(reader: Reader, at: int, end: int) -> int:
    opened = reader.skip_to(at, end, "{")
    if reader.run.syntax.ends:
        return at + 2
    return opened + 1 if opened < end else -1


def _use(reader: Reader, at: int, end: int) -> int:
    if reader.run.syntax not in (PERL, PHP):
        return -1
    while at < end and not reader.is_sign(at, end, ";"):
        at += 1
    return at


def _set(reader: Reader, at: int, end: int) -> int:
    """AppleScript: `set name to value`."""
    by = reader.skip_to(at + 1, end, "to")
    if reader.run.syntax is not APPLESCRIPT or by >= end:
        return -1
    value, after = reader.expression(by + 1, end)
    reader.bind(at + 1, by, value)
    return after


_STATEMENTS: dict[str, Callable[[Reader, int, int], int]] = {
    "for": _loop, "foreach": _loop, "const": _declared, "let": _declared, "var": _declared, "import": _imported,
    "function": _named_function, "sub": _named_function, "def": _named_function, "class": _class, "use": _use, "set": _set,
    **dict.fromkeys(_SKIPPED, _skipped),
}  # fmt: skip


def _awk_pipe(reader: Reader, value: Value, at: int, end: int) -> tuple[Value, int]:
    """`print x | "sh"`, `"date" | getline d`."""
    at += 1 + reader.is_sign(at + 1, end, "&")
    if at < end and reader.tokens[at].text == "getline":
        for each in choices(value):
            reader.run.add(shell(text(each)))
        at += 1
        if at < end and reader.tokens[at].kind == "name":
            reader.run.names[reader.tokens[at].text] = Unknown(sources=("program:ls",))
            at += 1
        return NOTHING, at
    command, at = reader.expression(at, end)
    for each in choices(command):
        reader.run.add(shell(text(each), INPUT if "input" in sources(value) else feed(value)))
    return NOTHING, at


def _power_pipe(reader: Reader, value: Value, at: int, end: int) -> tuple[Value, int]:
    """`list | command`, `list | % { }`."""
    names = reader.run.names
    names["$_"] = names["$PSItem"] = element(value)
    names[PIPED] = value
    short = reader.is_sign(at + 1, end, "%", "?")
    found, at, _ = reader.operand(at + 1 + short, end)
    if isinstance(found, Routine):
        found = reader.run.invoke(found, [])
    names.pop(PIPED, None)
    return found, at


PIPES = {True: _awk_pipe, False: _power_pipe}


def walked(code: str, language: str, library: LanguageLibrary) -> ScriptRun:
    """Walks a whole script."""
    run = ScriptRun(SYNTAXES[language], library)
    run.text(code)
    run.rest()
    return run
