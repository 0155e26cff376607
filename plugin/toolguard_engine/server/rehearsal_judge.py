"""What a person has to see of what a rehearsed command did, judged with the rules and settings of the gateway."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from toolguard_engine.config.settings import parse
from toolguard_engine.containment import rehearsed_effects
from toolguard_engine.containment.rehearsed_changes import RehearsedChange
from toolguard_engine.containment.rehearsed_effects import MAX_CONTENT
from toolguard_engine.effects.facts.place_names import PERSONAL_FOLDERS
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Host
from toolguard_engine.rules import packs
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.rehearsal_files import RehearsalPlan, RehearsalSettings
from toolguard_engine.stores import open as stores


class JudgedRehearsal(NamedTuple):
    """`effects`: what a person has to see, in words; `done`: the same by kind and path; `forbidden`: what no person can
    allow."""

    effects: list[str]
    done: list[tuple[str, str]]
    forbidden: str = ""


def judged(
    changes: list[RehearsedChange], opened: list[str], plan: RehearsalPlan, settings: RehearsalSettings
) -> JudgedRehearsal:
    config, host = parse(settings.config), settings.host
    state = Path(host.state_dir)
    own = (*stores.user_rules(state).rules(), *stores.fleet_rules(state, config.fleet))
    guard = Guard(config, {}, host, packs.load().without(config.rules_off).plus(own), files=FileReader())
    worked_in = _workspace(plan.workspace, host)
    where = Where(host.home, worked_in, worked_in, host.state_dir)
    numbered: list[tuple[int, str, tuple[str, str]]] = []
    for deed in rehearsed_effects.deeds(changes, opened, where, plan.revealed, _content):
        call = replace(
            deed.call, agent=plan.agent, params={name: _readable(param) for name, param in deed.call.params.items()}
        )
        verdict = guard.weigh(call)
        words, path = _readable(deed.words), _readable(deed.path)
        if verdict.decision == "block":
            return JudgedRehearsal([], [], f"it {words}: {verdict.reason}")
        if verdict.decision == "hold" or deed.reason:
            text = f"{words} ({_bare(verdict.reason) or deed.reason})"
            numbered.append((-verdict.score, text, (deed.kind, path)))
    numbered.sort(key=lambda row: row[0])
    return JudgedRehearsal([text for _, text, _ in numbered], [done for _, _, done in numbered])


def _workspace(named: str, host: Host) -> str:
    """Where agents work: their workspace, unless that has the user's own files in it. The folder that the command ran in
    does not count: a model chooses it."""
    inside = f"{named}/".removeprefix(f"{host.home}/")
    is_around = any(f"{folder}/".startswith(f"{named.rstrip('/')}/") for folder in (host.home, host.state_dir))
    if not named or is_around or inside.rstrip("/").lower() in PERSONAL_FOLDERS:
        return f"{host.state_dir}/workspace"
    return named


def _readable(text: str) -> str:
    """Names of files need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _bare(reason: str) -> str:
    """The text without the path that it ends with, which is named already."""
    return reason.partition(". (")[0].rstrip(".")


def _content(path: str) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(MAX_CONTENT)
    return b""
