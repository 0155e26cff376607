"""The tree of a command line that `parse` builds: pipelines of commands, without any expansion.

A word is a `str` if its value is constant, else a tuple of parts: `Literal`, `Variable`, `Substitution`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

from toolguard_engine.effects.shell.command import FilePlace


@dataclass(slots=True)
class Literal:
    """Text inside a word. Unquoted text may still be a pattern or braces."""

    text: str
    quoted: bool = False


@dataclass(slots=True)
class Variable:
    """`$name` or `${name...}`. `operator` follows the name (`:-`, `#`, `:`); `operand` is the word after it."""

    name: str
    quoted: bool = False
    operator: str = ""
    operand: Word = ""


@dataclass(slots=True)
class Substitution:
    """`$(...)`, backticks, `<(...)` or `>(...)`. For arithmetic, `script` holds the substitutions inside it."""

    script: Script
    kind: OneOf["$(", "<(", ">(", "$(("]
    quoted: bool = False


Part = Literal | Variable | Substitution
Word = str | tuple[Part, ...]


@dataclass(slots=True)
class Redirection:
    operator: str
    target: Word
    fd: str = ""


@dataclass(slots=True)
class Simple:
    """Assignments, words, redirections. An assignment is (name, value, whether it appends).

    `plain`: there are only words, and none of them needs expansion.
    """

    words: list[Word] = field(default_factory=list)
    assigns: list[tuple[str, Word, bool]] = field(default_factory=list)
    redirects: list[Redirection] = field(default_factory=list)
    plain: bool = False


@dataclass(slots=True)
class Group:
    """A compound command. `kind`: `(`, `{`, a keyword, or `function`; `words`: the items of a loop, the subject of a
    case."""

    kind: str
    bodies: list[Script]
    name: str = ""
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirection] = field(default_factory=list)


Command = Simple | Group


@dataclass(slots=True)
class Pipeline:
    """`place`: where it ends in a file that is run."""

    commands: list[Command]
    background: bool = False
    place: FilePlace | None = None


Script = list[Pipeline]
