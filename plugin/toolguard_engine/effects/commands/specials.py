"""Programs that run others in special ways (shells, editors, schedulers, Git, make), and the table of all of these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile, pairwise

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
from toolguard_engine.effects.commands.change_walk import STDIN
from toolguard_engine.effects.commands.file_lines import fixed_lines, run_lines
from toolguard_engine.effects.commands.list_runners import MAX_GIVEN
from toolguard_engine.effects.commands.program_walk import ASSIGNMENT
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.commands.walk_state import EVERY
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs.wrappers import SHELLS, value_of
from toolguard_engine.effects.syntax import tool_scripts
from toolguard_engine.effects.syntax.expand import ShellState
from toolguard_engine.effects.syntax.outputs import NOTHING, known_text
from toolguard_engine.effects.syntax.project_files import makefile


def _shell(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource:
    """`sh`: runs the text after `-c`, or its standard input."""
    argv = run.argv
    at, signs, text = _shell_options(argv)
    inner = state.fork(run.name)
    inner.variables.update(run.assigns)
    if rc := value_of(argv[:at], ("--rcfile", "--init-file")):
        _started_with(walk, rc, run, inner)
    if "c" in signs:
        return _run_text(walk, text, at, run, inner)
    script = walk.fed(run) if "s" in signs else _script(walk, run, at)
    if script:
        inner.args = ("sh", *argv[at + ("s" not in signs) :])
        return walk.text(script, inner, None, piped=run.piped, pipeline=run.pipeline)
    if walk.running is not None:
        inner.args = ("sh", *argv[at:]) if "s" in signs else argv[at:] or ("sh",)
        return _script_files(walk, run, len(argv) if "s" in signs else at, inner)
    return StdinSource(None, (run.name,))


def _run_text(walk: Walk, text: str, at: int, run: ProgramRun, state: ShellState) -> StdinSource:
    """Runs what `sh -c` is given: `text`, or the word at this position if it is empty."""
    state.args = run.argv[at + 1 :] or ("sh",)
    walk.will_run_made(run)
    text = text or (walk.unknown(run, at) if at < len(run.argv) else "")
    for file in walk.given_files(run, at) if text == UNKNOWN else ():
        walk.run_file(file, run, state)
    return walk.inner_text(text, run, state) if text else StdinSource(None, (run.name,))


def _started_with(walk: Walk, path: str, run: ProgramRun, state: ShellState) -> None:
    """The file that an interactive shell reads first."""
    walk.will_run(path, run)
    if (text := walk.written.run_text(path, run.cwd)) is not None:
        walk.text(text, state, None, piped=run.piped, pipeline=run.pipeline)
    elif file := walk.file_at(path, run):
        walk.run_file(file, run, state)


def _shell_options(argv: tuple[str, ...]) -> tuple[int, str, str]:
    """The position after the options of a shell, their letters, and a text that is attached to one of them."""
    at, signs, text = 1, "", ""
    attached = argv[0].endswith("fish")
    while at < len(argv) and argv[at][:1] in ("-", "+"):
        option = argv[at]
        at += 1
        if option in ("-", "--"):
            break
        if option.startswith("--") or option in _SHELL_LONG:
            name, sign, value = option.partition("=")
            if name in ("--command", "--commands"):
                signs += "c"
                text = value
                if attached and not sign:
                    break
            at += not sign and name.lstrip("-") in ("rcfile", "init-file", "init-command", "config")
            continue
        for place, letter in enumerate(option[1:], 2):
            signs += letter
            if attached and letter in "cCdDfop":
                text = option[place:] if letter == "c" else text
                at += place == len(option) and letter != "c"
                break
            at += letter in "oO"
    return min(at, len(argv)), signs, text


_SHELL_LONG = frozenset({"-norc", "-noprofile", "-rcfile", "-init-file", "-login", "-posix", "-noediting", "-restricted"})


def _script(walk: Walk, run: ProgramRun, at: int) -> str | None:
    """The content of the script `argv[at]`, or of the standard input; None if unknown."""
    if at >= len(run.argv) or run.argv[at] in STDIN:
        walk.will_run_input(run)
        return walk.fed(run)
    walk.will_run(run.argv[at], run)
    walk.will_run_made(run)
    if run.argv[at].startswith(("/dev/fd/", "/proc/self/fd/")):
        return known_text(walk.opened.get(run.argv[at].rpartition("/")[2]))
    fed = next((feed for position, feed in run.given if position == at), None) if run.argv[at] == UNKNOWN else None
    text = known_text(fed)
    if text is None and (fed is None or walk.running is None):  # else `_script_files` runs both
        return walk.written.run_text(run.argv[at], run.cwd)
    return text


def _script_files(walk: Walk, run: ProgramRun, at: int, state: ShellState) -> StdinSource:
    """Runs the script `argv[at]` of this machine, or those that reach the standard input."""
    named = at < len(run.argv) and run.argv[at] not in STDIN
    if named and run.argv[at] == UNKNOWN and run.given:
        found = [*walk.given_files(run, at), *walk.files_at(UNKNOWN, run)]
        if written := walk.written.run_text(run.argv[at], run.cwd):  # the word may also be the name of such a file
            walk.text(written, state.fork(run.name), None, piped=run.piped, pipeline=run.pipeline)
    else:
        found = walk.files_at(run.argv[at], run) if named else walk.fed_files(run)
    feed = StdinSource(None, (run.name,))
    for file in found:
        feed = walk.run_file(file, run, state, run.stdin if named else None)
    return feed


def _source(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource:
    script = _script(walk, run, 1)
    if script:
        return walk.text(script, state, None, piped=run.piped, pipeline=run.pipeline)
    return _script_files(walk, run, 1, state)


def _open(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource:
    """`open` of macOS runs a file that is a command, and any file that is given to a terminal."""
    program = value_of(run.argv, ("-a", "-b"))
    files = [word for word in run.argv[1:] if word[:1] != "-" and word != program]
    for path in files:
        if path.lower().endswith(_COMMAND_FILES) or _TERMINAL.search(program):
            walk.inner(("sh", path), run, state.fork(run.name))
    return NOTHING


_COMMAND_FILES = (".command", ".tool")
_TERMINAL = lazy_re.compile(r"(?i)terminal|iterm|ghostty|alacritty|wezterm|kitty|warp")


def _scheduled(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource:
    if run.stdin and run.stdin.text:
        walk.text(run.stdin.text, state.fork(run.name), None, piped=False, pipeline=run.pipeline)
    return NOTHING


def _git(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    _included(walk, run, state)
    if given := git_variables.settings(run, state):
        apart = {at for each in run.words.given if each.entry.name == "--config-env" for at in (each.word, each.value.at)}
        words = (word for at, word in enumerate(run.argv) if at and at not in apart)
        return walk.inner(("git", *given, *words), replace(run, assigns=()), _without(state, git_variables.NAMES))
    project_programs.hooks(walk, run, state)
    linked_repositories.linked(walk, run, state)
    spelled = " ".join(run.argv)
    if (
        _GIT_RUNS.isdisjoint(run.argv)
        and "-O" not in spelled
        and "--open" not in spelled
        and "-filter" not in spelled
        and "--exec=" not in spelled
    ):
        return None
    for text in _git_texts(run.argv):
        walk.inner_text(text, replace(run, piped=False, stdin=None), state.fork("git"))
    return None


def _options_with_commands(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    prefixes = _COMMAND_OPTIONS[run.name]
    for at, word in enumerate(run.argv):
        for prefix in prefixes:
            if word == prefix.rstrip("=") and at + 1 < len(run.argv):
                walk.inner_text(run.argv[at + 1].removeprefix(":").removeprefix("!"), run, state.fork(run.name))
            elif word.startswith(prefix) and len(word) > len(prefix) and prefix.endswith(("=", "!")):
                walk.inner_text(word[len(prefix) :], run, state.fork(run.name))
    if run.name == "expect":
        walk.code(run, state)
    return None


def _manual_commands(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """The commands that options name, by the program's manual: `tar --to-command`, `rsync -e`, `zip -TT`."""
    given = (each for words in run.readings for each in words.given if each.valued)
    found = dict.fromkeys(each.value.text for each in given if each.entry.role == "command")
    given = (each for words in run.readings for each in words.given if each.entry.role == "exec")
    found |= dict.fromkeys(each.value.text[5:] for each in given if each.value.text.startswith("exec="))
    for text in found:
        walk.inner_text(text, run, state.fork(run.name))
    return None


