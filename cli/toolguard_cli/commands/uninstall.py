"""`toolguard uninstall`: takes the plugin out again and leaves the config as it was before."""

from __future__ import annotations

import secrets
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path

from toolguard_cli import configfile, configtree, inside, stores
from toolguard_cli.configdraft import Draft
from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.errors import UserError
from toolguard_cli.json5_edit import path_name
from toolguard_cli.migrations import journal
from toolguard_cli.paths import PLUGIN_ID, Places
from toolguard_cli.result import Line, Result
from toolguard_cli.setup import entry, folder, record
from toolguard_cli.setup.lock import locked
from toolguard_engine import answers
from toolguard_engine.config import DEFAULT_METRICS_PATH
from toolguard_engine.metrics import place
from toolguard_engine.stores import audit
from toolguard_engine.stores.accepted import AcceptedSettings
from toolguard_engine.stores.locked import StoreError


@dataclass(frozen=True)
class _Plan:
    """What there is to undo. `draft` is the config without toolguard's lines; `about_old` what to know of a migration."""

    places: Places
    known: record.Record
    draft: Draft
    about_old: list[Line]
    told: list[Line] = field(default_factory=list)

    @property
    def config(self) -> ConfigTree:
        return self.draft.before

    @property
    def removes_config(self) -> bool:
        """`install` had made it, and nobody else put anything into it."""
        return self.config.exists and self.known.before == "" and self.draft.tree.main.text.strip() == "{}"

    @property
    def exact(self) -> bool:
        texts = {str(file.path): file.text for file in self.draft.tree.files}
        digests = {name: configfile.digest(text.encode()) for name, text in texts.items()}
        before = {**self.known.others, str(self.config.path): self.known.before}
        return self.removes_config or all(digests.get(name) == digest for name, digest in before.items())


def run(places: Places, *, dry_run: bool) -> Result:
    """Raises `UserError`; then nothing was changed."""
    inside.refuse(places, "uninstall", loosens=not dry_run)
    plan = _plan(places)
    if plan is not None and not dry_run:
        with locked(places):
            plan = _plan(places)
            if plan is not None:
                _perform(plan)
                plan.told.extend(_acknowledged(plan))
    if plan is None:
        return Result("uninstall", {"changed": False}, (Line("ok", f"not installed in {places.state_dir}; nothing to do"),))
    return _result(plan, done=not dry_run)


def _plan(places: Places) -> _Plan | None:
    """None where nothing is installed."""
    known = record.load(places.record)
    if known is None:
        if folder.is_ours(places.extension):
            raise UserError(
                f"{places.extension} is there, but not the record of its installation",
                "run `toolguard install`, then `toolguard uninstall`",
            )
        return None
    draft = Draft(configtree.read(Path(known.config)))
    if draft.before.exists:
        entry.undo(draft, known.undoable())
    return _Plan(places, known, draft, [*_stays(draft.tree), *_migrated(places)])


def _stays(tree: ConfigTree) -> list[Line]:
    """What of toolguard was in the config before it was installed: that is not taken out."""
    allow = tree.get(*entry.ALLOW)
    at = allow.index(PLUGIN_ID) if isinstance(allow, list) and PLUGIN_ID in allow else -1
    paths: list[Steps] = [entry.ENTRY, *([(*entry.ALLOW, at)] if at >= 0 else [])]
    found = [(path_name(steps), part.spots[-1].words) for steps in paths if (part := tree.part(steps))]
    told = "stays in the config, for it was there before the installation; take it out by hand if you want"
    return [Line("warn", f"{told}: {name} ({where})") for name, where in found]


def _measured(tree: ConfigTree) -> list[Line]:
    """The metrics are those of other gateways too."""
    named = tree.get(*entry.ENTRY, "config", "metrics", "dbPath")
    path = place.resolve(named if isinstance(named, str) else DEFAULT_METRICS_PATH)
    if not (path.is_file() or place.token_path(path).is_file()):
        return []
    return [Line("info", f"kept: {path}, the metrics of all gateways of this machine, and the dashboard's token beside it")]


def _migrated(places: Places) -> list[Line]:
    try:
        migrated = journal.in_force(places)
    except UserError as error:
        return [Line("warn", f"whether a migration is in force cannot be told: {error.message}")]
    if not migrated:
        return []
    told = "the plugins that toolguard took over from stay switched off"
    if migrated.files:
        told += f"; the config with them: {journal.kept(places, migrated.number, 0, 'before')}"
    undo = shlex.join(["toolguard", "migrate", "--undo", *places.given])
    return [Line("warn", told), Line("next", f"{undo} switches them on again, and takes out what was migrated")]


def _perform(plan: _Plan) -> None:
    """The record goes last: an uninstall that is interrupted can be repeated."""
    plan.draft.write(again=True)
    if plan.removes_config:
        plan.config.path.resolve().unlink()
    if folder.is_ours(plan.places.extension):
        folder.remove(plan.places.extension)
    folder.sweep(plan.places.state_dir)
    plan.places.record.unlink(missing_ok=True)


def _acknowledged(plan: _Plan) -> list[Line]:
    """A person took the guard out: that is a line of the audit log, and nothing is pointed out about it."""
    line = audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="ended",
        code="guard.uninstalled",
        by=stores.who(),
        where="cli",
        reason="toolguard was uninstalled",
    )
    log, settings = audit.AuditLog(plan.places.state_dir), AcceptedSettings(plan.places.state_dir)
    try:
        if log.files() or settings.path.exists():  # else it never ran
            log.append([line])
            settings.forget(str(plan.config.path))
    except StoreError as error:
        return [Line("warn", answers.plain(f"this could not be written to the audit log: {error}"))]
    return []


def _result(plan: _Plan, *, done: bool) -> Result:
    known, config = plan.known, plan.config
    lines = [_line("removed the plugin" if known.mode == "copy" else "unlinked the plugin", known.plugin, done=done)]
    changed = plan.draft.changes()
    edited = bool(changed)
    if plan.removes_config:
        lines.append(_line("removed the config that install had created", str(config.path), done=done))
    elif edited:
        state = "as it was before the installation" if plan.exact else "what else was changed in it is kept"
        names = ", ".join(str(change.file.path) for change in changed)
        lines.append(_line(f"took toolguard's lines out of the config ({state})", names, done=done))
    if done:
        backups = [configfile.backup_path(change.file.path.resolve(), again=True) for change in changed]
        lines += [Line("info", f"the config with them: {backup}") for backup in backups]
    if edited and config.get(*entry.ENTRY, "config"):
        lines.append(Line("warn", "your settings of toolguard went with its entry; they are in that file"))
    lines += [*plan.told, *plan.about_old]
    lines.append(Line("info", f"kept: logs and state in {plan.places.own} and the log of malformed calls"))
    lines += _measured(config)
    lines.append(Line("next", "restart the gateway") if done else Line("info", "nothing was written (--dry-run)"))
    data = {
        "changed": True,
        "dryRun": not done,
        "config": str(config.path),
        "exact": plan.exact,
        "plugin": known.plugin,
    }
    return Result("uninstall", data, tuple(lines))


_WOULD = {"removed": "remove", "unlinked": "unlink", "took": "take"}


def _line(what: str, where: str, *, done: bool) -> Line:
    verb, _, rest = what.partition(" ")
    return Line("ok", f"{what}: {where}" if done else f"would {_WOULD[verb]} {rest}: {where}")
