"""`toolguard config unset`: takes a key out, so that its default counts again."""

from __future__ import annotations

from toolguard_cli.commands.config import names
from toolguard_cli.commands.config.change import Change, Options
from toolguard_cli.paths import Places
from toolguard_cli.result import Result
from toolguard_cli.validation.subject import DEFAULTS, value_at


def run(places: Places, path: str, options: Options) -> Result:
    """Raises `UserError`; then nothing was written."""
    change = Change(places, "config unset", path, options)
    if change.draft.tree.part(change.named.steps) is None:
        change.named, _ = names.as_the_gateway_calls_it(change.named)
    named = change.named
    default = value_at(DEFAULTS, named.setting) if named.is_ours else None
    counts = f"; its default counts: {names.shown(default)}" if default is not None else ""
    return change.make(
        lambda draft: draft.delete(named.steps), f"unset {named.whole}{counts}", f"{named.whole} is not set{counts}"
    )
