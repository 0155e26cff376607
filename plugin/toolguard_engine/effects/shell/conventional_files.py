"""Programs that run a file of a fixed name, or each file that they are named: `pytest`, `nox`, `rake`, `pip install .`,
`ansible-playbook`. The code is that of another interpreter, which stands for the program here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from toolguard_engine.effects.shell.command import ProgramRun, StdinSource
from toolguard_engine.effects.shell.expand import ShellState
from toolguard_engine.effects.shell.project_programs import found_file, run_lines
from toolguard_engine.effects.shell.walk import Special, Walk
from toolguard_engine.effects.shell.wrappers import WRAPPERS

MAX_NAMED = 8
MAX_LINES = 200


class Convention(NamedTuple):
    """`language`: the program that would run the same code; `files`: what is run in any case; `named`: the end of names
    that are run when they are named; `verbs`: sub-commands, one of which is needed."""

    language: str
    files: tuple[str, ...] = ()
    named: str = ""
    verbs: tuple[str, ...] = ()


_PYTHON_TASKS = {"invoke": "tasks.py", "inv": "tasks.py", "nox": "noxfile.py", "fab": "fabfile.py", "scons": "SConstruct"}
_CONVENTIONS: dict[str, Convention] = {
    **dict.fromkeys(("pytest", "py.test"), Convention("python3", ("conftest.py",), ".py")),
    **{name: Convention("python3", (file,)) for name, file in _PYTHON_TASKS.items()},
    **dict.fromkeys(("pip", "pip3"), Convention("python3", ("setup.py",), verbs=("install", "wheel", "download"))),
    "uv": Convention("python3", named=".py", verbs=("run",)),
    "rake": Convention("ruby", ("Rakefile", "rakefile", "Rakefile.rb")),
}
_COLLECTED = ("**conftest.py", "**test_*.py", "**_test.py")
"""What pytest finds by itself; only what agents made is read."""

_SHELL_LINE = re.compile(
    r"^[^\S\n]{0,40}-?\s{0,9}(?:ansible\.builtin\.)?(?:shell|command|raw|cmd|entry)\s{0,9}:\s{0,9}[>|]?-?\s{0,9}(.{3,2000})$",
    re.MULTILINE,
)


def _by_convention(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    known = _CONVENTIONS[run.name]
    words = [word for word in run.argv[1:] if word[:1] != "-"]
    if known.verbs and not (words and words[0] in known.verbs):
        return None
    here = not known.verbs or run.name == "uv" or any(word in (".", "./") or word.startswith("./") for word in words[1:])
    files = [(name,) for name in known.files] if here else []
    files += [
        (word.partition("::")[0],)
        for word in words[:MAX_NAMED]
        if known.named and word.partition("::")[0].endswith(known.named)
    ]
    if known.named and walk.running is not None and run.name != "uv":
        files += [(path,) for pattern in _COLLECTED for path in walk.running.meant(pattern, run.cwd)[:MAX_NAMED]]
    if run.name == "uv":
        walk.run_wrapped(run, WRAPPERS["uv"], state)
    other = replace(run, argv=(known.language,), name=known.language)
    for names in files:
        if file := found_file(walk, names, "", run):
            walk.run_code(file, other, state.fork(run.name))
    return None


def _lines(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for count, found in enumerate(pattern.finditer(text)):
        if count == MAX_LINES:
            return
        yield text.count("\n", 0, found.start()) + 1, found[1].strip().strip("'\"")


def _commands_of(pattern: re.Pattern[str], end: tuple[str, ...], own: tuple[str, ...] = ()) -> Special:
    """For a program that runs the shell commands of a file."""

    def runs(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
        for name in (*own, *(word for word in run.argv[1:MAX_NAMED] if word.endswith(end))):
            if file := found_file(walk, (name,), "", run):
                run_lines(walk, file, list(_lines(file.text, pattern)), state.fork(run.name))
        return None

    return runs


PROGRAMS: dict[str, Special] = {
    **dict.fromkeys(_CONVENTIONS, _by_convention),
    "ansible-playbook": _commands_of(_SHELL_LINE, (".yml", ".yaml")),
    "pre-commit": _commands_of(_SHELL_LINE, (".yaml",), (".pre-commit-config.yaml",)),
}
