"""Walks the tokens of a script once, in the order of its text, and works out what it does."""

from __future__ import annotations

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages import script_calls
from toolguard_engine.effects.languages.awk.awk_syntax import AWK
from toolguard_engine.effects.languages.code_deeds import INPUT, shell, write
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Either,
    Library,
    Unknown,
    Value,
    choices,
    feed,
    sources,
    text,
)
from toolguard_engine.effects.languages.filled_texts import BRACKETS
from toolguard_engine.effects.languages.javascript.javascript_syntax import JAVASCRIPT
from toolguard_engine.effects.languages.lua.lua_syntax import LUA
from toolguard_engine.effects.languages.perl.perl_syntax import PERL
from toolguard_engine.effects.languages.php.php_syntax import PHP
from toolguard_engine.effects.languages.powershell.powershell_syntax import POWERSHELL
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY
from toolguard_engine.effects.languages.script_calling import ASSIGNING, CommandReader, is_path
from toolguard_engine.effects.languages.script_run import (
    FROM_INPUT,
    MAX_CHOICES,
    MAX_DEPTH,
    PIPED,
    LanguageLibrary,
    Routine,
    ScriptRun,
    element,
    one_of,
    printed,
)
from toolguard_engine.effects.languages.script_statements import handlers
from toolguard_engine.effects.languages.script_syntax import Syntax
from toolguard_engine.effects.languages.script_tokens import Token

_PREFIXES = frozenset({"!", "-", "+", "~", "...", "\\", "&", "*", "++", "--", "@", "?", "%"})
_BINARY = word_set("+ - * / % == != === !== < > <= >= & | ^ << <<~ =~ !~ <=> .. ... ** && || ?? // . x & ~")
_TYPES = frozenset({"as", "satisfies"})
_MAX_PREFIXES = 12
_AWK_WORDS = frozenset({"getline", "in", "if", "else", "while", "for", "do", "next", "exit", "BEGIN", "END", "function"})


def _or_else(value: Value, other: Value) -> Value:
    """`value || other`. A value that is not known is the other one, unless it may hold what must not leave: a variable of
    the environment, a file's content."""
    if isinstance(value, str) and value.strip(UNKNOWN):
        return value
    return one_of([*choices(value), *choices(other)]) if sources(value) else other


