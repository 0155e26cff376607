"""The plugin manifest, made from the settings (`config.py`) and the words for them (`toolguard_manifests/plugin.toml`).

It names no `legacyPluginIds`: the gateway (tried on 2026.9.6) ignores the entry of an old id as stale with them as without
them, so they would promise a move that only `toolguard migrate` makes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
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
_OF_AN_AGENT = "agents.*."


def build() -> dict[str, Any]:
    """`openclaw.plugin.json` as a value. Raises `ValueError` where settings, their words and their groups differ."""
    words = tomllib.loads(files("toolguard_manifests").joinpath("plugin.toml").read_text("utf-8"))
    schema = config_schema()
    return {
        **words["manifest"],
        "version": __version__,
        "configSchema": schema,
        "configGroups": _groups(words, schema),
        "uiHints": _hints(words, schema),
    }


def config_schema() -> dict[str, Any]:
    """JSON schema of the plugin's entry, with every reference put in place: the gateway's settings page follows none.

    Settings with inner ones have no default of their own: the page would write all of it when one of them is changed.
    """
    (schema,), components = msgspec.json.schema_components([Config])
    name = schema["$ref"].rpartition("/")[2]
    inlined: dict[str, Any] = _inline(components[name], components)
    inlined.pop("title", None)
    inlined.pop("description", None)
    for setting, default in msgspec.to_builtins(Config()).items():
        if "properties" not in inlined["properties"][setting]:
            inlined["properties"][setting].setdefault("default", default)
    return inlined


def setting_paths(schema: dict[str, Any]) -> Iterator[str]:
    """The dotted names of all settings, outer before inner; `*` stands for the keys that a person chooses."""
    inner = dict(schema.get("properties", {}))
    if isinstance(chosen := schema.get("additionalProperties"), dict):
        inner["*"] = chosen
    for key, below in inner.items():
        yield key
        yield from (f"{key}.{path}" for path in setting_paths(below))


def _groups(words: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    times = Counter(setting for group in words["group"] for setting in group["settings"])
    times.subtract(schema["properties"].keys())
    if odd := sorted(setting for setting, surplus in times.items() if surplus):
        raise ValueError(f"settings that are not in exactly one group: {odd}")
    return [
        {"id": group["id"], "title": group["title"], "order": place, "properties": group["settings"]}
        for place, group in enumerate(words["group"], 1)
    ]


def _hints(words: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The words of each setting, in the order of the page. The page sorts inner settings by `order`, else by name."""
    spoken = words["ui"]
    settings = [setting for group in words["group"] for setting in group["settings"]]
    paths = list(setting_paths({"properties": {setting: schema["properties"][setting] for setting in settings}}))
    if odd := set(spoken) ^ {_spoken_as(path, spoken) for path in paths}:
        raise ValueError(f"settings and their words differ: {sorted(odd)}")
    return {path: {**_hint(path, words), "order": place} for place, path in enumerate(paths, 1)}


def _spoken_as(path: str, spoken: dict[str, Any]) -> str:
    """Whose words are shown: an agent's setting has those of the general one unless it has its own."""
    return path if path in spoken else path.removeprefix(_OF_AN_AGENT)


def _hint(path: str, words: dict[str, Any]) -> dict[str, Any]:
    spoken = words["ui"]
    own = spoken[_spoken_as(path, spoken)]
    outer = [path[: dot.start()] for dot in re.finditer(r"\.|$", path)]
    advanced = any(spoken[_spoken_as(step, spoken)].get("advanced") for step in outer)
    return {**own, "help": words["ui"].get(path, words["of_an_agent"])["help"], "advanced": advanced}


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
