"""Installs the plugin into a gateway, enables it and records both: for the command, doctor, the demo and the rig."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from toolguard_cli import migrations
from toolguard_cli.hostconfig import config_file, config_tree
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.hostconfig.setting_errors import explain
from toolguard_cli.setup import install_record as record
from toolguard_cli.setup import plugin_entry, plugin_folder
from toolguard_cli.setup.config_lock import locked
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine import __version__
from toolguard_engine.config import settings


def run(places: Places, *, link: bool, dry_run: bool) -> Result:
    """Raises `UserError`; then nothing was changed."""
    source = paths.plugin_source()
    if link:
        _check_link(source)
    plan = _Plan(places, source, link=link)
    if dry_run:
        return _result(plan, done=False, backups=[])
    with locked(places):
        plan = _Plan(places, source, link=link)
        backups = _perform(plan)
    return _result(plan, done=True, backups=backups)


class _Plan:
    def __init__(self, places: Places, source: Path, *, link: bool) -> None:
        self.places = places
        self.source = source
        self.mode: Literal["copy", "link"] = "link" if link else "copy"
        self.config = config_tree.read(places.config)
        self.known = record.load(places.record)
        if self.known and self.known.edits and self.known.config != str(self.config.path):
            raise UserError(
                f"toolguard is installed for {self.known.config}",
                "run toolguard uninstall, then try again; or pass that config with --config",
            )
        self.plugin = source if link else places.extension
        old_link = self.known.plugin if self.known and self.known.mode == "link" else None
        self.edits = plugin_entry.wanted(self.config, str(source) if link else None, old_link)
        self.copies = not link and not plugin_folder.same(source, places.extension)
        self.removes_copy = link and places.extension.exists()
        if self.copies or self.removes_copy:
            plugin_folder.refuse_foreign(places.extension)
        self.draft = Draft(self.config)
        plugin_entry.apply(self.draft, self.edits)

    @property
    def record(self) -> record.Record:
        """All edits since the file was first changed, and its state before."""
        earlier = self.known if self.known and self.known.edits else None
        now = self.edits
        kept = earlier.edits if earlier else []
        if now and kept[-len(now) :] == now:  # made again, because the install that recorded them was interrupted
            kept = kept[: -len(now)]
        continued = earlier is not None and bool(kept or not now)
        files = [change.file for change in self.draft.changes() if change.file.path != self.config.path]
        touched = {str(file.path): config_file.digest(file.data) for file in files}
        return record.Record(
            version=__version__,
            python=sys.executable,
            mode=self.mode,
            plugin=str(self.plugin),
            config=str(self.config.path),
            before=earlier.before if earlier and continued else config_file.digest(self.config.main.data),
            edits=[*kept, *now],
            others={**touched, **(earlier.others if earlier and continued else {})},
        )

    @property
    def is_backed_up(self) -> bool:
        """Whether toolguard has changed the config before: the first backup is kept."""
        is_other = self.known is not None and self.known.before != config_file.digest(self.config.main.data)
        return is_other or config_file.backup_path(self.config.path.resolve()).exists()

    @property
    def changes(self) -> bool:
        same_record = self.known is not None and self.known == self.record
        return bool(self.edits or self.copies or self.removes_copy or not same_record)


def _perform(plan: _Plan) -> list[Path]:
    """Writes the record first, so that an interrupted install can be finished or undone."""
    plugin_folder.sweep(plan.places.state_dir)
    had_copy = plan.places.extension.exists()
    try:
        if plan.changes:
            record.save(plan.places.record, plan.record)
        if plan.copies:
            plugin_folder.copy(plan.source, plan.places.extension, __version__)
        backups = plan.draft.write(again=plan.is_backed_up)
    except (UserError, OSError):
        _take_back(plan, had_copy=had_copy)
        raise
    if plan.removes_copy:
        plugin_folder.remove(plan.places.extension)
    return backups


def _take_back(plan: _Plan, *, had_copy: bool) -> None:
    """Undo as much as the disk allows: the first error is reported. Edits that were recorded and not made do no harm."""
    with suppress(UserError, OSError):
        if plan.copies and not had_copy:
            plugin_folder.remove(plan.places.extension)
    with suppress(OSError):
        if plan.known:
            record.save(plan.places.record, plan.known)
        else:
            plan.places.record.unlink(missing_ok=True)


def _check_link(source: Path) -> None:
    if refusals := plugin_folder.refusals(source):
        raise UserError(
            f"OpenClaw would refuse to load the plugin from there: {refusals[0]}",
            "run `toolguard install` without --link: it makes a copy of its own",
        )


def _result(plan: _Plan, *, done: bool, backups: list[Path]) -> Result:
    data = {
        "changed": plan.changes,
        "dryRun": not done,
        "mode": plan.mode,
        "plugin": str(plan.plugin),
        "config": str(plan.config.path),
        "edits": [f"{edit.kind} {edit.words}" for edit in plan.edits],
        "backup": str(backups[0]) if backups else None,
        "python": sys.executable,
    }
    return Result("install", data, tuple(_lines(plan, done=done, backups=backups)))


def _lines(plan: _Plan, *, done: bool, backups: list[Path]) -> list[Line]:
    old = migrations.find(plan.draft.tree)
    after = [Line("next", f"toolguard migrate takes over from {', '.join(old)}")] if old else []
    if not plan.changes:
        nothing = Line("ok", f"already installed at {plan.plugin}; nothing to change")
        return [nothing, *after, Line("next", "toolguard doctor")]
    lines = [Line("ok", _step_line(words, done=done)) for words in _steps(plan)]
    if plan.edits and not plan.config.exists:
        lines.append(Line("info", f"{plan.config.path} did not exist" + (": it was created" if done else " yet")))
    lines += [Line("info", f"backup of the file: {backup}") for backup in backups]
    lines += [Line("warn", text) for text in _warnings(plan)]
    if not done:
        return [*lines, Line("info", "nothing was written (--dry-run)")]
    return [*lines, *after, Line("next", "toolguard doctor")]


def _steps(plan: _Plan) -> list[tuple[str, str]]:
    steps = []
    if plan.copies:
        steps.append(("copy", f"the plugin to {plan.plugin}"))
    if plan.mode == "link":
        steps.append(("link", f"the plugin at {plan.plugin}: changes there take effect at the next reload"))
    if plan.removes_copy:
        steps.append(("remove", f"the earlier copy at {plan.places.extension}"))
    steps += [(edit.kind, f"{edit.words} in {plan.config.owner(edit.path).file.path}") for edit in plan.edits]
    if not steps or (plan.known and plan.known.python != sys.executable):
        steps.append(("record", f"{sys.executable} as the Python that runs the engine"))
    return steps


_DONE = {"copy": "copied", "link": "linked", "remove": "removed", "record": "recorded", "set": "set", "append": "added"}


def _step_line(step: tuple[str, str], *, done: bool) -> str:
    verb, what = step
    plain = "add" if verb == "append" else verb
    return f"{_DONE[verb]} {what}" if done else f"would {plain} {what}"


def _warnings(plan: _Plan) -> list[str]:
    """Existing settings that keep the plugin from working."""
    warnings = []
    if plan.config.get("plugins", "enabled") is False:
        warnings.append("plugins.enabled is false: the gateway loads no plugin until it is true")
    try:
        settings.parse(plan.config.get(*plugin_entry.ENTRY, "config"))
    except msgspec.ValidationError as error:
        warnings.append(f"the gateway will not start with {explain(error)}")
    return warnings
