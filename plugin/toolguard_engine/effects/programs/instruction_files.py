"""Programs that are no interpreters but do what a file or their standard input says: makefiles, playbooks, scripts of an
editor or a debugger, archives of classes, lists of commands.

`sources` finds where a run takes its instructions from; `data_flows` asks whether they were fetched.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.option_parser import value_in

STDIN = 0
"""In place of a position in `argv`: standard input."""

_MAX_WORDS = 40
_STDIN_NAMES = frozenset({"-", "/dev/stdin"})

_OPERANDS = {"ansible-playbook": None, "crontab": None, "tmux": "source source-file", "puppet": "apply", "nomad": "run"}
"""Programs whose operands are such files; the words after which they are, if not all of them."""

_STDIN_READERS = program_catalogue.programs("instruction_reader")

_STATEMENT_READERS = program_catalogue.programs("typed_sql_client") | program_catalogue.programs("mongo_client")
_STATEMENT = lazy_re.compile(r"-[A-Za-z]*[ce]\b|-c|--(?:command|execute|eval|query)\b|\.import|.*(?i:copy|load data)\s")
"""A word that gives the statement: the input is data then."""

_WITHOUT_OPERANDS = frozenset({"parallel"})
"""With an operand, which is a command then, they read only its arguments."""

_BY_OPTION = manual_catalogue.doing("instructs")
PROGRAMS = frozenset().union(_BY_OPTION, _OPERANDS, _STDIN_READERS, _STATEMENT_READERS)
"""All programs for which `sources` finds something."""


def sources(program: ProgramRun) -> Iterator[int]:
    """The positions in `argv` of what names a file of instructions, and `STDIN`."""
    words = program.argv[:_MAX_WORDS]
    named = (*_after_options(program), *_operands(program))
    for at in named:
        yield STDIN if value_in(words[at]) in _STDIN_NAMES else at
    if (not named and _reads_orders(program)) or (
        program.name in _STATEMENT_READERS and not any(map(_STATEMENT.match, words[1:]))
    ):
        yield STDIN


def _reads_orders(program: ProgramRun) -> bool:
    return program.name in _STDIN_READERS and not (program.name in _WITHOUT_OPERANDS and program.words.operands)


def _after_options(program: ProgramRun) -> Iterator[int]:
    if program.name not in _BY_OPTION:
        return
    end = min(len(program.argv), _MAX_WORDS)
    options = (option for words in program.readings for option in words.given if "instructs" in option.entry.traits)
    # The reader of commands splits `--file=<(x)` in two words.
    places = dict.fromkeys(option.value.at if option.value.text else option.word + 1 for option in options)
    yield from (at for at in places if at < end)


def _operands(program: ProgramRun) -> Iterator[int]:
    if program.name not in _OPERANDS:
        return
    after = _OPERANDS[program.name]
    active = after is None
    for word in program.words.operands:
        if active and word.at < _MAX_WORDS:
            yield word.at
        active = active or word.text in (after or "").split()
