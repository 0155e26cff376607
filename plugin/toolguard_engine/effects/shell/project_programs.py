"""Programs that run what files of a project or a service say: `make`, `npm`, `just`, `task`, `tox`, `crontab`, `systemctl`,
and `git` with its hooks. The files are those of this machine (`shell.run_files`), or what the same command wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from posixpath import join

from msgspec.structs import replace

from toolguard_engine.effects.shell import project_files
from toolguard_engine.effects.shell.command import FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.shell.expand import ShellState
from toolguard_engine.effects.shell.project_files import Lines, Rules
from toolguard_engine.effects.shell.walk import Special, Walk, is_away
from toolguard_engine.effects.shell.wrappers import WRAPPERS, after_verb, value_of

MAX_TAKEN = 4
"""Further files that a Makefile includes."""

_PACKAGE = "package.json"
_STEPS = {
    "t": "test", "tst": "test", "test": "test", "start": "start", "stop": "stop", "restart": "restart",
}  # fmt: skip
_INSTALLING = ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare")
_INSTALLS = frozenset({"install", "i", "ci", "add", "rebuild", "link"})
_PACKING = ("prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish")
_OWN_VERBS = frozenset(
    """
    exec x dlx create init config cache why info list ls outdated update up upgrade remove uninstall rm audit view search
    login logout whoami owner access token team version versions link unlink help bin prefix root doctor dedupe licenses
    import global workspaces workspace set get pm repl install-test prune fund explore docs repo bugs star
    """.split()  # noqa: SIM905 - a table of names
)
_HOOKS = {
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "push": ("pre-push",),
    "merge": ("pre-merge-commit", "commit-msg", "post-merge"),
    "pull": ("post-merge", "pre-rebase", "post-checkout"),
    "checkout": ("post-checkout",),
    "switch": ("post-checkout",),
    "rebase": ("pre-rebase", "post-rewrite", "post-checkout"),
    "am": ("applypatch-msg", "pre-applypatch", "post-applypatch"),
}


def run_lines(walk: Walk, file: FilePlace, lines: Lines, state: ShellState, key: str = "") -> None:
    """Runs commands that stand in a file."""
    if not lines:
        return
    running = walk.running
    if running is not None and not running.enter(file, key):
        return
    inner = type(walk)(walk.specials, running, file)
    inner.file = None
    inner.goes_on_from(walk)
    outer, state.work = state.work, state.work if running is None else running.work
    for at, text in lines:
        inner.here = replace(file, at=at)
        inner.text(text, state.fork(), None, piped=False, pipeline=0)
    state.work = outer
    walk.pipelines = inner.pipelines
    walk.runs += inner.runs
    if file.made:
        walk.flaws |= inner.flaws
    if running is not None:
        running.leave(file, inner.flaws, key)


def found_file(
    walk: Walk, names: tuple[str, ...], folder: str, run: ProgramRun, *, is_code: bool = True
) -> FilePlace | None:
    """The first of these files, as this command wrote it or as it is on this machine; else what may be one of them.
    `is_code`: it contains programs to run, not only a description or a list."""
    paths = [join(folder, name) for name in names]
    for path in paths if is_code else ():
        walk.will_run(path, run)
    for path in paths:
        if walk.scripts(path, run.cwd) is not None and (text := walk.run_from(path, run.cwd)) is not None:
            return FilePlace(path, path, text, made=True)
        if walk.running is not None and not is_away(run) and (file := walk.running.text(path, run.cwd, sure=False)):
            return file
    for path in paths:
        if (text := walk.run_from(path, run.cwd)) is not None:
            return FilePlace(path, path, text, made=True)
    return None


def _operands(run: ProgramRun, valued: str) -> list[str]:
    """The words that are no options, no values of the options with these letters and no assignments."""
    found, skip = list[str](), False
    for word in run.argv[1:]:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = len(word) == 2 and word[1] in valued  # noqa: PLR2004 - the dash and a letter
        elif "=" not in word:
            found.append(word)
    return found


def _by_rules(walk: Walk, file: FilePlace, rules: Rules, names: list[str], run: ProgramRun, state: ShellState) -> None:
    inner = state.fork(run.name)
    for name, value in {**rules.variables, **dict(_assigned(run))}.items():
        if name.isidentifier():
            inner.variables[name] = value
    run_lines(walk, file, rules.of(names), inner, " ".join(names))


def _assigned(run: ProgramRun) -> Iterator[tuple[str, str]]:
    for word in run.argv[1:]:
        name, sign, value = word.partition("=")
        if sign and name.isidentifier():
            yield name, value


_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


def make(walk: Walk, run: ProgramRun, state: ShellState) -> None:
    """The recipes of the named targets of a Makefile, or of the first one."""
    folder = value_of(run.argv, ("-C", "--directory"))
    own = value_of(run.argv, ("-f", "--file", "--makefile"))
    file = found_file(walk, (own,) if own else _MAKEFILES, folder, run)
    if file is None:
        return
    rules = project_files.makefile(file.text)
    if folder:
        state = state.fork()
        state.cwd = join(state.cwd, folder)
    names = _operands(run, "fCIoWjl")
    for path in rules.taken[:MAX_TAKEN]:
        if taken := found_file(walk, (path,), folder, run):
            _by_rules(walk, taken, project_files.makefile(taken.text), names, run, state)
    _by_rules(walk, file, rules, names, run, state)


_TASK_FILES: dict[str, tuple[tuple[str, ...], Callable[[str], Rules]]] = {
    "just": (("justfile", "Justfile", ".justfile"), project_files.justfile),
    "task": (("Taskfile.yml", "Taskfile.yaml", "taskfile.yml"), project_files.taskfile),
    "go-task": (("Taskfile.yml", "Taskfile.yaml", "taskfile.yml"), project_files.taskfile),
}


def _task(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    names, parsed = _TASK_FILES[run.name]
    own = value_of(run.argv, ("-f", "--justfile", "-t", "--taskfile"))
    if file := found_file(walk, (own,) if own else names, value_of(run.argv, ("-d", "--dir", "--working-directory")), run):
        _by_rules(walk, file, parsed(file.text), _operands(run, "fdt")[:1], run, state)
    return None


def _package(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """The scripts of a `package.json` that a package manager runs."""
    wrapper = WRAPPERS[run.name]
    if after_verb(run.argv, wrapper):
        return walk.run_wrapped(run, wrapper, state)
    folder = value_of(run.argv, ("--prefix", "-C", "--dir", "--cwd"))
    if run.argv[1:3] == ("pkg", "set"):
        for word in run.argv[3:]:
            name, sign, text = word.removeprefix("scripts.").partition("=")
            if sign and name != word.partition("=")[0]:
                walk.adds(f'"{name}": {json.dumps(text)}', join(folder, _PACKAGE), run.cwd)
    names = _scripts(run)
    if names and (file := found_file(walk, (_PACKAGE,), folder, run)):
        inner = state.fork(run.name)
        inner.cwd = join(inner.cwd, folder) if folder else inner.cwd
        run_lines(walk, file, project_files.package_scripts(file.text, names), inner, " ".join(names))
    if run.name == "bun":
        walk.code(run, state)
    return None


def _scripts(run: ProgramRun) -> list[str]:
    words = _operands(run, "C")
    verb = words[0] if words else "install" if run.name == "yarn" else ""
    if verb in ("run", "run-script", "rum", "urn"):
        return _with_steps(words[1]) if len(words) > 1 else []
    if verb in _STEPS:
        return _with_steps(_STEPS[verb])
    if verb in _INSTALLS:
        return list(_INSTALLING)
    if verb in ("publish", "pack"):
        return list(_PACKING)
    return _with_steps(verb) if run.name != "npm" and verb and verb not in _OWN_VERBS else []


def _with_steps(name: str) -> list[str]:
    return [f"pre{name}", name, f"post{name}"]


def _tox(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    if file := found_file(walk, (value_of(run.argv, ("-c", "--conf")) or "tox.ini",), "", run):
        run_lines(walk, file, project_files.settings(file.text, r"commands(?:_pre|_post)?"), state.fork(run.name))
    return None


def _crontab(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """`crontab FILE`, or lines at the standard input."""
    text = walk.fed(run)
    named = [word for word in _operands(run, "u") if word != "-"]
    files = [found_file(walk, (named[0],), "", run)] if named else walk.fed_files(run)
    for file in filter(None, files):
        run_lines(walk, file, project_files.crontab(file.text), state.fork(run.name))
    for _, command in project_files.crontab(text) if text else ():
        walk.text(command, state.fork(run.name), None, piped=False, pipeline=run.pipeline)
    return None


def _direnv(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """The `.envrc` that is allowed, loaded or run with."""
    words = _operands(run, "")
    if words[:1] in (["allow"], ["permit"], ["reload"], ["exec"], ["export"]) and (
        file := found_file(walk, (".envrc",), "", run)
    ):
        walk.run_file(file, run, state.fork(run.name))
    return None


_STARTING = frozenset({"start", "restart", "enable", "reenable", "reload-or-restart", "try-restart", "link"})


def _systemctl(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """Units of the user that are started or enabled."""
    words = _operands(run, "HMpt")
    if not words or words[0] not in _STARTING:
        return None
    for unit in words[1:5]:
        name = unit.rpartition("/")[2]
        stem = name.rpartition(".")[0] if name.endswith((".service", ".timer", ".path", ".socket")) else name
        paths = (unit,) if "/" in unit else (f"~/.config/systemd/user/{stem}.service",)
        if file := found_file(walk, paths, "", run):
            run_lines(walk, file, project_files.settings(file.text, r"Exec\w{4,12}"), state.fork(run.name))
    return None


def hooks(walk: Walk, run: ProgramRun, state: ShellState) -> None:
    """The hooks of a repository that an agent may have made, or that this command names."""
    if _HOOKS.keys().isdisjoint(run.argv) or "--no-verify" in run.argv:
        return
    verb = next((word for word in run.argv[1:] if word in _HOOKS), "")
    if not verb:
        return
    for folder in _hook_folders(walk, run, _HOOKS[verb]):
        for name in _HOOKS[verb]:
            if file := found_file(walk, (name,), folder, run):
                walk.scripted(file, replace(run, argv=(join(folder, name),), name=name), state.fork("git"))


def _hook_folders(walk: Walk, run: ProgramRun, names: tuple[str, ...]) -> Iterator[str]:
    settings = [word for word in run.argv if word.lower().startswith("core.hookspath=")]
    for earlier in walk.runs:
        if earlier.name == "git" and "config" in earlier.argv and earlier is not run:
            at = next((at for at, word in enumerate(earlier.argv) if word.lower() == "core.hookspath"), 0)
            settings += [f"={value}" for value in earlier.argv[at + 1 : at + 2] if at]
    yield from (word.partition("=")[2] for word in settings)
    if walk.running is None or is_away(run):
        return
    for root in walk.running.above(run.cwd):
        for config in (f"{root}/.git/config", "~/.gitconfig"):
            yield from _configured(walk, run, root, config, names)
        if any(walk.running.is_made(f"{root}/.git/hooks/{name}") for name in names):
            yield f"{root}/.git/hooks"


def _configured(walk: Walk, run: ProgramRun, root: str, config: str, names: tuple[str, ...]) -> Iterator[str]:
    """The folder of hooks that a config file names, if an agent made that file or one of these hooks. Whatever call set it,
    Git runs what is in it; a folder that the project itself chose has the person's own hooks."""
    running = walk.running
    if running is None or (file := running.text(config, "", sure=False)) is None:
        return
    for _, value in project_files.settings(file.text.replace("\n\t", "\n"), r"(?i:hooksPath)"):
        folder = value if value.startswith(("/", "~")) else f"{root}/{value}"
        if running.is_made_at(config, "") or any(running.is_made_at(f"{folder}/{name}", run.cwd) for name in names):
            yield folder


PROGRAMS: dict[str, Special] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package),
    **dict.fromkeys(_TASK_FILES, _task),
    "tox": _tox,
    "crontab": _crontab,
    "direnv": _direnv,
    "systemctl": _systemctl,
}
