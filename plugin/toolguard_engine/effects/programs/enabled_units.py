"""Units and agents that start by themselves from now on: effect `enable`. Its target is the file that says what starts, if
the words tell which one it is."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import Act, effect_on
from toolguard_engine.effects.programs.wrappers import AWAY

_VERBS = frozenset({"enable", "reenable"})
_LOADS = frozenset({"load", "bootstrap"})
_UNIT = lazy_re.compile(r"[\w:-][\w.:-]{0,120}(?:@[\w.:-]{1,60})?")
_KINDS = (".service", ".timer", ".socket", ".path", ".target", ".mount", ".automount", ".slice", ".swap")


def _systemctl(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    if _verb(words) not in _VERBS or words.has("--help", "--version"):
        return
    units = words.texts[1:]
    is_plain = not words.unknown and all(map(_UNIT.fullmatch, units)) and not _is_elsewhere(program)
    folder = "~/.config/systemd/user" if words.has("--user") else "/etc/systemd/system"
    for unit in units if is_plain else ("",):
        yield effect_on("enable", f"{folder}/{_file_of(unit)}" if unit else _shown(program), program, where)


def _verb(words: CommandWords) -> str:
    return next(iter(words.texts), "")


def _is_elsewhere(program: ProgramRun) -> bool:
    """Whether another machine, another root folder or all users are meant, or a variable may say where units are."""
    is_away = bool(program.assigns) or not AWAY.isdisjoint(program.via)
    return is_away or program.words.has(
        "--root", "--global", "--host", "--machine", "--image", "--capsule", "--image-policy"
    )


def _file_of(unit: str) -> str:
    name = unit if unit.endswith(_KINDS) else f"{unit}.service"
    stem, sign, instance = name.partition("@")
    return f"{stem}@{instance[instance.rfind('.') :]}" if sign else name


def _launchctl(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    if _verb(words) not in _LOADS:
        return
    files = words.texts[2:] if _verb(words) == "bootstrap" else words.texts[1:]
    is_plain = bool(files) and all(map(_is_agent, files)) and AWAY.isdisjoint(program.via)
    for file in files if is_plain else [_shown(program)]:
        yield effect_on("enable", file, program, where)


def _is_agent(word: str) -> bool:
    return word.endswith(".plist") and UNKNOWN not in word


def _loginctl(program: ProgramRun, where: Where) -> Iterator[Effect]:
    if "enable-linger" in program.words.texts:
        yield effect_on("enable", _shown(program), program, where)


def _shown(program: ProgramRun) -> str:
    return " ".join(program.argv)


PROGRAMS: dict[str, Act] = {"systemctl": _systemctl, "launchctl": _launchctl, "loginctl": _loginctl}
