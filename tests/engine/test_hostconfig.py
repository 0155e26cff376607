"""What the gateway's config says about plugins, and whether it still loads ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tables import each_row
from toolguard_engine.host.plugin_state import is_found, why_unloaded
from toolguard_engine.stores import gateway_config

PLUGINS = {"enabled": True, "allow": ["a/*b*/", 'c"d'], "entries": {"toolguard": {"enabled": False, "config": {"n": -1.5}}}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"plugins": PLUGINS, "other": [1, None]}),
        """// a comment, with "quotes"
        {
          /* and { another } */
          plugins: {
            'enabled': true, // on
            allow: ["a/*b*/", 'c"d',],
            entries: { toolguard: { enabled: false, config: { n: -1.5, }, }, },
          },
          $other: .5, hex: 0xff, plus: +1, "nan": NaN,
        }
        """,
    ],
    ids=["JSON", "JSON5"],
)
def test_what_it_says(tmp_path: Path, text: str) -> None:
    path = tmp_path / "openclaw.json"
    path.write_text(text)
    assert gateway_config.plugins(str(path)) == PLUGINS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"plugins"',
        "{plugins: []}",
        "{$include: './x.json'}",
        "{plugins: {$include: './x.json'}}",
        "{plugins: {entries: {$include: './x.json'}}}",
        "{plugins: {enabled: false}} }",
        "{plugins: `x`}",
        "{'plugins': {'enabled\\q': 1}}",
        "[" * 100_000,
        "{plugins:" * 50_000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
    ids=lambda text: text[:30],
)
def test_what_cannot_be_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "openclaw.json"
    path.write_text(text, "latin-1")
    assert gateway_config.plugins(str(path)) is None


@pytest.mark.parametrize(
    "files",
    [
        {"openclaw.json": "{$include: './a.json5'}", "a.json5": json.dumps({"plugins": PLUGINS})},
        {"openclaw.json": "{plugins: {$include: './sub/a.json'}, x: 1}", "sub/a.json": json.dumps(PLUGINS)},
        {
            "openclaw.json": "{$include: './c.json', "
            "plugins: {enabled: true, allow: ['a/*b*/'], entries: {$include: ['./a.json', './sub/b.json']}}}",
            "a.json": '{"toolguard": {"enabled": true}}',
            "sub/b.json": '{"toolguard": {"$include": "../d.json", "enabled": false}}',
            "c.json": '{"plugins": {"enabled": false, "allow": []}}',
            "d.json": '{"enabled": true, "config": {"n": -1.5}}',
        },
        {"openclaw.json": json.dumps({"plugins": PLUGINS, "channels": {"$include": "./not-there.json"}})},
    ],
    ids=["whole", "plugins", "merged", "elsewhere"],
)
def test_what_it_takes_in(tmp_path: Path, files: dict[str, str]) -> None:
    (tmp_path / "sub").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = gateway_config.plugins(str(tmp_path / "openclaw.json"))
    assert found is not None
    assert found["entries"] == PLUGINS["entries"]
    assert found["enabled"] is True
    assert "a/*b*/" in found["allow"]


@pytest.mark.parametrize(
    "text",
    ["{$include: './openclaw.json'}", "{plugins: {$include: ['./openclaw.json', './openclaw.json']}}", "{$include: 3}"],
)
def test_what_takes_itself_in_is_not_known(tmp_path: Path, text: str) -> None:
    path = tmp_path / "openclaw.json"
    path.write_text(text)
    assert gateway_config.plugins(str(path)) is None


def test_no_file_is_waited_for(tmp_path: Path) -> None:
    for path in ("", "a\0b", str(tmp_path), str(tmp_path / "missing"), "/dev/zero"):
        assert gateway_config.plugins(path) is None


@pytest.mark.parametrize("part", ["/*", "'", '"', "'\\", "//", "a ", ",", "/**/", "1.1."], ids=repr)
def test_a_megabyte_of_what_is_never_closed(tmp_path: Path, part: str) -> None:
    """Anything that is not linear would not end."""
    path = tmp_path / "openclaw.json"
    path.write_text("{" + part * (1_000_000 // len(part)))
    assert gateway_config.plugins(str(path)) is None


@each_row(
    ("plugins", "why"),
    [
        ({}, ""),
        (None, ""),
        ({"entries": {"toolguard": {"enabled": True}}}, ""),
        ({"entries": {"toolguard": {}}}, ""),
        ({"entries": {"toolguard": {"enabled": False}}}, "plugins.entries.toolguard.enabled is false"),
        ({"enabled": False}, "plugins.enabled is false"),
        ({"deny": ["toolguard"]}, "plugins.deny names toolguard"),
        ({"allow": ["other"]}, "plugins.allow does not name toolguard"),
        ({"allow": []}, ""),
        ({"allow": ["toolguard"], "deny": ["other"], "enabled": True}, ""),
        ({"enabled": "false", "entries": [], "allow": {}, "deny": 3, "load": []}, ""),
    ],
    ids=str,
)
def test_why_it_is_not_loaded(plugins: Any, why: str) -> None:
    assert why_unloaded(plugins) == why


def test_where_it_is_loaded_from(tmp_path: Path) -> None:
    own, linked = tmp_path / "extensions" / "toolguard", tmp_path / "checkout"
    assert why_unloaded({}, str(own), str(tmp_path)) == "its folder is gone"
    own.mkdir(parents=True)
    linked.mkdir()
    assert why_unloaded({}, str(own), str(tmp_path)) == ""
    assert why_unloaded({}, str(linked), str(tmp_path)) == "plugins.load.paths does not name its folder"
    for paths in ([str(linked)], ["a\0b", 3, f"{linked}/../checkout/"]):
        assert why_unloaded({"load": {"paths": paths}}, str(linked), str(tmp_path)) == ""


NAMED_WIDER = ["{linked}/index.mjs", "{above}", "{above}/other/../", "~/plugins/checkout", "~/plugins"]


@pytest.mark.parametrize("path", NAMED_WIDER)
def test_a_folder_is_named_by_a_file_in_it_and_by_the_one_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    above, linked = tmp_path / "plugins", tmp_path / "plugins" / "checkout"
    for folder in (linked, above / "other"):
        folder.mkdir(parents=True)
    plugins = {"load": {"paths": [path.format(linked=linked, above=above)]}}
    assert is_found(plugins, str(linked), str(tmp_path / "state")) is True
    assert why_unloaded(plugins, str(linked), str(tmp_path / "state")) == ""


@pytest.mark.parametrize("path", ["${TG}/checkout", "plugins/checkout", "./checkout", "~nobody-of-that-name/checkout"])
def test_what_only_the_gateway_can_resolve_is_not_known(tmp_path: Path, path: str) -> None:
    plugins = {"load": {"paths": [path]}}
    assert is_found(plugins, str(tmp_path), str(tmp_path / "state")) is None
    assert why_unloaded(plugins, str(tmp_path), str(tmp_path / "state")) == ""


@pytest.mark.parametrize(
    "paths",
    [[], ["/"], ["/etc/passwd"], ["{root}-2"], ["{root}/a/b/c.mjs"], ["\ud800", "~\ud800", "/\ud800"], "{root}", None],
)
def test_what_names_another_folder(tmp_path: Path, paths: Any) -> None:
    root = tmp_path / "a" / "toolguard"
    root.mkdir(parents=True)
    named = [path.format(root=root) for path in paths] if isinstance(paths, list) else paths
    assert not is_found({"load": {"paths": named}}, str(root), str(tmp_path / "state"))
