"""The manifest and the page that are made from the settings: words and a place for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from toolguard_cli.doctor.checks import entry_check
from toolguard_engine import packaged
from toolguard_engine.config import plugin_manifest, settings_page
from toolguard_engine.config.settings import Config
from toolguard_engine.layers.rubric import SOFT_STAKES

ROOT = Path(__file__).resolve().parents[2]
WORDS = files("toolguard_manifests").joinpath("plugin.toml").read_text("utf-8")
HINTS = plugin_manifest.build()["uiHints"]
PATHS = set(plugin_manifest.setting_paths(plugin_manifest.config_schema()))
LEAVES = {path for path in PATHS if not any(other.startswith(f"{path}.") for other in PATHS)}
OF_AN_AGENT = "agents.*."
HOST_HINTS = {"label", "help", "tags", "advanced", "sensitive", "placeholder", "order"}


def test_the_committed_manifest_is_in_step() -> None:
    committed = (ROOT / "plugin" / "gateway" / "openclaw.plugin.json").read_text("utf-8")
    assert plugin_manifest.encode(plugin_manifest.build()) == committed


def test_the_schema_itself_is_valid_and_flat() -> None:
    schema = plugin_manifest.config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "$ref" not in json.dumps(schema)


UNSHOWN = {"propertyNames", "patternProperties", "minProperties", "maxProperties", "$defs"}


def nodes(schema: Any) -> Iterator[Any]:
    """The schema and all that are inside it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for node in inner:
        if isinstance(node, dict):
            yield from nodes(node)


def test_the_schema_has_nothing_that_the_settings_page_cannot_show() -> None:
    assert {keyword for node in nodes(plugin_manifest.config_schema()) for keyword in node} & UNSHOWN == set()


def test_only_settings_without_inner_ones_have_a_default() -> None:
    assert [node for node in nodes(plugin_manifest.config_schema()) if "properties" in node and "default" in node] == []


def test_the_schema_tells_the_defaults_of_the_types() -> None:
    for path in LEAVES:
        if "*" not in path:
            node = plugin_manifest.config_schema()
            for key in path.split("."):
                node = node["properties"][key]
            assert node.get("default", msgspec.UNSET) == default_of(path), path


def test_paths_of_settings() -> None:
    schema = {
        "properties": {
            "one": {"type": "integer"},
            "two": {"properties": {"inner": {}}, "additionalProperties": False},
            "map": {"additionalProperties": {"properties": {"own": {}}}},
        }
    }
    assert list(plugin_manifest.setting_paths(schema)) == ["one", "two", "two.inner", "map", "map.*", "map.*.own"]


def test_every_setting_has_words() -> None:
    for path in PATHS:
        hint = HINTS[path]
        assert set(hint) <= HOST_HINTS, path
        assert hint["label"].strip() == hint["label"] != "", path
        assert re.fullmatch(r"[^\n]{3,160}[.]", hint["help"]), path
        assert isinstance(hint["advanced"], bool), path


def test_words_are_of_settings_and_stand_in_the_order_of_the_groups() -> None:
    assert set(HINTS) == PATHS
    assert [hint["order"] for hint in HINTS.values()] == list(range(1, len(PATHS) + 1))
    grouped = [setting for group in plugin_manifest.build()["configGroups"] for setting in group["properties"]]
    assert [path for path in HINTS if "." not in path] == grouped


def test_what_is_below_an_advanced_setting_is_advanced() -> None:
    assert HINTS["agents.*.mode"]["advanced"] is True
    assert HINTS["mode"]["advanced"] is False
    assert HINTS["approval.mode"]["advanced"] is False
    assert HINTS["approval.agentTool"]["advanced"] is True


def test_groups_are_of_the_form_that_the_gateway_takes() -> None:
    groups = plugin_manifest.build()["configGroups"]
    assert all(set(group) == {"id", "title", "order", "properties"} for group in groups)
    assert len({group["id"] for group in groups}) == len({group["title"] for group in groups}) == len(groups)
    assert [group["order"] for group in groups] == sorted({group["order"] for group in groups})
    properties = [setting for group in groups for setting in group["properties"]]
    assert sorted(properties) == sorted(plugin_manifest.config_schema()["properties"])


WRONG_WORDS = [
    ("no words", "[ui.mode]", "[ui.fashion]", "settings and their texts differ: ['fashion', 'mode']"),
    ("no inner words", '[ui."approval.wake"]', '[ui."approval.sleep"]', "['approval.sleep', 'approval.wake']"),
    ("in no group", 'settings = ["metrics"]', "settings = []", "settings that are not in exactly one group: ['metrics']"),
    ("in two groups", 'settings = ["metrics"]', 'settings = ["metrics", "mode"]', "exactly one group: ['mode']"),
    ("no setting", 'settings = ["metrics"]', 'settings = ["metrics", "size"]', "exactly one group: ['size']"),
]


@pytest.mark.parametrize(("old", "new", "error"), [row[1:] for row in WRONG_WORDS], ids=[row[0] for row in WRONG_WORDS])
def test_words_and_settings_out_of_step_are_an_error(
    old: str, new: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WORDS.count(old) == 1
    (tmp_path / "plugin.toml").write_text(WORDS.replace(old, new), "utf-8")
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=re.escape(error)):
        plugin_manifest.build()


def documented_defaults() -> dict[str, str]:
    """The default of each setting in the tables of docs/settings.md, as written."""
    rows = [line.strip("| ").split(" | ") for line in settings_page.page().splitlines() if line.startswith("| `")]
    return {key.strip("`"): default for key, _type, default, *_ in rows}


def test_the_committed_page_of_settings_is_in_step() -> None:
    assert settings_page.page() == (ROOT / "docs" / "settings.md").read_text("utf-8")


def test_a_longer_text_belongs_to_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plugin.toml").write_text(f'{WORDS}fashion = "New."\n', "utf-8")
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=re.escape("unknown settings: ['fashion']")):
        settings_page.page()


def default_of(path: str) -> Any:
    value: Any = msgspec.to_builtins(Config())
    for key in path.split("."):
        value = value.get(key, msgspec.UNSET)
    return value


def test_every_setting_is_documented_with_its_default() -> None:
    documented = documented_defaults()
    assert set(documented) == {path for path in PATHS if not path.startswith("agents.*")}
    for path in LEAVES & {path for path in documented if "*" not in path}:
        written = msgspec.UNSET if documented[path] == "not set" else json.loads(documented[path].strip("`"))
        assert written == default_of(path), path


def test_the_mode_soft_has_one_description() -> None:
    """The settings page, docs/settings.md and doctor; what the engine does is tested with the rubric."""
    law = f"calls are held for their score only if their stakes are {SOFT_STAKES} or more"
    assert law in HINTS["mode"]["help"]
    assert law in settings_page.page()
    assert entry_check.MEANS["soft"] == law