MAX_SED = 4_000


def _sed(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """Commands run by GNU sed: `sed '1e date'`, `sed 's/.*/date/e'`."""
    for word in run.argv[1:]:
        for _, command in tool_scripts.sed(word[:MAX_SED]) if "e" in word else ():
            walk.inner_text(command, replace(run, piped=False, stdin=None), state.fork(run.name))
    return None


def _interpreted(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """Code in one of the rarer languages; `Walk` handles the common ones."""
    walk.code(run, state)
    return None


MAX_EDITED = 4_096


def _editor(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """Commands given to an editor: `-c ':!sh'`, `-c ':lua os.execute("sh")'`, `+'set shell=sh|shell'`."""
    for at, word in enumerate(run.argv):
        if word in ("-c", "--cmd") and at + 1 < len(run.argv):
            command = run.argv[at + 1]
        elif word.startswith("+") and len(word) > 1:
            command = word[1:]
        else:
            continue
        if text := tool_scripts.vim_command(command[:MAX_EDITED]):
            walk.inner_text(text, run, state.fork(run.name))
    return None


def _included(walk: Walk, run: ProgramRun, state: ShellState) -> None:
    """`git config include.path FILE`: the next call of Git reads that file."""
    if "config" not in run.argv[1:4]:
        return
    folder = "~" if "--global" in run.argv else ".git"
    for name, value in pairwise(run.argv):
        if name.lower().startswith("include") and name.lower().endswith(".path"):
            path = value if value.startswith(("/", "~")) else f"{folder}/{value}"
            walk.inner((tool_scripts.INCLUDED, path), run, state.fork(run.name))


def _without(state: ShellState, names: tuple[str, ...]) -> ShellState:
    inner = state.fork()
    for name in names:
        inner.variables.pop(name, None)
    return inner


_GIT_RUNS = frozenset({"-c", "-x", "--exec", "--extcmd", "foreach", "run"})
"""Words of git, one of which is present if it runs another program."""


def _git_texts(argv: tuple[str, ...]) -> Iterator[str]:
    """Commands that git itself runs."""
    for at, word in enumerate(argv):
        value = argv[at + 1] if at + 1 < len(argv) else ""
        if word == "-c" and re.match(r"alias\.[\w.-]{1,80}=", value):
            text = value.partition("=")[2]
            yield text[1:] if text.startswith("!") else f"git {text}"
        elif word == "-c" and "=" in value:
            if command := tool_scripts.git_setting(*value.split("=", 1)):
                yield command
        elif (word in ("-x", "--exec") and "rebase" in argv[:at]) or (
            word in ("-x", "--extcmd") and "difftool" in argv[:at]
        ):
            yield value
        elif word.startswith("--exec=") and "rebase" in argv[:at]:
            yield word[7:]
        elif word == "foreach" and "submodule" in argv[:at]:
            yield " ".join(dropwhile(lambda each: each in ("--recursive", "--quiet"), argv[at + 1 :]))
        elif word == "run" and "bisect" in argv[:at]:
            yield " ".join(_quoted(each) for each in argv[at + 1 :])
        elif word.startswith(("-O", "--open-files-in-pager=")) and "grep" in argv[:MAX_GIVEN]:
            yield word.removeprefix("-O").removeprefix("--open-files-in-pager=")
        elif re.fullmatch(r"--(?:env|tree|index|parent|msg|commit|tag-name)-filter", word):
            yield value


def _make(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """What an option or the standard input holds of a makefile."""
    for word in run.argv[1:]:
        if found := ASSIGNMENT.fullmatch(word):
            walk.variable_set(found[1], found[3], run, state)
    own = value_of(run.argv, ("-f", "--file", "--makefile"))
    for text in filter(None, (value_of(run.argv, ("--eval",)), walk.fed(run) if own in STDIN else "")):
        rules = makefile(text)
        lines = [*rules.always, *(line for lines in rules.runs.values() for line in lines)]
        inner = state.fork()
        inner.variables.update(rules.variables)
        run_lines(walk, FilePlace("-", "-", text, made=True), fixed_lines(lines), inner, run)
    return None


def _quoted(word: str) -> str:
    return (
        word if word.replace("-", "").replace("/", "").replace(".", "").isalnum() else "'" + word.replace("'", "'\\''") + "'"
    )


_COMMAND_OPTIONS = {
    "man": ("-P=", "--pager="), "less": ("+!",), "split": ("--filter=",), "sort": ("--compress-program=",),
    "expect": ("-c=",),
    "mapfile": ("-C=",), "readarray": ("-C=",), "compgen": ("-C=",), "complete": ("-C=",),
}  # fmt: skip
_RARER = program_catalogue.programs("rare_interpreter")
SPECIALS: dict[str, Special] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(program_catalogue.programs("sourcer"), _source),
    **dict.fromkeys(program_catalogue.programs("scheduler"), _scheduled),
    **dict.fromkeys(_COMMAND_OPTIONS, _options_with_commands),
    **dict.fromkeys(manual_catalogue.doing("runs"), _manual_commands),
    **dict.fromkeys(program_catalogue.programs("editor_with_commands"), _editor),
    **dict.fromkeys(_RARER, _interpreted),
    **dict.fromkeys(program_catalogue.programs("sed"), _sed),
    **dict.fromkeys(program_catalogue.programs("make"), _make),
    **shell_builtins.PROGRAMS,
    **list_runners.PROGRAMS,
    **project_programs.PROGRAMS,
    **watchers.PROGRAMS,
    EVERY: runners.ran,
    "open": _open,
    "git": _git,
}
