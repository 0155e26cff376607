"""Programs that are no interpreters but do what a file or their standard input says: makefiles, playbooks, scripts of an
editor or a debugger, archives of classes, lists of commands.

`sources` finds where a run takes its instructions from; `data_flows` asks whether they were fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals.option_parser import value_in

STDIN = 0
"""In place of a position in `argv`: standard input."""

_MAX_WORDS = 40
_STDIN_NAMES = frozenset({"-", "/dev/stdin"})

_OPTIONS = {
    "ansible": r"-i|--inventory",
    "bash": r"--rcfile|--init-file",
    "cmake": r"-[CP]",
    "docker": r"-f|--file",
    "emacs": r"-l|--load",
    "gdb": r"-i?x|--(?:init-)?command",
    "gradle": r"-[bIc]|--build-file|--init-script|--settings-file",
    "java": r"-jar|-cp|-classpath|--class-path",
    "just": r"-f|--justfile",
    "kubectl": r"-f|--filename|-k|--kustomize",
    "lldb": r"-[sS]|--source(?:-before-file)?",
    "make": r"-[a-zA-Z]*f|--(?:make)?file",
    "mvn": r"-f|--file",
    "ninja": r"-f",
    "screen": r"-c",
    "ssh": r"-F",
    "task": r"-t|--taskfile",
    "tmux": r"-f",
    "vim": r"-[Ssu]",
}
"""Program: its options whose value is a file of instructions."""

_OPERANDS = {"ansible-playbook": None, "crontab": None, "tmux": "source source-file", "puppet": "apply", "nomad": "run"}
"""Programs whose operands are such files; the words after which they are, if not all of them."""

_STDIN_READERS = program_catalogue.programs("instruction_reader")

_STATEMENT_READERS = program_catalogue.programs("typed_sql_client") | program_catalogue.programs("mongo_client")
_STATEMENT = lazy_re.compile(r"-[A-Za-z]*[ce]\b|-c|--(?:command|execute|eval|query)\b|\.import|.*(?i:copy|load data)\s")
"""A word that gives the statement: the input is data then."""

_WITHOUT_OPERANDS = frozenset({"parallel"})
"""With an operand, which is a command then, they read only its arguments."""

_ALIASES = {
    "docker-compose": "docker", "gmake": "make", "gradlew": "gradle", "mvnw": "mvn", "nvim": "vim", "oc": "kubectl",
    "podman": "docker", "scp": "ssh", "sftp": "ssh", "vi": "vim", "view": "vim",
}  # fmt: skip

PROGRAMS = frozenset().union(_OPTIONS, _ALIASES, _OPERANDS, _STDIN_READERS, _STATEMENT_READERS)
"""All programs for which `sources` finds something."""


def sources(program: ProgramRun) -> Iterator[int]:
    """The positions in `argv` of what names a file of instructions, and `STDIN`."""
    kind = _ALIASES.get(program.name, program.name)
    words = program.argv[:_MAX_WORDS]
    named = (*_after_options(kind, words), *_operands(program))
    for at in named:
        yield STDIN if value_in(words[at]) in _STDIN_NAMES else at
    if (not named and _reads_orders(program)) or (
        program.name in _STATEMENT_READERS and not any(map(_STATEMENT.match, words[1:]))
    ):
        yield STDIN


def _reads_orders(program: ProgramRun) -> bool:
    return program.name in _STDIN_READERS and not (program.name in _WITHOUT_OPERANDS and program.words.operands)


def _after_options(kind: str, words: tuple[str, ...]) -> Iterator[int]:
    pattern = _OPTIONS.get(kind)
    if pattern is None:
        return
    option = re.compile(rf"(?:{pattern})(?P<value>=.*|[-/].*)?", re.DOTALL)
    for at, word in enumerate(words[1:], 1):
        found = option.fullmatch(word)
        if found and (found["value"] or "=") != "=":
            yield at
        elif found and at + 1 < len(words):  # the reader of commands splits `--file=<(x)` in two words
            yield at + 1


def _operands(program: ProgramRun) -> Iterator[int]:
    if program.name not in _OPERANDS:
        return
    after = _OPERANDS[program.name]
    active = after is None
    for word in program.words.operands:
        if active and word.at < _MAX_WORDS:
            yield word.at
        active = active or word.text in (after or "").split()
