from __future__ import annotations

import os
from pathlib import Path

import pytest

from tables import each_row
from toolguard_engine.config.settings import metrics_of, parse
from toolguard_engine.host import file_names
from toolguard_engine.server import install_paths
from toolguard_engine.server.install_paths import measured, notification_secrets, notifying, public_names
from toolguard_engine.stores import gateway_config

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
    assert list(install_paths.included(str(tmp_path / MAIN))) == [str(tmp_path / name) for name in names]


def test_no_config() -> None:
    assert install_paths.included("") == ()


def test_a_link_is_guarded_with_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text("{ $include: 'a' }")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").write_text("{}")
    assert install_paths.included(str(tmp_path / MAIN)) == (str(tmp_path / "a"), str(tmp_path / "b"))


def test_files_that_include_without_end(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text("{ $include: '0' }")
    for at in range(gateway_config.MAX_FILES + 5):
        (tmp_path / str(at)).write_text(f"{{ $include: '{at + 1}' }}")
    found = install_paths.included(str(tmp_path / MAIN))
    assert (len(found), found[-1]) == (gateway_config.MAX_FILES + 1, str(tmp_path)), "what is left out lies in the folder"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MAIN)
    assert install_paths.included(str(tmp_path / MAIN)) == ()


@pytest.mark.parametrize("name", ["loop/x.json5", "loop", "a\0b", "x" * 4_000, "\ud7ff", "../" * 1_000])
def test_a_name_that_leads_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / MAIN).write_text(f"{{ $include: ['{name}', 'after'] }}")
    assert str(tmp_path / "after") in install_paths.included(str(tmp_path / MAIN))


def test_a_file_that_names_very_many(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text("{ $include: [" + ", ".join(f"'{at}'" for at in range(1_500)) + "] }")
    found = install_paths.included(str(tmp_path / MAIN))
    assert (len(found), found[-1]) == (gateway_config.MAX_FILES + 1, str(tmp_path))


def test_as_many_as_may_be(tmp_path: Path) -> None:
    names = [str(at) for at in range(gateway_config.MAX_FILES)]
    (tmp_path / MAIN).write_text(f"{{ $include: {names}, again: {{ $include: {names} }} }}")
    assert install_paths.included(str(tmp_path / MAIN)) == tuple(str(tmp_path / name) for name in names)


def test_files_that_are_too_large_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_config, "MAX_BYTES", 200)
    (tmp_path / MAIN).write_text("{ $include: 'a' }")
    (tmp_path / "a").write_text(" " * 150)
    assert install_paths.included(str(tmp_path / MAIN)) == (str(tmp_path / "a"),)
    (tmp_path / "a").write_text(" " * 190)
    assert install_paths.included(str(tmp_path / MAIN)) == (str(tmp_path / "a"), str(tmp_path))


def test_a_list_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_text(f"{{ $include: ['a', {' ' * 30_000} 'b'] }}")
    assert str(tmp_path) in install_paths.included(str(tmp_path / MAIN))


@pytest.mark.parametrize("piece", ['"$include:[', "$include:['", '$include: "', "$include:[ ]", "$include", "$include:['a'"])
def test_no_part_of_a_file_is_read_twice(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    real = install_paths._VALUE

    class Counting:
        def match(self, text: str, start: int, end: int) -> object:
            nonlocal looked
            looked += end - start
            return real.match(text, start, end)

    monkeypatch.setattr(install_paths, "_VALUE", Counting())
    text = piece * 20_000
    list(install_paths._names(text))
    assert looked <= len(text)


@each_row(
    ("page", "listens", "names"),
    [
        ({}, "", ()),
        ({"enabled": True}, "127.0.0.1:8080", ()),
        ({"hosts": ["Box.ts.net:8443", "http://box.ts.net", "lan"]}, "127.0.0.1:8080", ("box.ts.net", "lan")),
        ({"enabled": True, "hosts": ["no host"]}, "", ()),
    ],
)
def test_where_the_dashboard_is_reached(page: dict[str, object], listens: str, names: tuple[str, ...]) -> None:
    found = metrics_of({"metrics": {"dashboard": page}})
    assert (measured(found)[1], public_names(found)) == (listens, names)


def test_what_decides_where_notifications_go_is_guarded(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    targets: dict[str, dict[str, object]] = {
        "a": {"urlFile": "~/.config/push-url"},
        "b": {"webhook": "https://there.example", "secretFile": str(tmp_path / "link")},
        "c": {"command": ["~/.venv/bin/python3", "~/bin/tell.py", "--to", "me", "~/a\0b", "/opt/x/tell"]},
        "d": {"command": ["notify-send"]},
        "e": {"url": "ntfys://there.example/topic"},
    }
    found = notifying(parse({"notify": {"targets": targets}}).notify, str(tmp_path))
    assert set(found) == {str(tmp_path / name) for name in (".config/push-url", "link", "real", "bin/tell.py")}
    secrets = notification_secrets(parse({"notify": {"targets": targets}}).notify, str(tmp_path))
    assert set(secrets) == {str(tmp_path / name) for name in (".config/push-url", "link", "real")}


def test_where_the_gateway_part_looks_for_the_engine_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    listed = (Path(__file__).parents[2] / "plugin" / "gateway" / "command.mjs").read_text()
    for folder in file_names.ENVIRONMENTS:
        assert f'"{folder}"' in listed
        assert f"/home/ada/{folder}" in install_paths.own_places()
