"""The plugin manifest, made from the settings (`config.py`) and the words for them (`toolguard_manifests/plugin.toml`)."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from typing import Any, get_args

import msgspec

from toolguard_engine import __version__
from toolguard_engine.config import ApprovalMode, Config, FailMode, LogLevel, Mode, PinParams, RiskLevel

# The settings page shows choices in the order of the schema; msgspec sorts them, their authors had a better order.
_ORDERS = {
    frozenset(get_args(choice)): list(get_args(choice))
    for choice in (Mode, FailMode, LogLevel, PinParams, ApprovalMode, RiskLevel)
}


def build() -> dict[str, Any]:
    """`openclaw.plugin.json` as a value. Raises `ValueError` where a setting has no words or words have no setting."""
    words = tomllib.loads(files("toolguard_manifests").joinpath("plugin.toml").read_text("utf-8"))
    schema = config_schema()
    hints = words["ui"]
    if odd := set(hints) ^ set(schema["properties"]):
        raise ValueError(f"settings and their words differ: {sorted(odd)}")
    return {**words["manifest"], "version": __version__, "configSchema": schema, "uiHints": hints}


def config_schema() -> dict[str, Any]:
    """JSON schema of the plugin's entry, with every reference put in place: the gateway's settings page follows none."""
    (schema,), components = msgspec.json.schema_components([Config])
    name = schema["$ref"].rpartition("/")[2]
    inlined: dict[str, Any] = _inline(components[name], components)
    inlined.pop("title", None)
    inlined.pop("description", None)
    for setting, default in msgspec.to_builtins(Config()).items():
        inlined["properties"][setting].setdefault("default", default)
    return inlined


def _inline(node: Any, components: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = components[node["$ref"].rpartition("/")[2]]
        return _inline({k: v for k, v in target.items() if k not in ("title", "description")}, components)
    result = {key: _inline(value, components) for key, value in node.items() if key != "required" or value}
    if "enum" in result:
        result |= {"type": "string", "enum": _ORDERS[frozenset(result["enum"])]}
    return result


def encode(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
