"""The scripts of a `package.json` that a package manager runs, also those of workspaces."""

from __future__ import annotations

from fnmatch import fnmatchcase as fnmatch
from posixpath import join

from msgspec.structs import replace

from toolguard_engine.effects.commands.file_lines import run_lines
from toolguard_engine.effects.commands.runner_files import concerns, found_file, made_elsewhere, option_values
from toolguard_engine.effects.commands.runner_table import Runner
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts.command import FilePlace, ProgramRun
from toolguard_engine.effects.syntax import project_files
from toolguard_engine.effects.syntax.shell_state import ShellState

PACKAGE = "package.json"
_STEPS = {
    "t": "test", "tst": "test", "test": "test", "start": "start", "stop": "stop", "restart": "restart",
}  # fmt: skip
_INSTALLING = ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare")
_INSTALLS = frozenset(
    """
    install i ci add rebuild link update up upgrade uninstall un remove rm dedupe audit install-test it install-ci-test cit
    """.split()  # noqa: SIM905 - a table of names
)
_ONLY_RUN = frozenset({"npm-run-all", "npm-run-all2", "run-s", "run-p", "concurrently", "nr", "wireit", "bun-run"})
"""Programs whose operands are scripts, also as patterns."""
_PACKING = ("prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish")
_RUNS = frozenset({"run", "run-script", "rum", "urn"})
_OWN_VERBS = frozenset(
    """
    exec x dlx create init config cache why info list ls outdated update up upgrade remove uninstall rm audit view search
    login logout whoami owner access token team version versions link unlink help bin prefix root doctor dedupe licenses
    import global workspaces workspace set get pm repl install-test prune fund explore docs repo bugs star
    """.split()  # noqa: SIM905 - a table of names
)
_TESTING = frozenset({"install-test", "it", "install-ci-test", "cit"})


def run_scripts(walk: Walk, row: Runner, program: ProgramRun, state: ShellState) -> None:
    if not row.reads:
        return
    names = _names(program)
    _installed(walk, program, state)
    folder = next(option_values(program, row.folder), "")
    if not names:
        return
    if file := found_file(walk, (PACKAGE,), folder, program):
        _run(walk, file, _meant(file, names), folder, program, state)
    if _in_workspaces(program) or names == list(_INSTALLING):
        more = [*names, *(step for word in _operands(program) for step in _with_steps(word))]
        for file in made_elsewhere(walk, replace(row, below=True), program, folder):
            _run(walk, file, more, file.path.rpartition("/")[0], program, state)


def _meant(file: FilePlace, names: list[str]) -> list[str]:
    """The names with what patterns stand for: `build:*`."""
    patterns = [name.replace(":*", ":**") for name in names if "*" in name]
    known = project_files.script_names(file.text) if patterns else []
    return [*names, *(name for name in known if any(fnmatch(name, pattern) for pattern in patterns))]


def _installed(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """A program of a package, in place of a script; a package of this machine that is installed."""
    words = _operands(program)
    if words[:1] and words[0] in _INSTALLS:
        for word in words[1:]:
            folder = word.removeprefix("file:").removeprefix("link:")
            is_local = folder != word or folder.startswith((".", "/", "~"))
            if (
                is_local
                and concerns(walk, path := join(folder, PACKAGE), program)
                and (file := found_file(walk, (path,), "", program))
            ):
                _run(walk, file, list(_INSTALLING), folder, program, state)
        return
    words = words[1:] if words[:1] and words[0] in _RUNS else words
    if words and words[0] not in _OWN_VERBS and walk.running is not None:
        above = walk.running.above(program.cwd)
        if any(walk.running.is_made(f"{folder}/node_modules/.bin/{words[0]}") for folder in above):
            walk.inner(tuple(words), program, state.fork(program.name))


def _run(walk: Walk, file: FilePlace, names: list[str], folder: str, program: ProgramRun, state: ShellState) -> None:
    inner = state.fork(program.name)
    inner.cwd = join(inner.cwd, folder) if folder else inner.cwd
    run_lines(
        walk, file, lambda text: project_files.package_scripts(text, names), inner, program, " ".join(names), forks=False
    )


def _in_workspaces(program: ProgramRun) -> bool:
    asked = program.words.has("--workspace", "--workspaces", "--filter", "--recursive")
    return asked or not {"workspace", "workspaces"}.isdisjoint(program.words.texts)


def _operands(program: ProgramRun) -> list[str]:
    return [word for word in program.words.texts if "=" not in word]


def _names(program: ProgramRun) -> list[str]:
    """The scripts that run, in their order."""
    if program.name in _ONLY_RUN:
        return [step for word in _operands(program) for step in _with_steps(word.removeprefix("npm:"))]
    if program.name == "node":
        return [step for value in program.words.values("--run") for step in _with_steps(value.text)]
    words = [word for word in _operands(program) if word not in ("workspace", "workspaces", "foreach")]
    return _of_verb(words[0] if words else "install" if program.name == "yarn" else "", words, program)


def _of_verb(verb: str, words: list[str], program: ProgramRun) -> list[str]:
    """The scripts that a sub-command of a package manager runs."""
    if verb in _RUNS:
        return _with_steps(words[1]) if len(words) > 1 else []
    if verb in _STEPS:
        return _with_steps(_STEPS[verb])
    if verb in _INSTALLS:
        return [*_INSTALLING, *(_with_steps("test") if verb in _TESTING else ())]
    if verb == "version":
        return _with_steps(verb)
    if verb in ("publish", "pack"):
        return list(_PACKING)
    return _with_steps(verb) if program.name != "npm" and verb and verb not in _OWN_VERBS else []


def _with_steps(name: str) -> list[str]:
    return [f"pre{name}", name, f"post{name}"]
