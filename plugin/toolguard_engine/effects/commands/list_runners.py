"""What xargs, parallel, find and fd run for each of the words or files that they list."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs.file_readers import found_in
from toolguard_engine.effects.programs.wrappers import SHELLS
from toolguard_engine.effects.syntax.outputs import NOTHING, known_text
from toolguard_engine.effects.syntax.shell_state import ShellState

MAX_GIVEN = 400
"""Words or lines of input that are examined for `xargs` and the like."""

MAX_FILLED = 16_384
"""Characters of a word in which placeholders are replaced."""


def _xargs(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    rest = program.words.texts
    if not rest:
        return None
    mark = _placeholder(program.words)
    feed = _listed(walk, program) or program.stdin
    text = known_text(feed)
    words = _first_given(walk, _split_input(text or "", program.words))
    more = [UNKNOWN] if text and feed and feed.text is None else []
    inner = state.fork("xargs")
    if mark:
        lines = _first_given(walk, [line.strip() for line in text.splitlines() if line.strip()] if text else [])
        return _with_lines(walk, rest, mark, [*lines, *more] or [UNKNOWN], program, inner)
    feeds = feed and StdinSource(None, feed.programs, feed.files)
    given = ((len(rest), feeds),) if feeds else ()
    for apart in (*_whole(text or "", program.words), *(_batches(words, program.words) if _runs_script(rest) else ())):
        walk.inner((*rest, *apart), program, inner.fork())
    return walk.inner((*rest, *([*words, *more] or [UNKNOWN])), program, inner, given)


def _split_input(text: str, own: CommandWords) -> list[str]:
    """The words that xargs makes of its input. `own`: its options."""
    if own.has("--null", "--delimiter"):
        return text.replace("\0", "\n").splitlines()
    return text.replace("'", "").replace('"', "").split()


def _whole(text: str, own: CommandWords) -> Iterator[list[str]]:
    """Several lines as the one word that they may be for `xargs -0`."""
    if "\n" in text and own.has("--null"):
        yield [text]


def _with_lines(
    walk: Walk, words: tuple[str, ...], mark: str, lines: list[str], program: ProgramRun, state: ShellState
) -> StdinSource:
    """Runs the program of `xargs -I` once for each line."""
    last = NOTHING
    for line in lines:
        last = walk.inner(tuple(_filled(word, mark, line) for word in words), program, state.fork())
    return last


def _first_given(walk: Walk, words: list[str]) -> list[str]:
    """Takes as many as are read; that there were more is not forgotten."""
    if len(words) > MAX_GIVEN:
        walk.flaws.add("long")
    return words[:MAX_GIVEN]


def _runs_script(argv: tuple[str, ...]) -> bool:
    """Whether the word behind these ones is a script that is run."""
    name = argv[0].rpartition("/")[2]
    return (name in SHELLS or INTERPRETER.fullmatch(name) is not None) and {"-"}.issuperset(option_parser.plain(argv).texts)


def _batches(words: list[str], own: CommandWords) -> Iterator[list[str]]:
    """The words of `xargs` as it hands them on, if it does not hand on all of them at once; without the first."""
    counts = [value.text[:4] for value in own.values("--max-args", "--max-lines", "-L") if value.text.isdecimal()]
    if count := next(filter(None, map(int, counts)), 0):
        yield from (words[at : at + count] for at in range(count, len(words), count))


def _filled(word: str, mark: str, value: str) -> str:
    """The word with `value` in place of each `mark`; `UNKNOWN` if that would be too long."""
    if word.count(mark) * len(value) > MAX_FILLED:
        return UNKNOWN
    return word.replace(mark, value)


def _listed(walk: Walk, program: ProgramRun) -> StdinSource | None:
    """The file from which `xargs -a` reads."""
    for value in program.words.values("--arg-file"):
        fed = next((feed for position, feed in program.given if position == value.at), None)
        text = walk.written.text(value.text, program.cwd)
        file = walk.file_at(value.text, program) if text is None and fed is None else None
        return fed or StdinSource(file.text if file else text, (), (value.text,))
    return None


def _placeholder(own: CommandWords) -> str:
    """The placeholder for an input line in the command of `xargs`; empty if the input is appended."""
    return next((value.text or "{}" for option, value in own.options if option in ("-I", "--replace")), "")


def _parallel(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    argv, words = program.argv, program.words
    at = words.operands[0].at if words.operands else len(argv)
    end = next((n for n in range(at, len(argv)) if argv[n] in (":::", "::::", ":::+", "::::+")), len(argv))
    rest = argv[at:end]
    inner = state.fork("parallel")
    inner.cwd = words.last("--workdir") or inner.cwd
    for value in _first_given(walk, _values_of_parallel(walk, program, end)) or [UNKNOWN]:
        if not rest:
            walk.text(value, inner, None, piped=program.piped, pipeline=program.pipeline)
            continue
        filled = tuple(_filled(word, "{}", value) for word in rest)
        filled = filled if any("{}" in word for word in rest) else (*filled, value)
        if len(rest) == 1 or " " in filled[0]:
            walk.joined(filled, inner, program)
        else:
            walk.inner(filled, program, inner)
    return None


def _values_of_parallel(walk: Walk, program: ProgramRun, end: int) -> list[str]:
    """The values for which parallel runs its program: words behind `:::`, lines of its input, or lines of files."""
    argv = program.argv
    if end < len(argv) and argv[end].startswith(":::") and argv[end] != "::::" and argv[end + 1 :]:
        return list(argv[end + 1 :])
    if program.stdin and program.stdin.text:
        return program.stdin.text.splitlines()
    lists = (
        *(value.text for value in program.words.values("--arg-file")),
        *(argv[end + 1 : end + 1 + MAX_GIVEN] if argv[end : end + 1] == ("::::",) else ()),
    )
    files = (*(file for word in lists for file in walk.files_at(word, program)), *walk.fed_files(program))
    return [line for file in files for line in file.text.splitlines()]


def _find(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    argv, (starts, _) = program.argv, found_in(program)
    at = 1
    while at < len(argv):
        if argv[at] not in _EXECUTING or argv[at] == "-delete":
            at += 1
            continue
        end = next((n for n in range(at + 1, len(argv)) if argv[n] in (";", "+")), len(argv))
        for start in _first_given(walk, starts) or ["."]:
            for action in _found(walk, program, start, argv[at + 1 : end]):
                filled = tuple(_filled(word, "{}", action) for word in argv[at + 1 : end])
                walk.inner(filled, program, state.fork("find"))
        at = end + 1
    return None


def _found(walk: Walk, program: ProgramRun, start: str, command: tuple[str, ...]) -> Iterator[str]:
    """What `find` puts in place of `{}`. Where it runs what it finds, these are also agents' files that it may mean."""
    if not command:
        return
    folder, started, running = start.rstrip("/"), command[0].rpartition("/")[2], walk.running
    runs = started == "{}" or started in SHELLS or INTERPRETER.fullmatch(started) is not None
    if runs and running is not None:
        named = (value.text for value in program.words.values("-name", "-iname"))
        asked = (name for name in named if not _CODE.search(name))
        names = (f"{folder}/{'*/' * depth}{name}" for name in islice(asked, MAX_GIVEN) for depth in range(MAX_DEPTH))
        yield from (name for name in names if running.meant(name, program.cwd) or running.is_made_at(name, program.cwd))
        if running.is_made_at(start, program.cwd):
            yield start
    yield f"{folder}/{UNKNOWN}"


