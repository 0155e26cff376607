"""`toolguard config schema`: the JSON schema of toolguard's settings."""

from __future__ import annotations

import json

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.terminal.result import Result
from toolguard_engine.config import plugin_manifest

app = command_app()


@command(app, "toolguard config schema", "toolguard config schema > toolguard.schema.json")
def run() -> Result:
    """Print the JSON schema of toolguard's settings."""
    schema = plugin_manifest.config_schema()
    return Result("config schema", {"schema": schema}, printed=json.dumps(schema, indent=2, ensure_ascii=False))
