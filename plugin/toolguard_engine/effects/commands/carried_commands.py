"""Commands and code that a program which nobody knows is given: they are judged as if it ran them.

Found are words behind it that are a command (`pixi run rm -rf x`), a word that is a command line (`"rm -rf x"`), and code
that starts programs (`-e 'system("rm -rf x")'`), among its words and at its input. What is found runs `via` `CARRIED`, which
rules can ask for; without the rule `unknown.carried`, none of it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.commands.handed_code import known_programs
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import CARRIED, UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs.wrappers import SHELLS, WRAPPERS
from toolguard_engine.effects.syntax import quoted_commands
from toolguard_engine.effects.syntax.quoted_commands import is_start
from toolguard_engine.effects.syntax.shell_state import ShellState

MAX_WORDS = 40
MAX_TEXTS = 8
MAX_CODE = 8_000


@cache
def carriers_known() -> frozenset[str]:
    """Programs of which it is known whether they run their words. A terminal runs what it is given."""
    return (known_programs() - program_catalogue.programs("terminal", "terminal_multiplexer")).union(WRAPPERS)


_RUNS = manual_catalogue.spelled("(any)", "starts") | {"--", "run", "exec", "x"}
"""Words behind which a program stands."""
_TEXT = lazy_re.compile(
    r"-m|-t|-d|-b|--?(?:message|msg|body|title|text|description|desc|comment|note|notes|summary|subject|prompt|query|question|reason"
    r"|label|name|search|grep|pattern|filter|match|help|ask|say|content|data|topic|keyword)s?"
)
"""Options with a text for people, and what is searched for."""
_BEHIND = ("-", "/", "~", ".", "$", '"', "'")
_JOINS = lazy_re.compile(r"[|;&>]|\$\(")
_STARTS_PROGRAMS = lazy_re.compile(
    r"(?i)(?:system|shell|exec|popen|spawn|qx|cmd|command|process|run|call|start|unix|\bsh)[\w.:!?-]{0,30}\s{0,3}(?:[(\[{,]\s{0,9}){1,4}[(\[\s]{0,9}[\"'`]"
    r"|\(sh\s|\w\.command\s{1,3}[\"'`]|\b(?:system|shell|exec|popen|spawn|execute|run-program|shell-command|call-process)\*?\s{1,3}[\"'`]|`\s{0,3}(?:sudo\s|/bin/)?rm\s"
)
"""Code that starts a program: the name of a function that does, and a text behind it."""


_DELETES = lazy_re.compile(
    r"(?i)(?:(?<![a-z])rm|remove|rmdir|delete|unlink|trash|rm_rf|rmtree)[\w!.?:]{0,30}[\s(\[{,]{1,4}(?:[\w.]{1,30}[(\s]\s?){0,2}[\"'`](?:[~/]|\$HOME)"
)
"""Code that deletes what a literal names."""
_DELETES_AT_HOME = lazy_re.compile(
    r"(?i)\b(?:rm|rm_rf|rmtree|rmdir|unlink|remove(?:[-_]?(?:dir|directory|file|tree|path))?(?:[-_]?(?:all|recursive(?:ly)?))?"
    r"|delete(?:[-_]?(?:dir|directory|file|tree|path))?(?:[-_/]?(?:all|files|recursive(?:ly)?|recursively|and[-_]contents))?)[!?]?[\s(][^;\n]{0,80}?"
    r"(?:home[-_]?dir\w*|user-?homedir\w*|path\.home|dir\.home|find-system-path|\benv\w*.{1,6}home\b)[^;\n]{0,30}?[\"']([^\"'\n]{1,200})[\"']"
)
"""Code that deletes what lies in the home folder, which a function names."""
_LITERAL = lazy_re.compile(r"[\"'`]((?:[~/]|\$HOME)[^\"'`\n]{1,400})[\"'`]")
_BRACKETED = lazy_re.compile(r"[<{\[(]\s{0,4}([\w./~-]{1,40}\s[^<>{}\[\]()\n]{2,400})[>}\])]")
"""A command in brackets: `run <rm -rf x>`, `%sh{rm -rf x}`."""
_RUNNING = lazy_re.compile(
    r"(?:exec|run|spawn|shell|system|launch|start|sh|nop|!)(?:\s{1,4}(?:-{1,2}[\w-]{1,30}\s{1,4}){0,3})"
)
"""What a program says before a command line in one of its words: `'exec --no-startup-id rm -rf x'`."""
SEARCHED = "swift"
"""An interpreter whose language is only searched."""
SHORTEST_CODE = 10


def run_carried_commands(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """`program`: of a program that is not among `carriers_known`."""
    if not (program.argv[1:] or program.stdin) or CARRIED in state.via or UNKNOWN in program.name:
        return
    if program.name in walk.specials or code_sources.plain_name(program.name) in carriers_known():
        return
    if at := _command_at(program.argv):
        walk.inner(program.argv[at:], program, state.fork(CARRIED, program.name))
        return
    texts = [*islice(_texts(program.argv), MAX_TEXTS)]
    for text in dict.fromkeys(texts):
        walk.inner_text(text, program, state.fork(CARRIED, program.name))
    inputs = [program.stdin_text, *(feed.text for _, feed in program.given if feed is not None and feed.text)]
    for text in inputs:
        for code in _commands_in(text):
            walk.inner_text(code, program, state.fork(CARRIED, program.name))
    for code in (*program.argv[1:MAX_WORDS], *inputs):
        is_deletion, target = _deletion_in(code) if len(code) >= SHORTEST_CODE else (False, "")
        if is_deletion:
            run_code(walk, code[:MAX_CODE], program, state.fork(CARRIED, program.name))
        if target:
            walk.inner(("rm", "-rf", target), program, state.fork(CARRIED, program.name))


@lru_cache(maxsize=16)
def _commands_in(text: str) -> tuple[str, ...]:
    """The commands in code. Many programs may be given the same input: it is searched once."""
    return tuple(islice(_of_code(text), MAX_TEXTS))


@lru_cache(maxsize=16)
def _deletion_in(code: str) -> tuple[bool, str]:
    """Whether code deletes files by a call, and what it deletes as far as that is known."""
    if deletes := _DELETES.search(code, 0, MAX_CODE):
        start = max(code.rfind(quote, 0, deletes.end()) for quote in "\"'`")
        literal = _LITERAL.match(code, start)
        return True, literal[1] if literal else ""
    at_home = _DELETES_AT_HOME.search(code, 0, MAX_CODE)
    return False, f"~/{at_home[1].removeprefix('/')}" if at_home else ""


def run_carried_shell(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """A shell with its text among the words of a program that is known, but not for running others."""
    name, argv = program.name, program.argv
    if name in WRAPPERS or name in walk.specials or name in _TALKERS or CARRIED in state.via:
        return
    at = next((at for at in range(1, min(len(argv), MAX_WORDS) - 2) if _is_shell(argv[at], argv[at + 1])), 0)
    if at:
        walk.inner(argv[at:], program, state.fork(CARRIED, name))


def _is_shell(word: str, option: str) -> bool:
    return option in SHELL_TEXT and word.rpartition("/")[2] in SHELLS


SHELL_TEXT = frozenset(
    f"-{letters}c" for letters in ("", "l", "e", "x", "i", "u", "eu", "ex", "eux", "il", "li", "le", "lx")
)
"""Options of a shell before a text that it runs."""
_TALKERS = program_catalogue.programs("observer", "text_printer", "words_only", "search_reader", "process_lister")
"""Programs whose words are texts, not commands."""


def run_compiled_input(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """Source code at the input of a compiler, whose program is seldom made for any other reason than to be run."""
    if text := program.stdin_text:
        run_code(walk, text[:MAX_CODE], program, state.fork(program.name))


def run_code(walk: Walk, code: str, program: ProgramRun, state: ShellState) -> None:
    """Judges code of any language as that of one which is searched, not parsed."""
    walk.inner((SEARCHED, "-e", code), program, state)


def _command_at(argv: tuple[str, ...]) -> int:
    """Where a command begins among the words; 0 if none does."""
    for operand in option_parser.plain(argv[:MAX_WORDS]).operands:
        word, at = operand.text, operand.at
        if word in _RUNS:
            continue
        runs = argv[at - 1] in _RUNS
        if runs and word.rpartition("/")[2] in carriers_known():
            return at
        if is_start(word) and at + 1 < len(argv) and (runs or argv[at + 1].startswith(_BEHIND)):
            return at
    return 0


def _texts(argv: tuple[str, ...]) -> Iterator[str]:
    """Words that are command lines, and those in code among the words."""
    for at in range(1, min(len(argv), MAX_WORDS)):
        word = argv[at]
        if not (" " in word or '"' in word or "'" in word) or _TEXT.fullmatch(argv[at - 1]):
            continue
        value = option_parser.value_in(word)
        if value != word and (not value or _TEXT.fullmatch(word.partition("=")[0])):
            value = word.partition(":")[2]
        if reads_as_command(value):
            yield _command_in(value)
        else:
            yield from _of_code(value)


def reads_as_command(text: str) -> bool:
    """Whether a text is a command line of a program that is known to do something, rather than words about one."""
    first, _, rest = _command_in(text).partition(" ")
    if not is_start(first) or not rest:
        return False
    return rest.lstrip().startswith(_BEHIND) or _JOINS.search(rest) is not None


def _command_in(text: str) -> str:
    text = text.strip()
    return text[running.end() :] if (running := _RUNNING.match(text)) else text


def _of_code(text: str) -> Iterator[str]:
    code = text[:MAX_CODE]
    yield from (bracketed[1] for bracketed in _BRACKETED.finditer(code) if reads_as_command(bracketed[1]))
    if _STARTS_PROGRAMS.search(code):
        yield from (found for _, found in quoted_commands.commands(code))
