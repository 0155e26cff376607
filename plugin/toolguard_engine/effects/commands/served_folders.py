"""Interpreters that run on and load files later: `php -S`, `python3 -m http.server --cgi`, `manage.py runserver`, and
`node --watch`, which begins again when one of its files changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from posixpath import join

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.programs.wrappers import value_of

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


def loaded(run: ProgramRun) -> Iterator[tuple[str, str]]:
    """Patterns of files that may be loaded at any time, and the program that runs them; empty for their own path."""
    if run.name.startswith("php") and any(word.startswith("-S") for word in run.argv[1:]):
        yield join(run.cwd, value_of(run.argv, ("-t", "--docroot")), "**.php"), run.name
    elif run.name.startswith("py") and "--cgi" in run.argv:
        yield join(run.cwd, value_of(run.argv, ("-d", "--directory")), "cgi-bin/**"), ""
    elif run.name.startswith("py") and "runserver" in run.argv:
        yield join(run.cwd, "**.py"), "python3"


def begins_again(run: ProgramRun) -> bool:
    """Whether an interpreter starts its script again when a file changes."""
    return "watch" in run.argv[1:2] or any(word.startswith(("--watch", "--hot")) for word in run.argv[1:])


def listed(code: str) -> Iterator[str]:
    """Patterns of files that code finds in folders and may run."""
    if _RUNS.search(code, 0, MAX_CODE):
        for found in islice(_LISTS.finditer(code, 0, MAX_CODE), MAX_OPENED):
            yield found[1] if "*" in found[1] else f"{found[1].rstrip('/')}/*"


def leaves_programs(code: str) -> bool:
    """Whether code may start programs that it does not wait for."""
    return _LEAVES.search(code, 0, MAX_CODE) is not None


def opened(code: str) -> Iterator[str]:
    """Files that code opens which also runs texts: it may run what it reads."""
    if _RUNS.search(code, 0, MAX_CODE):
        yield from (found[1] for found in islice(_OPENS.finditer(code, 0, MAX_CODE), MAX_OPENED))
