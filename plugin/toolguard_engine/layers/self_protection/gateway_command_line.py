"""Finds commands that remove or disable the plugin, or that approve calls through the gateway's command line.

`effects.control_plane` defines what each verb of that command line does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import asked_settings
from toolguard_engine.effects.commands.effects import PROGRAMS
from toolguard_engine.effects.control_plane.command_line import OWN_PROGRAM, Operation, operations, verb
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs.gateway_programs import LAUNCHERS, own_words
from toolguard_engine.layers.self_protection.own_command_line import NAMES
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, base, is_textual
from toolguard_engine.quick_search import first_in

REASON = "This command would remove or disable the guard, or change the configuration that keeps it in place."
ANSWERS = "This command would answer an approval request in place of a person."
ENDS = "This command would stop the gateway that the guard runs in."
PAUSES = (
    "This command would stop the gateway that the guard runs in, and may end with it before it starts the gateway again."
)
TAKES_KEY = "This command would copy the secret that authenticates approvals."
PRINTED = "This command would change a file whose name the gateway prints: it may be its configuration."
INNER = "This command would run the gateway's internal code, bypassing its command line."
OTHER_NAME = "This command would give the gateway's command line another name, under which the guard does not recognize it."
_REASONS = {
    "openclaw approvals resolve": ANSWERS,
    "openclaw gateway call config": REASON,
    "openclaw gateway call": ANSWERS,
    "openclaw gateway": ENDS,
    "openclaw daemon": ENDS,
    "openclaw backup create": TAKES_KEY,
}
"""By the beginning of a target; the first match wins."""

_STARTS = frozenset({"gateway start", "gateway restart", "daemon start", "daemon restart"})
_WIZARDS = frozenset({"openclaw configure"})
"""They ask what to change, and change nothing if their output is no terminal."""

_PACKAGE = lazy_re.compile(r"(?:^|[/+@])openclaw[-_.]+toolguard", re.IGNORECASE)
_PACKAGERS = lazy_re.compile(r"(?:pip[\d.]*|pipx|uv|poetry|pdm|conda|mamba|npm|pnpm|yarn|bun)")
_PACKAGE_VERBS = frozenset(
    {
        "install", "uninstall", "remove", "rm", "r", "un", "unlink", "add", "upgrade", "update", "reinstall", "inject",
        "uninject",
    }
)  # fmt: skip
_UNINSTALLS = frozenset({"uninstall", "remove", "rm", "r", "un", "unlink"})
_GATEWAY_PACKAGE = lazy_re.compile(r"(?:openclaw|clawdbot)(?:@[\w.^~-]*+)?")
_BUILT = lazy_re.compile(r"(?:^|/)dist/(?:index|entry)\.m?js$")
_ELSEWHERE = program_catalogue.programs("session_elsewhere")
_LOCAL = lazy_re.compile(rf"(?:^|@)(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0)$|[$`{UNKNOWN}]", re.IGNORECASE)
_CHANGING = program_catalogue.programs("file_changer")
_INNER_CODE = lazy_re.compile(r"(?:openclaw|clawdbot)/dist/(?!plugin-sdk|(?:index|entry)\.m?js)", re.IGNORECASE)
_LINKING = program_catalogue.programs("file_linker")
_EXECUTABLE = lazy_re.compile(r"^(?:openclaw|clawdbot)$|/bin/(?:openclaw|clawdbot)$|openclaw\.mjs$")
CHAT_COMMAND = lazy_re.compile(r"\s*/toolguard(?:@[\w.-]{1,64})?[\s:]+(?!(?:pending|status|help)\b)\S", re.IGNORECASE)
"""A text that the gateway treats as a command to the guard, except those that only show something."""
_MAX_WORDS = 200


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    if _names_a_target(scene):
        yield ProtectionFinding(PRINTED, certain=False)
    for run in scene.runs:
        if is_textual(run) or scene.is_wrapper(run):
            continue
        if _removes(run):
            yield ProtectionFinding(REASON)
        # A change of settings whose result is known is judged by the settings that differ, as by any other way of making it.
        is_known = scene.lists.is_worked_out and asked_settings.of_program(run) is not None
        for finding in () if is_known else _commands(run):
            if finding.reason == ENDS and finding.certain and _starts_again(scene, run):
                yield ProtectionFinding(PAUSES, certain=False)
            else:
                yield ProtectionFinding(finding.reason, finding.certain and not _is_elsewhere(run, scene))
        if run.name in LAUNCHERS and any(_INNER_CODE.search(word) for word in run.argv[1:]):
            yield ProtectionFinding(INNER, certain=False)
        if run.name in _LINKING and _gives_another_name(run):
            yield ProtectionFinding(OTHER_NAME, certain=False)


def _starts_again(scene: CommandScene, ending: ProgramRun) -> bool:
    """Whether a later program of the same command starts the gateway. It may not come to that: the command may end with the
    gateway."""
    runs = list(scene.runs)
    for run in runs[runs.index(ending) + 1 :]:
        known = None if _is_elsewhere(run, scene) else verb(own_words(run) or ())
        if known is not None and known[0] in _STARTS:
            return True
    return False


def _gives_another_name(run: ProgramRun) -> bool:
    return any(_EXECUTABLE.search(word) for word in run.argv[1:-1]) and "claw" not in base(run.argv[-1])


def _names_a_target(scene: CommandScene) -> bool:
    """Whether a program writes to a file whose name the gateway's command line prints: it may be its config."""
    own = [run for run in scene.runs if own_words(run) is not None]
    inner, piped = any("$()" in run.via for run in own), any(run.piped for run in own)
    if inner and scene.writers:
        return True
    return any(run.name in _CHANGING and (inner or (piped and "xargs" in run.via)) for run in scene.takers)


