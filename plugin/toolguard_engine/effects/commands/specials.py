"""Programs that run others in special ways (shells, editors, schedulers, Git, make), and the table of all of these."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import (
    git_variables,
    linked_repositories,
    list_runners,
    project_programs,
    runners,
    shell_builtins,
    watchers,
)
from toolguard_engine.effects.commands.file_lines import fixed_lines, run_lines
from toolguard_engine.effects.commands.program_walk import ASSIGNMENT
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.commands.walk_state import EVERY
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import STDIN, UNKNOWN, FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords, ParsedWord
from toolguard_engine.effects.programs.wrappers import SHELLS
from toolguard_engine.effects.syntax import sed_scripts, tool_scripts
from toolguard_engine.effects.syntax.outputs import NOTHING, known_text, together
from toolguard_engine.effects.syntax.project_files import makefile
from toolguard_engine.effects.syntax.shell_state import ShellState


def _shell(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource:
    """`sh`: runs the text after `-c`, or its standard input. If an option is unknown, what it runs by any reading."""
    different = {_started(words): words for words in reversed(program.readings or (program.words,))}
    feeds = [_shell_by(words, walk, program, state) for words in different.values()]
    return feeds[0] if len(feeds) == 1 else together(feeds, exact=False)


def _started(words: CommandWords) -> tuple[object, ...]:
    """What a reading starts. Those that start the same are walked once: else nested shells would multiply the work."""
    named = tuple(word.at for word in words.named("script", "loads"))
    return (words.has("-c") or (words.has("-s") and "fed"), words.operands[:1], named)


def _shell_by(words: CommandWords, walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource:
    if _only_checks(words, program):
        return StdinSource(None, (program.name,))
    argv = program.argv
    at = words.operands[0].at if words.operands else len(argv)
    is_fed = words.has("-s")
    inner = state.fork(program.name)
    inner.variables.update(program.assigns)
    for loaded in words.named("loads"):
        _started_with(walk, loaded.text, program, inner)
    if words.has("-c"):
        return _run_text(words, walk, at, program, inner)
    if words.named("script"):  # it runs before the script, or before what is typed
        _run_text(words, walk, at, program, inner.fork(program.name))
    script = walk.fed(program) if is_fed else _script(walk, program, at)
    if script:
        inner.args = ("sh", *argv[at + (not is_fed) :])
        return walk.text(script, inner, None, piped=program.piped, pipeline=program.pipeline)
    if walk.running is not None:
        inner.args = ("sh", *argv[at:]) if is_fed else argv[at:] or ("sh",)
        return _script_files(walk, program, len(argv) if is_fed else at, inner)
    return StdinSource(None, (program.name,))


def _only_checks(words: CommandWords, program: ProgramRun) -> bool:
    """Whether it reads a script and runs nothing of it: `bash -n FILE` and nothing more. Another word may undo the option
    (`+n`), and a variable may name a file that is run all the same."""
    is_all = len(words.given) == 1 and len(words.texts) == 1 and len(program.argv) == _CHECKING
    return is_all and words.rehearses and not program.assigns and _PLAIN_PATH.match(words.texts[0]) is not None


_CHECKING = 3
"""Words of `bash -n FILE`."""

_PLAIN_PATH = lazy_re.compile(r"[\w./~]")


def _run_text(words: CommandWords, walk: Walk, at: int, program: ProgramRun, state: ShellState) -> StdinSource:
    """Runs what `sh -c` is given: the values of the option, or else the word at this position."""
    state.args = program.argv[at + 1 :] or ("sh",)
    walk.will_run_made(program)
    given = [value for value in words.named("script") if value.text]
    at = given[0].at if given else at
    text = "\n".join(value.text for value in given) or (walk.unknown(program, at) if at < len(program.argv) else "")
    for file in walk.given_files(program, at) if text == UNKNOWN else ():
        walk.run_file(file, program, state)
    return walk.inner_text(text, program, state) if text else StdinSource(None, (program.name,))


def _started_with(walk: Walk, path: str, program: ProgramRun, state: ShellState) -> None:
    """The file that an interactive shell reads first."""
    walk.will_run(path, program)
    if (text := walk.written.run_text(path, program.cwd)) is not None:
        walk.text(text, state, None, piped=program.piped, pipeline=program.pipeline)
    elif file := walk.file_at(path, program):
        walk.run_file(file, program, state)


def _script(walk: Walk, program: ProgramRun, at: int) -> str | None:
    """The content of the script `argv[at]`, or of the standard input; None if unknown."""
    if at >= len(program.argv) or program.argv[at] in STDIN:
        walk.will_run_input(program)
        return walk.fed(program)
    walk.will_run(program.argv[at], program)
    walk.will_run_made(program)
    fed = program.content(ParsedWord(program.argv[at], at))
    text = known_text(fed)
    if text is None and (fed is None or walk.running is None):  # else `_script_files` runs both
        return walk.written.run_text(program.argv[at], program.cwd)
    return text


def _script_files(walk: Walk, program: ProgramRun, at: int, state: ShellState, *, sourced: bool = False) -> StdinSource:
    """Runs the script `argv[at]` of this machine, or those that reach the standard input."""
    named = at < len(program.argv) and program.argv[at] not in STDIN
    if named and program.argv[at] == UNKNOWN and program.given:
        found = [*walk.given_files(program, at), *walk.files_at(UNKNOWN, program)]
        if written := walk.written.run_text(program.argv[at], program.cwd):  # the word may also be the name of such a file
            walk.text(written, state.fork(program.name), None, piped=program.piped, pipeline=program.pipeline)
    else:
        found = walk.files_at(program.argv[at], program) if named else walk.fed_files(program)
    feed = StdinSource(None, (program.name,))
    for file in found:
        feed = walk.run_file(file, program, state, program.stdin if named else None, sourced=sourced)
    return feed


def _source(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource:
    state.enter_frame()
    if script := _script(walk, program, 1):
        feed = walk.text(script, state, None, piped=program.piped, pipeline=program.pipeline)
    else:
        feed = _script_files(walk, program, 1, state, sourced=True)
    state.leave_frame()
    return feed


def _open(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource:
    """`open` of macOS runs a file that is a command, and any file that is given to a terminal."""
    opener = next((value.text for value in program.words.values("-a", "-b")), "")
    for path in program.words.texts:
        if path.lower().endswith(_COMMAND_FILES) or _TERMINAL.search(opener):
            walk.inner(("sh", path), program, state.fork(program.name))
    return NOTHING


_COMMAND_FILES = (".command", ".tool")
_TERMINAL = lazy_re.compile(r"(?i)terminal|iterm|ghostty|alacritty|wezterm|kitty|warp")


def _scheduled(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource:
    if program.stdin and program.stdin.text:
        walk.text(program.stdin.text, state.fork(program.name), None, piped=False, pipeline=program.pipeline)
    return NOTHING


def _git(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    _included(walk, program, state)
    if given := git_variables.settings(program, state):
        apart = {
            at for each in program.words.given if each.entry.name == "--config-env" for at in (each.word, each.value.at)
        }
        words = (word for at, word in enumerate(program.argv) if at and at not in apart)
        return walk.inner(("git", *given, *words), replace(program, assigns=()), _without(state, git_variables.NAMES))
    project_programs.hooks(walk, program, state)
    linked_repositories.linked(walk, program, state)
    texts = (text for words in program.readings for text in _git_texts(words, program.argv))
    for text in dict.fromkeys(texts):
        walk.inner_text(text, replace(program, piped=False, stdin=None), state.fork("git"))
    return None


_RUN_SETTINGS = frozenset({"exec", "command", "program"})
"""Last parts of the names of settings whose value is run: `exec=x`, `sftp.command=x`."""


def _manual_commands(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """The commands that options name, by the program's manual: `tar --to-command`, `rsync -e`, `zip -TT`."""
    given = (each for words in program.readings for each in words.given if each.valued)
    found = dict.fromkeys(each.value.text for each in given if each.entry.role == "command")
    given = (each for words in program.readings for each in words.given if each.entry.role == "exec")
    settings = (each.value.text.partition("=") for each in given)
    found |= dict.fromkeys(text for name, _, text in settings if text and name.rpartition(".")[2] in _RUN_SETTINGS)
    for text in found:
        walk.inner_text(text, program, state.fork(program.name))
    given = (each for words in program.readings for each in words.given if each.valued)
    for text in dict.fromkeys(each.value.text for each in given if each.entry.role == "remote-command"):
        walk.inner_text(text, program, state.elsewhere("ssh"))
    return None


