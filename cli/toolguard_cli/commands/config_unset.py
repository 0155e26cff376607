"""`toolguard config unset`: removes a key, so that its default applies."""

from __future__ import annotations

from functools import partial

from toolguard_cli.commands import config_get as get
from toolguard_cli.commands.command_options import DryRun, Offline, Root, Setting, announce_openclaw, command, command_app
from toolguard_cli.operations import setting_names
from toolguard_cli.operations.change_setting import ChangeOptions, SettingChange
from toolguard_cli.operations.setting_names import NamedSetting
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_cli.validation.subject import DEFAULTS, OWN, value_at
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard config unset mode", "toolguard config unset agents.main --dry-run")
def unset(
    places: Places,
    path: Setting,
    *,
    root: Root = False,
    dry_run: DryRun = False,
    offline: Offline = False,
    as_json: bool = False,
) -> Result:
    """Remove a value, so that its default applies.

    Comments around it are kept. The removal is checked like a change, and refused if the gateway could not start without it.
    """
    announce = partial(announce_openclaw, offline=offline, as_json=as_json)
    return run(places, path, ChangeOptions(root=root, dry_run=dry_run, offline=offline, before_asking=announce))


def run(places: Places, path: str, options: ChangeOptions) -> Result:
    """Raises `UserError`; then nothing was written."""
    change = SettingChange(places, "config unset", path, options)
    named = change.named
    if change.draft.tree.part(named.steps) is None:
        named, _ = setting_names.as_the_gateway_calls_it(named)
        change.all = [named]
    _refuse_no_name(named, change, root=options.root)
    default = value_at(DEFAULTS, named.setting) if named.is_ours else None
    counts = f"; its default applies: {setting_names.shown(default)}" if default is not None else ""
    keep = len(OWN) - 1 if named.is_ours else len(named.steps)
    return change.make(
        lambda draft: draft.unset(named.steps, keep), f"unset {named.whole}{counts}", f"{named.whole} is not set{counts}"
    )


def _refuse_no_name(named: NamedSetting, change: SettingChange, *, root: bool) -> None:
    """Raises `UserError` for a path that is neither set nor a known setting or section."""
    tree = change.draft.tree
    if named.is_ours and named.schema is None and tree.part(named.steps) is None:
        raise UserError(*get.missing(tree, named))
    if not named.is_ours and not root and named.steps[0] not in tree.value:
        raise UserError(
            f"toolguard has no setting {printable.cut(named.whole, 80)}, and the config has no such key",
            "toolguard config show lists all settings",
        )
