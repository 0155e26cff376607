"""`toolguard config schema`: the JSON schema of toolguard's settings."""

from __future__ import annotations

import json

from toolguard_cli.commands.command_options import Json, command_app, examples, finish
from toolguard_cli.terminal.result import Result
from toolguard_engine.config import plugin_manifest

app = command_app()


@app.command(epilog=examples("toolguard config schema", "toolguard config schema > toolguard.schema.json"))
def command(as_json: Json = False) -> None:
    """Print the JSON schema of toolguard's settings."""
    finish(run(), as_json=as_json)


def run() -> Result:
    schema = plugin_manifest.config_schema()
    return Result("config schema", {"schema": schema}, printed=json.dumps(schema, indent=2, ensure_ascii=False))