def _less(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """`less +!COMMAND FILE`: keys that are typed first."""
    for word in program.words.texts:
        if word.startswith("+!"):
            walk.inner_text(word[2:], program, state.fork("less"))
    return None


def _expect(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """Code in Tcl, whose commands look like those of a shell."""
    for value in program.words.values("-c"):
        walk.inner_text(value.text, program, state.fork("expect"))
    walk.code(program, state)
    return None


MAX_SED = 4_000


def _sed(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """Commands run by GNU sed: `sed '1e date'`, `sed 's/.*/date/e'`, and lines of its input: `sed e`, `sed 's/a/b/e'`."""
    for word in program.argv[1:]:
        for _, command in tool_scripts.sed(word[:MAX_SED]) if "e" in word else ():
            walk.inner_text(command, replace(program, piped=False, stdin=None), state.fork(program.name))
    words = program.words
    scripts = (word.text[:MAX_SED] for word in words.named("script"))
    if not words.has("--sandbox") and any(map(sed_scripts.runs_lines, scripts)):
        fed = program.stdin or StdinSource(files=tuple(word.text for word in words.named("input")))
        lines = StdinSource(None, (*fed.programs, program.name), fed.files, was=fed.was if fed.text is None else fed.text)
        shell = replace(program.with_words(("sh",), "sh"), stdin=lines, redirects=(), given=())
        walk.run(shell, state.fork(program.name))
    return None


def _interpreted(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """Code in one of the rarer languages; `Walk` handles the common ones."""
    walk.code(program, state)
    return None


MAX_EDITED = 4_096


def _editor(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """Commands given to an editor: `-c ':!sh'`, `-c ':lua os.execute("sh")'`, `+'set shell=sh|shell'`."""
    for at, word in enumerate(program.argv):
        if word in ("-c", "--cmd") and at + 1 < len(program.argv):
            command = program.argv[at + 1]
        elif word.startswith("+") and len(word) > 1:
            command = word[1:]
        else:
            continue
        if text := tool_scripts.vim_command(command[:MAX_EDITED]):
            walk.inner_text(text, program, state.fork(program.name))
    return None


def _included(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """`git config include.path FILE`: the next call of Git reads that file."""
    if "config" not in program.argv[1:4]:
        return
    folder = "~" if "--global" in program.argv else ".git"
    for name, value in pairwise(program.argv):
        if name.lower().startswith("include") and name.lower().endswith(".path"):
            path = value if value.startswith(("/", "~")) else f"{folder}/{value}"
            walk.inner((tool_scripts.INCLUDED, path), program, state.fork(program.name))


def _without(state: ShellState, names: tuple[str, ...]) -> ShellState:
    inner = state.fork()
    for name in names:
        inner.variables.pop(name, None)
    return inner


def _git_texts(words: CommandWords, argv: tuple[str, ...]) -> Iterator[str]:
    """Commands that git itself runs, by one reading of its words."""
    for each in words.given:
        if each.entry.role == "command" and each.value.text:
            yield each.value.text
        elif each.entry.role == "setting":
            yield from _set_commands(*each.value.text.partition("=")[::2])
    if words.operands and words.roles and words.roles[0][0] == "command":
        rest = argv[words.operands[0].at :]
        yield " ".join(rest) if words.verb == "submodule foreach" else " ".join(map(_quoted, rest))


def _set_commands(name: str, value: str) -> Iterator[str]:
    """The command in `git -c NAME=VALUE`."""
    if _ALIAS.fullmatch(name):
        yield value[1:] if value.startswith("!") else f"git {value}"
    elif command := tool_scripts.git_setting(name, value):
        yield command


_ALIAS = lazy_re.compile(r"alias\.[\w.-]{1,80}")


def _make(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """What an option or the standard input holds of a makefile."""
    for word in program.argv[1:]:
        if found := ASSIGNMENT.fullmatch(word):
            walk.variable_set(found[1], found[3], program, state)
    words = program.words
    named = list(words.values("--makefile"))
    fed = [walk.fed(program) if value.text in STDIN else known_text(program.content(value)) for value in named]
    for text in filter(None, (*(value.text for value in words.values("--eval")), *fed)):
        rules = makefile(text)
        lines = [*rules.always, *(line for lines in rules.runs.values() for line in lines)]
        inner = state.fork()
        inner.variables.update(rules.variables)
        run_lines(walk, FilePlace("-", "-", text, made=True), fixed_lines(lines), inner, program)
    return None


def _quoted(word: str) -> str:
    return (
        word if word.replace("-", "").replace("/", "").replace(".", "").isalnum() else "'" + word.replace("'", "'\\''") + "'"
    )


def _array(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    shell_builtins.note_lines(walk, program)
    return _manual_commands(walk, program, state)


_RARER = program_catalogue.programs("rare_interpreter")
SPECIALS: dict[str, Special] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(program_catalogue.programs("sourcer"), _source),
    **dict.fromkeys(program_catalogue.programs("scheduler"), _scheduled),
    **dict.fromkeys(manual_catalogue.doing("runs"), _manual_commands),
    **dict.fromkeys(program_catalogue.programs("editor_with_commands"), _editor),
    **dict.fromkeys(_RARER, _interpreted),
    **dict.fromkeys(program_catalogue.programs("sed"), _sed),
    **dict.fromkeys(program_catalogue.programs("make"), _make),
    **shell_builtins.PROGRAMS,
    "mapfile": _array,
    "readarray": _array,
    **list_runners.PROGRAMS,
    **project_programs.PROGRAMS,
    **watchers.PROGRAMS,
    EVERY: runners.ran,
    "expect": _expect,
    "less": _less,
    "open": _open,
    "git": _git,
}
