"""What a program does to the gateway's config: it may take it away, or change its settings.

Taking it away ends the guard, so that is certain. A change is judged setting by setting where it can be worked out
(`effects.control_plane.file_changes`); where it cannot, it is held.
"""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.effects import effects
from toolguard_engine.effects.facts.command import Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.layers.self_protection.scene import FILES, CommandScene

CHANGED = (
    "This call would change the gateway's configuration, which keeps the guard in place, in a way that cannot be worked out."
)

_TAKES_AWAY = frozenset({"delete", "empty", "move", "link", "encrypt"})
_WITHOUT_CHANGE = frozenset(
    {
        "diff",
        "show",
        "log",
        "status",
        "blame",
        "add",
        "stage",
        "commit",
        "ls-files",
        "ls-tree",
        "cat-file",
        "grep",
        "shortlog",
    }
)
"""What git does without touching a file of the working tree."""

NAMES_GUARD = lazy_re.compile(r"toolguard|(?<![\w-])plugins(?![\w-])", re.IGNORECASE)
_FOR_OWNER_ONLY = lazy_re.compile(
    r"0?[67][0-57][0-57]|0?[64]00|(?:(?:u\+[rw]{1,2}|[go]{1,2}-[rwx]{1,3}|u=rw|[go]{1,2}=r?),?){1,6}"
)
"""Modes with which the gateway can read its config, and nobody more can write it than before."""
_UNREADABLE = lazy_re.compile(r"0?[0-3][0-7]{2}|[0-3]?00|[ua]*-[wx]*r[wx]*|a?=|u=[wx]*")


def judged(run: ProgramRun, taken: tuple[ProgramRun, ...], scene: CommandScene) -> str:
    """Why a program that names the config, and more than reads it, must not run unasked; empty if it may."""
    if run.name == "git" and _leaves_files(run):
        return ""
    acts = [effect for effect in _effects(run, scene) if _is_config(effect, scene)]
    kinds = {effect.kind for effect in acts}
    if not kinds.isdisjoint(_TAKES_AWAY) or taken:
        return FILES
    if kinds == {"permissions"}:
        return _of_mode(run)
    if scene.lists.is_worked_out and kinds == {"write"}:
        return ""
    return FILES if NAMES_GUARD.search(scene.text) else CHANGED


def _leaves_files(run: ProgramRun) -> bool:
    """Whether it is git with a verb that changes no file."""
    if not run.readings or _acts(run):
        return False
    verb = run.words.verb or "".join(run.words.texts[:1])
    return verb in _WITHOUT_CHANGE


def _acts(run: ProgramRun) -> bool:
    """Whether an option makes git write a file, run a program or bring files, or may do so with some verb."""
    plain = option_parser.plain(run.argv)
    may = plain.has("-o", "-O", "-c", "--output", "--ext-diff", "--textconv", "--config-env", "--exec-path", "--template")
    return may or any(words.has("--output", "--open-files-in-pager") for words in run.readings)


def only_takes_from_others(run: ProgramRun) -> bool:
    """Whether it is `chmod` that only takes rights from those who are not the owner."""
    return run.name == "chmod" and _FROM_OTHERS.fullmatch(run.words.one("mode")) is not None


def is_private_folder(run: ProgramRun) -> bool:
    """Whether it is `chmod` that leaves folders, but not what is in them, to their owner."""
    if run.name != "chmod" or run.words.option_words(run.argv) or len(run.argv) < _WORDS_OF_CHMOD:
        return False
    return _FOLDER_OF_OWNER.fullmatch(run.argv[1]) is not None


_WORDS_OF_CHMOD = 3
_FROM_OTHERS = lazy_re.compile(r"(?:[go]{1,2}-[rwx]{1,3},?){1,4}|[go]{1,2}=")
_FOLDER_OF_OWNER = lazy_re.compile(r"0?7[05]0|0?700")


def _effects(run: ProgramRun, scene: CommandScene) -> tuple[Effect, ...]:
    here = scene.here(run)
    return effects(Reading((run,)), Where(scene.host.home, here, here, scene.host.state_dir))


def _is_config(effect: Effect, scene: CommandScene) -> bool:
    return scene.place(effect.target) == "config"


def _of_mode(run: ProgramRun) -> str:
    mode = run.words.one("mode") or "".join(run.argv[1:2])
    if _FOR_OWNER_ONLY.fullmatch(mode):
        return ""
    return FILES if _UNREADABLE.fullmatch(mode) else CHANGED
