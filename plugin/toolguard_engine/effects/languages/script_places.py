"""Finds its way in the tokens of a script: brackets, names, texts with what is filled into them."""

from __future__ import annotations

from toolguard_engine.effects.languages import filled_texts
from toolguard_engine.effects.languages.code_values import NOTHING, Either, Library, Unknown, Value, sources
from toolguard_engine.effects.languages.go.go_syntax import GO
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY
from toolguard_engine.effects.languages.script_run import MAX_CHOICES, Routine, ScriptRun, item_at
from toolguard_engine.effects.languages.script_tokens import Token, unescaped

_MEMBERS = frozenset({"private", "public", "protected", "readonly"})


class TokenReader:
    """Walks one list of tokens. Positions are indices of it; `end` is the first one that does not belong."""

    def __init__(self, run: ScriptRun, tokens: list[Token]) -> None:
        self.run, self.tokens = run, tokens
        words = run.syntax.keywords.kinds
        self.functions, self.passed, self.prefixes, self.blocks = (
            words[kind] for kind in ("functions", "passed", "prefixes", "blocks")
        )

    @property
    def words(self) -> frozenset[str]:
        """Names that are operators."""
        return self.run.syntax.operators

    def is_own(self, word: str) -> bool:
        """Whether code has a function of this name, though it may be a keyword as well: many are so only in some places."""
        return isinstance(self.run.names.get(word), Routine) or word in self.run.defined

    def is_load(self, at: int, end: int) -> bool:
        """Whether a keyword loads code here: Perl's `do $path`, not `do {`."""
        return self.tokens[at].text in self.run.loading and not self.is_sign(at + 1, end, "{")

    def is_sign(self, at: int, end: int, *signs: str) -> bool:
        return at < end and self.tokens[at].kind == "sign" and self.tokens[at].text in signs

    def is_symbol(self, at: int, end: int) -> bool:
        """Ruby: whether a colon begins a symbol. With a blank behind it, it is that of `value ? one : other`."""
        at += 1
        return self.run.syntax is RUBY and at < end and not self.tokens[at].spaced and self.tokens[at].kind != "command"

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

    def comma(self, at: int, end: int) -> int:
        while at < end and not (self.tokens[at].kind == "sign" and self.tokens[at].text == ","):
            at = self.tokens[at].match + 1 if self.tokens[at].match > at else at + 1
        return min(at, end)

    def bind_all(self, params: tuple[int, int], args: list[Value]) -> list[str]:
        """Gives parameters their values; the names that were set."""
        at, end = params
        names: list[str] = []
        for count in range(MAX_CHOICES):
            if at >= end:
                break
            after = self.comma(at, end)
            names += self.bind(at, after, args[count] if count < len(args) else NOTHING)
            at = after + 1
        return names

    def _bind_parts(self, token: Token, at: int, end: int, value: Value) -> list[str]:
        """`{a, b: c}`, `[a, b]`, from the opening sign on."""
        names: list[str] = []
        inner, stop, count = at + 1, min(token.match, end), 0
        while inner < stop and count < MAX_CHOICES:
            after = self.comma(inner, stop)
            key = self.tokens[inner].text
            if token.text == "{":
                part = self.run_member(value, key)
                start = inner + 2 if self.is_sign(inner + 1, after, ":", "=>") else inner
            else:
                part, start = item_at(value, count), inner
            names += self.bind(start, after, part)
            inner, count = after + 1, count + 1
        return names

    def bind(self, at: int, end: int, value: Value) -> list[str]:
        """`name`, `name = default`, `{a, b: c}`, `[a, b]`, `name: type`."""
        if self.is_sign(at, end, "..."):
            at += 1
        if at >= end:
            return []
        token = self.tokens[at]
        if token.kind == "sign" and token.text in ("{", "[", "("):
            return self._bind_parts(token, at, end, value)
        shared = token.text in _MEMBERS
        typed = self.run.syntax is not GO  # in Go, the type follows the name
        while typed and at + 1 < end and token.kind == "name" and self.tokens[at + 1].kind == "name" and token.text != "$":
            at += 1
            token = self.tokens[at]
        if token.kind != "name":
            return []
        default = self.skip_to(at + 1, end, "=")
        if value is NOTHING and default < end:
            value = self.expression(default + 1, end)[0]
        self.run.names[token.text] = value
        if shared:
            self.run.names[f"this.{token.text}"] = value
        return [token.text]

    def lookup(self, name: str) -> Value:
        run = self.run
        if name in run.names:
            return run.names[name]
        if name in run.library.constants:
            return run.library.constants[name]
        member = run.library.member(run, name)
        return Library(name) if member is None else member

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
            member = self.run.library.member(self.run, full)
            return Library(full) if member is None else member
        return Unknown(sources=sources(value)) if value is not None else NOTHING

    def filled(self, token: Token) -> Value:
        """The text of a string with what is filled into it."""
        run = self.run
        if not token.fills:
            return token.text
        syntax, source = run.syntax, token.text
        if not syntax.filled:
            return unescaped(source, syntax.escape)
        parts: list[Value] = []
        at, ends = 0, token.ends or filled_texts.Ends()
        for filled in filled_texts.values(syntax, source, ends):
            code, begins = filled.code, filled.begins
            if code and filled.opening == "${" and syntax.sigils:
                code, begins = f"${code}", begins - 1
            value = run.text(code, ends.behind(begins)) if code else ""
            parts += [unescaped(source[at : filled.start], syntax.escape), value]
            at = filled.end
            if run.is_over:
                break
        parts.append(unescaped(source[at:], syntax.escape))
        while len(parts) > 1:  # by pairs, since each text that is made is paid for
            parts = [
                run.concatenated(*parts[at : at + 2]) if parts[at + 1 :] else parts[at] for at in range(0, len(parts), 2)
            ]
        return parts[0]

    # What the other parts of the reader do.

    def block(self, at: int, end: int) -> Value:
        raise NotImplementedError

    def expression(self, at: int, end: int, *, loose: bool = True) -> tuple[Value, int]:
        raise NotImplementedError

    def all_of(self, at: int, end: int) -> Value:
        raise NotImplementedError

    def operand(self, at: int, end: int) -> tuple[Value, int, tuple[int, int] | None]:
        raise NotImplementedError

    def primary(self, at: int, end: int) -> tuple[Value, int]:
        raise NotImplementedError

    def bracketed(self, token: Token, at: int, end: int) -> tuple[Value, int]:
        raise NotImplementedError

    def postfix(self, value: Value, at: int, end: int) -> tuple[Value, int]:
        raise NotImplementedError

    def items(self, at: int, end: int) -> list[Value]:
        raise NotImplementedError

    def listed(self, at: int, end: int) -> tuple[list[Value], int]:
        raise NotImplementedError
