from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolguard_engine import ownplaces

MAIN = "openclaw.json"


@pytest.mark.parametrize(
    ("files", "names"),
    [
        pytest.param({MAIN: "{ a: 1 }"}, [], id="none"),
        pytest.param({}, [], id="no file"),
        pytest.param({MAIN: "{ plugins: { $include: './sub/p.json5' } }"}, ["sub/p.json5"], id="one, that is not there"),
        pytest.param({MAIN: '{ "$include" : [ "a", \'b\', ] }'}, ["a", "b"], id="several"),
        pytest.param({MAIN: "{ $include: 'sub/a' }", "sub/a": "{ $include: './b' }"}, ["sub/a", "sub/b"], id="nested"),
        pytest.param({MAIN: "{ $include: 'a' }", "a": "{ $include: 'openclaw.json' }"}, ["a", MAIN], id="a circle"),
        pytest.param({MAIN: "{ $include: '/x/y' }"}, ["/x/y"], id="absolute"),
        pytest.param({MAIN: "{ $include: 5, x: '$include' }"}, [], id="nothing that names a file"),
    ],
)
def test_included(tmp_path: Path, files: dict[str, str], names: list[str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(ownplaces.included(str(tmp_path / MAIN))) == [str(tmp_path / name) for name in names]


def test_no_config() -> None:
    assert ownplaces.included("") == ()


def test_a_link_is_guarded_with_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text("{ $include: 'a' }")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").write_text("{}")
    assert ownplaces.included(str(tmp_path / MAIN)) == (str(tmp_path / "a"), str(tmp_path / "b"))


def test_files_that_include_without_end(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text("{ $include: '0' }")
    for at in range(300):
        (tmp_path / str(at)).write_text(f"{{ $include: '{at + 1}' }}")
    assert len(ownplaces.included(str(tmp_path / MAIN))) == ownplaces.MAX_FILES


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MAIN)
    assert ownplaces.included(str(tmp_path / MAIN)) == ()


@pytest.mark.parametrize("name", ["loop/x.json5", "loop", "a\0b", "x" * 4_000, "\ud7ff", "../" * 1_000])
def test_a_name_that_leads_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / MAIN).write_text(f"{{ $include: ['{name}', 'after'] }}")
    assert str(tmp_path / "after") in ownplaces.included(str(tmp_path / MAIN))


def test_a_file_that_names_very_many(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text("{ $include: [" + ", ".join(f"'{at}'" for at in range(1_500)) + "] }")
    assert len(ownplaces.included(str(tmp_path / MAIN))) == ownplaces.MAX_FILES


@pytest.mark.parametrize("piece", ['"$include:[', "$include:['", '$include: "', "$include:[ ]", "$include", "$include:['a'"])
def test_no_part_of_a_file_is_read_twice(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    real = ownplaces._VALUE

    class Counting:
        def match(self, text: str, start: int, end: int) -> object:
            nonlocal looked
            looked += end - start
            return real.match(text, start, end)

    monkeypatch.setattr(ownplaces, "_VALUE", Counting())
    text = piece * 20_000
    list(ownplaces._names(text))
    assert looked <= len(text)
