"""What guards less than what a person accepted: as commands and the dashboard show it, and how a person accepts it.

The engine finds weaker settings when it starts (`stores.accepted`). That the gateway does not load the plugin any more is
found here as well: no engine runs then.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from toolguard_cli import configtree, configvars, stores, tables
from toolguard_cli.configtree import ConfigTree
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line
from toolguard_cli.setup import record
from toolguard_cli.setup.entry import ENTRY
from toolguard_engine import answers, pluginstate
from toolguard_engine.config import parse
from toolguard_engine.ledger import Decision
from toolguard_engine.stores import audit, engines
from toolguard_engine.stores.accepted import AcceptedSettings, Notice
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.strictness import PLUGIN, Change, Settings, settings_of, weaker

COMMAND = "config accept"
MAX_SHOWN = 10


@dataclass(frozen=True)
class Weaker:
    """`problem`: why it is not known; empty where it is."""

    notices: tuple[Notice, ...] = ()
    problem: str = ""


def look(places: Places) -> Weaker:
    """Changes nothing."""
    try:
        return Weaker(tuple(found(places)))
    except (StoreError, OSError) as error:
        return Weaker(problem=answers.plain(str(error)))


def found(places: Places) -> list[Notice]:
    """The oldest first. Raises `StoreError`."""
    store = AcceptedSettings(places.state_dir)
    noticed = store.pending()
    why = why_unloaded(places)
    if why is None:
        return noticed
    if not why:  # the engine takes note of it when the gateway starts
        return [each for each in noticed if each.key != ("", PLUGIN)]
    if any(each.key == ("", PLUGIN) for each in noticed):
        return noticed
    known = store.baseline(str(places.config))
    if known is None or not known.of("", PLUGIN):
        return noticed
    return [*noticed, Notice(_changed(places), Change(PLUGIN, old=True, new=False), why)]


def why_unloaded(places: Places) -> str | None:
    """Why the gateway does not load the plugin, as its config says; empty where it does, None where that is not known: also
    while an engine runs, which takes note of its own end."""
    if engines.running(places.state_dir) or not places.config.exists():
        return None
    try:
        plugins, known = stores.plugins(places), record.load(places.record)
    except UserError:
        return None
    if known is None:
        entries = plugins.get("entries")
        is_there = places.extension.exists() or (isinstance(entries, dict) and ENTRY[-1] in entries)
        return pluginstate.why_unloaded(plugins) if is_there else "it is not installed any more"
    return pluginstate.why_unloaded(plugins, known.plugin, str(places.state_dir))


def _changed(places: Places) -> float:
    """When the config was last written."""
    try:
        return places.config.stat().st_mtime
    except OSError:
        return time.time()


def accept(places: Places, seen: Sequence[Notice], decision: Decision) -> list[Notice]:
    """All of what the person saw. Raises `StoreError`."""
    log = audit.AuditLog(places.state_dir).append
    return AcceptedSettings(places.state_dir).accept(seen, str(places.config), decision, time.time(), log)


def settings_in(tree: ConfigTree, places: Places) -> Settings | None:
    """The settings as this config has them; None where they cannot be read."""
    entry = configvars.filled(tree.get(*ENTRY))
    own = entry if isinstance(entry, dict) else {}
    hooks = own.get("hooks")
    plugin = not pluginstate.why_unloaded(configvars.filled(tree.get("plugins")), "", str(places.state_dir))
    try:
        config = parse(own.get("config"))
    except msgspec.ValidationError:
        return None
    return settings_of(
        config, plugin=plugin, conversation=isinstance(hooks, dict) and hooks.get("allowConversationAccess") is True
    )


def between(before: ConfigTree, after: ConfigTree, places: Places) -> tuple[Change, ...]:
    """What a change of the config makes weaker."""
    old, new = settings_in(before, places), settings_in(after, places)
    return weaker(old, new) if old and new else ()


def since(before: ConfigTree | None, places: Places) -> tuple[Change, ...]:
    """What became weaker by what was done to the config since."""
    after = read(places)
    return between(before, after, places) if before and after else ()


def read(places: Places) -> ConfigTree | None:
    """The config, where it can be read."""
    try:
        return configtree.read(places.config)
    except UserError:
        return None


def take(places: Places, changes: Sequence[Change], where: str) -> list[Line]:
    """A person has just made these changes, and so accepted them. What there is to say about that."""
    log = audit.AuditLog(places.state_dir).append
    try:
        AcceptedSettings(places.state_dir).take(str(places.config), changes, stores.decision("", where), time.time(), log)
    except StoreError as error:
        text = f"that you accept this could not be kept, so it will be pointed out: {error}"
        return [Line("warn", answers.plain(text))]
    return []


def words(notice: Notice) -> str:
    """One line."""
    since = f", since {tables.local(notice.since)}" if notice.since > 0 else ""
    return f"{answers.plain(notice.text)}{since}"


def lines(seen: Weaker, places: Places) -> list[Line]:
    """For `status`."""
    if seen.problem:
        return [Line("error", f"whether settings became weaker is not known: {seen.problem}")]
    shown = [Line("warn", f"weaker than what was accepted: {words(each)}") for each in seen.notices[:MAX_SHOWN]]
    if (more := len(seen.notices) - MAX_SHOWN) > 0:
        shown.append(Line("warn", f"and {more} more (toolguard status --json has all)"))
    return [*shown, Line("next", f"{command(places)} if you meant it; else put the setting back")] if shown else []


def command(places: Places) -> str:
    return shlex.join(["toolguard", *COMMAND.split(), *places.given])


def public(notice: Notice) -> dict[str, Any]:
    """For scripts."""
    change = notice.change
    return {
        "setting": notice.setting,
        "text": answers.plain(notice.text),
        "since": notice.since,
        "from": change.old if change else None,
        "to": change.new if change else None,
    }


def data(seen: Weaker) -> dict[str, Any]:
    return {"weaker": [public(each) for each in seen.notices], "problem": seen.problem}
