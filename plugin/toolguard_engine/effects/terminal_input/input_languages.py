"""Who reads typed input, and the command that a typed text amounts to.

A reader is a shell, an interpreter or a database client, derived from the commands that started it: whatever would run a
text at its standard input. The command for a typed text is the one with the same effect: the text itself for a local shell,
else the program with the text as its here-document. Nothing is judged here.

A shell keeps its folder, variables, aliases and functions from earlier lines. They are put before a new line as commands
without effects (`cd sub`), so that only the new line counts. Code and statements are read together with everything typed
before them, because a name in them may be defined there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from shlex import quote
from typing import Literal

import msgspec
from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.commands.specials import SPECIALS
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.programs import sql
from toolguard_engine.effects.programs.sql_meta_commands import started
from toolguard_engine.effects.programs.wrappers import SHELLS, WRAPPERS
from toolguard_engine.effects.syntax.parse import parse
from toolguard_engine.effects.syntax.shell_state import ShellState

Language = Literal["shell", "code", "sql", "other"]
"""`other`: an unknown program. Its input is read as a shell would."""

MAX_BEFORE = 16_384
"""Characters of code that are read together with a new line."""

MAX_VARIABLES = 200
MAX_SCRIPTS = 8
MAX_CLOSED, MAX_CLOSED_TWICE = 16_384, 1_000
"""Characters of an incomplete text for which an end is searched: one end, or one inside another."""

_SILENT = program_catalogue.programs("typed_silent")
_PROBE = "toolguardprobe"
_NO_VARIABLE = "toolguard_unknown"
_POSIX = program_catalogue.programs("posix_shell")
_MULTIPLEXERS = program_catalogue.programs("multiplexer")
_STAND_INS = {
    "ipython3": "python3", "bpython": "python3", "ptpython": "python3", "pdb": "python3", "ipdb": "python3", "pry": "irb",
    "deno": "node", "mongosh": "node", "mongo": "node", "iex": "elixir",
    "jupyter": "python3", "jupyter-console": "python3", "jshell": "groovy", "tinker": "php -a",
}  # fmt: skip
"""Consoles, and the interpreter that reads the same language from its standard input."""

_CONSOLES = frozenset({"console", "c", "tinker", "shell", "shell_plus", "repl", "pdb", "code", "IPython", "inspect"})
_LOOPS = ("for", "while", "until", "select")
_CLOSERS: dict[str, tuple[str, ...]] = {
    "'": ("'",), '"': ('"',), "\n:\ndone": _LOOPS, "\ndo :\ndone": _LOOPS, "\n:\nfi": ("if",), "\nthen :\nfi": ("if",),
    "\n:\n}": ("{",), "\n)": ("(",), "\nesac": ("case",), "`": ("`",), "]]": ("[[",),
}  # fmt: skip
"""Ends of an incomplete text, and the words one of which it must then contain."""

_HEREDOC = lazy_re.compile(r"(?<!<)<<-?[ \t]{0,9}(?:'([^'\n]{1,80})'|\"([^\"\n]{1,80})\"|\\?([\w.-]{1,80}))")
_GOES_ON = lazy_re.compile(r"(?:(?<!\\)(?:\\\\){0,20}\\|&&|\|\||\|&?)[ \t]{0,20}\Z")
_JOINED = lazy_re.compile(r"(?<!\\)(?:\\\\){0,20}\\\n?\Z")
_ENDS_SQL = lazy_re.compile(
    r";|\\|^\s{0,20}[.!/]|^\s{0,20}(?:go|ego|system|source|delimiter|pager)\b|\bdelimiter\b|-S\b",
    re.IGNORECASE | re.MULTILINE,
)
_DELIMITS = lazy_re.compile(r"^\s{0,20}(?:delimiter\b|\\d\s{1,20}[^\w\s])", re.IGNORECASE | re.MULTILINE)
_TAKERS = program_catalogue.programs("typed_reader")
_FILTERS = program_catalogue.programs("typed_filter")
_FILTERS_BY = program_catalogue.programs("typed_pattern_filter")
"""Programs that consume the following lines: always, without a file operand, and without a file operand after the
pattern."""


class Shell(msgspec.Struct, frozen=True):
    """The state of a shell. `defined`: the lines that define its `functions`; `args`: `$1` and so on, None if unknown;
    `scripts`: files that it wrote, with their content."""

    cwd: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    functions: frozenset[str] = frozenset()
    defined: str = ""
    args: tuple[str, ...] | None = None
    scripts: tuple[tuple[str, str], ...] = ()

    def before(self, text: str) -> str:
        """The commands that give a new shell the part of this state that matters for a text."""
        commands = [fed(f"cat > {word(path)}", content) for path, content in self.scripts if self._names(path, text)]
        commands += [f"cd {word(self.cwd)}"] if self.cwd else []
        if self.args is not None and ("$" in text or "shift" in text):
            commands.append("set -- " + " ".join(map(word, self.args)))
        commands += [
            f"{name}={word(value)}" for name, value in self.variables if name in text or (name == "IFS" and "$" in text)
        ]
        commands += [f"alias {name}={word(value)}" for name, value in self.aliases if name in text]
        if any(name in text for name in self.functions):
            commands.append(self.defined)
        return "".join(f"{line}\n" for line in commands)

    def _names(self, path: str, text: str) -> bool:
        """Whether a text may run the file of this name."""
        name = path.rpartition("/")[2]
        values = (value for variable, value in self.variables if variable in text)
        return name in text or "*" in text or "?" in text or any(name in value for value in values)


class Reader(msgspec.Struct, frozen=True):
    """`outer`: the commands that started it, outermost first; none for a local shell. `trusted`: a shell whose complete
    commands can be recognized. `waiting`: incomplete input; `before`: code that ran."""

    language: Language
    outer: tuple[str, ...] = ()
    trusted: bool = False
    waiting: str = ""
    before: str = ""
    shell: Shell = Shell()

    @property
    def recalls(self) -> bool:
        """Whether keys may bring back a line that was entered before."""
        return self.language != "other"

    def commands(self, text: str, *, ends: bool = False) -> list[str]:
        """The commands that entering this text amounts to. `ends`: it also ends the input."""
        if self.language == "sql":
            joined = self.waiting + text
            return [self._wrapped(self.before + joined)] if ends or self._ends(joined) else []
        if self.language == "code":
            return [self._wrapped(self.before + text)]
        typed = [self._in_shell(closed(self.waiting + text))]
        if self.waiting and not self.trusted:
            typed.append(self._in_shell(text))
        if self.language == "other":
            typed += started(text)
        return typed

    def shown(self, text: str) -> str:
        """The text with what it depends on, for the user."""
        if self.language in ("shell", "other"):
            return self._in_shell(self.waiting + text)
        return self.waiting + text

    def after(self, text: str, *, keep: bool) -> Reader:
        """This reader after the text. `keep`: the code also counts for later input."""
        if self.language == "sql" and not self._ends(self.waiting + text):
            return replace(self, waiting=(self.waiting + text + "\n")[-MAX_BEFORE:])
        if self.language in ("sql", "code"):
            before = f"{self.before}{self.waiting}{text}\n"[-MAX_BEFORE:]
            return replace(self, waiting="", before=before if keep else self.before)
        joined = self.waiting + text
        if joined.strip() and is_open(joined) and len(joined) < MAX_BEFORE:
            return replace(self, waiting=joined + "\n")
        return replace(self, waiting="", shell=_state_after(self.shell, joined))

    def opened(self, text: str) -> list[Reader]:
        """The readers that a text starts, if a shell reads it."""
        if self.language not in ("shell", "other"):
            return []
        joined = closed(self.waiting + text)
        inner = readers(self.shell.before(joined) + joined)
        return [replace(reader, outer=(*self.outer, *reader.outer)) for reader in inner]

    def shares(self, text: str) -> bool:
        """Whether another program may read later lines: a shell inside this one, or a program that takes input."""
        if self.language not in ("shell", "other"):
            return False
        joined = closed(self.waiting + text)
        return any(_may_consume(run) for run in _walked(self.shell.before(joined) + joined)[0])

    def _ends(self, text: str) -> bool:
        """Whether a client may run this. With a delimiter other than `;` it may run each line."""
        return _ends_sql(text) or _DELIMITS.search(self.before) is not None

    def _in_shell(self, text: str) -> str:
        return self._wrapped(self.shell.before(text) + text)

    def _wrapped(self, text: str) -> str:
        for opener in reversed(self.outer):
            text = fed(opener, text)
        return text


def fed(command: str, text: str) -> str:
    """A command with a text at its standard input."""
    mark = "TYPED"
    while mark in text:
        mark += "_"
    return f"{command} <<'{mark}'\n{text}\n{mark}"


def word(text: str) -> str:
    """A word in which each unknown part is an unset variable."""
    if UNKNOWN not in text:
        return quote(text)
    return f'"${{{_NO_VARIABLE}}}"'.join(quote(part) if part else "" for part in text.split(UNKNOWN))


@lru_cache(maxsize=256)
def readers(command: str) -> tuple[Reader, ...]:
    """Who reads typed input while this command runs; empty if no reader is known."""
    runs = _walked(command)[0]
    unique: dict[tuple[Language, tuple[str, ...]], Reader] = {}
    top = runs[0] if runs else ProgramRun((":",), ":")
    for program in runs:
        top = program if not program.via and program.name != _PROBE else top
        for reader in _of(program, top, command):
            unique.setdefault((reader.language, reader.outer), reader)
    return tuple(unique.values())


def _of(program: ProgramRun, top: ProgramRun, command: str) -> Iterator[Reader]:
    if program.name == _PROBE:
        yield _shell(program, top)
    elif any(_PROBE in operand for operand in program.argv[1:]):  # `xargs rm`, `read x; rm $x`
        yield Reader("code", (f"{{ {command}\n}}",))
    elif program.name in sql.CLIENTS:
        yield Reader("sql", (_opener(top),))
    elif program.name in sql.STORES:
        yield Reader("code", (_opener(top),))
        if program.name in _STAND_INS:
            yield Reader("code", (_STAND_INS[program.name],))
    elif _reads_code(program):
        yield Reader("code", (_opener(top),))
    elif stand_in := _stand_in(program):
        yield Reader("code", (stand_in,))


@lru_cache(maxsize=32)
def _walked(command: str) -> tuple[list[ProgramRun], ShellState, dict[str, str]]:
    """All programs that a command runs with interactive input, and its shell's final state and written files. Read only.
    Where it could not be read to its end, its folder is not known."""
    walk, state = Walk(SPECIALS), ShellState()
    walk.text(command.replace(UNKNOWN, "?"), state, StdinSource(f"{_PROBE}\n"), piped=False, pipeline=0)
    if not walk.flaws.isdisjoint(("intricate", "long", "deep")):
        state.cwd = UNKNOWN
    return walk.runs, state, walk.written.texts


def _shell(program: ProgramRun, top: ProgramRun) -> Reader:
    """A shell that runs its standard input as commands."""
    if not program.via:  # `while read line; do $line; done`
        return Reader("shell")
    innermost = program.via[-1]
    if all(name in SHELLS for name in program.via) and top.name in SHELLS and "-c" not in top.argv:
        variables = tuple(node for node in top.assigns if UNKNOWN not in node[1])
        return Reader("shell", trusted=innermost in _POSIX, shell=Shell(top.cwd, variables))
    return Reader("shell", (_opener(top),), innermost in _POSIX)


def _reads_code(program: ProgramRun) -> bool:
    known = code_sources.source(program)
    return known is not None and _PROBE in known[1]


def _stand_in(program: ProgramRun) -> str:
    """The interpreter for the language of a console, or of a script that may run its input."""
    named = next((_STAND_INS[operand] for operand in program.argv[1:4] if operand in _STAND_INS), "")
    language = code_sources.language(program.name)
    of_language = {"ruby": "irb", "php": "php -a", "awk": ""}.get(language, program.argv[0]) if language else ""
    return named or _STAND_INS.get(program.name) or (quote(of_language) if of_language else "")


def _opener(top: ProgramRun) -> str:
    """The command line of a program, with the folder in which it was started."""
    cd = f"cd {word(top.cwd)}\n" if top.cwd else ""
    assigns = "".join(f"{name}={word(value)} " for name, value in top.assigns if name.isidentifier())
    return cd + assigns + " ".join(map(word, top.argv))


def at_start(command: str) -> tuple[Reader, ...]:
    """The readers of a process that was started with this command."""
    opened = readers(command)
    runs = _walked(command)[0]
    if any(program.name in _MULTIPLEXERS or "shell" in program.name or "shell" in program.argv[1:3] for program in runs):
        return (*opened, Reader("shell"))
    others = (program for program in runs if not program.via and program.name not in _SILENT and program.name != _PROBE)
    return opened if opened and all(map(_is_known, others)) else (*opened, Reader("other"))


def _is_known(program: ProgramRun) -> bool:
    """Whether `readers` knows this program, so that nothing else reads the input."""
    console = not _CONSOLES.isdisjoint(program.argv[1:4]) or "-i" in program.argv[1:]
    reads = program.name in SHELLS | sql.CLIENTS | sql.STORES or program.name in _STAND_INS or program.name in WRAPPERS
    return reads or _reads_code(program) or bool(console and code_sources.language(program.name))


def _may_consume(program: ProgramRun) -> bool:
    """Whether a program may consume the lines that are typed next."""
    if program.stdin is None or program.stdin.text != f"{_PROBE}\n":
        return program.name == _PROBE
    operands = sum(1 for text in program.words.texts if text != "-")
    if (program.name in _FILTERS and not operands) or (program.name in _FILTERS_BY and operands < 2):  # noqa: PLR2004 - what, and a file
        return True
    return (
        program.name in _TAKERS | sql.CLIENTS | sql.STORES
        or "/" in program.argv[0]
        or bool(code_sources.language(program.name))
    )


def _state_after(shell: Shell, text: str) -> Shell:
    """The state of a shell after a text."""
    _, state, files = _walked(shell.before(text) + text)
    scripts = {**dict(shell.scripts), **{path: content for path, content in files.items() if _PROBE not in content}}
    changed = {name: value if isinstance(value, str) else UNKNOWN for name, value in state.variables.items()}
    variables = {**dict(shell.variables), **changed}
    aliases = {**dict(shell.aliases), **state.aliases}
    new = state.functions.keys() - shell.functions
    again = state.functions.keys() & shell.functions and any(
        f"{name}(" in text or f"{name} (" in text for name in state.functions
    )
    defined = f"{shell.defined}{text}\n"[-MAX_BEFORE:] if new or again else shell.defined
    return Shell(
        state.cwd,
        tuple(variables.items())[-MAX_VARIABLES:],
        tuple(aliases.items())[-MAX_VARIABLES:],
        shell.functions | new,
        defined,
        shell.args if state.args is None else state.args[1:],
        tuple((path, content.replace(UNKNOWN, "?")[:MAX_BEFORE]) for path, content in scripts.items() if path)[
            -MAX_SCRIPTS:
        ],
    )


def _ends_sql(text: str) -> bool:
    return _ENDS_SQL.search(text) is not None


def is_open(text: str) -> bool:
    """Whether a shell waits for more input before it runs this."""
    return bool(_GOES_ON.search(text)) or "broken" in parse(text)[1]


@lru_cache(maxsize=64)
def closed(text: str) -> str:
    """An incomplete text with the shortest end that completes it, so that what it does so far can be parsed."""
    text = _JOINED.sub("", text)
    if len(text) > MAX_CLOSED or "broken" not in parse(text)[1]:
        return text
    closers = [ends for ends, opened in _CLOSERS.items() if any(sign in text for sign in opened)]
    for ends in (_heredocs(text), *closers):
        if ends and "broken" not in parse(text + ends)[1]:
            return text + ends
    for first in closers if len(text) <= MAX_CLOSED_TWICE else ():
        for second in closers:
            if "broken" not in parse(text + first + second)[1]:
                return text + first + second
    return text


def _heredocs(text: str) -> str:
    """The delimiters of here-documents that are still open."""
    marks = [next(mark for mark in match.groups() if mark) for match in _HEREDOC.finditer(text)]
    body = text.split("\n")
    return "".join(f"\n{mark}" for mark in marks[:20] if mark not in body[1:])
