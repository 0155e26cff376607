"""The facts of one language that code is written in. Each language has them in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from toolguard_engine.effects.languages.script_run import LanguageLibrary
from toolguard_engine.effects.languages.script_syntax import Syntax


class ReadBy(msgspec.Struct, frozen=True):
    """How code in a language of scripts is read. `prepared`: makes it into what the reader of scripts understands."""

    syntax: Syntax
    library: LanguageLibrary
    prepared: Callable[[str], str] | None = None


class Language(msgspec.Struct, frozen=True):
    """What is known of one language.

    `programs`: its interpreters, separated by blanks. `reading`: how it is read; None for Python, which has a
    reader of its own, and for languages of which only commands are searched. `steps`: further work for each character that
    is read.

    `calls`: a pattern of the calls that run a command, and `calling` parts of their names, of which code with such a call
    has one; `quotes`: a pattern of literals that are commands.

    `tool_words`: what tools call it in their names and parameters, separated by blanks; `command`: how its interpreter is
    given code, such as `python3 -c`.

    `files`: the ends of the names of files with its code, separated by blanks, and `runs` the program that mostly runs them;
    `stands`: what follows the name of a script that is named without its ending, or that is a folder.

    `loads`: the words in front of the name of a file whose code is loaded, separated by blanks; `nearby`: those of them that
    look in the folder although the name does not begin with `./`; `endings`: what may be left out at the end of the name;
    `dotted`: whether dots in it may be folders; `module_role`: what the value of an option is that names a module;
    `folders`: variables with the folders in which modules are looked for.
    """

    name: str
    programs: str
    reading: ReadBy | None = None
    steps: float = 1.5
    calls: str = ""
    calling: tuple[str, ...] = (
        "system", "open", "spawn", "run", "exec", "capture", "pipeline", "passthru", "cmd", "hell", "Command", "Process",
        "read", "term",
    )  # fmt: skip
    quotes: str = ""
    tool_words: str = ""
    command: str = ""
    runs: str = ""
    files: str = ""
    stands: tuple[str, ...] = ()
    loads: str = ""
    nearby: str = ""
    endings: tuple[str, ...] = ()
    dotted: bool = False
    module_role: str = ""
    folders: tuple[str, ...] = ()
