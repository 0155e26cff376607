"""`toolguard config set`: one value, in the file that owns it, once it is known that the gateway takes it."""

from __future__ import annotations

from toolguard_cli.commands.config import names
from toolguard_cli.commands.config.change import Change, Options
from toolguard_cli.paths import Places
from toolguard_cli.result import Result


def run(places: Places, path: str, text: str, options: Options) -> Result:
    """Raises `UserError`; then nothing was written."""
    change = Change(places, "config set", path, options)
    change.named, agent = names.as_the_gateway_calls_it(change.named)
    if agent:
        change.note(f"OpenClaw runs this agent as {agent}; settings under another spelling do nothing")
    value = names.value_for(change.named, text)
    if names.is_meant_otherwise(text, value):
        change.note(f"this setting takes a text: {text} was not read as anything else")
    whole, shown = change.named.whole, names.shown(value)
    return change.make(
        lambda draft: draft.set(change.named.steps, value), f"set {whole} to {shown}", f"{whole} is {shown} already"
    )