def _removes(run: ProgramRun) -> bool:
    words = run.argv[:_MAX_WORDS]
    if _PACKAGE_VERBS.isdisjoint(words) or not any(_PACKAGERS.fullmatch(base(word)) for word in words[:4]):
        return False
    if not _UNINSTALLS.isdisjoint(words) and any(map(_is_global, run.readings or (run.words,))):
        return any(_GATEWAY_PACKAGE.fullmatch(word) or _PACKAGE.search(word) or base(word) in NAMES for word in words)
    return any(_PACKAGE.search(word) or base(word) in NAMES for word in words)


def _is_global(words: CommandWords) -> bool:
    """Whether a package manager works on what is installed for the whole machine."""
    return words.has("-g", "--global") or words.last("--location") == "global" or "global" in words.texts


def _commands(run: ProgramRun) -> Iterator[ProtectionFinding]:
    """What the gateway's command line would do to the guard, if this program is or starts it."""
    words = run.argv[:_MAX_WORDS]
    own = own_words(run)
    certain = True
    if own is None:
        at = next((at for at, word in enumerate(words) if first_in(OWN_PROGRAM, word)), None)
        if at is None and "toolguard" in words:
            at = next((at for at, word in enumerate(words) if _BUILT.search(word)), None)
        if at is None or (run.name in PROGRAMS and run.name not in LAUNCHERS):
            return
        own, certain = words[at + 1 :], run.name in LAUNCHERS
    if any(CHAT_COMMAND.match(word) for word in own):
        yield ProtectionFinding(ANSWERS)
    for operation in operations(own, run.stdin.text if run.stdin else None):
        if operation.effect == "guard" and not (run.piped and operation.target in _WIZARDS):
            yield ProtectionFinding(_reason(operation), operation.certain and certain, operation.target)


def _reason(operation: Operation) -> str:
    return next((reason for start, reason in _REASONS.items() if operation.target.startswith(start)), REASON)


def _is_elsewhere(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a program runs on another machine or in a container, where it reaches another gateway."""
    if _ELSEWHERE.isdisjoint(run.via):
        return False
    return "ssh" not in run.via or not any(
        _LOCAL.search(word) for other in scene.runs if other.name == "ssh" for word in other.argv[1:]
    )


def message_positions(run: ProgramRun) -> set[int]:
    """Returns the words that are a message for an agent, which makes calls of its own; those are judged by themselves."""
    if run.name != "openclaw" or run.argv[1:2] != ("agent",):
        return set()
    return {at for at, word in enumerate(run.argv) if run.argv[at - 1] in ("--message", "-m") and " " in word}
