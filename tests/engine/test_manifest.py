"""The manifest that is made from the settings: words and a place for each of them, and README's table in step."""

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

from toolguard_engine import manifest
from toolguard_engine.config import Config

ROOT = Path(__file__).resolve().parents[2]
WORDS = files("toolguard_manifests").joinpath("plugin.toml").read_text("utf-8")
HINTS = manifest.build()["uiHints"]
PATHS = set(manifest.setting_paths(manifest.config_schema()))
LEAVES = {path for path in PATHS if not any(other.startswith(f"{path}.") for other in PATHS)}
OF_AN_AGENT = "agents.*."
HOST_HINTS = {"label", "help", "tags", "advanced", "sensitive", "placeholder", "order"}


def test_the_committed_manifest_is_in_step() -> None:
    committed = (ROOT / "plugin" / "gateway" / "openclaw.plugin.json").read_text("utf-8")
    assert manifest.encode(manifest.build()) == committed


def test_the_schema_itself_is_valid_and_flat() -> None:
    schema = manifest.config_schema()
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
    assert {keyword for node in nodes(manifest.config_schema()) for keyword in node} & UNSHOWN == set()


def test_only_settings_without_inner_ones_have_a_default() -> None:
    assert [node for node in nodes(manifest.config_schema()) if "properties" in node and "default" in node] == []


@pytest.mark.parametrize("path", sorted(path for path in LEAVES if "*" not in path))
def test_the_schema_tells_the_defaults_of_the_types(path: str) -> None:
    node = manifest.config_schema()
    for key in path.split("."):
        node = node["properties"][key]
    assert node.get("default", msgspec.UNSET) == default_of(path)


def test_paths_of_settings() -> None:
    schema = {
        "properties": {
            "one": {"type": "integer"},
            "two": {"properties": {"inner": {}}, "additionalProperties": False},
            "map": {"additionalProperties": {"properties": {"own": {}}}},
        }
    }
    assert list(manifest.setting_paths(schema)) == ["one", "two", "two.inner", "map", "map.*", "map.*.own"]


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_setting_has_words(path: str) -> None:
    hint = HINTS[path]
    assert set(hint) <= HOST_HINTS
    assert hint["label"].strip() == hint["label"] != ""
    assert re.fullmatch(r"[^\n]{3,160}[.]", hint["help"])
    assert isinstance(hint["advanced"], bool)


def test_words_are_of_settings_and_stand_in_the_order_of_the_groups() -> None:
    assert set(HINTS) == PATHS
    assert [hint["order"] for hint in HINTS.values()] == list(range(1, len(PATHS) + 1))
    grouped = [setting for group in manifest.build()["configGroups"] for setting in group["properties"]]
    assert [path for path in HINTS if "." not in path] == grouped


def test_what_is_below_an_advanced_setting_is_advanced() -> None:
    assert HINTS["agents.*.mode"]["advanced"] is True
    assert HINTS["mode"]["advanced"] is False
    assert HINTS["approval.mode"]["advanced"] is False
    assert HINTS["approval.agentTool"]["advanced"] is True


def test_groups_are_of_the_form_that_the_gateway_takes() -> None:
    groups = manifest.build()["configGroups"]
    assert all(set(group) == {"id", "title", "order", "properties"} for group in groups)
    assert len({group["id"] for group in groups}) == len({group["title"] for group in groups}) == len(groups)
    assert [group["order"] for group in groups] == sorted({group["order"] for group in groups})
    properties = [setting for group in groups for setting in group["properties"]]
    assert sorted(properties) == sorted(manifest.config_schema()["properties"])


WRONG_WORDS = [
    ("no words", "[ui.mode]", "[ui.fashion]", "settings and their words differ: ['fashion', 'mode']"),
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
    monkeypatch.setattr(manifest, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=re.escape(error)):
        manifest.build()


def readme_rows() -> dict[str, tuple[str, str]]:
    """Key, default and meaning of README's table of settings, as written."""
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## Settings\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("| `")
    ]
    return {key.strip("| `"): (default, meaning.strip("| ")) for key, default, meaning in rows}


def default_of(path: str) -> Any:
    value: Any = msgspec.to_builtins(Config())
    for key in path.split("."):
        value = value.get(key, msgspec.UNSET)
    return value


def test_every_setting_is_in_the_readme_or_what_it_belongs_to() -> None:
    rows = readme_rows()
    assert set(rows) <= PATHS
    assert {leaf for leaf in LEAVES if not any(leaf == row or leaf.startswith(f"{row}.") for row in rows)} == set()


@pytest.mark.parametrize("key", sorted(readme_rows()))
def test_the_readme_tells_the_default(key: str) -> None:
    told, value = readme_rows()[key][0], default_of(key)
    if told.startswith("`") and value is not msgspec.UNSET:
        assert json.loads(told.strip("`")) == value
    else:
        assert value is msgspec.UNSET
