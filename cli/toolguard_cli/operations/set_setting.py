"""Sets values of the config: for `toolguard config set` and the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.operations import setting_names
from toolguard_cli.operations.change_setting import ChangeOptions, SettingChange
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result


def run(places: Places, path: str, text: str, options: ChangeOptions) -> Result:
    """Raises `UserError`; then nothing was written."""
    return run_all(places, [(path, text)], options)


def run_all(places: Places, pairs: Sequence[tuple[str, str]], options: ChangeOptions) -> Result:
    """All of them or none, in one write. Raises `UserError`; then nothing was written."""
    first, *more = (path for path, _ in pairs)
    change = SettingChange(places, "config set", first, options, *more)
    values = [_value(change, at, text) for at, (_, text) in enumerate(pairs)]
    wholes = [named.whole for named in change.all]
    if twice := next((whole for whole in wholes if wholes.count(whole) > 1), ""):
        raise UserError(f"{twice} is given twice", "nothing was written; give it once")

    def edit(draft: Draft) -> None:
        for named, value in zip(change.all, values, strict=True):
            draft.set(named.steps, value)

    shown = [setting_names.shown(value) for value in values]
    done = ", ".join(f"{whole} to {value}" for whole, value in zip(wholes, shown, strict=True))
    same = ", ".join(f"{whole} is already {value}" for whole, value in zip(wholes, shown, strict=True))
    return change.make(edit, f"set {done}", same)


def _value(change: SettingChange, at: int, text: str) -> Any:
    change.all[at], agent = setting_names.as_the_gateway_calls_it(change.all[at])
    if agent:
        change.note(f"OpenClaw runs this agent as {agent}; settings under another spelling have no effect")
    value = setting_names.value_for(change.all[at], text)
    if setting_names.is_meant_otherwise(text, value):
        change.note(f"this setting takes a string, so {text} was read as one")
    return value
