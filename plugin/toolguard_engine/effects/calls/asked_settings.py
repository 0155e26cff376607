"""The settings that a call has the gateway itself change, compared with those that are there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolguard_engine.effects.calls.known_config import ConfigChange, KnownConfig
from toolguard_engine.effects.control_plane import setting_edits
from toolguard_engine.effects.control_plane.setting_changes import ChangedSetting, differences
from toolguard_engine.effects.control_plane.setting_edits import SettingEdit
from toolguard_engine.effects.control_plane.verb_catalogue import EFFECTS, PASSING
from toolguard_engine.effects.facts.command import Effect, ProgramRun, Reading
from toolguard_engine.effects.programs.gateway_programs import own_words
from toolguard_engine.effects.programs.wrappers import AWAY

MAX_SHOWN = 40
_VERBS = ("openclaw config set", "openclaw config unset", "openclaw config patch", "openclaw gateway call config.")
_ACTIONS = ("gateway config.", "openclaw config_set", "openclaw message config set")


def of_program(program: ProgramRun) -> tuple[SettingEdit, ...] | None:
    """The changes that a program asks for; None if it is not the gateway's command line, or they are not known."""
    words = own_words(program)
    if words is None or program.assigns or program.origin is not None or not AWAY.isdisjoint(program.via):
        return None
    return setting_edits.of_words(words, program.stdin.text if program.stdin else None)


def changed(config: KnownConfig, steps: Iterable[tuple[SettingEdit, ...]]) -> list[tuple[ChangedSetting, ...]] | None:
    """The settings that differ after each step from what was there before it. None if that is not known."""
    changes: list[tuple[ChangedSetting, ...]] = []
    before = config.current()
    for edits in steps:
        after = setting_edits.applied(before, edits) if before is not None else None
        differing = differences(before, after) if after is not None else setting_edits.unseen(edits)
        if differing is None:
            return None
        changes.append(differing)
        before = after
    return changes


def may_ask(commands: tuple[str, ...]) -> bool:
    """A quick look whether they name the gateway."""
    for text in commands:  # noqa: SIM110 - a generator takes twice as long
        if "claw" in text.lower():
            return True
    return False


def of_commands(readings: tuple[Reading, ...], config: KnownConfig) -> ConfigChange | None:
    """What commands have the gateway change; None if that is nothing, or not known."""
    asked = [(program, of_program(program)) for reading in readings for program in reading.runs]
    known = [(program, edits) for program, edits in asked if edits is not None]
    found = changed(config, [edits for _, edits in known]) if known else None
    if found is None:
        return None
    by_program = tuple(zip([program for program, _ in known], found, strict=True))
    return ConfigChange(tuple(change for changes in found for change in changes), asked=by_program)


def of_tool(tool: str, params: dict[str, Any], config: KnownConfig) -> ConfigChange | None:
    """What a call of one of the gateway's tools changes; None if that is nothing, or not known."""
    edits = setting_edits.of_tool(tool, params)
    changes = changed(config, [edits]) if edits is not None else None
    return ConfigChange(changes[0], asked=((None, changes[0]),)) if changes is not None else None


def as_settings(
    acts: tuple[tuple[Effect, ...], ...], asked: tuple[tuple[ProgramRun | None, tuple[ChangedSetting, ...]], ...]
) -> tuple[tuple[Effect, ...], ...]:
    """Effects in which what the gateway is asked for is shown setting by setting."""
    lists = list(acts)
    for program, settings in asked:
        at = next((at for at, effects in enumerate(lists) if any(effect.program is program for effect in effects)), 0)
        lists[at] = shown(lists[at], settings, program)
    return tuple(lists)


def shown(
    effects: tuple[Effect, ...], settings: tuple[ChangedSetting, ...], program: ProgramRun | None = None
) -> tuple[Effect, ...]:
    """The effects with one for each setting, in place of those that only name what is asked for."""
    begins = _VERBS if program is not None else _ACTIONS
    kept: list[Effect] = []
    verb, named = "", frozenset[str]()
    for effect in effects:
        if effect.kind == "gateway" and effect.program is program and effect.target.startswith(begins):
            verb = verb or next(start for start in begins if effect.target.startswith(start))
            named |= effect.flags - EFFECTS
        else:
            kept.append(effect)
    more = (setting for setting in settings[:MAX_SHOWN] if setting.effect.effect not in (*PASSING, "guard"))
    return (*kept, *(_shown(change, verb.removesuffix(" config."), program, named) for change in more))


def _shown(setting: ChangedSetting, verb: str, program: ProgramRun | None, named: frozenset[str]) -> Effect:
    return Effect("gateway", f"{verb or 'openclaw.json'} {setting.shown}", "", named | {setting.effect.effect}, program)
