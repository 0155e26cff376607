"""Parses a shell command line into a tree of commands, with quotes removed and nothing expanded.

Covers the common syntax of POSIX shells, bash and zsh. Never fails: after invalid syntax it continues and reports `broken`;
if the text is nested too deep or is too long, it stops and reports `deep` or `long`. tree-sitter-bash is the oracle in the
tests but is not used here, because parsing with it takes longer than the whole decision may.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from sys import intern

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import FilePlace, Flaw
from toolguard_engine.effects.syntax.part_reader import DELIMITED, MAX_STRAYS, TOKEN, PartReader
from toolguard_engine.effects.syntax.syntax_tree import (
    Command,
    Group,
    Literal,
    Pipeline,
    Script,
    Simple,
    Variable,
    Word,
)
from toolguard_engine.effects.syntax.word_parts import (
    DYNAMIC,
    MAX_COMMANDS,
    MAX_DEPTH,
    NO_STOPS,
    SUBSHELL,
    Enough,
)
from toolguard_engine.model.work_limit import TooIntricate, WorkLimit

MAX_CHARS = 65_536
SIMPLE, BETWEEN = 4, 0.5
"""Steps of work for each simple command, and for what stands between two: an operator, a keyword, a comment."""

CHARACTERS = 32
"""That are read in one step of work."""

_WORDS = lazy_re.compile(rf"""(?>(?:[ \t]*+(?!\#|\d{{0,9}}[<>])[^\s;|&()<>\\'"`${{]++{DELIMITED})+)""")
"""As many plain words as follow: most words of most commands."""

_ASSIGN = lazy_re.compile(r"([A-Za-z_]\w*+)(?:\[([^\]]*+)\])?(\+?)=")
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select", "function", "{", "[["})
_SKIPPED = frozenset({"!", "time", "coproc"})
_TIME_OPTIONS = lazy_re.compile(rf"(?:[ \t]++(?:-p|--){DELIMITED})*")
"""Options of bash's `time` keyword."""

_EMPTY_LINES = lazy_re.compile(r"(?>(?:[ \t]*+(?:#[^\n]*+)?\n)+)")
"""Lines without a command, behind the end of a line: they end nothing more."""

_OPTION = lazy_re.compile(r"""[ \t]++['"\\]*+-""")
_CLOSERS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_RESERVED = _OPENERS | _SKIPPED | _CLOSERS
_BEGIN = lazy_re.compile(rf"(?![ \t]*+(?:{'|'.join(map(re.escape, sorted(_RESERVED)))}){DELIMITED}){_WORDS.pattern}")
"""The same at the beginning of a command: no reserved words."""


def _shared(words: str) -> list[str]:
    """Plain words. The same word is one object, however often it is read: what is kept of commands has most in common."""
    return [*map(intern, words.split())]


def parse(text: str, work: WorkLimit | None = None, file: FilePlace | None = None) -> tuple[Script, frozenset[Flaw]]:
    """The tree of a command line, and the reasons why it may be incomplete. `work`: what this may cost; `file`: the
    file that the text is."""
    reader = _Reader(text[:MAX_CHARS], work or WorkLimit(), file)
    if len(text) > MAX_CHARS:
        reader.flaws.add("long")
    script: Script = []
    try:
        reader.work.spend(len(reader.text) / CHARACTERS)
        for _ in range(MAX_STRAYS):
            reader.read(script, NO_STOPS, 0)
            if reader.at >= len(reader.text):
                break
            reader.stray()
        else:
            reader.flaws.add("long")
    except Enough:
        pass
    except TooIntricate:
        reader.flaws.add("intricate")
    return script, frozenset(reader.flaws)


_FUNCTION = lazy_re.compile(r"[ \t]*+\)(?=\s*+[^\s;|&)<>])")
"""What makes a word the name of a function: `()` followed by a body."""

_PARENS = lazy_re.compile(r"[ \t]*+\([ \t]*+\)")
_ARITHMETIC_FOR = lazy_re.compile(r"[ \t]*+\(\(")
_IN = lazy_re.compile(r"(?>(?:[\s;]|\\\n)*)in(?=[\s;]|\Z)")
_CASE_PATTERN = lazy_re.compile(
    r"""(?>(?:\s|;|\#[^\n]*+\n)*)(?:(?P<end>esac)(?=[\s;)&|]|\Z)|\(?(?>(?:[^()'"\\]|'[^']{0,200}+'|"[^"]{0,200}+"|\\.){1,500})\))""",
    re.DOTALL,
)
_UNTIL = {
    "{": frozenset({"}"}),
    "then": frozenset({"then"}),
    "elif": frozenset({"then"}),
    "do": frozenset({"do"}),
    "done": frozenset({"done"}),
    "else": frozenset({"fi"}),
}
_UNTIL["then"] = frozenset({"then", "elif", "else", "fi"})
_CASE_ENDS = frozenset({";;", ";&", ";;&", "esac"})
_DO_OR_BRACE = frozenset({"do", "{"})


def _follows(sign: str, *, negated: bool) -> str:
    """When the pipeline behind an operator runs: `&&` if the one before has not failed, `||` if it has."""
    return ("||" if negated else "&&") if sign == "&&" else sign if sign == "||" else ""


class _Reader(PartReader):
    """One pass over the text."""

    def __init__(self, text: str, work: WorkLimit, file: FilePlace | None = None) -> None:
        super().__init__(text, work, file)
        self._token: re.Match[str] | None = None

    def read(  # noqa: PLR0912, PLR0915 - one branch per kind of token
        self, script: Script, stops: frozenset[str], depth: int
    ) -> str:
        """Reads pipelines into `script` up to and including one of `stops` at the start of a command.

        Returns that word, or an empty string if the text ends or a token closes something else.
        """
        if depth > MAX_DEPTH:
            self.flaws.add("deep")
            raise Enough
        pipeline: Pipeline | None = None
        after, negated, behind_pipe = "", False, -1
        match, spend = TOKEN.match, self.work.spend
        while True:
            token = self._token
            if token is None or token.start() != self.at:
                if several := _BEGIN.match(self.text, self.at):
                    pipeline = self._add(
                        script, pipeline, self._simple(depth, _shared(several[0]), several.end()), after=after
                    )
                    continue
                token = match(self.text, self.at)
                assert token is not None  # noqa: S101 - the last alternative always matches
            kind = token.lastgroup
            spend(BETWEEN)
            if kind == "operator":
                sign = token["operator"]
                if sign in stops:
                    self.at = token.end()
                    return sign
                if sign == ")":
                    return ""
                if sign == "(":
                    self.at = token.end()
                    pipeline = self._add(script, pipeline, self._subshell(depth), after=after)
                    continue
                self.at = token.end()
                if sign == "\n":
                    if self._waiting:
                        self._bodies(depth)
                    if empty := _EMPTY_LINES.match(self.text, self.at):
                        self.at = empty.end()
                if sign in ("|", "|&"):
                    behind_pipe = self.commands
                    continue
                if sign == "&" and script:
                    script[-1].background = True
                if sign != "\n":
                    after, negated = _follows(sign, negated=negated), False
                    pipeline = None
                elif behind_pipe != self.commands:  # else the pipeline continues in the next line
                    after = "" if pipeline else after  # `a &&` continues in the next line
                    pipeline, negated = None, False
            elif kind == "word" and token["word"] in _RESERVED:
                word = token["word"]
                if word in stops:
                    self.at = token.end()
                    return word
                if word in _CLOSERS:
                    return ""
                if command := self._reserved(word, token.end(), depth):
                    pipeline = self._add(script, pipeline, command, after=after)
                negated = negated or word == "!"
            elif kind in ("comment", "joined"):
                self.at = token.end()
            elif kind == "end":
                self.at = len(self.text)
                if self._waiting:
                    self._bodies(depth)
                return ""
            elif kind == "complex" and self.text.startswith("!(", token.end()):
                self.at = token.end() + 1  # not a pattern: non-interactive shells read it as a negated subshell
            else:
                pipeline = self._add(script, pipeline, self._simple(depth), after=after)

    def _reserved(self, word: str, end: int, depth: int) -> Command | None:
        """The command that begins with a reserved word ending at `end`; None if the word is only skipped."""
        if word == "time" and (after := _TIME_OPTIONS.match(self.text, end)):
            if _OPTION.match(self.text, after.end()):  # only the program of this name has such an option
                return self._simple(depth)
            end = after.end()
        self.at = end
        return None if word in _SKIPPED else self._compound(word, depth)

    def _add(self, script: Script, pipeline: Pipeline | None, command: Command, *, after: str = "") -> Pipeline:
        self.commands += 1
        if self.commands > MAX_COMMANDS:
            self.flaws.add("long")
            raise Enough
        if pipeline is None:
            pipeline = Pipeline([command], place=self.file and replace(self.file, at=self.at), after=after)
            if after == "&&" and script and script[-1].after == after:
                pipeline.joins = script[-1].joined = True
            script.append(pipeline)
        else:
            pipeline.commands.append(command)
        return pipeline

    def _simple(  # noqa: PLR0912, PLR0915 - one branch per kind of token
        self, depth: int, begun: Sequence[str] = (), end: int = 0
    ) -> Command:
        """`begun`: the first words, which are plain; `end`: the position after them."""
        text, match = self.text, TOKEN.match
        words: list[Word] = []
        if begun and "=" not in begun[0]:
            words, self.at = [*begun], end
        command = Simple(words, [], [])
        dynamic = False
        while True:
            token = match(text, self.at)
            assert token is not None  # noqa: S101 - the last alternative always matches
            kind = token.lastgroup
            if kind == "operator" and token["operator"] != "(":
                self._token = token
                break
            if kind == "end":
                break
            if kind == "word":
                self.at = token.end()
                word = token["word"]
                if not words and "=" in word and (named := _ASSIGN.match(word)):
                    self._assign(command, named, word[named.end() :], depth)
                else:
                    braces = "{" in word and ("," in word or ".." in word)
                    words.append((Literal(word),) if braces else word)
                    dynamic = dynamic or braces
                    if several := _WORDS.match(text, self.at):
                        words += _shared(several[0])
                        self.at = several.end()
            elif kind in ("single", "double"):
                self.at = token.end()
                words.append(token[kind])
            elif kind == "redirect":
                self.at = token.end()
                command.redirects.append(self._redirection(token, depth))
            elif kind == "joined":
                self.at = token.end()
            elif kind == "complex":
                start = self.at = token.end()
                if not words and (named := _ASSIGN.match(text, start)):
                    self.at = named.end()
                    self._assign(command, named, None, depth)
                    continue
                read = self._word(depth)
                if self.at == start:
                    self.stray()
                else:
                    words.append(read)
                    dynamic = dynamic or not isinstance(read, str)
            elif kind == "operator" and words:
                if len(words) == 1 and isinstance(words[0], str) and (empty := _FUNCTION.match(text, token.end())):
                    self.at = empty.end()
                    return Group("function", [self._one(depth)], words[0], redirects=self._redirections(depth))
                if self._declared(words, depth):
                    dynamic = True
                    continue
                self.flaws.add("broken")
                break
            else:
                break
        command.plain = not (dynamic or command.assigns or command.redirects)
        self.work.spend(SIMPLE + len(words) / 8)
        return command

    def _one(self, depth: int) -> Script:
        """The body of a function: one command, usually a compound one."""
        script: Script = []
        while (token := TOKEN.match(self.text, self.at)) and token.lastgroup in ("comment", "joined"):
            self.at = token.end()
        while (token := TOKEN.match(self.text, self.at)) and token.lastgroup == "operator" and token["operator"] == "\n":
            self.at = token.end()
        if depth > MAX_DEPTH:
            self.flaws.add("deep")
            raise Enough
        if token is None or token.lastgroup == "end":
            self.flaws.add("broken")
        elif token.lastgroup == "operator" and token["operator"] == "(":
            self.at = token.end()
            self._add(script, None, self._subshell(depth))
        elif token.lastgroup == "word" and token["word"] in _OPENERS:
            self.at = token.end()
            self._add(script, None, self._compound(token["word"], depth))
        else:
            self._add(script, None, self._simple(depth + 1))
        return script

    def _subshell(self, depth: int) -> Command:
        if self.text.startswith("(", self.at) and (end := self._arithmetic_end(self.at + 1)):
            content = self.text[self.at + 1 : end - 2]
            self.at = end
            return Simple(["((", self._arithmetic(content, depth, quoted=True)])
        script, _ = self._body(SUBSHELL, depth)
        return Group("(", [script], redirects=self._redirections(depth))

    def _compound(self, kind: str, depth: int) -> Command:
        if kind == "[[":
            return self._test(depth)
        group = Group(kind, [])
        if kind == "{":
            self._into(group, _UNTIL["{"], depth)
        elif kind == "if":
            stop = self._into(group, _UNTIL["then"], depth)
            while stop in ("then", "else", "elif"):
                stop = self._into(group, _UNTIL[stop], depth)
        elif kind in ("while", "until"):
            if self._into(group, _UNTIL["do"], depth) == "do":
                self._into(group, _UNTIL["done"], depth)
        elif kind in ("for", "select"):
            self._loop(group, depth)
        elif kind == "case":
            self._case(group, depth)
        else:
            name = self._next_word(depth)
            group.name = name if isinstance(name, str) else ""
            if empty := _PARENS.match(self.text, self.at):
                self.at = empty.end()
            group.bodies.append(self._one(depth))
        group.redirects = self._redirections(depth)
        return group

    def _into(self, group: Group, stops: frozenset[str], depth: int) -> str:
        script, stop = self._body(stops, depth)
        group.bodies.append(script)
        return stop

    def _test(self, depth: int) -> Simple:
        words: list[Word] = ["[["]
        while (token := TOKEN.match(self.text, self.at)) and token.lastgroup != "end":
            kind = token.lastgroup
            self.work.spend(1)
            if kind in ("operator", "redirect"):
                self.at = token.end()
                if token[0].endswith("\n"):
                    continue
                words.append(token[0].strip())
                continue
            before = self.at
            word = self._next_word(depth)
            if word == "]]":
                return Simple([*words, "]]"])
            words.append(word)
            if self.at == before:
                break
        self.flaws.add("broken")
        return Simple(words)

    def _loop(self, group: Group, depth: int) -> None:
        if (start := _ARITHMETIC_FOR.match(self.text, self.at)) and (end := self._arithmetic_end(start.end())):
            group.words = [self._arithmetic(self.text[start.end() : end - 2], depth, quoted=True)]
            self.at = end
        else:
            name = self._next_word(depth)
            group.name = name if isinstance(name, str) else ""
            if match := _IN.match(self.text, self.at):
                self.at = match.end()
                while (token := TOKEN.match(self.text, self.at)) and token.lastgroup in (
                    "word",
                    "single",
                    "double",
                    "complex",
                ):
                    before = self.at
                    self.work.spend(1)
                    group.words.append(self._next_word(depth))
                    if self.at == before:
                        self.stray()
            else:
                group.words = [(Variable("@", quoted=True),)]
        script: Script = []
        found_stop = self.read(script, _DO_OR_BRACE, depth + 1)
        if found_stop:
            self._into(group, _UNTIL["done" if found_stop == "do" else "{"], depth)
        else:
            self.flaws.add("broken")

    def _case(self, group: Group, depth: int) -> None:
        group.words = [self._next_word(depth)]
        if match := _IN.match(self.text, self.at):
            self.at = match.end()
        while True:
            self.work.spend(SIMPLE)
            pattern = _CASE_PATTERN.match(self.text, self.at)
            if pattern is None:
                self.flaws.add("broken")
                return
            self.at = pattern.end()
            if pattern["end"]:
                return
            if DYNAMIC.search(pattern[0]):
                group.words.append(self._inner(pattern[0], depth))
            found_stop = self._into(group, _CASE_ENDS, depth)
            if found_stop in ("", "esac"):
                return
