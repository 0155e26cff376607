"""Programs that run a file of a fixed name, or each file that they are named: `pytest`, `nox`, `rake`, `pip install .`,
`ansible-playbook`, `eslint` with its configuration, compilers. The code is that of another interpreter, which stands for the
program here. Files that describe containers are judged like the `docker run` with the same options, those that give rights
in a cluster like `kubectl create`, and lists of packages like `pip install`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from operator import itemgetter
from shlex import quote
from typing import NamedTuple

from msgspec.structs import replace

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.shell import playbooks
from toolguard_engine.effects.shell.code_files import COLLECTED
from toolguard_engine.effects.shell.command import FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.shell.expand import ShellState
from toolguard_engine.effects.shell.project_programs import found_file, run_lines
from toolguard_engine.effects.shell.walk import CODE_CHARACTERS, Special, Walk
from toolguard_engine.effects.shell.wrappers import WRAPPERS

MAX_NAMED = 8
MAX_WORDS = 60
MAX_LINES = 200


class Convention(NamedTuple):
    """`language`: the program that would run the same code; `files`: what is run in any case; `named`: the end of names
    that are run when they are named; `verbs`: sub-commands, one of which is needed; `made`: patterns of what is run if an
    agent made it."""

    language: str
    files: tuple[str, ...] = ()
    named: str | tuple[str, ...] = ""
    verbs: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


_PYTHON_TASKS = {"invoke": "tasks.py", "inv": "tasks.py", "nox": "noxfile.py", "fab": "fabfile.py", "scons": "SConstruct"}
_SETTINGS = ("*.config.*", ".*rc.*", "*file.js", "*file.mjs")
_TESTS = ("**.test.*", "**.spec.*")
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".java", ".kt", ".m", ".nim", ".rs", ".swift", ".zig")
_COMPILED = "swift"
"""The reader of one compiled language serves for all: it searches for calls and their literals."""

_CONVENTIONS: dict[str, Convention] = {
    **dict.fromkeys(("pytest", "py.test"), Convention("python3", ("conftest.py",), ".py", made=COLLECTED)),
    **{name: Convention("python3", (file,)) for name, file in _PYTHON_TASKS.items()},
    **dict.fromkeys(("pip", "pip3"), Convention("python3", ("setup.py",), verbs=("install", "wheel", "download"))),
    "uv": Convention("python3", named=".py", verbs=("run",)),
    "rake": Convention("ruby", ("Rakefile", "rakefile", "Rakefile.rb")),
    **{name: Convention("node", made=_SETTINGS) for name in program_catalogue.programs("configured_by_code")},
    **{name: Convention("node", made=(*_SETTINGS, *_TESTS)) for name in program_catalogue.programs("script_test_runner")},
    **{name: Convention(_COMPILED, named=_SOURCES) for name in program_catalogue.programs("source_compiler")},
    "go": Convention("yaegi", named=(".go",), verbs=("run", "build", "test", "install", "generate"), made=("**.go",)),
    "cargo": Convention(
        _COMPILED,
        verbs=("build", "run", "test", "check", "bench", "install", "b", "r", "t"),
        made=("**build.rs", "**main.rs", "**lib.rs"),
    ),
}

_SHELL_LINE = re.compile(
    r"^[^\S\n]{0,40}-?\s{0,9}(?:ansible\.builtin\.)?(?:shell|command|raw|cmd|entry)\s{0,9}:\s{0,9}[>|]?-?\s{0,9}(.{3,2000})$",
    re.MULTILINE,
)


def _by_convention(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    known = _CONVENTIONS[run.name]
    words = [word for word in run.argv[1:] if word[:1] != "-"]
    if known.verbs and not (words and words[0] in known.verbs):
        return None
    here = not known.verbs or any(word in (".", "./") or word.startswith("./") for word in words[1:])
    files = [(name,) for name in known.files] if here else []
    files += [
        (word.partition("::")[0],)
        for word in words[:MAX_NAMED]
        if known.named
        and word.partition("::")[0].endswith(known.named)
        and (known.language not in (_COMPILED, "yaegi") or _is_made(walk, word, run))
    ]
    if known.made and walk.running is not None:
        files += [(path,) for pattern in known.made for path in walk.running.meant(pattern, run.cwd)[:MAX_NAMED]]
    if run.name == "uv":
        walk.run_wrapped(run, WRAPPERS["uv"], state)
    if run.name in _INSTALLERS:
        _required(walk, run, state)
    other = replace(run, argv=(known.language,), name=known.language)
    for names in files:
        if (file := found_file(walk, names, "", run)) and not file.path.endswith(_NO_CODE):
            walk.run_code(file, other, state.fork(run.name))
    return None


_INSTALLERS = frozenset({"pip", "pip3"})
_ADDRESS = re.compile(
    r"^[ \t]{0,40}+(?:-e[ \t]{1,9}+)?((?:[\w.\[\]-]{1,80}+[ \t]{0,9}+@[ \t]{0,9}+)?(?:git\+|https?://)[^\s;#]{1,400})",
    re.MULTILINE,
)


def _required(walk: Walk, run: ProgramRun, state: ShellState) -> None:
    """Addresses in lists of packages that an agent made: `pip install -r x`."""
    for name in islice(dict.fromkeys(_valued(run.argv[1:MAX_WORDS], "-r", "--requirement")), MAX_NAMED):
        file = found_file(walk, (name,), "", run, is_code=False)
        if file is not None and file.made:
            state.work.spend(len(file.text) / CODE_CHARACTERS)
            lines = [(at, f"pip install {quote(address)}") for at, address in _lines(file.text, _ADDRESS)]
            run_lines(walk, file, lines, state.fork(run.name))


def _is_made(walk: Walk, word: str, run: ProgramRun) -> bool:
    return walk.written(word, run.cwd) is not None or (walk.running is not None and walk.running.is_made_at(word, run.cwd))


_NO_CODE = (".json", ".yaml", ".yml", ".toml", ".snap", ".md", ".css", ".lock")


def _lines(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for count, found in enumerate(pattern.finditer(text)):
        if count == MAX_LINES:
            return
        yield text.count("\n", 0, found.start()) + 1, found[1].strip().strip("'\"")


def _commands_of(pattern: re.Pattern[str], end: tuple[str, ...], own: tuple[str, ...] = ()) -> Special:
    """For a program that runs the shell commands of a file."""

    def runs(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
        for name in (*own, *(word for word in run.argv[1:MAX_NAMED] if word.endswith(end))):
            if file := found_file(walk, (name,), "", run):
                run_lines(walk, file, list(_lines(file.text, pattern)), state.fork(run.name))
        return None

    return runs


_PLAYBOOK_ENDS = (".yml", ".yaml", ".json")
_PLAYBOOK_ONLY_SHOWN = frozenset({"--check", "-C", "--syntax-check", "--list-tasks", "--list-hosts", "--list-tags"})


def _playbook(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    """The shell commands of any playbook, and what its other tasks do if an agent made it."""
    words = run.argv[1:MAX_WORDS]
    inventories = {*_valued(words, "-i", "--inventory")}
    for name in (word for word in words if word[:1] != "-" and word not in inventories):
        file = found_file(walk, (name,), "", run)
        if file is None or not (file.made or name.endswith(_PLAYBOOK_ENDS)):
            continue
        lines = list(_lines(file.text, _SHELL_LINE))
        if file.made and _PLAYBOOK_ONLY_SHOWN.isdisjoint(words):
            state.work.spend(len(file.text) / CODE_CHARACTERS)
            lines = sorted([*lines, *islice(playbooks.commands(file.text), MAX_LINES)], key=itemgetter(0))
        run_lines(walk, file, lines, state.fork(run.name))
    return None


_ROOTED = re.compile(
    r"(?:^\s{0,40}-\s{1,9}|[\[,]\s{0,9})['\"]?((?:/|~|\$\{?HOME\}?)[^:'\"\s]{0,200}:/[^'\"\s]{1,200})", re.MULTILINE
)
_HOST_PATH = re.compile(r"hostPath:\s{0,9}\{?\s{1,40}path:\s{0,9}['\"]?([^'\"\s},]{1,200})")
_HOSTED = re.compile(
    r"^[\s{,]{0,40}(?:-\s)?(privileged|hostPID|pid|hostNetwork)\s{0,9}:\s{0,9}['\"]?(?:true|host)\b", re.MULTILINE
)
_ADDED_RIGHTS = re.compile(r"\b(?:SYS_ADMIN|SYS_PTRACE|SYS_MODULE|ALL|DAC_READ_SEARCH)\b")
_COMPOSE = ("docker-compose.yml", "docker-compose.yaml", "compose.yaml", "compose.yml")


def _options_of(text: str) -> list[str]:
    """The options of `docker run` for what a file asks of the machine."""
    found = [
        "--privileged" if one[1] == "privileged" else "--pid=host"
        for one in _HOSTED.finditer(text)
        if one[1] != "hostNetwork"
    ]
    found += [f"-v {quote(one[1])}" for one in _ROOTED.finditer(text)]
    found += [f"-v {quote(one[1])}:/host" for one in _HOST_PATH.finditer(text)]
    if "cap_add" in text or "capabilities" in text:
        found += [f"--cap-add={one[0]}" for one in _ADDED_RIGHTS.finditer(text)]
    return list(dict.fromkeys(found))[:MAX_NAMED]


_BINDING = re.compile(r"\bkind['\"]?:\s{0,9}['\"]?(?:Cluster)?RoleBinding\b")
_BOUND = re.compile(
    r"\b(?:roleRef|subjects)\b[^\0]{0,200}?\bname['\"]?:\s{0,9}['\"]?"
    r"(?:cluster-admin|system:(?:anonymous|unauthenticated|authenticated|masters))(?![\w-])"
)


def _lines_of(text: str) -> list[tuple[int, str]]:
    """The commands that would do what a description of containers or of a cluster's rights asks for."""
    options = _options_of(text)
    lines = [(1, f"docker run {' '.join(options)} image")] if options else []
    if _BINDING.search(text) and (bound := _BOUND.search(text)):
        line = text.count("\n", 0, bound.start()) + 1
        lines.append((line, "kubectl create clusterrolebinding any --clusterrole=cluster-admin"))
    return lines


