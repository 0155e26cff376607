"""Programs that nobody knows, and that are named code which an agent wrote: it is judged as if they ran it."""

from __future__ import annotations

from functools import cache

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import interpreters
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.shell.expand import ShellState
from toolguard_engine.effects.shell.place_globs import GLOB
from toolguard_engine.effects.shell.read_files import judge
from toolguard_engine.effects.shell.runner_files import MAX_WORDS, found_file
from toolguard_engine.effects.shell.runner_table import Runner
from toolguard_engine.effects.shell.walk import INTERPRETER, Walk, is_away
from toolguard_engine.effects.shell.wrappers import WRAPPERS

_LANGUAGES = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh", ".command"), "shell"),
    ".py": "python3",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts"), "node"),
    ".rb": "ruby",
    **dict.fromkeys((".pl", ".pm"), "perl"),
    ".lua": "lua",
    ".php": "php",
    ".awk": "awk",
    **dict.fromkeys((".groovy", ".gradle", ".java", ".kts", ".scala", ".clj", ".nix", ".tcl", ".exp", ".jl", ".el"), "code"),
}


@cache
def _known() -> frozenset[str]:
    """Programs whose arguments are understood; what they are named is read, copied or run in ways that are known."""
    roles = program_catalogue.load().programs.values()
    checkers = program_catalogue.programs("code_checker")
    return checkers.union(*roles, manual_catalogue.programs(), WRAPPERS, interpreters.PROGRAMS)


def run_handed_code(walk: Walk, run: ProgramRun, state: ShellState) -> None:
    """Code that an agent wrote and that a program is named which nobody knows: it may run it."""
    if run.name in _known() or not run.argv[1:] or run.origin is not None or INTERPRETER.fullmatch(run.name):
        return
    if run.name in walk.specials or is_away(run) or UNKNOWN in run.name or walk.written(run.argv[0], run.cwd):
        return
    if walk.running is not None and walk.running.is_made_at(run.argv[0], run.cwd):  # what it does is read
        return
    for word in run.argv[1:MAX_WORDS]:
        path = word.partition("=")[2] if word[:1] == "-" else word
        ending = path[path.rfind(".") :].lower() if "." in path else ""
        if ending not in _LANGUAGES or GLOB.search(path):
            continue
        made = walk.running is not None and walk.running.is_made_at(path, run.cwd)
        if (made or walk.written(path, run.cwd) is not None) and (file := found_file(walk, (path,), "", run)):
            before = set(walk.flaws)
            judge(walk, file, Runner((run.name,), _LANGUAGES[ending]), run, state)
            walk.flaws &= before  # whether it runs the file is not known, so one that is long is no reason to ask
