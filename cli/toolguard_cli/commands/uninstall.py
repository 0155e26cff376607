"""`toolguard uninstall`: removes the plugin and restores the config."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from toolguard_cli.commands.command_options import DryRun, Yes, command, command_app
from toolguard_cli.hostconfig import config_file, config_tree, gateway_stores
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations import journal
from toolguard_cli.operations import reload_note
from toolguard_cli.person import require_human
from toolguard_cli.setup import engine_code, install_record, plugin_entry, plugin_folder
from toolguard_cli.setup.config_lock import locked
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.config.settings import DEFAULT_METRICS_PATH
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

app = command_app()


@dataclass(frozen=True)
class _Plan:
    """`draft`: the config without toolguard's lines. `about_old`: what the user must know about a migration."""

    places: Places
    known: install_record.Record
    draft: Draft
    about_old: list[Line]
    notes: list[Line] = field(default_factory=list)

    @property
    def config(self) -> ConfigTree:
        return self.draft.before

    @property
    def removes_config(self) -> bool:
        """Whether `install` created the config and nothing else was added to it."""
        return self.config.exists and self.known.before == "" and self.draft.tree.main.text.strip() == "{}"

    @property
    def exact(self) -> bool:
        texts = {str(file.path): file.text for file in self.draft.tree.files}
        digests = {name: config_file.digest(text.encode()) for name, text in texts.items()}
        before = {**self.known.others, str(self.config.path): self.known.before}
        return self.removes_config or all(digests.get(name) == digest for name, digest in before.items())


@command(app, "toolguard uninstall --dry-run", "toolguard uninstall --yes")
def run(places: Places, *, yes: Yes = False, dry_run: DryRun = False, as_json: bool = False) -> Result:
    """Remove the plugin from the gateway.

    openclaw.json is restored to its state before the installation; later changes by others are kept. In a terminal, the
    command shows what it would do and asks for confirmation.
    """
    caller = require_human.caller(places, "uninstall", loosens=not dry_run)
    caller.require()
    plan = _plan(places)
    asks = not (yes or dry_run or caller.doubt) and sys.stdin.isatty()
    if plan is not None and asks and not asking.confirm(_intended(plan), "Uninstall?", as_json=as_json, what="this"):
        return Result("uninstall", {"changed": False}, (Line("info", "nothing was changed"),), 1)
    if plan is not None and not dry_run:
        with locked(places):
            plan = _plan(places)
            if plan is not None:
                _perform(plan)
                plan.notes.extend(_acknowledged(plan))
                engine_code.remove()
                places.record.unlink(missing_ok=True)  # last, so that an interrupted uninstall can be repeated
    if plan is None:
        return Result("uninstall", {"changed": False}, (Line("ok", f"not installed in {places.state_dir}; nothing to do"),))
    return _result(plan, done=not dry_run)


def _plan(places: Places) -> _Plan | None:
    """None if nothing is installed."""
    known = install_record.load(places.record)
    if known is None:
        if plugin_folder.is_ours(places.extension):
            raise UserError(
                f"{places.extension} exists, but the record of its installation is missing",
                "run `toolguard install`, then `toolguard uninstall`",
            )
        return None
    draft = Draft(config_tree.read(Path(known.config)))
    if draft.before.exists:
        plugin_entry.undo(draft, known.edits)
    return _Plan(places, known, draft, [*_stays(draft.tree), *_migrated(places)])


def _stays(tree: ConfigTree) -> list[Line]:
    """The lines about toolguard that were in the config before the installation; they are not removed."""
    allow = tree.get(*plugin_entry.ALLOW)
    at = allow.index(PLUGIN_ID) if isinstance(allow, list) and PLUGIN_ID in allow else -1
    paths: list[Steps] = [plugin_entry.ENTRY, *([(*plugin_entry.ALLOW, at)] if at >= 0 else [])]
    left = [(path_name(steps), part.spots[-1].words) for steps in paths if (part := tree.part(steps))]
    note = "stays in the config because it was there before the installation; remove it by hand if you want"
    return [Line("warn", f"{name} ({where}) {note}") for name, where in left]


