"""Generates the plugin manifest from the settings (`settings.py`) and their texts (`toolguard_manifests/plugin.toml`).

It has no `legacyPluginIds`: the gateway (tested on 2026.9.6) ignores the entry of an old id either way, and only `toolguard
migrate` moves it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import msgspec

from toolguard_engine import __version__, packaged
from toolguard_engine.config.containment_settings import Profile, Unknown, WhenUnavailable
from toolguard_engine.config.fleet_settings import WhenAway, WhenStale
from toolguard_engine.config.settings import (
    ApprovalMode,
    Config,
    FailMode,
    LimitPeriod,
    LogLevel,
    Mode,
    NotifyEvent,
    PinParams,
    RiskLevel,
)
from toolguard_engine.config.tool_settings import FirstUse

# The settings page shows choices in schema order; msgspec sorts them, but the declared order is better.
_ORDERS = {
    frozenset(get_args(choice)): list(get_args(choice))
    for choice in (
        Mode,
        FailMode,
        LogLevel,
        PinParams,
        ApprovalMode,
        RiskLevel,
        LimitPeriod,
        NotifyEvent,
        WhenAway,
        WhenStale,
        Profile,
        WhenUnavailable,
        FirstUse,
        Unknown,
    )
}
_OF_AN_AGENT = "agents.*."


def build() -> dict[str, Any]:
    """`openclaw.plugin.json` as a value. Raises `ValueError` if settings, their texts and their groups do not match."""
    words = tomllib.loads(packaged.FOLDER.joinpath("plugin.toml").read_text("utf-8"))
    schema = config_schema()
    return {
        **words["manifest"],
        "version": __version__,
        "configSchema": schema,
        "configGroups": _groups(words, schema),
        "uiHints": _hints(words, schema),
    }


@cache
def config_schema() -> dict[str, Any]:
    """JSON schema of the plugin's entry, with references inlined: the gateway's settings page does not follow them.

    Nested settings have no default as a whole: the page would write all of it when one of them changes. Built once, in
    about 10 ms, and shared: do not change it.
    """
    (schema,), components = msgspec.json.schema_components([Config])
    name = schema["$ref"].rpartition("/")[2]
    inlined: dict[str, Any] = _inline(components[name], components)
    inlined.pop("title", None)
    inlined.pop("description", None)
    _set_defaults(inlined, msgspec.to_builtins(Config()))
    return inlined


def _set_defaults(schema: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Those that msgspec leaves out, because they are created again each time."""
    for setting, default in defaults.items():
        inner = schema["properties"][setting]
        if "properties" in inner:
            _set_defaults(inner, default)
        else:
            inner.setdefault("default", default)


def setting_paths(schema: dict[str, Any]) -> Iterator[str]:
    """The dotted names of all settings, outer before inner; `*` stands for user-defined keys."""
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
    """The texts of each setting, in page order. The page sorts inner settings by `order`, else by name."""
    texts = words["ui"]
    settings = [setting for group in words["group"] for setting in group["settings"]]
    paths = list(setting_paths({"properties": {setting: schema["properties"][setting] for setting in settings}}))
    if odd := set(texts) ^ {_text_key(path, texts) for path in paths}:
        raise ValueError(f"settings and their texts differ: {sorted(odd)}")
    return {path: {**_hint(path, words), "order": place} for place, path in enumerate(paths, 1)}


def _text_key(path: str, texts: dict[str, Any]) -> str:
    """The setting whose texts are shown: an agent's setting uses the general one's unless it has its own."""
    return path if path in texts else path.removeprefix(_OF_AN_AGENT)


def _hint(path: str, words: dict[str, Any]) -> dict[str, Any]:
    texts = words["ui"]
    own = texts[_text_key(path, texts)]
    outer = [path[: dot.start()] for dot in re.finditer(r"\.|$", path)]
    advanced = any(texts[_text_key(step, texts)].get("advanced") for step in outer)
    return {**own, "help": texts.get(path, words["of_an_agent"])["help"], "advanced": advanced}


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