class ScriptReader(CommandReader):
    """Reads statements and expressions.

    Conditions are not weighed: all branches run. A loop runs once, with its variable standing for one of the known elements.
    Functions run where they are called; those that nothing calls run at the end with unknown arguments.
    """

    def __init__(self, run: ScriptRun, tokens: list[Token]) -> None:
        super().__init__(run, tokens)
        self.statements = handlers(run.syntax)

    def block(self, at: int, end: int) -> Value:
        value: Value = NOTHING
        while at < end and not self.run.is_over:
            before = at
            item, at = self.statement(at, end)
            if item is not None:
                value = item
            at = max(at, before + 1)
        if at < end:
            self.run.whole = False
        return value

    def all_of(self, at: int, end: int) -> Value:
        """The value of all that stands here, such as between brackets: of its last statement."""
        value, at = self.expression(at, end)
        return self._with_rest(value, at, end)

    def _with_rest(self, value: Value, at: int, end: int) -> Value:
        """Walks what follows an expression: further statements, whose value counts, or words that belong to it."""
        if at >= end:
            return value
        is_next = self.tokens[at].kind == "end" or self.is_sign(at, end, ";")
        last = self.block(at, end)
        return last if is_next else value

    def statement(self, at: int, end: int) -> tuple[Value, int]:
        token = self.tokens[at]
        if token.kind == "end" or (token.kind == "sign" and token.text in ";,)}]{"):
            return None, at + 1
        if token.kind == "name":
            if (next_at := self._begun(token, at, end)) >= 0:
                return None, next_at
            if (next_at := self.method(at, end)) >= 0:
                return None, next_at
        count = len(self.run.deeds)
        value, after = self.expression(at, end)
        if after < end and self.tokens[after].text in ("for", "foreach") and self.run.syntax is PERL:
            listed, last = self.expression(after + 1, end)
            del self.run.deeds[count:]
            self.run.names["$_"] = element(listed)
            self.expression(at, after)
            return None, last
        return value, after

    def _begun(self, token: Token, at: int, end: int) -> int:
        """Where a statement goes on that a keyword begins; -1 if none does."""
        word = token.text if self.run.library.command is None else token.text.lower()
        handler = self.statements.get(word)
        if (handler is not None or word in self.passed) and self.is_own(word):
            self.expression(at, end)  # a call, if this is no keyword here
        if handler is not None and (next_at := handler(self, at, end)) >= 0:
            return next_at
        return at + 1 if word in self.passed and not self.is_load(at, end) else -1

    def expression(self, at: int, end: int, *, loose: bool = True) -> tuple[Value, int]:  # noqa: PLR0912 - a case for each sign
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
                    if token.text in ASSIGNING:
                        value, at = self._assigned(value, target, at, end)
                    elif token.text == "?" and (run.syntax is not RUBY or token.spaced):
                        value, at = self._chosen(value, at, end)
                    elif token.text in run.syntax.concat or token.text in _BINARY:
                        value, at = self._combined(value, target, at, end)
                    else:
                        break
                elif token.kind == "name" and token.text in self.words:
                    if token.text in ("and", "or") and not loose:
                        break
                    right, at, _ = self.operand(at + 1, end)
                    value = value if token.text in ("and", "or") else Unknown(sources=sources(value, right))
                elif token.kind == "name" and token.text in _TYPES and run.syntax is JAVASCRIPT:
                    at = self.operand(at + 1, end)[1]
                elif self._adjoins(value, token):
                    right, at, _ = self.operand(at, end)
                    value = self.run.concatenated(value, right)
                else:
                    break
            return value, at
        finally:
            run.depth -= 1

    def _adjoins(self, value: Value, token: Token) -> bool:
        """Whether two values without a sign between them are one text."""
        if self.run.syntax is AWK:
            return token.kind in ("string", "name", "number") and token.text not in _AWK_WORDS
        return self.run.syntax is RUBY and token.kind == "string" and isinstance(value, str)

    def _assigned(self, value: Value, target: tuple[int, int] | None, at: int, end: int) -> tuple[Value, int]:
        sign = self.tokens[at].text
        right, at = self.expression(at + 1, end)
        if sign[:-1] in self.run.syntax.concat:
            right = self.run.concatenated(value if isinstance(value, str | Unknown | Either | list) else "", right)
        elif sign in ("||=", "??=", "//="):
            right = _or_else(value, right)
        if target is not None:
            self.assign(target, right)
        return right, at

    def _put(self, held: Value, at: int, value: Value) -> None:
        """Gives a value to an item of an object; its key stands in the brackets at this position."""
        close = self.tokens[at].match
        key = self.expression(at + 1, close)[0] if close > at + 1 else None
        if isinstance(held, dict) and isinstance(key, str):
            held[key] = value
        elif isinstance(held, dict):
            held[UNKNOWN] = Unknown(sources=sources(held.get(UNKNOWN, NOTHING), value))
        elif isinstance(held, list) and len(held) < MAX_CHOICES:
            held.append(value)

    def assign(self, target: tuple[int, int], value: Value) -> None:
        first, last = target
        token = self.tokens[first]
        if last - first == 1 and token.kind == "name":
            self.run.names[token.text] = value
        elif token.kind == "sign" and token.text in ("(", "[", "{"):
            self.bind(first, last, value)
        elif token.kind == "name" and self.is_sign(first + 1, last, "["):
            self._put(self.run.names.get(token.text), first + 1, value)
        elif token.kind == "name" and last - first == 3 and self.is_sign(first + 1, last, ".", "->"):  # noqa: PLR2004 - a.b
            held = self.run.names.get(token.text)
            if isinstance(held, dict):
                held[self.tokens[last - 1].text] = value
            else:
                self.run.names[f"{token.text}.{self.tokens[last - 1].text}"] = value
                if isinstance(held, str | Unknown):
                    self.add_to(token.text, [value])

    def _chosen(self, value: Value, at: int, end: int) -> tuple[Value, int]:
        """`value ? one : other`, and PHP's `value ?: other`."""
        if self.is_sign(at + 1, end, ":"):
            other, at = self.expression(at + 2, end)
            return _or_else(value, other), at
        one, at = self.expression(at + 1, end)
        if not self.is_sign(at, end, ":"):
            return one, at
        other, at = self.expression(at + 1, end)
        return one_of([*choices(one), *choices(other)]), at

    def _combined(self, value: Value, target: tuple[int, int] | None, at: int, end: int) -> tuple[Value, int]:
        sign = self.tokens[at].text
        if sign in ("||", "??", "//") and self.run.syntax.patterns | (sign != "//"):
            right, at = self.expression(at + 1, end)
            return _or_else(value, right), at
        if sign == "|" and self.run.syntax in (AWK, POWERSHELL):
            return _PIPES[self.run.syntax is AWK](self, value, at, end)
        if sign == "&&":
            return self.expression(at + 1, end)
        if sign == ">" and self.run.syntax is POWERSHELL:
            return value, self.redirected(value, at, end)
        if sign == ">" and self.run.printing:
            append = self.is_sign(at + 1, end, ">")
            path, at = self.expression(at + 1 + append, end)
            self.run.add(*(write(text(one), feed(value), append=append) for one in choices(path)))
            return value, at
        right, after, _ = self.operand(at + 1, end)
        result = self._operation(sign, value, right)
        if sign == "<<" and target is not None and sign in self.run.syntax.concat:
            self.assign(target, result)
        return result, after

    def _operation(self, sign: str, value: Value, right: Value) -> Value:
        """What an operator makes of two values."""
        if sign == "/" and self.run.syntax is RUBY:
            return self.run.concatenated(self.run.concatenated(value, "/"), right) if isinstance(value, str) else NOTHING
        if sign in self.run.syntax.concat:
            return self.run.concatenated(value, right)
        return value if sign in ("=~", "!~") else Unknown(sources=sources(value, right))

    def operand(self, at: int, end: int) -> tuple[Value, int, tuple[int, int] | None]:
        run, tokens = self.run, self.tokens
        run.steps += 1
        negated = False
        for _ in range(_MAX_PREFIXES):
            if at >= end:
                return NOTHING, at, None
            token = tokens[at]
            if (token.kind == "sign" and token.text in _PREFIXES) or (
                token.kind == "name"
                and token.text in self.prefixes
                and token.text not in run.names
                and not self._called(at, end)
            ):
                if token.text == "return":
                    value, at = self.expression(at + 1, end)
                    run.returned.append(value)
                    return value, at, None
                if self.is_load(at, end):
                    value, at = self.expression(at + 1, end)
                    return run.load(token.text, value), at, None
                if token.text in ("print", "printf") and run.syntax is AWK:
                    if self.is_sign(at + 1, end, "|"):
                        return FROM_INPUT, at + 1, None
                    run.printing = True
                    value, at = self.listed(at + 1, end)
                    run.printing = False
                    return one_of(value[:1]) if len(value) == 1 else " ".join(map(text, value)), at, None
                negated = negated or token.text == "!"
                at += 1
                continue
            break
        if at >= end:
            return NOTHING, at, None
        start = at
        value, at = self.primary(at, end)
        value, at = self.postfix(value, at, end)
        return (not value if negated and isinstance(value, int) else value), at, (start, at)

    def _called(self, at: int, end: int) -> bool:
        """Whether a word that may be a keyword is a name here: `print(`, `p.x`, `delete:`."""
        word = self.tokens[at].text
        return self.is_sign(at + 1, end, ".", "=", ":", "=>", ",", "?.") or (
            self.is_sign(at + 1, end, "(") and (word in self.run.library.functions or self.is_own(word))
        )

    def primary(self, at: int, end: int) -> tuple[Value, int]:
        token, run_command = self.tokens[at], self.run.library.command is not None
        if run_command and at and self.is_sign(at - 1, end, "&", ".") and (token.kind == "string" or token.text[:1] in "($"):
            return self.commanded(at, end)
        if token.kind == "string":
            return self.filled(token), at + 1
        if token.kind == "command":
            return script_calls.shell(self.run, [self.filled(token)], None), at + 1
        if token.kind == "words":
            return token.text.split()[:200], at + 1
        if token.kind == "number":
            return int(token.text) if token.text.isdecimal() and len(token.text) < 9 else token.text, at + 1  # noqa: PLR2004
        if token.kind == "name":
            return self.named(token, at, end)
        if token.kind == "sign" and token.text in BRACKETS:
            return self.bracketed(token, at, end)
        if token.kind == "pattern":
            return token.text, at + 1
        if token.text == "$" and self.run.syntax is AWK:
            return FROM_INPUT, self.primary(at + 1, end)[1] if at + 1 < end else end
        if token.text == ":" and self.is_symbol(at, end):
            return self.filled(self.tokens[at + 1]), at + 2
        if token.text == "->" and self.run.syntax is RUBY:
            return self.lambda_literal(at, end)
        return NOTHING, at if token.text in ",;)]}:=>" else at + 1

    def named(self, token: Token, at: int, end: int) -> tuple[Value, int]:
        name, run = token.text, self.run
        if name in self.functions and name not in run.names:
            close = self.tokens[at + 1].match if self.is_sign(at + 1, end, "(") else -1
            if self.is_sign(close + 1, end, "=>"):
                return self.arrow((at + 2, close), close + 1, end)
            if not self.is_sign(at + 1, end, ".", "=>", ",", "="):
                return self.function(at, end)
        if self.is_sign(at + 1, end, "=>") and run.syntax is JAVASCRIPT:
            return self.arrow((at, at + 1), at + 1, end)
        if run.library.command is not None:
            if name[:1] in "$@-" and is_path(name):
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

    def bracketed(self, token: Token, at: int, end: int) -> tuple[Value, int]:
        close = min(token.match, end)
        if token.text == "(":
            if self.is_sign(close + 1, end, "=>"):
                return self.arrow((at + 1, close), close + 1, end)
            members = self.items(at + 1, close)
            return (members[0] if len(members) == 1 else members), close + 1
        if token.text == "[" and self.run.library.command is not None:
            return [Library("".join(sign.text for sign in self.tokens[at + 1 : close][:20]))], close + 1
        if token.text == "[" and self.run.syntax is PHP and self.is_sign(at + 2, close, "=>"):
            return self.object(at + 1, close), close + 1
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
        members: list[Value] = []
        while at < end and not self.run.is_over:
            before = at
            spread = self.is_sign(at, end, "...", "@")
            if self.is_sign(at, end, ",", "=>"):
                at += 1
                continue
            value, at = self.expression(at, end)
            if self.is_sign(at, end, "=>", ":"):
                after = at + 1
            else:
                after = self.comma(at, end)
                value = self._with_rest(value, at, after)
            if (spread or self.run.syntax is PERL) and isinstance(value, list):
                members += value
            else:
                members.append(value)
            at = max(after, before + 1)
        return members[:200]

    def listed(self, at: int, end: int) -> tuple[list[Value], int]:
        """Values between commas, up to the end of the statement."""
        members: list[Value] = []
        while at < end:
            before = at
            value, at = self.expression(at, end, loose=False)
            if at > before:
                members.append(value)
            if not self.is_sign(at, end, ",", "=>"):
                break
            at += 1
        flat = [
            member
            for value in members
            for member in (value if isinstance(value, list) and self.run.syntax is PERL else [value])
        ]
        return flat[:200], at

    def object(self, at: int, end: int) -> dict[str, Value]:
        members: dict[str, Value] = {}
        while at < end and not self.run.is_over:
            after = self._member_end(at, end)
            if after == at:
                at += 1
                continue
            if self.is_sign(at, after, "..."):
                value = self.expression(at + 1, after)[0]
                members.update(value if isinstance(value, dict) else {f"...{at}": value})
            else:
                self._member(members, at, after)
            at = after + 1
        return members

    def _member_end(self, at: int, end: int) -> int:
        while at < end and not (self.tokens[at].kind == "end" or self.is_sign(at, end, ",", ";")):
            at = self.tokens[at].match + 1 if self.tokens[at].match > at else at + 1
        return min(at, end)

    def _member(self, members: dict[str, Value], at: int, end: int) -> None:
        """One member of an object: `key: value`, `[key]: value`, `name`, or a method."""
        sign = self.skip_to(at, end, ":", "=>", "=")
        key = self.tokens[at].text
        if self.is_sign(at, end, "["):
            key = text(self.expression(at + 1, end)[0])
        if sign < end:
            members[key] = self.all_of(sign + 1, end)
        elif self.method(at, end) < 0:
            members[key] = self.all_of(at, end)
        else:
            members[key] = self.run.routines[-1]


