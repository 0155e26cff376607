"""Reads functions and calls in the tokens of a script."""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages.awk.awk_syntax import AWK
from toolguard_engine.effects.languages.code_deeds import write
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Library,
    Unknown,
    Value,
    choices,
    feed,
    sourced,
    sources,
    text,
)
from toolguard_engine.effects.languages.javascript.javascript_syntax import JAVASCRIPT
from toolguard_engine.effects.languages.lua.lua_syntax import LUA
from toolguard_engine.effects.languages.perl.perl_syntax import PERL
from toolguard_engine.effects.languages.php.php_syntax import PHP
from toolguard_engine.effects.languages.powershell.powershell_syntax import POWERSHELL
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY
from toolguard_engine.effects.languages.script_places import TokenReader
from toolguard_engine.effects.languages.script_run import Routine, element, item_at
from toolguard_engine.effects.languages.script_tokens import Token, begins_value, is_key

ASSIGNING = frozenset({"=", "+=", ".=", "||=", "??=", "&&=", "//=", ":=", "-=", "*=", "/=", "|=", "&=", "%=", "^=", "**="})
_IMPLICIT = frozenset({"it", "_1"})
"""Ruby: the only parameter of a block that names none."""
_BETWEEN = frozenset({"in", "of", "as", "satisfies", "instanceof", "class"})
"""Names that stand between the parts of an expression, or in front of one."""

_MODIFIERS = frozenset({"if", "unless", "while", "until", "for"})
_SWITCHES = word_set(
    "recurse r rec force fo f append raw usebasicparsing passthru verbose confirm whatif file directory name noprofile"
    " wait nonewline unique rf fr s l la"
)
_MODULE = lazy_re.compile(r"\A[A-Za-z][\w.]*+[/\\](?=[A-Za-z]+-?[A-Za-z]+\Z)")
"""The module before the name of a cmdlet."""

_OWN_NAME = frozenset({
    "name", "fullname", "path", "currentuserallhosts", "currentusercurrenthost", "allusersallhosts", "alluserscurrenthost",
})  # fmt: skip
"""Members of an entry of a folder that name it, and of `$PROFILE`, which names such a file itself."""


def is_path(word: str) -> bool:
    return "/" in word or "\\" in word


_ADDING = frozenset(["append", "set", "add", "put", "update"])
"""Methods by which an object takes a value in: of forms, queries, headers, maps."""


