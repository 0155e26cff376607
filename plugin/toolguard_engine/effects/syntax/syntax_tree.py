"""The tree of a command line that `parse` builds: pipelines of commands, without any expansion.

A word is a `str` if its value is constant, else a tuple of parts: `Literal`, `Variable`, `Substitution`. The nodes are
structs, because a dataclass takes four times as long to create.
"""

from __future__ import annotations

from typing import Literal as OneOf

import msgspec

from toolguard_engine.effects.facts.command import FilePlace

SUBSCRIPT = "["
"""Behind the name of an array: one of its elements, which one is not known. Also the operator of one that runs commands."""


class Literal(msgspec.Struct):
    """Text inside a word. Unquoted text may still be a pattern or braces."""

    text: str
    quoted: bool = False


class Variable(msgspec.Struct):
    """`$name` or `${name...}`. `operator` follows the name (`:-`, `#`, `:`); `operand` is the word after it. `every`: these
    are all elements of an array (`${name[*]}`)."""

    name: str
    quoted: bool = False
    operator: str = ""
    operand: Word = ""
    every: bool = False


class Substitution(msgspec.Struct):
    """`$(...)`, backticks, `<(...)` or `>(...)`. For arithmetic, `script` holds the substitutions inside it."""

    script: Script
    kind: OneOf["$(", "<(", ">(", "$(("]
    quoted: bool = False


Part = Literal | Variable | Substitution
Word = str | tuple[Part, ...]


class Redirection(msgspec.Struct):
    operator: str
    target: Word
    fd: str = ""


class Simple(msgspec.Struct):
    """Assignments, words, redirections. An assignment is (name, value, whether it appends).

    `plain`: there are only words, and none of them needs expansion.
    """

    words: list[Word] = []
    assigns: list[tuple[str, Word, bool]] = []
    redirects: list[Redirection] = []
    plain: bool = False


class Group(msgspec.Struct):
    """A compound command. `kind`: `(`, `{`, a keyword, or `function`; `words`: the items of a loop, the subject of a
    case."""

    kind: str
    bodies: list[Script]
    name: str = ""
    words: list[Word] = []
    redirects: list[Redirection] = []


Command = Simple | Group


class Pipeline(msgspec.Struct):
    """`place`: where it ends in a file that is run; `after`: it runs only if the one before it has not
    failed (`&&`), or if that has (`||`); `joins`: so did that one, in a row of `&&`, and `joined`: so does the next one."""

    commands: list[Command]
    background: bool = False
    place: FilePlace | None = None
    after: str = ""
    joins: bool = False
    joined: bool = False


Script = list[Pipeline]
