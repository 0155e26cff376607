"""`toolguard config schema`: the JSON schema of our settings."""

from __future__ import annotations

import json

from toolguard_cli.result import Result
from toolguard_engine import manifest


def run() -> Result:
    schema = manifest.config_schema()
    return Result("config schema", {"schema": schema}, printed=json.dumps(schema, indent=2, ensure_ascii=False))
