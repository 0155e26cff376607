"""Programs that run others in special ways, and builtins that change the state of the shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile, islice, pairwise

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import git_variables, linked_repositories, project_programs, runners, watchers
from toolguard_engine.effects.commands.change_walk import STDIN
from toolguard_engine.effects.commands.file_lines import run_lines, these
from toolguard_engine.effects.commands.program_walk import ASSIGNMENT
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.commands.walk_state import EVERY
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.facts.place_names import words as names
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import getopt
from toolguard_engine.effects.programs.wrappers import SHELLS, Wrapper, options, value_of
from toolguard_engine.effects.syntax import tool_scripts
from toolguard_engine.effects.syntax.expand import ShellState, here
from toolguard_engine.effects.syntax.outputs import NOTHING, known
from toolguard_engine.effects.syntax.project_files import makefile

MAX_GIVEN = 400
"""Words or lines of input that are examined for `xargs` and the like."""

MAX_FILLED = 16_384
"""Characters of a word in which placeholders are replaced."""

_DECLARING = program_catalogue.programs("declaration")


def _shell(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource:
    """`sh`: runs the text after `-c`, or its standard input."""
    argv = run.argv
    at, signs, text = _shell_options(argv)
    inner = state.fork(run.name)
    inner.variables.update(run.assigns)
    if rc := value_of(argv[:at], ("--rcfile", "--init-file")):
        _started_with(walk, rc, run, inner)
    if "c" in signs:
        inner.args = argv[at + 1 :] or ("sh",)
        walk.will_run_made(run)
        text = text or (walk.unknown(run, at) if at < len(argv) else "")
        for file in walk.given_files(run, at) if text == UNKNOWN else ():
            walk.run_file(file, run, inner)
        return walk.inner_text(text, run, inner) if text else StdinSource(None, (run.name,))
    script = walk.fed(run) if "s" in signs else _script(walk, run, at)
    if script:
        inner.args = ("sh", *argv[at + ("s" not in signs) :])
        return walk.text(script, inner, None, piped=run.piped, pipeline=run.pipeline)
    if walk.running is not None:
        inner.args = ("sh", *argv[at:]) if "s" in signs else argv[at:] or ("sh",)
        return _script_files(walk, run, len(argv) if "s" in signs else at, inner)
    return StdinSource(None, (run.name,))


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
        return known(walk.opened.get(run.argv[at].rpartition("/")[2]))
    fed = next((feed for position, feed in run.given if position == at), None) if run.argv[at] == UNKNOWN else None
    text = known(fed)
    if text is None and (fed is None or walk.running is None):  # else `_script_files` runs both
        return walk.written.run_text(run.argv[at], run.cwd)
    return text


def _script_files(walk: Walk, run: ProgramRun, at: int, state: ShellState) -> StdinSource:
    """Runs the script `argv[at]` of this machine, or those that reach the standard input."""
    named = at < len(run.argv) and run.argv[at] not in STDIN
    if named and run.argv[at] == UNKNOWN and run.given:
        found = walk.given_files(run, at)
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


def _xargs(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    argv = run.argv
    at, _ = options(argv, 1, _XARGS)
    mark = _replaced(argv[1:at])
    rest = argv[at:]
    if not rest:
        return None
    feed = _listed(walk, run, at) or run.stdin
    text = known(feed)
    words = text.replace("'", "").replace('"', "").split() if text else []
    if text and any(_WHOLE_LINES.fullmatch(option) for option in argv[1:at]):
        words = text.replace("\0", "\n").splitlines()
    words = _first_given(walk, words)
    more = [UNKNOWN] if text and feed and feed.text is None else []
    inner = state.fork("xargs")
    if mark:
        lines = _first_given(walk, [line.strip() for line in text.splitlines() if line.strip()] if text else [])
        last = NOTHING
        for line in [*lines, *more] or [UNKNOWN]:
            filled = tuple(_filled(word, mark, line) for word in rest)
            last = walk.inner(filled, run, inner.fork())
        return last
    feeds = feed and StdinSource(None, feed.programs, feed.files)
    given = ((len(rest), feeds),) if feeds else ()
    for batch in _batches(words, argv[1:at]) if _runs_script(rest) else ():
        walk.inner((*rest, *batch), run, inner.fork())
    return walk.inner((*rest, *([*words, *more] or [UNKNOWN])), run, inner, given)


def _first_given(walk: Walk, words: list[str]) -> list[str]:
    """As many as are read; that there were more is not forgotten."""
    if len(words) > MAX_GIVEN:
        walk.flaws.add("long")
    return words[:MAX_GIVEN]


def _runs_script(argv: tuple[str, ...]) -> bool:
    """Whether the word behind these ones is a script that is run."""
    name = argv[0].rpartition("/")[2]
    return (name in SHELLS or INTERPRETER.fullmatch(name) is not None) and all(word[:1] == "-" for word in argv[1:])


def _batches(words: list[str], given: tuple[str, ...]) -> Iterator[list[str]]:
    """The words of `xargs` as it hands them on, if it does not hand on all of them at once; without the first."""
    for option, following in pairwise((*given, "")):
        if (found := _AT_ONCE.fullmatch(option)) and (number := found[1] or following).isdecimal() and int(number[:4]):
            yield from (words[at : at + int(number[:4])] for at in range(int(number[:4]), len(words), int(number[:4])))
            return


_AT_ONCE = lazy_re.compile(r"(?:-\w{0,4}[nL]|--max-(?:args|lines)=?)(\d{0,4})")


def _filled(word: str, mark: str, value: str) -> str:
    """The word with `value` in place of each `mark`; `UNKNOWN` if that would be too long."""
    if word.count(mark) * len(value) > MAX_FILLED:
        return UNKNOWN
    return word.replace(mark, value)


def _listed(walk: Walk, run: ProgramRun, end: int) -> StdinSource | None:
    """The file from which `xargs -a` reads."""
    for at in range(1, end):
        name, sign, value = run.argv[at].partition("=")
        if name not in ("-a", "--arg-file") and not (name.startswith("-a") and name != "-a"):
            continue
        place = at if sign or name not in ("-a", "--arg-file") else at + 1
        path = value if sign else run.argv[at][2:] if place == at else "".join(run.argv[place : place + 1])
        fed = next((feed for position, feed in run.given if position == place), None)
        text = walk.written.text(path, run.cwd)
        file = walk.file_at(path, run) if text is None and fed is None else None
        return fed or StdinSource(file.text if file else text, (), (path,))
    return None


def _replaced(given: tuple[str, ...]) -> str:
    """The placeholder for an input line in the command of `xargs`; empty if the input is appended."""
    for at, option in enumerate(given):
        if option == "-I":
            return "".join(given[at + 1 : at + 2])
        if option in ("-i", "--replace"):
            return "{}"
        if option.startswith(("-I", "-i")):
            return option[2:]
        if option.startswith("--replace="):
            return option.removeprefix("--replace=")
    return ""


def _parallel(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    argv = run.argv
    at, _ = options(argv, 1, _PARALLEL)
    end = next((n for n in range(at, len(argv)) if argv[n] in (":::", "::::", ":::+", "::::+")), len(argv))
    rest = argv[at:end]
    known = list(argv[end + 1 :]) if end < len(argv) and argv[end].startswith(":::") and argv[end] != "::::" else []
    if not known and run.stdin and run.stdin.text:
        known = run.stdin.text.splitlines()
    lists = argv[end + 1 : end + 1 + MAX_GIVEN] if argv[end : end + 1] == ("::::",) else ()
    for file in () if known else (*(file for word in lists for file in walk.files_at(word, run)), *walk.fed_files(run)):
        known += file.text.splitlines()
    inner = state.fork("parallel")
    inner.cwd = value_of(argv[:at], ("--wd", "--workdir")) or inner.cwd
    for value in _first_given(walk, known) or [UNKNOWN]:
        if not rest:
            walk.text(value, inner, None, piped=run.piped, pipeline=run.pipeline)
            continue
        filled = tuple(_filled(word, "{}", value) for word in rest)
        filled = filled if any("{}" in word for word in rest) else (*filled, value)
        if len(rest) == 1 or " " in filled[0]:
            walk.joined(filled, inner, run)
        else:
            walk.inner(filled, run, inner)
    return None


def _find(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    argv = run.argv
    starts = []
    for word in argv[1:]:
        if word.startswith(("-", "(", "!", ")")) and word not in ("-L", "-P", "-H"):
            break
        starts += [] if word.startswith("-") else [word]
    at = 1
    while at < len(argv):
        if argv[at] not in _EXECUTING:
            at += 1
            continue
        end = next((n for n in range(at + 1, len(argv)) if argv[n] in (";", "+")), len(argv))
        for start in _first_given(walk, starts) or ["."]:
            for found in _found(walk, run, start, argv[at + 1 : end]):
                filled = tuple(_filled(word, "{}", found) for word in argv[at + 1 : end])
                walk.inner(filled, run, state.fork("find"))
        at = end + 1
    return None


def _found(walk: Walk, run: ProgramRun, start: str, command: tuple[str, ...]) -> Iterator[str]:
    """What `find` puts in place of `{}`. Where it runs what it finds, these are also agents' files that it may mean."""
    if not command:
        return
    folder, program, running = start.rstrip("/"), command[0].rpartition("/")[2], walk.running
    runs = program == "{}" or program in SHELLS or INTERPRETER.fullmatch(program) is not None
    if runs and running is not None:
        asked = (word for option, word in pairwise(run.argv) if option in ("-name", "-iname") and not _CODE.search(word))
        names = (f"{folder}/{'*/' * depth}{name}" for name in islice(asked, MAX_GIVEN) for depth in range(MAX_DEPTH))
        yield from (name for name in names if running.meant(name, run.cwd) or running.is_made_at(name, run.cwd))
        if running.is_made_at(start, run.cwd):
            yield start
    yield f"{folder}/{UNKNOWN}"


