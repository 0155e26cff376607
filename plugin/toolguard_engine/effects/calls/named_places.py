"""What a held call touches and reads, as its words name it: see `model.call_world`.

Whatever decides what is done is listed: the targets of all effects, the files that run, and every path in the words of a
program, since a list, a config or a payload may stand there. Not the content of a target: who approves `rm -rf build` means
the folder, whatever is in it by then. Not what is only printed, nor logs: those grow while a call waits, and no approver
means their content, unless targets are taken from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, chain, islice, takewhile

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import code_literals
from toolguard_engine.effects.calls.path_owners import FOLLOWED, GLOBS, goes_on
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import FEW_RUNS, UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.landings.checked_out_files import repository, working_tree
from toolguard_engine.effects.landings.landing import inside
from toolguard_engine.effects.manuals.option_spellings import file_names
from toolguard_engine.model.call_world import MANY, NAMES, Named, NamedTarget
from toolguard_engine.model.work_limit import TooIntricate

MAX_TARGETS = 1_024
MAX_WORDS = 1_024
MAX_RUNS = 1_024
MAX_READ = 4_096
"""Words of all programs together that are looked at."""

WORD = 2
"""Steps that each of them costs."""

MAX_SETTINGS = 4
MAX_WORD = 1_000
INTRICATE = "it is too complex to be read"

_ON_LINK = frozenset(["delete", "move"])
"""Effects on a link itself, unless the path goes on behind it."""

_MILD = frozenset(["unchanged", "agent-made", "filtered"])
"""Flags that make an effect less dangerous: without one of them it is more."""

_PRINTERS = program_catalogue.programs("safe_reader")
_SHELLS = program_catalogue.programs("shell", "sourcer")
_OPTION = lazy_re.compile(r"-[A-Za-z]{1,3}|--[a-z-]{0,40}")
_NO_SETTINGS = _PRINTERS | _SHELLS | program_catalogue.programs("shell_state_changer") | {"git"}
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/dev/", "/proc/", "/sys/")
MAX_GIT_FOLDERS = 16
_GIT_ABOVE = 4
_GIT_FILES = (
    "config", "config.worktree", "hooks/pre-commit", "hooks/prepare-commit-msg", "hooks/commit-msg", "hooks/post-commit",
    "hooks/pre-push", "hooks/post-checkout", "hooks/pre-merge-commit", "hooks/post-merge", "hooks/pre-rebase",
    "hooks/post-rewrite", "hooks/reference-transaction",
)  # fmt: skip
"""What decides where a push goes, and what it runs."""


def places_to_look_at(reading: CallReading) -> Named:
    """Everything that has to be looked at for this call; of one that names too much, only what tells what it runs."""
    where = reading.command_where if reading.executes else reading.where
    folder = _folder(where) if reading.commands else ""
    every, effects, gap = _known(reading)
    runs = _short(every)
    is_cut = len(runs) < len(every)
    try:
        reading.work.spend(WORD * sum(map(_words_of, runs)))
    except TooIntricate:
        runs, gap = (), INTRICATE
    targets = list(dict.fromkeys([*_named(reading, where), *(_target(effect, where) for effect in effects)]))
    code, unread = _code(reading) if reading.commands else ((), ())
    words = list(islice(_words(runs, targets, where), MAX_WORDS + 1))
    unread = (*unread, *_git_files(runs, where))
    known = {*unread, *dict(code)}
    words = [path for path in words if path not in known]
    data: tuple[str, ...] = ()
    if not (is_cut := is_cut or len(targets) > MAX_TARGETS or len(words) > MAX_WORDS):
        data, is_cut = _data(reading, runs, known.union(words, [target.path for target in targets]), where)
    if is_cut and not gap:
        return Named(folder, tuple(targets[:MAX_TARGETS]), code, unread, gap=MANY)
    settings = tuple(_settings(runs, effects, where)) if reading.commands and not code else ()
    folder = "" if runs and not (code or unread) and _is_anywhere(runs, effects) else folder
    return Named(folder, tuple(targets[:MAX_TARGETS]), code, unread, tuple(words[:MAX_WORDS]), data, settings, gap)


def _known(reading: CallReading) -> tuple[tuple[ProgramRun, ...], tuple[Effect, ...], str]:
    """The programs, each once, and the effects, as far as they are known, and why not all are: what is known counts also if
    the rest is too complex."""
    runs: tuple[ProgramRun, ...] = ()
    try:
        runs = _distinct(reading.runs) if reading.commands else ()
        effects = reading.command_effects if reading.commands else ()
        return runs, (*chain.from_iterable(effects), *reading.tool_effects), ""
    except (TooIntricate, RecursionError, MemoryError):
        return runs, (), INTRICATE


def _distinct(runs: tuple[ProgramRun, ...]) -> tuple[ProgramRun, ...]:
    if len(runs) < FEW_RUNS:
        return runs
    kept: dict[tuple[object, ...], ProgramRun] = {}
    for program in runs:
        kept.setdefault(program.likeness, program)
    return tuple(kept.values())


def _short(every: tuple[ProgramRun, ...]) -> tuple[ProgramRun, ...]:
    """The first of these programs, up to `MAX_RUNS` with `MAX_READ` words."""
    words = accumulate(map(_words_of, every[:MAX_RUNS]))
    return every[: sum(1 for _ in takewhile(lambda so_far: so_far <= MAX_READ, words))]


def _words_of(program: ProgramRun) -> int:
    return len(program.argv) + len(program.assigns)


def _is_anywhere(runs: tuple[ProgramRun, ...], effects: tuple[Effect, ...]) -> bool:
    """Whether the folder of the call does not matter: all effects are known, and every word names a place from the root."""
    known = _with_known_effects(effects)
    return all(
        id(program) in known and not program.cwd and program.stdin is None and all(map(_is_from_root, _names(program)))
        for program in runs
    )


def _names(program: ProgramRun) -> Iterator[str]:
    yield from (word for word in program.argv[1:] if not _OPTION.fullmatch(word))
    yield from (redirect.target for redirect in program.redirects)
    yield from (value for _, value in program.assigns)


def _is_from_root(word: str) -> bool:
    return word.startswith(("/", "~/")) and UNKNOWN not in word


def _folder(where: Where) -> str:
    path = normal(where.cwd or where.workspace or ".", where)
    return "" if UNKNOWN in path or path.startswith("/~") else path


def _named(reading: CallReading, where: Where) -> Iterator[NamedTarget]:
    """The files that a file tool names: its effects may not name them (`read`)."""
    for path in () if reading.executes else reading.paths:
        yield NamedTarget(NAMES, path, _place(normal(path, where)))


def _target(effect: Effect, where: Where) -> NamedTarget:
    path = ""
    if effect.target and effect.place not in ("remote", "null") and (effect.place or effect.kind in FOLLOWED):
        path = _place(normal(effect.target, where, effect.program.cwd if effect.program else ""))
    dangers = tuple(sorted((effect.flags - _MILD) | {f"not {flag}" for flag in _MILD - effect.flags}))
    is_from_file = effect.program is not None and effect.program.origin is not None
    return NamedTarget(
        effect.kind, effect.target, path, dangers, effect.kind in _ON_LINK and not goes_on(effect), is_from_file
    )


def _place(path: str) -> str:
    return "" if UNKNOWN in path else path


def _code(reading: CallReading) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The files that the call runs: those that were read, and the others that are there."""
    running = reading.running
    unread = [path for path, state in running.asked.items() if path not in running.judged and state != "absent"]
    return tuple((path, file.digest) for path, file in running.judged.items()), tuple(unread)


