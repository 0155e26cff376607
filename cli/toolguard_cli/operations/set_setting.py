"""Sets one value of the config: for `toolguard config set` and the dashboard."""

from __future__ import annotations

from toolguard_cli.operations import setting_names
from toolguard_cli.operations.change_setting import ChangeOptions, SettingChange
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result


def run(places: Places, path: str, text: str, options: ChangeOptions) -> Result:
    """Raises `UserError`; then nothing was written."""
    change = SettingChange(places, "config set", path, options)
    change.named, agent = setting_names.as_the_gateway_calls_it(change.named)
    if agent:
        change.note(f"OpenClaw runs this agent as {agent}; settings under another spelling have no effect")
    value = setting_names.value_for(change.named, text)
    if setting_names.is_meant_otherwise(text, value):
        change.note(f"this setting takes a string, so {text} was read as one")
    whole, shown = change.named.whole, setting_names.shown(value)
    return change.make(
        lambda draft: draft.set(change.named.steps, value), f"set {whole} to {shown}", f"{whole} is already {shown}"
    )