def _measured(tree: ConfigTree) -> list[Line]:
    """The metrics file, which is shared with other gateways."""
    named = tree.get(*plugin_entry.ENTRY, "config", "metrics", "dbPath")
    path = metrics_path.resolve(named if isinstance(named, str) else DEFAULT_METRICS_PATH)
    if not (path.is_file() or metrics_path.token_path(path).is_file()):
        return []
    return [Line("info", f"kept: {path}, the metrics of all gateways on this machine, and the dashboard's token beside it")]


def _migrated(places: Places) -> list[Line]:
    try:
        migrated = journal.in_force(places)
    except UserError as error:
        return [Line("warn", f"cannot find out whether a migration is in force: {error.message}")]
    if not migrated:
        return []
    note = "the plugins that toolguard took over from stay disabled"
    if migrated.files:
        note += f"; the config that enables them: {journal.kept(places, migrated.number, 0, 'before')}"
    undo = shlex.join(["toolguard", "migrate", "--undo", *places.given])
    return [Line("warn", note), Line("next", f"{undo} enables them again and removes what was migrated")]


def _completing() -> list[Line]:
    """What `--install-completion` wrote."""
    script, start = Path.home() / ".bash_completions" / "toolguard.sh", Path.home() / ".bashrc"
    return [Line("info", f"kept: the completion {script}, and the line about it in {start}")] if script.is_file() else []


def _intended(plan: _Plan) -> list[str]:
    return [line.text for line in _result(plan, done=False).lines[:-1]]


def _perform(plan: _Plan) -> None:
    plan.draft.write(again=True)
    if plan.removes_config:
        plan.config.path.resolve().unlink()
    if plugin_folder.is_ours(plan.places.extension):
        plugin_folder.remove(plan.places.extension)
    plugin_folder.sweep(plan.places.state_dir)


def _acknowledged(plan: _Plan) -> list[Line]:
    """Records in the audit log that a user removed the guard, so that it is not reported as a weakening."""
    line = gateway_stores.event("ended", code="guard.uninstalled", reason="toolguard was uninstalled")
    log, settings = stores.audit_log(plan.places.state_dir), stores.accepted_settings(plan.places.state_dir)
    try:
        if log.files() or settings.path.exists():  # else it never ran
            log.append([line])
            settings.forget(str(plan.config.path))
    except StoreError as error:
        return [Line("warn", printable.plain(f"this could not be written to the audit log: {error}"))]
    return []


def _result(plan: _Plan, *, done: bool) -> Result:
    known, config = plan.known, plan.config
    lines = [_line("removed the plugin" if known.mode == "copy" else "unlinked the plugin", known.plugin, done=done)]
    changed = plan.draft.changes()
    edited = bool(changed)
    if plan.removes_config:
        lines.append(_line("removed the config that install had created", str(config.path), done=done))
    elif edited:
        state = "as it was before the installation" if plan.exact else "other changes are kept"
        names = ", ".join(str(change.file.path) for change in changed)
        lines.append(_line(f"removed toolguard's lines from the config ({state})", names, done=done))
    if done:
        backups = [config_file.backup_path(change.file.path.resolve(), again=True) for change in changed]
        lines += [Line("info", f"backup of the config that still has them: {backup}") for backup in backups]
    if edited and config.get(*plugin_entry.ENTRY, "config"):
        text = "were removed with its entry; the backup still has them" if done else "would be removed with its entry"
        lines.append(Line("warn", f"toolguard's settings {text}"))
    lines += [*plan.notes, *plan.about_old]
    lines.append(Line("info", f"kept: logs, state and your own rules in {plan.places.own}, and the log of malformed calls"))
    lines += [*_measured(config), *_completing()]
    lines.append(
        Line("next", reload_note.after_removal(config)) if done else Line("info", "nothing was written (--dry-run)")
    )
    data = {
        "changed": True,
        "dryRun": not done,
        "config": str(config.path),
        "exact": plan.exact,
        "plugin": known.plugin,
    }
    return Result("uninstall", data, tuple(lines))


_WOULD = {"removed": "remove", "unlinked": "unlink"}


def _line(what: str, where: str, *, done: bool) -> Line:
    verb, _, rest = what.partition(" ")
    return Line("ok", f"{what}: {where}" if done else f"would {_WOULD[verb]} {rest}: {where}")