class CallReader(TokenReader):
    """Reads functions, calls and what follows a value."""

    def routine(self, params: tuple[int, int], body: tuple[int, int], *, value: bool = False) -> Routine:
        first = body[0]
        if "param" in self.prefixes and first < body[1] and self.tokens[first].text.lower() == "param":
            close = self.tokens[first + 1].match if self.is_sign(first + 1, body[1], "(") else -1
            if close > first:  # PowerShell's `{ param($a) ... }`
                params, body = (first + 2, min(close, body[1])), (min(close + 1, body[1]), body[1])
        made = Routine(self, params, body, value)
        self.run.routines.append(made)
        return made

    def arrow(self, params: tuple[int, int], at: int, end: int) -> tuple[Value, int]:
        """`params => body`; `at` is the arrow."""
        if self.is_sign(at + 1, end, "{"):
            close = min(self.tokens[at + 1].match, end)
            return self.routine(params, (at + 2, close)), close + 1
        stop = self._value_end(at + 1, end)
        return self.routine(params, (at + 1, stop), value=True), stop

    def _value_end(self, at: int, end: int) -> int:
        """Where the expression ends that begins here: at a sign that cannot belong to it, or where a value follows another
        one, since a line end may be all that is between two statements."""
        follows = False
        while at < end:
            token = self.tokens[at]
            if token.kind == "end" or self.is_sign(at, end, ",", ";", ")", "]", "}"):
                return at
            joins = token.kind == "name" and token.text in self.words | self.prefixes | self.functions | _BETWEEN
            if follows and token.kind == "name" and not joins:
                return at
            follows = (token.kind != "sign" and not joins) or token.match > at
            at = token.match + 1 if token.match > at else at + 1
        return end

    def function(self, at: int, end: int) -> tuple[Value, int]:
        """`function name(params) { }`, `sub name { }`; `at` is the keyword."""
        if self.run.syntax is AWK and not self._defines(at, end):
            return NOTHING, at + 1
        start = at + 1
        name = ""
        while start < end and (self.tokens[start].kind == "name" or self.tokens[start].text in ("*", ".", ":")):
            if self.run.syntax is RUBY and self.tokens[start].kind == self.tokens[start - 1].kind and start > at + 1:
                break  # `def name first, second`
            name += self.tokens[start].text
            start += 1
        params = (start, start)
        if self.run.syntax is RUBY and start < end and self._is_parameter(start):
            params = (start, self._statement_end(start, end))
            start = params[1]
        elif self.is_sign(start, end, "("):
            params = (start + 1, min(self.tokens[start].match, end))
            start = params[1] + 1
        if self.run.syntax.closes:
            close = self.ending(at, end)
            routine = self.routine(params, (start, close))
        else:
            opened = self.skip_to(self._body(start, end), end, "{")
            if opened >= end:
                return NOTHING, start
            close = min(self.tokens[opened].match, end)
            routine = self.routine(params, (opened + 1, close))
        if name:
            name = name.lower() if self.run.library.command is not None else name
            self.run.names[name.lstrip("*").replace(":", ".").removeprefix("self.")] = routine
        return routine, close + 1

    def _defines(self, at: int, end: int) -> bool:
        """awk: whether `func` or `function` defines a function. Not each awk has `func`, so that it may be a variable; then
        what follows is a call, or, in front of a block, a call of a function that is defined elsewhere."""
        if not self.is_sign(at + 2, end, "(") or self.tokens[at + 1].text in self.run.library.functions:
            return False
        if isinstance(self.run.names.get(self.tokens[at + 1].text), Routine):
            return False
        return self.is_sign(self._body(self.tokens[at + 2].match + 1, end), end, "{")

    def _body(self, at: int, end: int) -> int:
        """Where the body of a function begins: its bracket may stand on the next line."""
        is_next = at < end and self.tokens[at].kind == "end" and self.is_sign(at + 1, end, "{")
        return at + 1 if is_next else at

    def _is_parameter(self, at: int) -> bool:
        """Whether a parameter without brackets begins here: `def name first`, `def name *rest`."""
        first, after = self.tokens[at], self.tokens[min(at + 1, len(self.tokens) - 1)]
        return first.kind == "name" or (first.text in ("*", "&", "**") and after.kind == "name")

    def _statement_end(self, at: int, end: int) -> int:
        while at < end and self.tokens[at].kind != "end" and not self.is_sign(at, end, ";"):
            at += 1
        return at

    def ending(self, at: int, end: int) -> int:
        """The word that closes the block which a keyword opens."""
        depth, syntax = 0, self.run.syntax
        for position in range(at, end):
            token = self.tokens[position]
            if token.kind != "name" or is_key(self.tokens, position, syntax):
                continue
            if token.text in self.blocks and (
                token.text not in _MODIFIERS or syntax is LUA or begins_value(self.tokens, position, syntax)
            ):
                loop = syntax is RUBY and token.text == "do" and self._loop_before(position)
                depth += not loop
            elif token.text == syntax.closes or (token.text == "until" and "repeat" in self.blocks):
                depth -= 1
                if depth <= 0:
                    return position
        return end

    def _loop_before(self, at: int) -> bool:
        for position in range(at - 1, max(at - 30, -1), -1):
            token = self.tokens[position]
            if token.kind == "end" or token.text == ";":
                return False
            if token.text in ("while", "until", "for"):
                return True
        return False

    def _is_index(self, token: Token, at: int) -> bool:
        if token.text == "[":
            return not (token.spaced and self.run.syntax.bare)
        before = self.tokens[at - 1]
        return (
            token.text == "{"
            and self.run.syntax is PERL
            and not token.spaced
            and (before.kind == "name" or before.text in ("->", "]", "}"))
        )

    def postfix(self, value: Value, at: int, end: int) -> tuple[Value, int]:
        run, tokens = self.run, self.tokens
        base: Value = None
        named = True
        root, last = (tokens[at - 1].text if 0 < at <= end and tokens[at - 1].kind == "name" else ""), ""
        while at < end:
            token = tokens[at]
            if token.kind == "sign":
                if token.text in run.syntax.members and token.text not in run.syntax.concat:
                    if self.is_sign(at + 1, end, "[", "(", "{"):
                        at += 1
                        continue
                    if at + 1 >= end or tokens[at + 1].kind not in ("name", "number"):
                        break
                    if named and isinstance(value, Library) and run.syntax is RUBY and tokens[at + 1].text != "call":
                        value = self._without_arguments(value, base)
                    last = tokens[at + 1].text
                    own = run.names.get(f"{root}.{last}")
                    base, value = value, own if isinstance(own, Routine) else self._joined(value, last)
                    at, named = at + 2, True
                    continue
                if token.text == "(" and not (token.spaced and run.syntax in (AWK, POWERSHELL)):
                    value, at = self._call(value, base, at, end, root if last in _ADDING else "")
                    base, named = None, False
                    continue
                if self._is_index(token, at):
                    base, value, at = value, *self._indexed(value, at, end)
                    continue
                if token.text in ("++", "--") or (token.text == "!" and run.syntax is JAVASCRIPT and not token.spaced):
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
        if (
            named
            and isinstance(value, Library)
            and run.syntax in (RUBY, PERL)
            and not (at < end and tokens[at].text in ASSIGNING)
        ):
            value = self._without_arguments(value, base)
        return (self._part(value, base) if named else value), at

    def _part(self, value: Value, base: Value) -> Value:
        """`$response.Content` is from where `$response` is from."""
        is_member = isinstance(value, Library) and value.name[:1] == "." and self.run.syntax in (POWERSHELL, JAVASCRIPT)
        return Unknown(sources=sources(base)) if is_member and sources(base) else value

    def _without_arguments(self, value: Library, base: Value) -> Value:
        run = self.run
        full = run.library.full(value.name)
        known = full in run.library.functions or full.rpartition(".")[2] in run.library.methods
        if known and ("." in full or full in run.library.alone):
            return run.call(value, [], base)
        if value.name[:1] == "." and sources(base):  # `ENV.to_a.inspect`: what is made of a value is from where that is from
            return Unknown(sources=sources(base))
        return value

    def _joined(self, value: Value, key: str) -> Value:
        """The member of a value; of one that is not a library, the method with the value as what it belongs to."""
        first = choices(value)[0]
        if isinstance(first, Library | dict):
            return self.run_member(first, key)
        if isinstance(first, str) and key.lower() in _OWN_NAME and not self.run.syntax.closes:
            return value
        return Library(f".{key}")

    def _call(self, value: Value, base: Value, at: int, end: int, changed: str = "") -> tuple[Value, int]:
        """`changed`: the variable that the call adds its arguments to."""
        close = min(self.tokens[at].match, end)
        args = self.items(at + 1, close)
        at = close + 1
        if changed:
            self.add_to(changed, args)
        block, at = self.given_block(at, end)
        return self.run.call(value, [*args, *block], base), at

    def add_to(self, name: str, values: list[Value]) -> None:
        """`form.append("t", value)`, `url.search = value`: what the variable holds is also from where the value is from."""
        held = self.run.names.get(name)
        if not sources(*values) or isinstance(held, list | dict | Routine) or held is None:
            return
        both = sources(held, *values)
        self.run.names[name] = sourced(held, both) if isinstance(held, str) else Unknown(sources=both)

    def lambda_literal(self, at: int, end: int) -> tuple[Value, int]:
        """Ruby: `->(a) { ... }`, `-> a do ... end`; `at` is the arrow."""
        start = at + 1
        if self.is_sign(start, end, "("):
            params = (start + 1, min(self.tokens[start].match, end))
            start = params[1] + 1
        else:
            params = (start, self.skip_to(start, end, "{", "do"))
            start = params[1]
        block, after = self.given_block(start, end)
        for routine in block:
            if isinstance(routine, Routine) and params[0] < params[1]:
                routine.params = params
        return (block[0] if block else NOTHING), after

    def given_block(self, at: int, end: int) -> tuple[list[Value], int]:
        """Ruby: `{ |x| ... }`, `{ ... it ... }` and `do |x| ... end` behind a call."""
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
        else:  # the parameter is where it is used
            named = next((place for place in range(inner, close) if self.tokens[place].text in _IMPLICIT), None)
            params = (named, named + 1) if named is not None else params
        return [self.routine(params, (inner, close))], close + 1

    def _bare(self, value: Value, base: Value, at: int, end: int) -> tuple[Value, int] | None:
        """A call without parentheses: `unlink "x"`, `Dir.each_child d do |f|`."""
        run, token = self.run, self.tokens[at]
        if run.library.command is not None:
            return None
        before = self.tokens[at - 1]
        if isinstance(value, Routine) and (before.kind != "name" or before.text == run.syntax.closes):
            return None  # a function that has just been written is not called by what follows
        if not isinstance(value, Library | Routine) or not (run.syntax.bare or getattr(value, "name", "") in run.loading):
            return None
        if run.syntax is RUBY and ((token.kind == "sign" and token.text == "{") or token.text == "do"):
            block, after = self.given_block(at, end)
            return (run.call(value, block, base), after) if block and isinstance(value, Library) else None
        if isinstance(value, Library):
            full = run.library.full(value.name)
            last = full.rpartition(".")[2]
            if full not in run.library.functions and last not in run.library.methods and last not in run.loading:
                return None
        begins = token.kind in ("string", "number", "words", "command") or (
            token.kind == "name"
            and token.text not in self.words
            and token.text not in _MODIFIERS | {"do", "then", "foreach"}
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
        block, after = self.given_block(after, end)
        return run.call(value, [*args, *block], base), after

    def _indexed(self, value: Value, at: int, end: int) -> tuple[Value, int]:
        close = min(self.tokens[at].match, end)
        key: Value = NOTHING
        if close == at + 2 and self.tokens[at + 1].kind == "name" and self.run.syntax in (PERL, PHP):
            word = self.tokens[at + 1].text
            key = self.lookup(word) if word[:1] == "$" else word
        elif close > at + 1:
            key = self.all_of(at + 1, close)
        key = choices(key)[0]
        first = choices(value)[0]
        if isinstance(first, Routine) and self.run.syntax is RUBY:
            return self.run.invoke(first, [key]), close + 1
        if isinstance(first, Library) and isinstance(key, str) and key.strip(UNKNOWN):
            return self.run_member(first, key), close + 1
        if isinstance(first, dict) and isinstance(key, str):
            return self.run_member(first, key), close + 1
        if isinstance(key, int):
            return item_at(first, key), close + 1
        return (element(value) if isinstance(first, list) else Unknown(sources=sources(value))), close + 1

    def method(self, at: int, end: int) -> int:
        """`name(params) {` in a class."""
        if not self.is_sign(at + 1, end, "(") or self.run.syntax.closes or self.run.syntax in (AWK, PERL, POWERSHELL):
            return -1
        close = self.tokens[at + 1].match
        words = self.run.syntax.keywords.kinds
        if not self.is_sign(close + 1, end, "{") or self.tokens[at].text in self.passed | words["loops"]:
            return -1
        stop = self.tokens[close + 1].match
        routine = Routine(self, (at + 2, close), (close + 2, min(stop, end)))
        self.run.routines.append(routine)
        self.run.names.setdefault(self.tokens[at].text, routine)
        if self.tokens[at].text in ("constructor", "__construct") and "class" in self.run.names:
            self.run.names[text(self.run.names["class"])] = routine
        return stop + 1


class CommandReader(CallReader):
    """Reads commands of PowerShell."""

    def _has_value(self, at: int, end: int) -> bool:
        """Whether an option is followed by its value. A block is an argument of its own, which the command may run."""
        return at < end and not self._ends_command(at, end) and self.tokens[at].text[:1] not in ("-", "{")

    def commanded(self, at: int, end: int) -> tuple[Value, int]:
        """PowerShell: a command, its options and operands, up to the end of the statement."""
        run = self.run
        called, at = self._command_name(at, end)
        first = at
        name = _MODULE.sub("", text(called))
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
            if token.kind == "sign" and token.text == ">":
                at = self.redirected(args[0] if args else NOTHING, at, end)
                continue
            value, at = self.word(at, end)
            words.append(value)
            at = max(at, before + 1)
            if token.kind == "name" and token.text[:1] == "-":
                key = token.text[1:].lower()
                options[key] = True
                if key not in _SWITCHES and self._has_value(at, end):
                    options[key], at = self.word(at, end)
                    words.append(options[key])
            else:
                args.append(value)
        lower = name.lower()
        own = called if isinstance(called, Routine) else run.names.get(name, run.names.get(lower))
        if isinstance(own, Routine):
            self._given_command(first, at)
            return run.invoke(own, args), at
        if lower in run.library.functions:
            return run.call(Library(lower), [*args, options], None), at
        for block in args:
            if isinstance(block, Routine):  # `Measure-Command { ... }`
                run.invoke(block, [])
        return (run.library.command(run, name, words) if run.library.command else NOTHING), at

    def _given_command(self, at: int, end: int) -> None:
        """The words that a function of the code is called with, which it may run as a command."""
        while at < end and isinstance(self.run.names.get(self.tokens[at].text.lower()), Routine):
            at += 1
        if at < end and self.tokens[at].kind == "name" and self.tokens[at].text[0].isalpha():
            self.run.steps += 1
            self.commanded(at, end)

    def _command_name(self, at: int, end: int) -> tuple[Value, int]:
        """What a command is called by: a word, or a value behind `&`."""
        token = self.tokens[at]
        if token.kind == "string":
            return self.filled(token), at + 1
        if token.text == "(":
            return self.bracketed(token, at, end)
        if token.text[:1] == "$" and not is_path(token.text):
            return self.postfix(self.lookup(token.text), at + 1, end)
        return self.word(at, end)

    def redirected(self, value: Value, at: int, end: int) -> int:
        """`> path`, `>> path`: what a command or an expression of PowerShell gives goes into a file."""
        append = self.is_sign(at + 1, end, ">")
        if at + 1 + append >= end:
            return end
        path, after = self.word(at + 1 + append, end)
        if not (isinstance(path, str) and path.startswith(("&", "$null"))):
            self.run.add(*(write(text(one), feed(value), append=append) for one in choices(path)))
        return max(after, at + 1)

    def _ends_command(self, at: int, end: int) -> bool:
        return self.tokens[at].kind == "end" or self.is_sign(at, end, ";", "|", ")", "}", "&&", "||", "]")

    def word(self, at: int, end: int) -> tuple[Value, int]:
        """One word of a command: a value, or text as it is written."""
        token = self.tokens[at]
        after = at + 1
        value_sign = token.kind == "sign" and token.text in ("(", "[", "@")
        if token.kind == "string" or value_sign or (token.text[:1] == "$" and not is_path(token.text)):
            if self.is_sign(at, end, "@") and self.is_sign(after, end, "(", "{"):
                return self.primary(after, end)
            if self.is_sign(at, end, "$") and self.is_sign(after, end, "("):
                return self.primary(after, end)
            value, after = self.primary(at, end)
            return self.postfix(value, after, end)
        written = token.text
        while after < end and not self.tokens[after].spaced and self.tokens[after].kind in ("name", "number", "sign"):
            if self._ends_command(after, end) or self.is_sign(after, end, ",", "(", "{"):
                break
            written += self.tokens[after].text
            after += 1
        return self.filled(Token("string", written.replace("\\", "/"), fills=True)), after
