"""Applies every self-protection check to every program that a command runs.

Commands that cannot concern the guard (`glance`) skip the checks. A text that names the guard and is given to a program
that may run it is judged as a command itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.facts.command import ProgramRun, Reading
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.syntax.outputs import known_text, printed
from toolguard_engine.layers.self_protection import (
    containers,
    dashboard_requests,
    file_lists,
    folders,
    gateway_command_line,
    installed_gateway,
    interpreter_code,
    landed_files,
    own_command_line,
    process_signals,
    protected_places,
    searches,
)
from toolguard_engine.layers.self_protection.exclusions import without_patterns
from toolguard_engine.layers.self_protection.glance import is_near
from toolguard_engine.layers.self_protection.scene import (
    CommandScene,
    Lists,
    ProtectionFinding,
    is_elsewhere,
    is_interpreter,
    is_textual,
    reaches_back,
    texts,
)
from toolguard_engine.model.call import Host
from toolguard_engine.model.lazy import kept_with
from toolguard_engine.model.work_limit import TooIntricate, WorkLimit
from toolguard_engine.quick_search import first_in

NEAR, NEAR_WORD, NEAR_PATH, NEAR_SIGN = 14, 2, 4, 5
"""Steps of work for each program of a command that may concern the guard, for each of its words, again where one of them may
be a path that leads anywhere, and for each wildcard and variable in them."""

CHARACTERS = 16
"""So many characters of them are a step."""

FOLDER, PARTS, MANY_RUNS = 6, 8, 64
"""Steps for each folder that programs start in, and parts of its path for one more; only of more programs than that."""

LONG = "This command names the guard and is too long to analyze."
FOLDERS = "This command changes to more folders of the guard than can be analyzed."

_MAX_INNER = 3
_MAX_TEXTS = 50
_NAMED = lazy_re.compile(r"toolguard(?!probe|_unknown)|(?<![./\w-])(?:openclaw|clawdbot)(?![\w/-])", re.IGNORECASE)
_MAY_HARM = lazy_re.compile(r"toolguard|openclaw|clawdbot|\bp?kill", re.IGNORECASE)
_RUNNING = ("COMMAND", "EDITOR", "PAGER", "VISUAL", "ENV", "_RSH", "_SSH", "LESSOPEN", "BROWSER")
"""Name endings of variables whose values other programs run."""

_MAX_SENTENCE = 2_000
_SENTENCE = lazy_re.compile(r"[\w\s.,:!?-]*")
_OTHERS = lazy_re.compile(r"openclaw|clawdbot|\bp?kill|/|toolguard[^\s]|\btoolguard\s+-", re.IGNORECASE)
_BEHIND = lazy_re.compile(r"\btoolguard\s+(\S*)", re.IGNORECASE)
_VALUE = lazy_re.compile(r"[\w-]{1,40}[=:]")
_EXPORTS = frozenset({"export", "declare", "env", "typeset"})
_SESSIONS = frozenset({"tmux", "screen", "byobu", "kitty", "zellij", "wezterm"})
_SENDS = frozenset({"send-keys", "send"})
_KEYS = {"space": " ", "enter": "\n", "c-m": "\n", "c-j": "\n", "kpenter": "\n", "tab": " "}
_UNREAD = frozenset({"long", "deep", "intricate"})
_CHECKS: tuple[Callable[[CommandScene], Iterator[ProtectionFinding]], ...] = (
    own_command_line.findings, gateway_command_line.findings, protected_places.findings, folders.findings,
    landed_files.findings, searches.findings, process_signals.findings,
    interpreter_code.findings, dashboard_requests.findings, installed_gateway.findings, containers.findings,
    file_lists.findings,
)  # fmt: skip


def findings(
    command: str,
    reading: Reading,
    host: Host,
    folder: str,
    work: WorkLimit,
    lists: Lists,
    depth: int = 0,
) -> Iterator[ProtectionFinding]:
    """Why `command`, started in `folder` (empty: the agent's own), must be blocked or held. `reading`: of that command;
    `work`: what finding that out may cost; `lists`: see `CommandScene`. Whatever is asked here is asked of all programs
    alike, so those that are like another one are left out."""
    runs = reading.distinct
    try:
        if len(runs) > MANY_RUNS:
            work.spend_at_once(_steps_of_folders(runs))
        if near := _is_near(reading, host, folder):
            work.spend_at_once(_steps(runs))
    except TooIntricate:
        if not (named := first_in(_NAMED, command)):
            raise
        yield _too_long(command, named[0])
        return
    if near:
        away = _elsewhere(runs)
        local = tuple(run for run in runs if run not in away) if away else runs
        yield from _of_scene(CommandScene(local, host, folder, away, lists), local, work, depth)
        if away:
            scene = CommandScene(runs, host, folder, lists=lists)
            yield from (replace(finding, certain=False, harmless=None) for finding in _of_scene(scene, away, work, depth))
    if reading.flaws and not _UNREAD.isdisjoint(reading.flaws) and (named := first_in(_NAMED, command)):
        yield _too_long(command, named[0])


def _too_long(command: str, cause: str) -> ProtectionFinding:
    return ProtectionFinding(LONG, certain=False, cause=cause, harmless=None if _MAY_SIGNAL.search(command) else "files")


_MAY_SIGNAL = lazy_re.compile(r"kill|fuser|signal|docker|podman|tmux|screen", re.IGNORECASE)
"""What a long text contains that ends programs, or has others act, which the kernel does not keep from a command."""


@kept_with
def _is_near(reading: Reading, host: Host, folder: str) -> bool:
    return is_near(reading.distinct, host, folder)


def _steps(runs: tuple[ProgramRun, ...]) -> float:
    """What looking at these programs takes."""
    steps = 0.0
    for run in runs:
        words = [*run.argv, *[value for _, value in run.assigns]]
        text = "\n".join(words)
        steps += NEAR + NEAR_WORD * len(words) + len(text) / CHARACTERS
        if protected_places.may_lead_anywhere(text):
            steps += NEAR_PATH * len(words) + NEAR_SIGN * sum(map(text.count, "*?[$"))
    return steps


def _steps_of_folders(runs: tuple[ProgramRun, ...]) -> float:
    """What looking whether the folders of these programs are protected takes."""
    return sum(FOLDER + cwd.count("/") / PARTS for cwd in dict.fromkeys(run.cwd for run in runs))


def _elsewhere(runs: tuple[ProgramRun, ...]) -> tuple[ProgramRun, ...]:
    """The programs that run on another machine or in a container, unless the command may lead back to this machine."""
    programs = tuple(run for run in runs if is_elsewhere(run))
    return () if programs and any(reaches_back(run) for run in runs) else programs


def _of_scene(scene: CommandScene, runs: tuple[ProgramRun, ...], work: WorkLimit, depth: int) -> Iterator[ProtectionFinding]:
    """`runs`: the programs whose texts are judged as commands."""
    if scene.is_all_over_ours:
        yield ProtectionFinding(FOLDERS, certain=False, harmless="files")
    for check in _CHECKS:
        yield from check(scene)
    yield from _inner(scene, runs, work, depth)


def _inner(scene: CommandScene, runs: tuple[ProgramRun, ...], work: WorkLimit, depth: int) -> Iterator[ProtectionFinding]:
    if depth >= _MAX_INNER:
        return
    given = (text for run in runs for text in _given(run, scene))
    pieces = dict.fromkeys(text for text in given if _MAY_HARM.search(text) and not _is_prose(text))
    for text in list(pieces)[:_MAX_TEXTS]:
        yield from findings(text, read(text, work=work), scene.host, scene.start, work, scene.lists, depth + 1)


def _is_prose(text: str) -> bool:
    """Whether a text that names the guard is a plain sentence: no command of the guard, no shell syntax."""
    if len(text) > _MAX_SENTENCE or not _SENTENCE.fullmatch(text) or _OTHERS.search(text):
        return False
    return all(match[1] not in own_command_line.CHANGES for match in _BEHIND.finditer(text))


def _given(run: ProgramRun, scene: CommandScene) -> Iterator[str]:
    """Texts that a program may run in some way unknown here."""
    if run.name == "git":
        yield from _git_settings(run, scene)
    if run.name in _SESSIONS:
        yield from _typed(run, scene)
    if is_textual(run) or is_interpreter(run.name) or scene.is_wrapper(run):
        return
    messages = {run.argv[at] for at in gateway_command_line.message_positions(run)}
    for word in without_patterns(run):
        if word not in messages and (" " in word or "\n" in word):
            yield word.lstrip("!:")
            if match := _VALUE.match(word):
                yield word[match.end() :]
    yield from (value for name, value in run.assigns if name.endswith(_RUNNING))
    yield from texts(run)


def _git_settings(run: ProgramRun, scene: CommandScene) -> Iterator[str]:
    """Settings that `git` reads from variables: a pager, an editor, an alias."""
    named = {value.text.rpartition("=")[2] for value in run.words.values("--config-env")}
    exported = (word.partition("=") for other in scene.runs if other.name in _EXPORTS for word in other.argv[1:])
    values = [*run.assigns, *((name, value) for name, _, value in exported)]
    yield from (value.lstrip("!") for name, value in values if name in named or name.startswith("GIT_CONFIG_VALUE_"))


def _typed(run: ProgramRun, scene: CommandScene) -> Iterator[str]:
    """What a terminal session is given to run: typed keys, and files that the same command writes."""
    if run.name == "tmux" and not _SENDS.isdisjoint(run.argv[1:]):
        sent = [
            _keys(program.argv)
            for program in scene.runs
            if program.name == "tmux" and not _SENDS.isdisjoint(program.argv[1:])
        ]
        yield "".join(sent)
    written = (other for other in scene.runs if other is not run and (other.redirects or other.piped))
    yield from (text for other in written if (text := known_text(printed(other))))


def _keys(argv: tuple[str, ...]) -> str:
    at = next(at for at, word in enumerate(argv) if word in _SENDS)
    typed = option_parser.read_words("tmux", (argv[0], *argv[at:])).texts
    return "".join(_KEYS.get(word.lower(), word) for word in typed)