def _words(runs: tuple[ProgramRun, ...], targets: list[NamedTarget], where: Where) -> Iterator[str]:
    """The paths that the programs may read, each once, as far as they may decide what is done."""
    taken = {target.path for target in targets if target.kind in FOLLOWED}
    takes_targets = any(UNKNOWN in target.text for target in targets) or any(_takes_words(program) for program in runs)
    seen, given = set[tuple[str, str]](), set[str]()
    for program in runs:
        if UNKNOWN in program.cwd:
            continue
        for word in chain(["."] if program.cwd else (), _read_by(program)):
            if (program.cwd, word) in seen:
                continue
            seen.add((program.cwd, word))
            path = _before_wildcard(normal(word, where, program.cwd))
            is_open = bool(path) and not path.startswith(_SYSTEM) and path not in taken and path not in given
            if is_open and (takes_targets or not _is_log(path)):
                given.add(path)
                yield path


def _data(reading: CallReading, runs: tuple[ProgramRun, ...], known: set[str], where: Where) -> tuple[tuple[str, ...], bool]:
    """The paths in the code that the call runs, and whether there are more of them than are looked at."""
    try:
        paths = code_literals.paths(reading, runs, where)
    except TooIntricate:
        return (), True
    kept = (path for path in paths if path not in known)
    return tuple(path for path in kept if not path.startswith(_SYSTEM) and UNKNOWN not in path and not _is_log(path)), False


