"""What is known while a script is walked: its names, its functions and what it has done so far."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Set
from itertools import islice, pairwise, product
from typing import Protocol

import msgspec
from msgspec import Struct, field

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages.code_deeds import FED, MAX_LOADS, Deed, output_of
from toolguard_engine.effects.languages.code_values import (
    FROM_ENVIRONMENT,
    NOTHING,
    Either,
    Library,
    Unknown,
    Value,
    choices,
    either,
    items,
    sourced,
    sources,
    text,
)
from toolguard_engine.effects.languages.filled_texts import Ends
from toolguard_engine.effects.languages.script_loops import endless
from toolguard_engine.effects.languages.script_syntax import Syntax
from toolguard_engine.effects.languages.script_tokens import Token, Tokens
from toolguard_engine.effects.manuals import find_expression, option_parser
from toolguard_engine.model.work_limit import steps_to_build

MAX_STEPS = 16_000
MAX_LOOPS = 64
MAX_DEPTH = 40
_INNER = 8
"""Characters of code in code, which are read again, for one step."""
_TEXT = 4
"""Steps for each code in code, however short."""

MAX_CALLS = 24
"""How deep functions of the code call each other."""

MAX_REPEATED = 6
"""How deep they do where one of them calls itself, which takes the same way again."""

MAX_CHOICES = 16
MAX_DEEDS = 300
_MAX_TEXT = 65_536

Act = Callable[["ScriptRun", list[Value], Value], Value]
"""What a call does. Given: the run, the arguments, what the method belongs to."""


class LanguageLibrary(msgspec.Struct, frozen=True):
    """What the names of a language mean. `constants`: values of names; `functions`: calls by full name; `methods`: calls by
    their last name, whatever they belong to; `full`: the full name that a module or name has; `member`: other members;
    `environment`: names of the whole environment; `command`: a
    command that is not in `functions`, for languages of commands;
    `program`: the interpreter; `alone`: functions that are called without arguments or parentheses."""

    constants: Mapping[str, Value]
    functions: Mapping[str, Act]
    methods: Mapping[str, Act]
    full: Callable[[str], str] = lambda name: name
    member: Callable[[ScriptRun, str], Value] = lambda *_: None
    environment: frozenset[str] = frozenset()
    command: Callable[[ScriptRun, str, list[Value]], Value] | None = None
    program: str = ""
    alone: frozenset[str] = frozenset()


class Walker(Protocol):
    """What walks a list of tokens."""

    def block(self, at: int, end: int) -> Value: ...

    def expression(self, at: int, end: int, *, loose: bool = True) -> tuple[Value, int]: ...

    def all_of(self, at: int, end: int) -> Value: ...

    def bind_all(self, params: tuple[int, int], args: list[Value]) -> list[str]: ...


class Routine(Struct, eq=False):
    """A function of the code: its parameters and its body as ranges of tokens. `value`: the body is one expression."""

    reader: Walker
    params: tuple[int, int]
    body: tuple[int, int]
    value: bool = False
    called: bool = False
    bound: tuple[Value, ...] = ()


class ScriptRun(Struct, eq=False):
    """`walker`: makes what walks a list of tokens; `quiet`: deeds on wholly unknown things do not count; `is_cut`: something
    was left out at a bound; `opaque`: something that runs is not known; `loading`: words that load code from files; `loads`:
    what they have loaded, as `CodeReading` has it; `defined`: the names of functions of the code, be they defined later, and
    `missed` calls of these."""

    syntax: Syntax
    library: LanguageLibrary
    walker: Callable[[ScriptRun, list[Token]], Walker]
    names: dict[str, Value] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    routines: list[Routine] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)
    steps: int = 0
    depth: int = 0
    calling: list[Routine] = field(default_factory=list)
    loops: int = 0
    whole: bool = True
    is_full: bool = False
    is_cut: bool = False
    quiet: bool = False
    printing: bool = False
    opaque: bool = False
    loading: frozenset[str] = frozenset()
    loads: dict[tuple[str, str], None] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    missed: list[tuple[str, list[Value]]] = field(default_factory=list)

    def text(self, code: str, ends: Ends | None = None) -> Value:
        """Walks a text of the same language; the value of its last expression. `ends`: those in it that are known."""
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH or self.is_over:
                self.whole = False
                return NOTHING
            self.steps += len(code) // _INNER + _TEXT if self.depth > 1 else 0
            tokens = Tokens(code, self.syntax, ends)
            self.whole = self.whole and tokens.whole
            self._loops(tokens.found)
            self._names_of_functions(tokens.found)
            return self.walker(self, tokens.found).block(0, len(tokens.found))
        except RecursionError:
            self.whole = False
            return NOTHING
        finally:
            self.depth -= 1

    def _loops(self, tokens: list[Token]) -> None:
        for steps, deed in endless(tokens, self.syntax, self._kinds):
            if self.loops >= MAX_LOOPS or self.steps > MAX_STEPS:
                self.whole = False
                return
            self.loops += 1
            self.steps += steps
            if deed is not None:
                self.add(deed)

    def _kinds(self, name: str) -> Set[str]:
        """What the function of this name does, by the deeds that calls with an unknown file and an address come to."""
        full = self.library.full(name)
        act = self.library.functions.get(full)
        if act is None or isinstance(self._function(full), Routine):
            return frozenset()
        kinds: set[str] = set()
        for first in _TRIED:
            trial = ScriptRun(self.syntax, self.library, self.walker)
            act(trial, [first], None)
            kinds.update(_kind(deed) for deed in trial.deeds)
        return kinds

    def runs_unknown(self) -> None:
        """Notes that something runs of which nothing is known. In a function that nothing calls, nothing could be known."""
        self.opaque = self.opaque or not self.quiet

    def rest(self) -> None:
        """Functions that were called before they were defined, and those that nothing called."""
        for name, args in self.missed:
            if isinstance(routine := self._function(name), Routine):
                self.invoke(routine, args)
        self.quiet = True
        for routine in self.routines:
            if not routine.called:
                self.invoke(routine, [])
        self.quiet = False

    def add(self, *deeds: Deed) -> None:
        for deed in deeds:
            if len(self.deeds) >= MAX_DEEDS:  # nothing of what follows would be known
                self.is_full = True
                self.cut()
            elif not (self.quiet and _all_unknown(deed)):
                self.deeds.append(deed)

    def cut(self) -> None:
        """Something is left out: the reading is not whole, and nothing else makes up for it."""
        self.whole, self.is_cut = False, True

    @property
    def is_over(self) -> bool:
        """Whether nothing more is read."""
        return self.is_full or self.steps > MAX_STEPS

    def built(self, value: Value) -> Value:
        """A value that was made just now, paid for."""
        for choice in choices(value):
            if isinstance(choice, str):
                self.steps += steps_to_build(len(choice))
        return value

    def concatenated(self, left: Value, right: Value) -> Value:
        if isinstance(left, list) and isinstance(right, list):
            return [*left, *right][:200]
        if self.is_over:
            return Unknown(sources=sources(left, right))
        return self.built(distributed(_together, left, right))

    def invoke(self, routine: Routine, args: list[Value]) -> Value:
        """What a function of the code returns for these arguments."""
        routine.called = True
        is_again = routine in self.calling
        if self.is_over:  # a search of the text makes up for what steps do not allow
            self.whole = False
            return NOTHING
        if len(self.calling) >= (MAX_REPEATED if is_again else MAX_CALLS):
            if not is_again:
                self.cut()
            return NOTHING
        self.calling.append(routine)
        before, returned = dict(self.names), self.returned
        self.returned = []
        try:
            args = [*routine.bound, *args]
            names = routine.reader.bind_all(routine.params, args)
            own_words = ("@_", "arguments", *(("$args",) if self.library.command else ()))
            self.names.update(dict.fromkeys(own_words, args))
            value = routine.reader.all_of(*routine.body) if routine.value else routine.reader.block(*routine.body)
            return either(self.returned) if self.returned else value
        finally:
            self.calling.pop()
            self.returned = returned
            for name in (*names, *own_words):
                if name in before:
                    self.names[name] = before[name]
                else:
                    self.names.pop(name, None)

    def call(self, callee: Value, args: list[Value], base: Value = None) -> Value:
        for choice in choices(callee):
            if isinstance(choice, Routine):
                return self.invoke(choice, args)
        args = [self._settled(arg) for arg in args]
        callee = choices(callee)[0]
        name = callee.name if isinstance(callee, Library) else callee if isinstance(callee, str) else ""
        full = self.library.full(name)
        word = full.rpartition(".")[2]
        module = self.load(word, args[0]) if args and word in self.loading else None
        self._miss(full, args)
        act = self.library.functions.get(full)
        if act is None:
            act = self.library.methods.get(full.rpartition(".")[2])
        if act is not None:
            result = act(self, args, base)
            if result is not None:
                return self.built(result)
        if "." in full and isinstance(own := self._function(full), Routine):
            return self.invoke(own, args)
        if module is not None and full == word:
            return module
        return self.unknown(name, args, base)

    def _names_of_functions(self, tokens: list[Token]) -> None:
        words = self.syntax.keywords.kinds["functions"]
        self.defined.update(
            [name.text for word, name in pairwise(tokens) if word.text in words and word.kind == name.kind == "name"]
        )

    def load(self, word: str, name: Value) -> Value:
        """Code is loaded from the file or module of this name; what is loaded."""
        for choice in choices(name):
            if isinstance(choice, str) and choice.strip(UNKNOWN):
                self.loads[word, choice] = None
        if len(self.loads) > MAX_LOADS:
            self.loads.popitem()
            self.cut()
        return Library(name) if isinstance(name, str) and name.isidentifier() else Unknown(sources=sources(name))

    def _miss(self, name: str, args: list[Value]) -> None:
        """Notes a call of a function that is only defined behind it."""
        is_later = name.rpartition(".")[2] in self.defined and not isinstance(self._function(name), Routine)
        if is_later:  # as many as the steps allow
            self.missed.append((name, args))

    def _function(self, name: str) -> Value:
        """The function of this code, or the method of a class of it, that has this name."""
        return self.names.get(name.rpartition(".")[2])

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
        """The result of a call that is not known. Functions among its arguments are called, with what stands behind
        them, and a function whose method this is, with all of them."""
        origin = sources(base, *args)
        for at, arg in enumerate([base, *args[:MAX_CHOICES]]):
            if isinstance(arg, Routine):
                self.invoke(arg, [Unknown(sources=origin)] * 2)
                if texts := _texts(args[at:]):
                    self.invoke(arg, [one_of(texts)] * 2)
        return Unknown(kind=f"{name}()", sources=origin)


_TRIED = ("file", "https://machine.invalid/")
"""What a function is called with to find out what it does."""


def _kind(deed: Deed) -> str:
    if deed.redirects:
        return "writes"
    if deed.kind in ("send", "request"):
        return "asks"
    return "starts" if deed.text or deed.argv[:1] == _TRIED[:1] else ""


ENVIRONMENT = Unknown(kind="environment", sources=(FROM_ENVIRONMENT,))


def _all_unknown(deed: Deed) -> bool:
    words = (*option_parser.plain(deed.argv).texts, *(redirect.target for redirect in deed.redirects))
    return not any(word.strip(UNKNOWN + "./") for word in (*words, deed.text, deed.target))


def _texts(args: list[Value]) -> list[Value]:
    """The texts among these arguments, and those in lists."""
    values = [value for arg in args for value in (arg if isinstance(arg, list) else [arg])]
    return [value for value in values if isinstance(value, str)]


def distributed(fold: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    """Applies an operation to each of the values that its operands may be."""
    pairs = islice(product(choices(left), choices(right)), MAX_CHOICES)
    results = [fold(one, other) for one, other in pairs]
    return results[0] if len(results) == 1 else Either(tuple(results))


def one_of(values: list[Value]) -> Value:
    """One of the elements of a list."""
    return Either(tuple(values[:MAX_CHOICES])) if len(values) > 1 else values[0] if values else NOTHING


def element(value: Value) -> Value:
    """What a loop over a value gets."""
    members: list[Value] = []
    for choice in choices(value):
        if isinstance(choice, list | tuple):
            members += choice
        elif isinstance(choice, dict):
            members += list(choice)
        elif isinstance(choice, str):
            members.append(choice)
        else:
            members.append(Unknown(sources=sources(choice)))
    return one_of(members)


def _together(left: Value, right: Value) -> Value:
    return sourced((text(left) + text(right))[:_MAX_TEXT], sources(left, right))


PIPED = "|"
"""The name of what is piped to a command of PowerShell."""

FROM_INPUT = Unknown(sources=(FED,))
"""What the standard input of the script brings."""


def item_at(value: Value, at: int) -> Value:
    value = choices(value)[0]
    if isinstance(value, list | tuple):
        if -len(value) <= at < len(value):
            return value[at]
        return Unknown(sources=origins) if (origins := sources(value)) else NOTHING  # a text that is split has more parts
    return Unknown(sources=sources(value)) if value is not None else NOTHING


def printed(command: str) -> Value:
    """What a command prints."""
    try:
        argv = shlex.split(command[:2_000])
    except ValueError:
        argv = command.split()
    if argv[:1] == ["find"]:
        folders, tests = find_expression.split(tuple(argv))
        named = tests.index("-name") + 1 if "-name" in tests[:-1] else 0
        if folders:
            return f"{folders[0].rstrip('/')}/**" + (f"/{tests[named]}" if named else "")
    if argv[:1] == ["ls"]:
        return "*"
    made = output_of(argv)
    return Unknown(sources=(*(f"program:{name}" for name in made.programs), *(f"file:{path}" for path in made.files[:4])))
