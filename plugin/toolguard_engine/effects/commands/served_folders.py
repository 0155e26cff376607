"""Interpreters that run on and load files later: `php -S`, `python3 -m http.server --cgi`, `manage.py runserver`, and
`node --watch`, which begins again when one of its files changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from posixpath import join
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.model.text_answers import kept_by_text

MAX_OPENED = 8
MAX_CODE = 65_536
_RUNS = lazy_re.compile(
    r"\b(?:system|popen|exec\w{0,10}|eval|spawn\w{0,6}|subprocess|Popen|run_command|shell_exec|qx|check_output)\b"
)
_LISTS = lazy_re.compile(
    r"\b(?:listdir|scandir|i?glob|rglob|readdir(?:Sync)?|Dir(?:\.(?:glob|each_child|children|entries))?|opendir)"
    r"\s{0,4}[(\[]?\s{0,4}['\"]([^'\"\n]{1,200})['\"]"
)
_LEAVES = lazy_re.compile(
    r"\b(?:Popen|fork|spawn(?:l|v|lp|vp)?|execFile|daemon|setsid|start_new_session|detached|popen|proc_open)\b"
)
_OPENS = lazy_re.compile(
    r"\b(?:open|Path|readFile(?:Sync)?|createReadStream|File\.(?:read|open|foreach|readlines)|file_get_contents|fopen|"
    r"io\.(?:open|lines))\s{0,4}\(?\s{0,4}['\"]([^'\"\n]{1,200})['\"]"
)


def loaded(program: ProgramRun) -> Iterator[tuple[str, str]]:
    """Patterns of files that may be loaded at any time, and the program that runs them; empty for their own path."""
    if program.name.startswith("php") and program.words.has("-S"):
        yield join(program.cwd, option_parser.value(program.argv, ("-t", "--docroot")), "**.php"), program.name
    elif program.name.startswith("py") and "--cgi" in program.argv:
        yield join(program.cwd, option_parser.value(program.argv, ("-d", "--directory")), "cgi-bin/**"), ""
    elif program.name.startswith("py") and "runserver" in program.argv:
        yield join(program.cwd, "**.py"), "python3"


def begins_again(program: ProgramRun) -> bool:
    """Whether an interpreter starts its script again when a file changes."""
    return "watch" in program.argv[1:2] or program.words.has("--watch", "--watch-path", "--watch-preserve-output", "--hot")


class LaterFilesOfCode(NamedTuple):
    """`listed`: patterns of files that code finds in folders and may run; `opened`: files that code opens which also runs
    texts, so it may run what it reads; `leaves_programs`: whether it may start programs that it does not wait for."""

    listed: list[str]
    opened: list[str]
    leaves_programs: bool


@kept_by_text
def of_code(code: str) -> LaterFilesOfCode:
    if _RUNS.search(code, 0, MAX_CODE) is None:
        return LaterFilesOfCode([], [], leaves_programs=_LEAVES.search(code, 0, MAX_CODE) is not None)
    folders = [match[1] for match in islice(_LISTS.finditer(code, 0, MAX_CODE), MAX_OPENED)]
    listed = [folder if "*" in folder else f"{folder.rstrip('/')}/*" for folder in folders]
    opened = [match[1] for match in islice(_OPENS.finditer(code, 0, MAX_CODE), MAX_OPENED)]
    return LaterFilesOfCode(listed, opened, leaves_programs=_LEAVES.search(code, 0, MAX_CODE) is not None)