def _read_by(program: ProgramRun) -> Iterator[str]:
    if program.name in _PRINTERS and not program.piped and "$()" not in program.via:
        return
    if "/" in program.argv[0]:
        yield program.argv[0]
    words = [*program.argv[1:], *(value for _, value in program.assigns)]
    reads = [redirect.target for redirect in program.redirects if redirect.kind == "read"]
    for word in chain(*map(file_names, words), reads, program.stdin.files if program.stdin else ()):
        if word and len(word) <= MAX_WORD and UNKNOWN not in word and "://" not in word:
            yield word


_GUESSED = frozenset(["expose", "unknown-program"])
"""Kinds of effects that are concluded from words: what else the program does, its settings may decide."""


def _with_known_effects(effects: tuple[Effect, ...]) -> set[int]:
    """The programs, by their ids, of which more is known than what their words look like."""
    return {id(effect.program) for effect in effects if effect.kind not in _GUESSED}


def _settings(runs: tuple[ProgramRun, ...], effects: tuple[Effect, ...], where: Where) -> list[str]:
    """The folders whose settings decide what is done: of programs of which no effect is known, and those that they name."""
    known = _with_known_effects(effects)
    runners = {name for program in runs for name in program.via}
    paths = list[str]()
    for program in runs:
        if (
            id(program) in known
            or UNKNOWN in program.cwd
            or program.name in runners | _NO_SETTINGS
            or INTERPRETER.fullmatch(program.name)
        ):
            continue
        words = [word for word in _read_by(program) if word.endswith("/") and word != "/"]
        paths += [_before_wildcard(normal(word, where, program.cwd)) for word in (".", *words)]
    folders = (path for path in paths if path.count("/") > 1 and not path.startswith(_SYSTEM) and path != where.home)
    return list(dict.fromkeys(folders))[:MAX_SETTINGS]


def _git_files(runs: tuple[ProgramRun, ...], where: Where) -> list[str]:
    """What decides where git's programs send to, and what they run: of the repository around their folders."""
    pairs = [places for program in runs if program.name == "git" for places in _git_places(program)]
    folders = [*dict.fromkeys(folder for folder, _ in pairs if UNKNOWN not in folder)][:MAX_GIT_FOLDERS]
    named = [*dict.fromkeys(folder for _, folder in pairs if folder and UNKNOWN not in folder)][:MAX_GIT_FOLDERS]
    near = [f"{'../' * above}.git" for above in range(_GIT_ABOVE)]
    places = [*(normal(place, where, folder) for folder in folders for place in near), *(normal(e, where) for e in named)]
    return list(dict.fromkeys(file for place in places for file in (place, *(f"{place}/{name}" for name in _GIT_FILES))))


def _git_places(program: ProgramRun) -> Iterator[tuple[str, str]]:
    """The folder that git works in, and the one of its repository where the command names it, for each reading."""
    for words in program.readings:
        named = repository(program, words)
        yield inside(program.cwd, working_tree(program, words)[1]), inside(program.cwd, named) if named else ""


def _before_wildcard(path: str) -> str:
    if UNKNOWN in path:
        return ""
    if GLOBS.isdisjoint(path):
        return path
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if GLOBS.intersection(part)), len(parts))
    return "/".join(parts[:at])


def _takes_words(program: ProgramRun) -> bool:
    """Whether a program gets its words or its commands from what another one prints."""
    return "xargs" in program.via or (program.name in _SHELLS and program.stdin is not None)


def _is_log(path: str) -> bool:
    return path.endswith(".log") or "/log/" in path or "/logs/" in path