def _awk_pipe(reader: ScriptReader, value: Value, at: int, end: int) -> tuple[Value, int]:
    """`print x | "sh"`, `"date" | getline d`."""
    at += 1 + reader.is_sign(at + 1, end, "&")
    if at < end and reader.tokens[at].text == "getline":
        script_calls.shell(reader.run, [value], None)
        at += 1
        if at < end and reader.tokens[at].kind == "name":
            reader.run.names[reader.tokens[at].text] = printed(text(value))
            at += 1
        return NOTHING, at
    command, at = reader.expression(at, end)
    for choice in choices(command):
        reader.run.add(shell(text(choice), INPUT if "input" in sources(value) else feed(value)))
    return NOTHING, at


def _power_pipe(reader: ScriptReader, value: Value, at: int, end: int) -> tuple[Value, int]:
    """`list | command`, `list | % { }`."""
    names = reader.run.names
    names["$_"] = names["$PSItem"] = element(value)
    names[PIPED] = value
    short = reader.is_sign(at + 1, end, "%", "?")
    routine, at, _ = reader.operand(at + 1 + short, end)
    if isinstance(routine, Routine):
        routine = reader.run.invoke(routine, [])
    names.pop(PIPED, None)
    return routine, at


_PIPES = {True: _awk_pipe, False: _power_pipe}


def walked(code: str, syntax: Syntax, library: LanguageLibrary, loading: frozenset[str] = frozenset()) -> ScriptRun:
    """Walks a whole script. `loading`: the words that load code from files."""
    run = ScriptRun(syntax, library, ScriptReader, loading=loading)
    run.text(code)
    run.rest()
    return run