MAX_DEPTH = 4
"""Folders below the first one in which scripts are looked for."""

_CODE = lazy_re.compile(r"\.[a-z]{1,4}\Z")
"""Names with such an ending are looked for in any case."""


def _fd(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    argv = run.argv
    at = next((n for n, word in enumerate(argv) if word in ("-x", "-X", "--exec", "--exec-batch")), 0)
    if at and argv[at + 1 :]:
        for start in _fd_folders(replace(run, argv=argv[:at])):
            found = f"{start.rstrip('/')}/{UNKNOWN}"
            filled = tuple(word.replace("{}", found) for word in argv[at + 1 :])
            filled = filled if any("{}" in word for word in argv[at + 1 :]) else (*filled, found)
            walk.inner(filled, run, state.fork("fd"))
    return None


def _fd_folders(run: ProgramRun) -> list[str]:
    """Where fd searches: the operands after the pattern."""
    read = getopt.options(run, _FD_VALUED)
    based = [word.text for word in read.values("--base-directory", "--search-path")]
    return (based + [word.text for word in read.operands[1:]])[:MAX_GIVEN] or ["."]


_FD_VALUED = names(
    "-e --extension -t --type -d --max-depth -E --exclude -S --size --changed-within --changed-before -o --owner -j "
    "--threads --min-depth --exact-depth --ignore-file -c --color --max-results --format --base-directory --search-path"
)


def _git(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    _included(walk, run, state)
    if given := git_variables.settings(run, state):
        words = (word for word in run.argv[1:] if not word.startswith("--config-env="))
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


_ROOTED = ("/", "~", "$", ".", "-", UNKNOWN, "")


def _cd(_: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    words = [word for word in run.argv[1:] if not (word.startswith("-") and len(word) > 1)]
    home, before = state.variables.get("HOME"), state.variables.get("OLDPWD", UNKNOWN)
    target = words[0] if words else home if isinstance(home, str) else "~"
    state.assign("OLDPWD", here(state))
    if target[:1] not in _ROOTED and (path := dict(run.assigns).get("CDPATH") or state.variables.get("CDPATH")):
        above = path if isinstance(path, str) else path[0]
        target = f"{above.partition(':')[0]}/{target}"
    if target == "-":
        state.cwd = before if isinstance(before, str) else UNKNOWN
    elif target.startswith(UNKNOWN):
        state.cwd = UNKNOWN
    elif target.startswith(("/", "~", "$")) or not state.cwd or state.cwd == UNKNOWN:
        state.cwd = target if state.cwd != UNKNOWN or target.startswith(("/", "~")) else UNKNOWN
    else:
        state.cwd = f"{state.cwd}/{target}"[:4096]
    return NOTHING


def _declare(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    for word in run.argv[1:]:
        if found := ASSIGNMENT.fullmatch(word):
            walk.variable_set(found[1], found[3], run, state)
            state.assign(found[1], found[3], append=bool(found[2]))
    return NOTHING


def _unset(_: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    for word in run.argv[1:]:
        state.variables.pop(word, None)
    return NOTHING


def _read(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    names = [word for word in run.argv[1:] if word.isidentifier()]
    if run.stdin and walk.running is not None:
        walk.running.later.in_variables.update(dict.fromkeys(run.stdin.files))
    text = run.stdin.text if run.stdin else None
    lines = [UNKNOWN] if text is None else list(dict.fromkeys(text.splitlines()))[: MAX_GIVEN + 1] or [""]
    if len(lines) > MAX_GIVEN:
        lines = [*lines[:MAX_GIVEN], UNKNOWN]
    signs = dict(run.assigns).get("IFS")
    fields = [_read_into(names, line, signs or "") for line in lines]
    for at, name in enumerate(names):
        values = tuple(dict.fromkeys(each[at] for each in fields))
        state.variables[name] = values if len(values) > 1 else values[0]
    return NOTHING


def _read_into(names: list[str], line: str, signs: str) -> list[str]:
    """What `read` assigns to each name; the last one gets the rest."""
    if UNKNOWN in line:
        return [line] * len(names)
    for sign in signs.strip():
        line = line.replace(sign, " ")
    found = line.split(maxsplit=max(len(names) - 1, 0))
    return found + [""] * (len(names) - len(found))


def _alias(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    for word in run.argv[1:]:
        name, sign, text = word.partition("=")
        if sign and name:
            state.aliases[name] = text
            walk.inner_text(text, replace(run, piped=False), state.fork("alias"))
    return NOTHING


def _set(_: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    if "--" in run.argv:
        state.args = ("sh", *run.argv[run.argv.index("--") + 1 :])
    elif run.argv[1:2] and not run.argv[1].startswith(("-", "+")):
        state.args = ("sh", *run.argv[1:])
    return NOTHING


def _shift(_: Walk, __: ProgramRun, state: ShellState) -> StdinSource | None:
    if state.args is not None:
        state.args = (*state.args[:1], *state.args[2:])
    return NOTHING


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
        run_lines(walk, FilePlace("-", "-", text, made=True), these(lines), inner, run)
    return None


def _quoted(word: str) -> str:
    return (
        word if word.replace("-", "").replace("/", "").replace(".", "").isalnum() else "'" + word.replace("'", "'\\''") + "'"
    )


_XARGS = Wrapper("nPIdLsaE", flags=frozenset({"--max-lines"}))
_PARALLEL = Wrapper("jNSnLaI", folder=("--wd", "--workdir"))
_WHOLE_LINES = lazy_re.compile(r"-[rtpox]*(?:0|d.*)|--null|--delimiter.*")
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_COMMAND_OPTIONS = {
    "man": ("-P=", "--pager="), "less": ("+!",), "split": ("--filter=",), "sort": ("--compress-program=",),
    "expect": ("-c=",),
    "mapfile": ("-C=",), "readarray": ("-C=",), "compgen": ("-C=",), "complete": ("-C=",),
}  # fmt: skip
_RARER = program_catalogue.programs("rare_interpreter")
SPECIALS: dict[str, Special] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(_DECLARING, _declare),
    **dict.fromkeys(program_catalogue.programs("sourcer"), _source),
    **dict.fromkeys(program_catalogue.programs("scheduler"), _scheduled),
    **dict.fromkeys(program_catalogue.programs("find_like"), _find),
    **dict.fromkeys(program_catalogue.programs("fd"), _fd),
    **dict.fromkeys(program_catalogue.programs("folder_changer"), _cd),
    **dict.fromkeys(_COMMAND_OPTIONS, _options_with_commands),
    **dict.fromkeys(manual_catalogue.doing("runs"), _manual_commands),
    **dict.fromkeys(program_catalogue.programs("editor_with_commands"), _editor),
    **dict.fromkeys(_RARER, _interpreted),
    **dict.fromkeys(program_catalogue.programs("sed"), _sed),
    **dict.fromkeys(program_catalogue.programs("make"), _make),
    **project_programs.PROGRAMS,
    **watchers.PROGRAMS,
    EVERY: runners.ran,
    "open": _open,
    "xargs": _xargs,
    "parallel": _parallel,
    "git": _git,
    "unset": _unset,
    "read": _read,
    "alias": _alias,
    "set": _set,
    "shift": _shift,
}