def _described(walk: Walk, run: ProgramRun, state: ShellState, files: Iterator[str]) -> None:
    """What a file describes, if an agent made it, or a text at standard input."""
    for name in islice(dict.fromkeys(files), MAX_NAMED):
        if name == "-" and (text := walk.fed(run)):
            run_lines(
                walk, FilePlace("standard input", "/dev/stdin", text, made=True), _lines_of(text), state.fork(run.name)
            )
        file = found_file(walk, (name,), "", run, is_code=False)
        if file is not None and file.made:
            run_lines(walk, file, _lines_of(file.text), state.fork(run.name))


def _container(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    words = run.argv[1:MAX_WORDS]
    is_compose = "compose" in words[:_VERB_WITHIN] or run.name == "docker-compose"
    if is_compose and not {"up", "run", "create", "start"}.isdisjoint(words):
        _described(walk, run, state, iter(list(_named(words, "--file")) or _COMPOSE))
    return walk.run_wrapped(run, WRAPPERS[run.name], state)


def _cluster(walk: Walk, run: ProgramRun, state: ShellState) -> StdinSource | None:
    words = run.argv[1:MAX_WORDS]
    tries = any(word.startswith("--dry-run") and not word.endswith("=none") for word in words)
    if not tries and not {"apply", "create", "replace", "run"}.isdisjoint(words[:_VERB_WITHIN]):
        _described(walk, run, state, _named(words, "--filename"))
    return walk.run_wrapped(run, WRAPPERS[run.name], state)


_VERB_WITHIN = 10
"""Words: global options with values stand before it."""


def _named(words: Sequence[str], long: str) -> Iterator[str]:
    """The files that `-f` or `long` name."""
    return _valued(words, "-f", long)


def _valued(words: Sequence[str], short: str, long: str) -> Iterator[str]:
    """The values of an option, in each form: `-f FILE`, `-fFILE`, `-f=FILE`, `--file FILE`, `--file=FILE`."""
    for word, following in pairwise((*words, "")):
        if word in (short, long):
            yield following
        elif word.startswith(f"{long}="):
            yield word.partition("=")[2]
        elif word.startswith(short):
            yield word[2:].removeprefix("=")


PROGRAMS: dict[str, Special] = {
    **dict.fromkeys(_CONVENTIONS, _by_convention),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), _container),
    **dict.fromkeys(("kubectl", "oc"), _cluster),
    "ansible-playbook": _playbook,
    "pre-commit": _commands_of(_SHELL_LINE, (".yaml",), (".pre-commit-config.yaml",)),
}
