"""What a command line comes to: programs that run (`Run`), and what they do (`Effect`). Values only.

Words are what a program would get: quotes taken off, variables that the same command sets put in. `UNKNOWN` stands in a
word for each part that cannot be known from the text alone; no argument of a real program holds that character.
Wildcards stay as they were written.
"""

from __future__ import annotations

from typing import Literal

import msgspec

UNKNOWN = "\0"

Flaw = Literal["broken", "deep", "long"]
"""Why not all of a command was seen: its syntax, its nesting, its size."""


# The values are structs and no dataclasses because a frozen dataclass takes three times as long to make.


class Redirect(msgspec.Struct, frozen=True):
    """`fd` is empty for the usual one; `target` a path or, for `text`, the here-document or here-string itself."""

    kind: Literal["read", "write", "append", "text"]
    target: str
    fd: str = ""


class Feed(msgspec.Struct, frozen=True):
    """What arrives at the standard input of a program, or what a substitution prints.

    `text`: what it says, None where that cannot be known. `programs`: the names of the programs that made it, in order, as
    in `("curl", "base64")`; of those that hand on a file, `files` has the paths. `was`: where `text` is None, what was said
    before a program changed it in a way that is not known; what runs it as a text is judged by that.
    """

    text: str | None = None
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    was: str | None = None


class Run(msgspec.Struct, frozen=True):
    """One program that runs, wrappers looked through: `sudo env A=1 rm -r x` is three of them.

    `name`: `argv[0]` without its folder. `via`: the names of what it is wrapped in, outermost first (`("sudo", "env")`,
    `("ssh",)`, `("xargs",)`; a substitution is `"$()"`, the body of a function `"()"`). `given`: for each position of `argv`
    what a substitution in that word prints, where there is one. `pipeline` is the same for programs that are piped into each
    other; `piped` says that its output goes to the next one. `cwd`: the folder as far as the command itself says (`cd x`),
    else empty; `UNKNOWN` where the command goes to a folder that cannot be known.
    """

    argv: tuple[str, ...]
    name: str
    via: tuple[str, ...] = ()
    assigns: tuple[tuple[str, str], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: Feed | None = None
    given: tuple[tuple[int, Feed], ...] = ()
    piped: bool = False
    pipeline: int = 0
    cwd: str = ""


class Reading(msgspec.Struct, frozen=True):
    """All that a command would run, in the order of its text. Never empty words; `flaws` empty where all was seen."""

    runs: tuple[Run, ...]
    flaws: frozenset[Flaw] = frozenset()


Place = Literal[
    "", "root", "device", "system", "home", "in-home", "credentials", "startup", "repository", "workspace", "in-workspace",
    "artefact", "temp", "null", "unknown", "remote",
]  # fmt: skip
"""What a path is, by its meaning to a person; `shell.places` says how each is found."""


class Effect(msgspec.Struct, frozen=True):
    """One thing that a call would do. `target` is a path, a host, a statement: what `kind` is about, as one can show it.

    `run`: the program that does it; None for a tool that is no shell.
    """

    kind: str
    target: str = ""
    place: Place = ""
    flags: frozenset[str] = frozenset()
    run: Run | None = None
