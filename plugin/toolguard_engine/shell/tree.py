"""The tree of a command line, as `parse` makes it: pipelines of commands, nothing evaluated.

A word is a `str` where it says the same whenever it is read, else a tuple of parts: `Literal`, `Variable`, `Substitution`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf


@dataclass(slots=True)
class Literal:
    """Text inside a word; unquoted text may still be a pattern or braces."""

    text: str
    quoted: bool = False


@dataclass(slots=True)
class Variable:
    """`$name` or `${name...}`. `operator`: what stands behind the name (`:-`, `#`, `:`); `operand`: the word behind that."""

    name: str
    quoted: bool = False
    operator: str = ""
    operand: Word = ""


@dataclass(slots=True)
class Substitution:
    """`$(...)`, backticks, `<(...)` or `>(...)`; for arithmetic `script` holds the substitutions inside it."""

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

    `plain`: there are only words, and nothing in them has to be worked out.
    """

    words: list[Word] = field(default_factory=list)
    assigns: list[tuple[str, Word, bool]] = field(default_factory=list)
    redirects: list[Redirection] = field(default_factory=list)
    plain: bool = False


@dataclass(slots=True)
class Group:
    """A compound command. `kind`: `(`, `{`, a keyword, or `function`; `words`: what a loop goes over, a case looks at."""

    kind: str
    bodies: list[Script]
    name: str = ""
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirection] = field(default_factory=list)


Command = Simple | Group


@dataclass(slots=True)
class Pipeline:
    commands: list[Command]
    background: bool = False


Script = list[Pipeline]
