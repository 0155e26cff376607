from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from toolguard_cli.hostconfig import config_tree
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.system.errors import UserError

MAIN = "openclaw.json"


def lay(folder: Path, files: dict[str, str]) -> Path:
    """The path of the main config."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder / MAIN


def tree(folder: Path, files: dict[str, str], **env: str) -> ConfigTree:
    return config_tree.read(lay(folder, files), env=env)


def owner(found: ConfigTree, *steps: str | int) -> tuple[str, tuple[str | int, ...]]:
    spot = found.owner(steps)
    return spot.file.path.name, spot.path


MERGES: list[tuple[str, dict[str, str], Any]] = [
    ("none", {MAIN: "{ a: 1 }"}, {"a": 1}),
    ("no file", {}, {}),
    ("one file", {MAIN: "{ a: { $include: './a.json5' } }", "a.json5": "{ b: 1 }"}, {"a": {"b": 1}}),
    ("a file that is a list", {MAIN: "{ a: { $include: 'a.json5' } }", "a.json5": "[1, 2]"}, {"a": [1, 2]}),
    (
        "keys beside it win",
        {MAIN: "{ $include: 'a.json5', x: { y: 1 } }", "a.json5": "{ x: { y: 2, z: 3 }, w: 4 }"},
        {"x": {"y": 1, "z": 3}, "w": 4},
    ),
    (
        "the later file wins, lists are joined",
        {
            MAIN: "{ a: { $include: ['a.json5', 'b.json5'] } }",
            "a.json5": "{ n: 1, l: [1], o: {} }",
            "b.json5": "{ n: 2, l: [2] }",
        },
        {"a": {"n": 2, "l": [1, 2], "o": {}}},
    ),
    (
        "nested, from the main folder",
        {
            MAIN: "{ a: { $include: 'sub/a.json5' } }",
            "sub/a.json5": "{ b: { $include: './b.json5' } }",
            "sub/b.json5": "{ c: '${VAR}' }",
        },
        {"a": {"b": {"c": "${VAR}"}}},
    ),
    ("in a list", {MAIN: "{ a: [0, { $include: 'a.json5' }] }", "a.json5": "{ b: 1 }"}, {"a": [0, {"b": 1}]}),
    ("no files at all", {MAIN: "{ a: { $include: [] }, $include: [] }"}, {"a": {}}),
]


@pytest.mark.parametrize(("files", "value"), [case[1:] for case in MERGES], ids=[case[0] for case in MERGES])
def test_merged_value(tmp_path: Path, files: dict[str, str], value: Any) -> None:
    found = tree(tmp_path, files)
    assert (found.value, found.problems) == (value, ())


SPLIT = {
    MAIN: "{\n  plugins: { $include: 'plugins.json5' },\n  agents: { list: [] },\n"
    "  both: { $include: 'both.json5', own: 1 },\n  several: { $include: ['c.json5', 'd.json5'] },\n}\n",
    "c.json5": "{ c: 1 }\n",
    "d.json5": "{ d: 1 }\n",
    "plugins.json5": "{ entries: { x: { enabled: true } } }\n",
    "both.json5": "{ theirs: 1, own: 2 }\n",
}
OWNERS: list[tuple[tuple[str | int, ...], str, tuple[str | int, ...]]] = [
    (("agents", "list"), MAIN, ("agents", "list")),
    (("new", "key"), MAIN, ("new", "key")),
    (("plugins", "entries", "x", "enabled"), "plugins.json5", ("entries", "x", "enabled")),
    (("plugins", "entries", "y", "enabled"), "plugins.json5", ("entries", "y", "enabled")),
    (("plugins", "allow"), "plugins.json5", ("allow",)),
    (("both", "theirs"), "both.json5", ("theirs",)),
    (("both", "new"), MAIN, ("both", "new")),
]


@pytest.mark.parametrize(("steps", "name", "path"), OWNERS, ids=[".".join(map(str, case[0])) for case in OWNERS])
def test_owner(tmp_path: Path, steps: tuple[str | int, ...], name: str, path: tuple[str | int, ...]) -> None:
    assert owner(tree(tmp_path, SPLIT), *steps) == (name, path)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        pytest.param(("both", "own"), "both.own is merged from ", id="written twice"),
        pytest.param(("both",), "both is merged from ", id="what two files make"),
        pytest.param(("several", "new"), "several.new is merged from ", id="new in what several files make"),
        pytest.param(("plugins",), "plugins is the whole content of ", id="the include itself"),
    ],
)
def test_no_clear_owner(tmp_path: Path, steps: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError) as caught:
        tree(tmp_path, SPLIT).owner(steps)
    assert caught.value.message.startswith(message)
    assert caught.value.fix


def test_a_file_included_twice_has_no_owner(tmp_path: Path) -> None:
    found = tree(tmp_path, {MAIN: "{ a: { $include: 'x.json5' }, b: { $include: 'x.json5' } }", "x.json5": "{ c: 1 }"})
    with pytest.raises(UserError, match="included in several places"):
        found.owner(("a", "c"))


def test_a_file_of_another_root_is_read_but_not_written(tmp_path: Path) -> None:
    lay(tmp_path / "outside", {"x.json5": "{ c: 1 }"})
    files = {MAIN: "{ a: { $include: '../outside/x.json5' } }"}
    found = tree(tmp_path / "in", files, OPENCLAW_INCLUDE_ROOTS=str(tmp_path / "outside"))
    assert (found.value, found.problems) == ({"a": {"c": 1}}, ())
    with pytest.raises(UserError, match="outside the config's folder"):
        found.owner(("a", "c"))


BROKEN: list[tuple[str, dict[str, str], str]] = [
    ("missing", {MAIN: "{ a: { $include: 'x.json5' } }"}, "line 1, column 8: $include x.json5 does not exist"),
    ("outside", {MAIN: "{ a: { $include: '../x.json5' } }"}, "$include ../x.json5 is outside the folder of the config"),
    ("absolute", {MAIN: "{ a: { $include: '/etc/passwd' } }"}, "$include /etc/passwd is outside the folder of the config"),
    ("itself", {MAIN: "{ a: { $include: 'openclaw.json' } }"}, "$include openclaw.json includes itself"),
    ("no name", {MAIN: "{ a: { $include: 1 } }"}, "$include does not name a file"),
    (
        "not JSON5",
        {MAIN: "{ a: { $include: 'x.json5' } }", "x.json5": "{\n  b: }"},
        "x.json5 is not valid JSON5: line 2, column 6",
    ),
    ("beside a list", {MAIN: "{ a: { $include: 'x.json5', b: 1 } }", "x.json5": "[]"}, "can only include objects"),
    ("a folder", {MAIN: "{ a: { $include: 'sub' } }", "sub/x": ""}, "$include sub does not exist"),
]


@pytest.mark.parametrize(("files", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_cannot_be_included(tmp_path: Path, files: dict[str, str], message: str) -> None:
    found = tree(tmp_path, files)
    assert [message in problem.message for problem in found.problems] == [True]
    with pytest.raises(UserError, match=r"a\.c may be in a file that cannot be read"):
        found.owner(("a", "c"))
    assert owner(found, "other") == (MAIN, ("other",))


def test_a_link_that_leaves_the_folder(tmp_path: Path) -> None:
    lay(tmp_path / "outside", {"x.json5": "{ c: 1 }"})
    main = lay(tmp_path / "in", {MAIN: "{ a: { $include: 'x.json5' } }"})
    (main.parent / "x.json5").symlink_to(tmp_path / "outside" / "x.json5")
    assert "is outside the folder" in config_tree.read(main, env={}).problems[0].message


def test_files_without_end(tmp_path: Path) -> None:
    """Ten levels of ten files each would be ten thousand million."""
    files = {MAIN: "{ a: { $include: [" + "'0.json5'," * 10 + "] } }"}
    files |= {f"{at}.json5": "{ a: { $include: [" + f"'{at + 1}.json5'," * 10 + "] } }" for at in range(9)}
    found = tree(tmp_path, files | {"9.json5": "{}"})
    assert "includes more than 500 files" in found.problems[0].message


def test_levels_without_end(tmp_path: Path) -> None:
    files = {MAIN: "{ a: { $include: '0.json5' } }"}
    files |= {f"{at}.json5": "{ a: { $include: '" + f"{at + 1}.json5" + "' } }" for at in range(12)}
    found = tree(tmp_path, files | {"12.json5": "{}"})
    assert [problem.message.rpartition(": ")[2] for problem in found.problems] == [
        "$include 10.json5 is nested deeper than 10 levels"
    ]


def test_deep_files_in_deep_files(tmp_path: Path) -> None:
    deep = "{ a: " * 190 + "{ $include: 'NEXT' }" + " }" * 190
    files = {MAIN: deep.replace("NEXT", "0.json5")}
    files |= {f"{at}.json5": deep.replace("NEXT", f"{at + 1}.json5") for at in range(9)}
    with pytest.raises(UserError, match="nested too deep"):
        tree(tmp_path, files | {"9.json5": "{}"})


def test_spot_words(tmp_path: Path) -> None:
    found = tree(tmp_path, SPLIT)
    spot = found.spot(("agents", "list"))
    assert spot is not None
    assert spot.words == f"{tmp_path / MAIN}, line 3, column 13"
    assert found.spot(("agents", "nothing")) is None


def test_an_include_of_nothing_is_owned_by_its_file(tmp_path: Path) -> None:
    found = tree(tmp_path, {MAIN: "{ a: { $include: [] } }"})
    assert owner(found, "a", "b") == (MAIN, ("a", "b"))


def test_a_pipe_is_no_config(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MAIN)
    with pytest.raises(UserError, match="it is not a file"):
        config_tree.read(tmp_path / MAIN)
