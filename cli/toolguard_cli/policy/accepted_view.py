"""Settings that guard less than the accepted ones: how they are shown and accepted.

The engine detects weaker settings when it starts (`stores.files.accepted_settings`). This module also detects that the
gateway no longer loads the plugin, because no engine runs then.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from toolguard_cli.hostconfig import config_tree, env_vars, gateway_stores
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.setup import install_record
from toolguard_cli.setup.plugin_entry import ENTRY
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import (
    ORDERS,
    PLUGIN,
    EffectiveSettings,
    StrictnessChange,
    settings_of,
    shown,
    weaker,
)
from toolguard_engine.host import plugin_state
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.accepted_settings import Notice
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

COMMAND = "config accept"
MAX_SHOWN = 10


@dataclass(frozen=True)
class Weaker:
    """`problem`: why the notices are unknown; else empty."""

    notices: tuple[Notice, ...] = ()
    problem: str = ""


def look(places: Places) -> Weaker:
    """What is weaker. Changes nothing."""
    try:
        return Weaker(tuple(load(places)))
    except (StoreError, OSError) as error:
        return Weaker(problem=printable.plain(str(error)))


def load(places: Places) -> list[Notice]:
    """Oldest first. Raises `StoreError`."""
    store = stores.accepted_settings(places.state_dir)
    noticed = store.pending()
    why = why_unloaded(places)
    if why is None:
        return noticed
    if not why:  # the engine records it when the gateway starts
        return [notice for notice in noticed if notice.key != ("", PLUGIN)]
    if any(notice.key == ("", PLUGIN) for notice in noticed):
        return noticed
    known = store.baseline(str(places.config))
    if known is None or not known.get("", PLUGIN):
        return noticed
    return [*noticed, Notice(_changed(places), StrictnessChange(PLUGIN, old=True, new=False), why)]


def why_unloaded(places: Places) -> str | None:
    """Why the gateway does not load the plugin, according to its config. Empty if it does; None if unknown, or if an engine
    runs, which records its own end."""
    if stores.engines(places.state_dir).running() or not places.config.exists():
        return None
    try:
        plugins, known = gateway_stores.plugins(places), install_record.load(places.record)
    except UserError:
        return None
    if known is None:
        entries = plugins.get("entries")
        is_there = places.extension.exists() or (isinstance(entries, dict) and ENTRY[-1] in entries)
        return plugin_state.why_unloaded(plugins) if is_there else "it is no longer installed"
    return plugin_state.why_unloaded(plugins, known.plugin, str(places.state_dir))


def _changed(places: Places) -> float:
    try:
        return places.config.stat().st_mtime
    except OSError:
        return time.time()


def accept(places: Places, seen: Sequence[Notice], decision: Decision) -> list[Notice]:
    """Accepts all notices that the user saw. Raises `StoreError`."""
    log = stores.audit_log(places.state_dir).append
    return stores.accepted_settings(places.state_dir).accept(seen, str(places.config), decision, time.time(), log)


def settings_in(tree: ConfigTree, places: Places) -> EffectiveSettings | None:
    entry = env_vars.filled(tree.get(*ENTRY))
    own = entry if isinstance(entry, dict) else {}
    hooks = own.get("hooks")
    plugin = not plugin_state.why_unloaded(env_vars.filled(tree.get("plugins")), "", str(places.state_dir))
    try:
        config = parse(own.get("config"))
    except msgspec.ValidationError:
        return None
    return settings_of(
        config, plugin=plugin, conversation=isinstance(hooks, dict) and hooks.get("allowConversationAccess") is True
    )


def between(before: ConfigTree, after: ConfigTree, places: Places) -> tuple[StrictnessChange, ...]:
    old, new = settings_in(before, places), settings_in(after, places)
    return weaker(old, new) if old and new else ()


@dataclass(frozen=True)
class Made:
    """The effect of a change of the config. `weaker`: than the accepted value or than the previous value in the file.
    `by_hand`: lines about settings whose previous value in the file was weaker than the accepted one."""

    weaker: tuple[StrictnessChange, ...] = ()
    by_hand: tuple[str, ...] = ()


def made(before: ConfigTree, after: ConfigTree, places: Places) -> Made:
    """The effect on the touched settings, compared with the accepted ones; unaccepted values are listed."""
    old, new = settings_in(before, places), settings_in(after, places)
    if not old or not new:
        return Made()
    touched = _touched(old, new)
    known = _baseline(places) or old
    by_key = {(change.agent, change.name): change for change in (*weaker(old, new), *weaker(known, new))}
    changes = tuple(by_key[key] for key in touched if key in by_key)
    unaccepted = {(change.agent, change.name) for change in weaker(known, old)}
    by_hand = (
        f"{StrictnessChange(name, None, None, agent).setting}: the accepted value was {shown(known.get(agent, name))}, "
        f"the file had {shown(old.get(agent, name))} (changed by hand, not accepted); "
        f"it is now {shown(new.get(agent, name))}"
        for agent, name in touched
        if (agent, name) in unaccepted
    )
    return Made(changes, tuple(by_hand))


def _touched(old: EffectiveSettings, new: EffectiveSettings) -> list[tuple[str, str]]:
    """(agent, name) of the settings whose values differ; for an agent, only its own settings."""
    general = [("", name) for name in ORDERS if old.get("", name) != new.get("", name)]
    agents = sorted({*old.agents, *new.agents})
    own = ((agent, name) for agent in agents for name in {*old.agents.get(agent, {}), *new.agents.get(agent, {})})
    return [*general, *(key for key in sorted(own) if old.get(*key) != new.get(*key))]


def _baseline(places: Places) -> EffectiveSettings | None:
    try:
        return stores.accepted_settings(places.state_dir).baseline(str(places.config))
    except (StoreError, OSError):
        return None  # `status` and `doctor` report the error in the record


def since(before: ConfigTree | None, places: Places) -> tuple[StrictnessChange, ...]:
    """What became weaker through changes of the config since `before`."""
    after = read(places)
    return between(before, after, places) if before and after else ()


def read(places: Places) -> ConfigTree | None:
    try:
        return config_tree.read(places.config)
    except UserError:
        return None


def take(places: Places, changes: Sequence[StrictnessChange], where: str) -> list[Line]:
    """A user has just changed the config: accepts what became weaker. Returns warnings."""
    log = stores.audit_log(places.state_dir).append
    try:
        stores.accepted_settings(places.state_dir).take(
            str(places.config), changes, gateway_stores.decision("", where), time.time(), log
        )
    except StoreError as error:
        text = f"your acceptance of this could not be saved, so it will be reported: {error}"
        return [Line("warn", printable.plain(text))]
    return []


def describe(notice: Notice) -> str:
    since = f", since {printable.moment(notice.since)}" if notice.since > 0 else ""
    return f"{printable.plain(notice.text)}{since}"


def lines(seen: Weaker, places: Places) -> list[Line]:
    if seen.problem:
        return [Line("error", f"cannot determine whether settings have become weaker: {seen.problem}")]
    rows = [Line("warn", f"weaker than the accepted setting: {describe(notice)}") for notice in seen.notices[:MAX_SHOWN]]
    if (more := len(seen.notices) - MAX_SHOWN) > 0:
        rows.append(Line("warn", f"and {more} more (toolguard status --json lists all)"))
    return [*rows, Line("next", f"{command(places)} accepts it; otherwise restore the setting")] if rows else []


def command(places: Places) -> str:
    return shlex.join(["toolguard", *COMMAND.split(), *places.given])


def public(notice: Notice) -> dict[str, Any]:
    change = notice.change
    return {
        "setting": notice.setting,
        "text": printable.plain(notice.text),
        "since": notice.since,
        "from": change.old if change else None,
        "to": change.new if change else None,
    }


def data(seen: Weaker) -> dict[str, Any]:
    return {"weaker": [public(notice) for notice in seen.notices], "problem": seen.problem}
