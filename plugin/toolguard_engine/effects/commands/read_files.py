"""Walks what one file says, in the language of its row in the table of runners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from posixpath import basename

from toolguard_engine.effects.commands.file_lines import fixed_lines, run_lines
from toolguard_engine.effects.commands.runner_files import NO_CODE, found_file, operands, targets
from toolguard_engine.effects.commands.runner_table import VERB_WITHIN, Runner
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts.command import FilePlace, ProgramRun
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.syntax import language_table, quoted_commands, tool_scripts
from toolguard_engine.effects.syntax.project_files import Lines, Rules
from toolguard_engine.effects.syntax.shell_state import ShellState


def walk_file(walk: Walk, file: FilePlace, row: Runner, program: ProgramRun, state: ShellState) -> None:
    """Walks one file in the language of its row."""
    language = row.language
    if language == "opaque":
        _opaque(walk, file)
    elif language == "shell":
        walk.scripted(file, program.with_words((file.path,), basename(file.path)), state.fork(program.name))
    elif language in language_table.RULES:
        _by_rules(walk, file, row, program, state)
    elif language in language_table.KEYED:
        picked = operands(program, row, verbs=True) if row.picks else None
        keyed = partial(language_table.keyed, path=file.path, language=language, keys=row.keys, picked=picked)
        run_lines(walk, file, keyed, state, program, "keys", sure=False)
    elif language == "playbook":
        every = file.made and not program.words.rehearses  # else its commands are read all the same
        run_lines(walk, file, language_table.playbook_tasks if every else language_table.playbook_commands, state, program)
    elif language == "git":
        _git(walk, file, program, state)
    elif language in language_table.LINES:
        run_lines(walk, file, language_table.LINES[language], state, program)
    else:
        _code(walk, file, row, program, state)


def _code(walk: Walk, file: FilePlace, row: Runner, program: ProgramRun, state: ShellState) -> None:
    if file.path.endswith(NO_CODE):
        return
    name = "swift" if row.language == "code" else row.language
    walk.run_code(file, program.with_words((name,), name), state.fork(program.name))
    if file.made and row.search:
        run_lines(walk, file, quoted_commands.commands, state, program, sure=False)


def _opaque(walk: Walk, file: FilePlace) -> None:
    if file.made and walk.running is not None:
        walk.running.cannot_read(file)


def _git(walk: Walk, file: FilePlace, program: ProgramRun, state: ShellState) -> None:
    """The settings of Git, and the alias that is used; all aliases of a file that is not given to a known command."""
    folder = file.path.rpartition("/")[0] or "."

    def read(text: str) -> Lines:
        aliases = tool_scripts.git_aliases(text)
        names = program.argv[1:VERB_WITHIN] if program.name == "git" else tuple(aliases)
        return [*tool_scripts.git(text, folder), *(aliases[word] for word in names if word in aliases)]

    run_lines(walk, file, read, state, program)


def _by_rules(walk: Walk, file: FilePlace, row: Runner, program: ProgramRun, state: ShellState) -> None:
    read = language_table.RULES[row.language]
    rules = read(file.text)
    names = [word for word in targets(program, row) if word]
    names = names if read is language_table.RULES["make"] else names[:1]
    inner = state.fork(program.name)
    for name, value in {**rules.variables, **dict(_assigned(program))}.items():
        if name.isidentifier():
            inner.variables[name] = value
    for name, value in rules.variables.items():
        walk.variable_set(name, value, program, state)
    inner.variables.setdefault("MAKE", "make")
    folder = file.path.rpartition("/")[0] if "/" in file.path else ""
    wanted = [*names, *_needed(rules, names or [rules.first])]
    for taken in _taken_in(walk, file, rules, read, folder, program):
        more = read(taken.text)
        inner.variables.update({name: value for name, value in more.variables.items() if name.isidentifier()})
        run_lines(walk, taken, fixed_lines(more.collect(wanted)), inner, program, " ".join(names))
    run_lines(walk, file, fixed_lines(rules.collect(names)), inner, program, " ".join(names))


def _needed(rules: Rules, names: list[str]) -> list[str]:
    """What these targets need, and what that needs."""
    needed, waiting = dict[str, None](), list(names)
    while waiting:
        new = [need for need in rules.needs.get(waiting.pop(), ()) if need not in needed]
        needed.update(dict.fromkeys(new))
        waiting += new
    return list(needed)


def _taken_in(
    walk: Walk, file: FilePlace, rules: Rules, read: Callable[[str], Rules], folder: str, program: ProgramRun
) -> Iterator[FilePlace]:
    """The files that a Makefile includes, and those that these include."""
    waiting, seen = list(rules.taken), {file.path}
    while waiting:
        name = waiting.pop(0)
        for path in _meant(walk, name, program):
            taken = found_file(walk, (path,), "" if path[:1] == "/" else folder, program)
            if taken is not None and taken.path not in seen:
                seen.add(taken.path)
                waiting += read(taken.text).taken
                yield taken


def _meant(walk: Walk, name: str, program: ProgramRun) -> list[str]:
    return walk.running.meant(name, program.cwd) if GLOB.search(name) and walk.running is not None else [name]


def _assigned(program: ProgramRun) -> Iterator[tuple[str, str]]:
    for word in program.argv[1:]:
        name, sign, value = word.partition("=")
        if sign and name.isidentifier():
            yield name, value
