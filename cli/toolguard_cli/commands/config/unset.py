"""`toolguard config unset`: takes a key out, so that its default counts again."""

from __future__ import annotations

from toolguard_cli.commands.config import get, names
from toolguard_cli.commands.config.change import Change, Options
from toolguard_cli.commands.config.names import Named
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Result
from toolguard_cli.validation.subject import DEFAULTS, value_at
from toolguard_engine import answers


def run(places: Places, path: str, options: Options) -> Result:
    """Raises `UserError`; then nothing was written."""
    change = Change(places, "config unset", path, options)
    if change.draft.tree.part(change.named.steps) is None:
        change.named, _ = names.as_the_gateway_calls_it(change.named)
    named = change.named
    _refuse_no_name(named, change, root=options.root)
    default = value_at(DEFAULTS, named.setting) if named.is_ours else None
    counts = f"; its default counts: {names.shown(default)}" if default is not None else ""
    return change.make(
        lambda draft: draft.delete(named.steps), f"unset {named.whole}{counts}", f"{named.whole} is not set{counts}"
    )


def _refuse_no_name(named: Named, change: Change, *, root: bool) -> None:
    """Raises `UserError` for what is neither set nor the name of a setting or a section."""
    tree = change.draft.tree
    if named.is_ours and named.schema is None and tree.part(named.steps) is None:
        raise UserError(*get.missing(tree, named))
    if not named.is_ours and not root and named.steps[0] not in tree.value:
        raise UserError(
            f"toolguard has no setting {answers.cut(named.whole, 80)}, and the config no such key",
            "toolguard config show lists all settings",
        )
