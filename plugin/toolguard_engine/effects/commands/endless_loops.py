"""Loops without a pause. What such a loop does stands among the programs that run, and rules match it by its name:

- `job-flood`: it starts programs in the background and waits for none of them: `while :; do job & done`.
- `request-flood`: it does nothing but ask another machine: `while :; do curl -s https://host/; done`. So do `xargs` and
  `parallel` that are given an endless list.
- `file-flood`: it does nothing but add to a file or make files: `while :; do date >> log; done`.
- `memory-flood`: it does nothing but assign: `while :; do a=$a$a; done`.
"""

from __future__ import annotations

from itertools import islice

from toolguard_engine.effects.facts import program_catalogue, web_targets
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.syntax.syntax_tree import Group, Pipeline, Script, Simple

JOBS = ProgramRun(("job-flood",), "job-flood")
REQUESTS = ProgramRun(("request-flood",), "request-flood")
ADDITIONS = ProgramRun(("file-flood",), "file-flood")
ASSIGNMENTS = ProgramRun(("memory-flood",), "memory-flood")

MANY = 1_000
"""As many programs at once as no machine is meant to run."""
MANY_REQUESTS = 10_000
_LAST = 8
_DIGITS = 12

_REQUESTERS = program_catalogue.programs("fetcher")
_FILTERS = frozenset(["jq", "grep", "head", "tail", "tr", "cut", "wc", "sort", "uniq", "cat", "tee", "date", "printf"])
_INSTANT = frozenset(["", "disown", ":", "true", "echo", "let", "(("])
"""`""`: only assignments."""
_MAKERS = frozenset(["cp", "mkdir", "touch", "truncate", "fallocate", "ln", "mktemp"])
_LISTS_FOR = frozenset(["xargs", "gxargs", "parallel"])


def endless(loop: Group) -> ProgramRun | None:
    """What a `while` does whose condition never fails and that never pauses."""
    condition, *body = loop.bodies or [[]]
    first = condition[0].commands[0] if len(condition) == 1 and condition[0].commands else None
    ever = _NEVER_TRUE if loop.kind == "until" else _ALWAYS_TRUE
    return _done_by(body) if isinstance(first, Simple) and first.words in ever and body else None


_ALWAYS_TRUE = ([":"], ["true"], ["sleep", "0"], ["[", "1", "]"])
_NEVER_TRUE = (["false"],)


def _done_by(body: list[Script]) -> ProgramRun | None:
    if all(map(_only_starts, body)):
        return JOBS
    commands = [command for script in body for pipeline in script for command in pipeline.commands]
    simple = [command for command in commands if isinstance(command, Simple)]
    if len(simple) != len(commands):
        return None
    names = {_name(command) for command in simple}
    asking = [command for command in simple if _asks_another(command)]
    if asking and names <= _REQUESTERS | _FILTERS | _INSTANT:
        return REQUESTS
    adds = any(redirect.operator == ">>" for command in simple for redirect in command.redirects)
    if names <= _FILTERS | _INSTANT | _MAKERS and (adds or not names.isdisjoint(_MAKERS)):
        return ADDITIONS
    return ASSIGNMENTS if names == {""} else None


def _asks_another(command: Simple) -> bool:
    """Whether this is a request that does not name this machine."""
    if _name(command) not in _REQUESTERS:
        return False
    read = option_parser.read_words(_name(command), tuple(word for word in command.words if isinstance(word, str)))
    words = (*read.texts, *(value.text for _, value in read.options))
    return not any("local" in web_targets.target(word).flags for word in words if word[:1] not in ("", "/", ".", "~"))


def _name(command: Simple) -> str:
    """The program, if the command names one."""
    first = command.words[0] if command.words else ""
    return first if isinstance(first, str) else ""


def listed(pipeline: Pipeline) -> bool:
    """Whether `xargs` or `parallel` makes a request for each line of a list that does not end, or not soon."""
    first, *others = pipeline.commands
    if not isinstance(first, Simple) or not _is_long(first):
        return False
    return any(
        isinstance(command, Simple)
        and _name(command) in _LISTS_FOR
        and any(isinstance(word, str) and word in _REQUESTERS for word in command.words[1:])
        for command in others
    )


def _is_long(command: Simple) -> bool:
    return _name(command) == "yes" or (_name(command) in _COUNTERS and _counts_to(command.words[-1], MANY_REQUESTS))


_COUNTERS = frozenset(["seq", "jot"])


def _counts_to(word: object, most: int) -> bool:
    return isinstance(word, str) and word.isdigit() and len(word) < _DIGITS and int(word) >= most


def counted(loop: Group, runs: list[ProgramRun]) -> bool:
    """Whether `for` counts to a large number, as far as the program that counts says it, and waits for no round."""
    if not all(map(_only_starts, loop.bodies)):
        return False
    counters = (program for program in islice(reversed(runs), _LAST) if program.name in _COUNTERS)
    return any(_counts_to(program.argv[-1], MANY) for program in counters)


def _only_starts(body: Script) -> bool:
    """Whether a body starts something in the background, and does nothing else that takes time."""
    return any(map(_starts, body)) and all(_starts(pipeline) or _is_instant(pipeline) for pipeline in body)


def _starts(pipeline: Pipeline) -> bool:
    only = pipeline.commands[0] if len(pipeline.commands) == 1 else None
    return pipeline.background or (isinstance(only, Group) and only.kind in "({" and all(map(_only_starts, only.bodies)))


def _is_instant(pipeline: Pipeline) -> bool:
    return all(isinstance(command, Simple) and _name(command) in _INSTANT for command in pipeline.commands)
