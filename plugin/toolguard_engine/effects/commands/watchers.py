"""Programs that run others again when files change, and servers that load code while they run: `nodemon x.js`,
`watchexec -e js node x.js`, `ptw`, `cargo watch -x run`, `flask run --debug`, `php -S localhost:8000`.

Their options are many and differ by version, so no table says where the command begins: it may begin with any of their
words. A word that is no program does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.languages import language_catalogue
from toolguard_engine.effects.syntax.shell_state import ShellState

MAX_WORDS = 40
MAX_STARTS = 6
"""Words with which the command may begin."""

BY_ENDING = {".sh": "sh", **{ending: language.runs for ending, language in language_catalogue.BY_ENDING.items()}}
"""The program that usually runs a script, by the end of its name."""

_ENDING = lazy_re.compile(r"\.\w{1,4}\Z")
_MODULE = lazy_re.compile(r"([A-Za-z_][\w.]{0,100})(?::[\w.()]{0,60})?")
_ON_DEMAND = "**.py"
"""What a server that loads changed code may load."""


def _again(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """A watcher."""
    with _Loop(walk):
        for argv in _commands(program):
            inner = state.fork(program.name)
            if len(argv) == 1 and " " in argv[0]:
                walk.inner_text(argv[0], program, inner)
            else:
                walk.inner(argv, program, inner)
    return None


def _commands(program: ProgramRun) -> Iterator[tuple[str, ...]]:
    """The commands that its words may be."""
    words = program.argv[:MAX_WORDS]
    if "--" in words:
        yield tuple(program.argv[words.index("--") + 1 :]) or (":",)
        return
    starts = 0
    for at, word in enumerate(words[1:], 1):
        text = word.partition("=")[2] if word.startswith("--") else word
        if not text or text.startswith("-") or starts >= MAX_STARTS:
            continue
        starts += 1
        if " " in text:
            yield (text,)
        elif runner := _runner(text):
            yield (runner, *program.argv[at:])
        elif not GLOB.search(text) and UNKNOWN not in text:
            yield (text, *program.argv[at + 1 :])
    if not starts and program.name == "nodemon":
        yield ("node", "index.js")


def _runner(word: str) -> str:
    """The interpreter of a script, by the end of its name; empty if there is none, or if it is started by its path."""
    match = _ENDING.search(word)
    return "" if match is None or word.startswith(("./", "/")) else BY_ENDING.get(match[0], "")


class _Loop:
    """While it is open, what is walked may run at any time."""

    def __init__(self, walk: Walk, *, loops: bool = True) -> None:
        self._running = walk.running if loops else None

    def __enter__(self) -> None:
        if self._running is not None:
            self._running.later.loops += 1

    def __exit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.later.loops -= 1


def _wrapped_again(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """A watcher whose command always begins at the same word."""
    with _Loop(walk):
        if program.name == "entr":
            _changed_files(walk, program)
            if "-s" in program.argv[1:-1]:
                return walk.inner_text(program.argv[-1], program, state.fork(program.name))
        return walk.run_wrapped(program, state)


def _changed_files(walk: Walk, program: ProgramRun) -> None:
    """`/_` stands for the file that has changed, whichever it is."""
    if "/_" in program.argv and walk.running is not None:
        before = program.argv[program.argv.index("/_") - 1]
        walk.running.may_load(join(program.cwd, "**"), "" if before.startswith("-") or before == program.argv[0] else before)


def _tests(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    with _Loop(walk):
        walk.inner(("pytest", *program.argv[1:]), program, state.fork(program.name))
    return None


def _cargo_watch(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    if program.argv[1:2] != ("watch",) and program.name != "cargo-watch":
        return None
    with _Loop(walk):
        for at, word in enumerate(program.argv[:MAX_WORDS]):
            following = "".join(program.argv[at + 1 : at + 2])
            if word in ("-x", "--exec"):
                walk.inner(("cargo", *following.split()), program, state.fork("cargo"))
            elif word in ("-s", "--shell"):
                walk.inner_text(following, program, state.fork("cargo"))
            elif word == "--":
                walk.inner(tuple(program.argv[at + 1 :]) or (":",), program, state.fork("cargo"))
    return None


def _python_server(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """A server of a Python application, which is named as a module: `uvicorn app:app`."""
    reloads = any("reloads" in words.does or words.trait("reloads") for words in program.readings)
    with _Loop(walk, loops=reloads):
        for path in dict.fromkeys(_modules(program, state)):
            walk.inner(("python3", path), program, state.fork(program.name))
    if reloads and walk.running is not None:
        walk.running.may_load(join(program.cwd, _ON_DEMAND), "python3")
    return None


def _modules(program: ProgramRun, state: ShellState) -> Iterator[str]:
    readings = program.readings
    given = [word for words in readings for word in words.texts[:MAX_WORDS] if ":" in word]
    given += [value.text for words in readings for value in words.named("module")]
    variable = dict(program.assigns).get("FLASK_APP") or state.variables.get("FLASK_APP", "")
    given += [variable] if isinstance(variable, str) else []
    for word in filter(None, dict.fromkeys(given)):
        if (match := _MODULE.fullmatch(word.removesuffix(".py"))) is not None:
            yield f"{match[1].replace('.', '/')}.py"
    yield from (word for word in program.argv[1:MAX_WORDS] if word.endswith(".py"))
    if program.name == "flask":
        yield from ("app.py", "wsgi.py")


PROGRAMS: dict[str, Special] = {
    **dict.fromkeys(program_catalogue.programs("watcher"), _again),
    **dict.fromkeys(program_catalogue.programs("python_server"), _python_server),
    **dict.fromkeys(("watch", "entr"), _wrapped_again),
    **dict.fromkeys(("ptw", "pytest-watch", "pytest-watcher"), _tests),
    **dict.fromkeys(("cargo", "cargo-watch"), _cargo_watch),
}