MAX_DEPTH = 4
"""Folders below the first one in which scripts are looked for."""

_CODE = lazy_re.compile(r"\.[a-z]{1,4}\Z")
"""Names with such an ending are looked for in any case."""


def _fd(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    argv = program.argv
    at = next((option.word for option in program.words.given if "acts" in option.entry.traits), 0)
    if at and argv[at + 1 :]:
        for start in _fd_folders(program.with_words(argv[:at]).words):
            path = f"{start.rstrip('/')}/{UNKNOWN}"
            filled = tuple(word.replace("{}", path) for word in argv[at + 1 :])
            filled = filled if any("{}" in word for word in argv[at + 1 :]) else (*filled, path)
            walk.inner(filled, program, state.fork("fd"))
    return None


def _fd_folders(words: CommandWords) -> list[str]:
    """Where fd searches: the operands after the pattern."""
    based = [value.text for value in words.values("--base-directory", "--search-path")]
    return [*based, *words.texts[1:]][:MAX_GIVEN] or ["."]


_EXECUTING = manual_catalogue.spelled("find", "acts")


PROGRAMS: dict[str, Special] = {
    **dict.fromkeys(program_catalogue.programs("find_like"), _find),
    **dict.fromkeys(program_catalogue.programs("fd"), _fd),
    "xargs": _xargs,
    "parallel": _parallel,
}
